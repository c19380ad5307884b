//! Texts, thoughts and what else a message is made of. A part comes again, whole, whenever it has grown.

use omniglot_schema::uri::to_path;
use omniglot_schema::{
    Activity, ContentPart, FileAction, ItemRole, ReasoningVisibility, StatePatch, StatusLabel,
};
use omniglot_timeline::{Body, ItemEnd, ItemKey, ItemStart, Outcome, inline_image};

use super::message::Author;
use super::translate::{Whose, state, whole_item};
use super::wire::{File, PartBody, PartDelta, PartHead, PartUpdated, Text};
use super::{OpenCode, dropped, unparsed};
use crate::contract::{Draft, DropReason, Output};

/// A part that becomes an item of text.
#[derive(Debug)]
pub(crate) struct Part {
    voice: Voice,
    pub(crate) message: String,
    /// The text that was drafted.
    said: String,
    /// Something of it was missed: it is told when it is whole, because halves are kept nowhere.
    holed: bool,
    of_subagent: bool,
    done: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Voice {
    Answer,
    Thought,
    /// A thought that only its maker can read.
    Hidden,
    /// For the model: shown when it is whole.
    Summary,
}

impl Voice {
    fn body(self, text: &str) -> Body {
        match self {
            Self::Answer => Body::message(ItemRole::Assistant, text),
            Self::Thought => {
                Body::Reasoning { text: text.to_owned(), visibility: ReasoningVisibility::Public }
            }
            Self::Hidden => Body::Reasoning { text: String::new(), visibility: ReasoningVisibility::Private },
            Self::Summary => {
                let text = text.to_owned();
                let parts = if text.is_empty() { vec![] } else { vec![ContentPart::Text { text }] };
                Body::System { parts }
            }
        }
    }
}

impl Part {
    fn new(voice: Voice, message: &str, holed: bool, of_subagent: bool) -> Self {
        Self { voice, message: message.to_owned(), said: String::new(), holed, of_subagent, done: false }
    }
}

/// As many characters of the user's words name a message.
const QUOTED: usize = 60;

impl OpenCode {
    /// The event stream was cut: nobody knows what is missing of the parts under way.
    pub(crate) fn parts_have_holes(&mut self) {
        for part in self.parts.values_mut() {
            part.holed = true;
        }
    }

    pub(crate) fn part(&mut self, event: PartUpdated, out: &mut Vec<Output>) {
        let PartUpdated { head, body } = event;
        let whose = self.whose(&head.session);
        let parent = match &whose {
            Whose::Mine => None,
            Whose::Child(call) => call.clone(),
            Whose::Other => return,
        };
        // A part may overtake its message: what nobody is known to have written, the assistant has.
        let author = self.authors.get(&head.message).copied().unwrap_or(Author::Assistant);
        if self.copied.contains(&head.message) {
            return out.push(dropped(DropReason::Replay));
        }
        if author == Author::User {
            return self.user_part(&whose, &head, body, out);
        }
        if whose == Whose::Mine && !self.knows_part(&head.id) && !self.authors.contains_key(&head.message) {
            self.ensure_turn(out);
        }
        match body {
            PartBody::Text(text) if text.ignored => {}
            PartBody::Text(text) => {
                let voice = if author == Author::Summary { Voice::Summary } else { Voice::Answer };
                self.text(&head, text, voice, parent, out);
            }
            PartBody::Reasoning(text) => {
                let voice = if text.is_hidden() { Voice::Hidden } else { Voice::Thought };
                self.text(&head, text, voice, parent, out);
            }
            PartBody::Tool(tool) => {
                let text = self.texts.get(&head.message).cloned();
                self.tool(&head, *tool, text.or(parent), out);
            }
            PartBody::File(file) => self.file(&head, &file, parent, out),
            PartBody::Retry(retry) => {
                let why = retry.error.and_then(|error| error.data.message);
                self.retry(retry.attempt, why, out);
            }
            PartBody::StepStart => self.step_started(&head, parent, out),
            PartBody::StepFinish(finish) => self.step_finished(&head, finish, out),
            PartBody::Compaction(_) | PartBody::Snapshot | PartBody::Mention => {}
            PartBody::Unknown { kind } => self.unknown(&head, &kind, parent, out),
        }
    }

    fn knows_part(&self, id: &str) -> bool {
        self.parts.contains_key(id) || self.calls.contains_key(id)
    }

    /// The user's own words are told by the prompt; what OpenCode writes in the user's name is for the model.
    fn user_part(&mut self, whose: &Whose, head: &PartHead, body: PartBody, out: &mut Vec<Output>) {
        match body {
            PartBody::Text(text) if text.synthetic => self.injected(whose, head, text, out),
            PartBody::Text(text) if *whose == Whose::Mine => self.users_words(head, &text, out),
            PartBody::Compaction(compaction) if *whose == Whose::Mine => {
                if self.once.insert(head.id.clone()) {
                    self.ensure_turn(out);
                    let why = if compaction.auto { "the context is full" } else { "asked for" };
                    self.told(StatusLabel::Compaction, format!("compacting: {why}"), None, out);
                    self.show(Some(Activity::Compacting), out);
                }
            }
            PartBody::Text(_)
            | PartBody::Reasoning(_)
            | PartBody::Tool(_)
            | PartBody::File(_)
            | PartBody::Compaction(_)
            | PartBody::Retry(_)
            | PartBody::StepStart
            | PartBody::StepFinish(_)
            | PartBody::Snapshot
            | PartBody::Mention
            | PartBody::Unknown { .. } => out.push(dropped(DropReason::Echo)),
        }
    }

    /// Handles injected text: next to the user's own words it is made of their attachments, alone it is new.
    fn injected(&mut self, whose: &Whose, head: &PartHead, text: Text, out: &mut Vec<Output>) {
        let amid_turn = self.turn.as_ref().is_some_and(|turn| !turn.is_of_user(&head.message));
        if *whose != Whose::Mine || head.message <= self.floor || !amid_turn || text.text.is_empty() {
            return out.push(dropped(DropReason::Internal));
        }
        if !self.once.insert(head.id.clone()) {
            return out.push(dropped(DropReason::Duplicate));
        }
        let body = Body::System { parts: vec![ContentPart::text(text.text)] };
        whole_item(ItemKey(head.id.clone()), None, body, out);
    }

    fn users_words(&mut self, head: &PartHead, text: &Text, out: &mut Vec<Output>) {
        if let Some(turn) = &mut self.turn {
            turn.is_told_by(&head.message);
        }
        let beginning = || text.text.chars().take(QUOTED).collect();
        self.words.entry(head.message.clone()).or_insert_with(beginning);
        out.push(dropped(DropReason::Echo));
    }

    fn text(
        &mut self,
        head: &PartHead,
        text: Text,
        voice: Voice,
        parent: Option<ItemKey>,
        out: &mut Vec<Output>,
    ) {
        let key = ItemKey(head.id.clone());
        if !self.parts.contains_key(&head.id) {
            let part = Part::new(voice, &head.message, self.stored, parent.is_some());
            out.push(started(&head.id, voice, parent));
            self.remember(&head.id, part);
        }
        let Some(part) = self.parts.get_mut(&head.id) else { return };
        if part.done {
            return out.push(dropped(DropReason::Duplicate));
        }
        if !self.stored && text.text.is_empty() && part.said.is_empty() {
            // Its beginning was heard, and so all of it will be.
            part.holed = false;
        }
        if text.time.end.is_some() {
            part.done = true;
            let body = Some(part.voice.body(&text.text));
            part.said = String::new();
            out.push(Draft::ItemCompleted(ItemEnd { key, outcome: Outcome::Completed, body }).into());
        } else if let Some(rest) = text.text.strip_prefix(part.said.as_str())
            && !rest.is_empty()
            && part.voice != Voice::Summary
        {
            let delta = rest.to_owned();
            part.said = text.text;
            out.push(Draft::ItemDelta { key, delta }.into());
        } else if out.is_empty() {
            out.push(dropped(DropReason::Superseded));
        }
    }

    pub(crate) fn delta(&mut self, event: PartDelta, out: &mut Vec<Output>) {
        let parent = match self.whose(&event.session) {
            Whose::Mine => None,
            Whose::Child(call) => call,
            Whose::Other => return,
        };
        if event.field != "text" {
            return out.push(dropped(DropReason::Extension));
        }
        if !self.parts.contains_key(&event.part) {
            self.ensure_turn(out);
            let part = Part::new(Voice::Answer, &event.message, false, parent.is_some());
            out.push(started(&event.part, Voice::Answer, parent));
            self.remember(&event.part, part);
        }
        let Some(part) = self.parts.get_mut(&event.part) else { return };
        if part.voice == Voice::Summary || part.done || part.holed {
            return out.push(dropped(DropReason::Superseded));
        }
        part.said.push_str(&event.delta);
        out.push(Draft::ItemDelta { key: ItemKey(event.part), delta: event.delta }.into());
    }

    fn remember(&mut self, id: &str, part: Part) {
        if part.voice == Voice::Answer {
            self.texts.insert(part.message.clone(), ItemKey(id.to_owned()));
        }
        self.parts.insert(id.to_owned(), part);
    }

    fn file(&mut self, head: &PartHead, file: &File, parent: Option<ItemKey>, out: &mut Vec<Output>) {
        if !self.once.insert(head.id.clone()) {
            return out.push(dropped(DropReason::Duplicate));
        }
        let body = Body::Message { role: ItemRole::Assistant, parts: vec![file_part(file)] };
        whole_item(ItemKey(head.id.clone()), parent, body, out);
    }

    fn unknown(&mut self, head: &PartHead, kind: &str, parent: Option<ItemKey>, out: &mut Vec<Output>) {
        if self.once.insert(head.id.clone()) {
            let text = format!("a part of the kind {kind}");
            let parts = vec![ContentPart::Text { text }];
            whole_item(ItemKey(head.id.clone()), parent, Body::Unknown { parts }, out);
            out.push(Output::unparsed(unparsed("message.part.updated", format!("unknown part {kind}"))));
        }
    }

    pub(crate) fn compacted(&mut self, session: &str, out: &mut Vec<Output>) {
        if self.whose(session) == Whose::Mine {
            self.told(StatusLabel::Compaction, "the conversation was compacted".to_owned(), None, out);
            self.show(None, out);
        }
    }

    /// The call of the model is repeated: what it had said until then stays as it is, and is said anew.
    pub(crate) fn retry(&mut self, attempt: Option<u64>, why: Option<String>, out: &mut Vec<Output>) {
        let open = self.parts.iter_mut().filter(|(_, part)| !part.done && !part.of_subagent);
        let mut cut = Vec::new();
        for (id, part) in open {
            part.done = true;
            cut.push(ItemKey(id.clone()));
        }
        cut.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        let failed = |key| ItemEnd { key, outcome: Outcome::Failed, body: None };
        out.extend(cut.into_iter().map(|key| Draft::ItemCompleted(failed(key)).into()));
        let attempt = attempt.map_or_else(String::new, |attempt| format!("attempt {attempt}: "));
        let why = why.unwrap_or_else(|| "the model call failed".to_owned());
        self.told(StatusLabel::Retry, format!("{attempt}{why}"), None, out);
        self.show(Some(Activity::Retrying), out);
    }
}

impl OpenCode {
    pub(crate) fn show(&mut self, activity: Option<Activity>, out: &mut Vec<Output>) {
        self.activity = activity;
        state(StatePatch { activity: Some(activity), ..StatePatch::default() }, out);
    }
}

fn started(part: &str, voice: Voice, parent: Option<ItemKey>) -> Output {
    let (key, native_id) = (ItemKey(part.to_owned()), Some(part.to_owned()));
    Draft::ItemStarted(ItemStart { key, native_id, parent, body: voice.body("") }).into()
}

/// A picture in line becomes a picture of ours; any other file is named.
pub(crate) fn file_part(file: &File) -> ContentPart {
    let picture = file.mime.starts_with("image/").then(|| file.url.split_once(";base64,")).flatten();
    match picture {
        Some((_, data)) => inline_image(&file.mime, data),
        None => {
            let inline = file.url.starts_with("data:");
            let path = file
                .filename
                .clone()
                .filter(|_| inline)
                .unwrap_or_else(|| to_path(&file.url).unwrap_or_else(|| file.url.clone()));
            ContentPart::file(path, FileAction::Read, None)
        }
    }
}
