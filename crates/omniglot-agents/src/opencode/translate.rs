//! Dispatches messages from and to the server: one method for each kind.

use omniglot_schema::StatusLabel;
use omniglot_schema::{Connection, FileChanges, Resume, StatePatch, Todo, TodoStatus};
use omniglot_timeline::{Body, ItemKey, ItemStart};
use serde_json::value::RawValue;

use super::outbound::{OutboundRequest, session_of};
use super::wire::{self, Event};
use super::{OpenCode, dropped, unparsed};
use crate::contract::{Draft, DropReason, Output};
use crate::conversation::items::whole;
use crate::http::{Answer, FromServer, StreamState, ToServer};

/// To whom something happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Whose {
    Mine,
    /// A subagent's, with the call that began it.
    Child(Option<ItemKey>),
    Other,
}

impl OpenCode {
    pub(crate) fn frame(&mut self, frame: &RawValue, out: &mut Vec<Output>) {
        let before = out.len();
        match FromServer::parse(frame) {
            Ok(FromServer::Answer(answer)) => self.answer(answer, out),
            Ok(FromServer::Event(event)) => match Event::parse(&event.data) {
                Ok(event) if self.rereads.is_some() && event.has_an_order() => self.hold(event, out),
                Ok(event) if self.waits_for_turn(&event) => self.keep_for_turn(event, out),
                Ok(event) => self.event(event, out),
                Err(fault) => out.push(Output::unparsed(fault)),
            },
            Ok(FromServer::Stream(stream)) => self.stream(stream.state, &stream.directory, out),
            Err(fault) => out.push(Output::unparsed(fault)),
        }
        if out.len() == before {
            out.push(dropped(DropReason::Internal));
        }
    }

    pub(crate) fn sent(&mut self, frame: &RawValue, out: &mut Vec<Output>) {
        let Ok(ToServer::Request(request)) = ToServer::parse(frame) else { return };
        let asked = OutboundRequest::of(&request);
        // A copy is made of somebody else's session; its own comes with the answer.
        if let Some(session) = session_of(&request).filter(|_| asked != OutboundRequest::Fork) {
            // One that was not made here is an old one.
            self.adopt(session, Some(Resume::Native), out);
            // Of subagents only the messages are read.
            let reads = matches!(asked, OutboundRequest::Messages(_)) && self.whose(session) != Whose::Other;
            if self.opening.is_none() && self.session.as_deref() != Some(session) && !reads {
                return;
            }
        }
        match &asked {
            OutboundRequest::Prompt => self.prompt_sent(&request, out),
            OutboundRequest::Compact => self.compact_sent(&request, out),
            OutboundRequest::Abort => self.abort_sent(out),
            OutboundRequest::Messages(_) => self.read_sent(&request.id),
            OutboundRequest::AddMcp(name) => self.servers.learn([name.clone()]),
            OutboundRequest::PermissionReply { id, .. } | OutboundRequest::QuestionReply { id, .. } => {
                self.withdrawal_sent(id);
            }
            OutboundRequest::Create
            | OutboundRequest::Session(_)
            | OutboundRequest::Fork
            | OutboundRequest::List(_)
            | OutboundRequest::Status
            | OutboundRequest::Todos
            | OutboundRequest::Children
            | OutboundRequest::Permissions
            | OutboundRequest::Questions
            | OutboundRequest::Revert
            | OutboundRequest::Change
            | OutboundRequest::Other => {}
        }
        self.outbound.sent(request.id, asked);
    }

    fn answer(&mut self, answer: Answer, out: &mut Vec<Output>) {
        let Some(asked) = self.outbound.answered(&answer.id) else { return };
        self.answered(asked, &answer, out);
        self.read_on(&answer.id, out);
    }

    fn answered(&mut self, asked: OutboundRequest, answer: &Answer, out: &mut Vec<Output>) {
        match asked {
            OutboundRequest::Create | OutboundRequest::Fork => self.created(answer, out),
            OutboundRequest::Session(id) => self.session_read(&id, answer, out),
            OutboundRequest::List(list) => self.listed(list, answer, out),
            OutboundRequest::Prompt | OutboundRequest::Compact => self.prompt_answered(answer, out),
            OutboundRequest::Abort => self.abort_answered(out),
            OutboundRequest::Messages(session) => self.messages_read(&session, answer, out),
            OutboundRequest::Status => self.status_read(answer, out),
            OutboundRequest::Todos => self.todos_read(answer, out),
            OutboundRequest::Children => self.children_read(answer, out),
            OutboundRequest::Permissions => self.permissions_read(answer),
            OutboundRequest::Questions => self.questions_read(answer),
            OutboundRequest::Revert => self.revert_answered(answer, out),
            OutboundRequest::Change => self.changed(answer, out),
            OutboundRequest::PermissionReply { id, reply, message } => {
                if self.is_taken(&id, answer, out) {
                    self.permission_answered(&id, reply, message, out);
                }
            }
            OutboundRequest::QuestionReply { id, answers } => {
                if self.is_taken(&id, answer, out) {
                    self.question_answered(&id, answers, out);
                }
            }
            OutboundRequest::AddMcp(_) | OutboundRequest::Other => {}
        }
    }

    pub(crate) fn event(&mut self, event: Event, out: &mut Vec<Output>) {
        match event {
            Event::MessageUpdated(event) => self.message(event.info, out),
            Event::MessageRemoved(event) => self.message_removed(&event, out),
            Event::PartUpdated(event) => self.part(event, out),
            Event::PartDelta(event) => self.delta(event, out),
            Event::PartRemoved(event) => self.part_removed(&event, out),
            Event::SessionCreated(event) | Event::SessionUpdated(event) => self.session(event.info, out),
            Event::SessionDeleted(event) => self.session_deleted(&event.session, out),
            Event::SessionStatus(event) => self.status(&event.session, event.status, out),
            Event::SessionIdle(event) => self.session_idle(&event.session, out),
            Event::SessionError(event) => self.error(event, out),
            Event::SessionCompacted(event) => self.compacted(&event.session, out),
            Event::PermissionAsked(event) => self.permission_asked(event, out),
            Event::PermissionReplied(event) => self.permission_replied(&event, out),
            Event::QuestionAsked(event) => self.question_asked(event, out),
            Event::QuestionReplied(event) => {
                self.question_replied(&event.request, Some(event.answers), out);
            }
            Event::QuestionRejected(event) => self.question_replied(&event.request, None, out),
            Event::TodoUpdated(event) => {
                if self.whose(&event.session) == Whose::Mine {
                    self.todos(event.todos, out);
                }
            }
            Event::Heartbeat => out.push(dropped(DropReason::Heartbeat)),
            Event::Housekeeping => out.push(dropped(DropReason::Internal)),
            Event::Unknown { kind } => {
                out.push(Output::unparsed(unparsed(&kind, "an event of a kind that we do not know")));
            }
        }
    }

    fn stream(&mut self, state: StreamState, directory: &str, out: &mut Vec<Output>) {
        if self.directory.as_deref().is_some_and(|ours| ours != directory) {
            return;
        }
        match state {
            StreamState::Open => self.stream_opened(out),
            StreamState::Reopened => {
                self.stream_opened(out);
                self.connection(Connection::Connected, out);
                self.read_what_was_missed(out);
            }
            StreamState::Alive => self.connection(Connection::Connected, out),
            StreamState::Stale => self.connection(Connection::Stale, out),
            StreamState::Lost => self.connection(Connection::Lost, out),
        }
    }

    fn connection(&mut self, connection: Connection, out: &mut Vec<Output>) {
        // Before there is a session nobody is shown its connection.
        if self.session.is_some() && self.opening.is_none() {
            state(StatePatch { connection: Some(Some(connection)), ..StatePatch::default() }, out);
        }
    }

    pub(crate) fn whose(&self, session: &str) -> Whose {
        if self.session.as_deref() == Some(session) {
            return Whose::Mine;
        }
        match self.children.get(session) {
            Some(child) => {
                let call = child.part.as_ref().and_then(|part| self.calls.get(part));
                Whose::Child(call.map(|call| call.key.clone()))
            }
            None => Whose::Other,
        }
    }

    fn session(&mut self, info: wire::Session, out: &mut Vec<Output>) {
        match self.whose(&info.id) {
            Whose::Mine => self.my_session(info, out),
            Whose::Child(_) => self.child_session(info, out),
            Whose::Other => {
                if info.parent.as_ref().is_some_and(|parent| self.whose(parent) != Whose::Other) {
                    self.child_session(info, out);
                }
            }
        }
    }

    pub(crate) fn my_session(&mut self, info: wire::Session, out: &mut Vec<Output>) {
        // Until OpenCode has made one, the title is only the time.
        let title = info.title.clone().filter(|title| !title.starts_with("New session - "));
        self.cost = info.cost.unwrap_or(self.cost);
        let changes = info.summary.and_then(|summary| self.changes(summary)).map(Some);
        state(StatePatch { title: title.map(Some), changes, ..self.cost_of_all() }, out);
        self.reverted(&info, out);
    }

    /// OpenCode 1.18.33 reports zeros also after edits, so zeros count only after another number.
    fn changes(&mut self, summary: wire::Summary) -> Option<FileChanges> {
        let wire::Summary { files, additions, deletions } = summary;
        self.has_changes |= files > 0;
        self.has_changes.then_some(FileChanges { files, additions, deletions })
    }

    fn session_deleted(&mut self, session: &str, out: &mut Vec<Output>) {
        if self.whose(session) == Whose::Mine {
            self.told(StatusLabel::Warning, "OpenCode has deleted its session".to_owned(), None, out);
        }
    }

    pub(crate) fn todos(&mut self, todos: Vec<wire::Todo>, out: &mut Vec<Output>) {
        let todo = |todo: wire::Todo| {
            let status = match todo.status.as_str() {
                "completed" => Some(TodoStatus::Completed),
                "in_progress" => Some(TodoStatus::InProgress),
                "pending" => Some(TodoStatus::Pending),
                // What was given up is not to be done any more.
                _ => None,
            };
            status.map(|status| Todo { text: todo.content, status })
        };
        let todos: Vec<Todo> = todos.into_iter().filter_map(todo).collect();
        state(StatePatch { todos: Some(Some(todos.into())), ..StatePatch::default() }, out);
    }

    /// Something that happened, as an item of its own.
    pub(crate) fn told(
        &mut self,
        label: StatusLabel,
        detail: String,
        parent: Option<ItemKey>,
        out: &mut Vec<Output>,
    ) {
        whole(ItemStart { parent, ..self.statuses.status(label, Some(detail)) }, true, out);
    }
}

pub(crate) fn whole_item(key: ItemKey, parent: Option<ItemKey>, body: Body, out: &mut Vec<Output>) {
    whole(ItemStart { key, native_id: None, parent, body }, true, out);
}

pub(crate) fn state(patch: StatePatch, out: &mut Vec<Output>) {
    if !patch.is_empty() {
        out.push(Draft::State(Box::new(patch)).into());
    }
}
