//! The delegate: Amp starts it before every tool, it asks us, and the permission mode decides whether a person is
//! asked (T10, T11).
//!
//! The delegate names the tool and its input, and not the call: it asks for the oldest such call that nobody has
//! asked for. The files that a call would change are read first: what is outside of the session's directory is never
//! accepted without a person, and the diff of a file that is written anew is true.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use omniglot_schema::{PermissionReply, PermissionStatus, ResolvedBy, ToolKind};
use omniglot_timeline::PermissionAsk;
use serde_json::Value;

use super::delegate::{Answer, Question};
use super::tool::{Before, Call};
use super::{Amp, dropped, tool_kinds};
use crate::about::About;
use crate::contract::{Command, Draft, DropReason, Output, RequestKey};
use crate::conversation::requests::{InboundRequests, Reply, RequestDetails, options};
use crate::fault::unparsed;
use crate::host::{HostAsk, HostErrorKind, HostKey, HostOutcome, HostRequest, ReadFile};

/// The reason that the model gets when the person gives none.
const REJECTED: &str = "The user rejected this.";
const PLANNING: &str = "The session only plans now: nothing may be changed.";
const NOT_UNDERSTOOD: &str = "Omniglot did not understand the question.";

/// How long a question waits for the line that tells its call. The calls of subagents are never told.
const UNTOLD_CALL: Duration = Duration::from_millis(250);

/// The delegates that wait for an answer.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    /// Those that a person was asked for, by the number of their key.
    open: InboundRequests<u64, Permission>,
    /// Those that wait for the machine: for a file, or for the time after which their call is told no more.
    undecided: HashMap<HostKey, PendingQuestion>,
    last_key: u64,
}

/// A question that is not decided yet.
#[derive(Debug)]
struct PendingQuestion {
    delegate: HostKey,
    question: Question,
    input: Value,
    about: About,
    /// The id of the call that it asks for, if that is known.
    call: Option<String>,
    /// The files that the call would change and that were not looked at yet.
    unread: Vec<PathBuf>,
    /// All files that were looked at are in the session's directory.
    inside: bool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Permission;

impl RequestDetails for Permission {
    fn is_question(&self) -> bool {
        false
    }
}

impl Requests {
    fn wait(&mut self, asked: PendingQuestion, request: HostRequest) -> Output {
        self.last_key += 1;
        let key = HostKey(self.last_key);
        self.undecided.insert(key, asked);
        Output::host(HostAsk { key, request })
    }
}

impl Amp {
    pub(crate) fn host_outcome(&mut self, key: HostKey, outcome: &HostOutcome, out: &mut Vec<Output>) {
        match outcome {
            HostOutcome::HelperAsked(question) => self.delegate_asks(key, question, out),
            HostOutcome::HelperLeft => self.delegate_left(key, out),
            HostOutcome::Read(read) => {
                let before = match read {
                    Ok(content) => Some(Before::Content(content.clone())),
                    Err(error) if error.kind == HostErrorKind::NotFound => Some(Before::Missing),
                    Err(_) => None,
                };
                self.file_was_read(key, before, out);
            }
            HostOutcome::Elapsed => {
                if let Some(asked) = self.requests.undecided.remove(&key) {
                    self.look_at_files(asked, out);
                }
            }
            HostOutcome::Written(_)
            | HostOutcome::Started(_)
            | HostOutcome::Said(_)
            | HostOutcome::Ended(_) => {}
        }
    }

    fn delegate_asks(&mut self, delegate: HostKey, question: &str, out: &mut Vec<Output>) {
        let asked = match self.read_question(delegate, question) {
            Ok(asked) => asked,
            Err(error) => {
                out.push(answer(delegate, &Answer::reject(NOT_UNDERSTOOD)));
                return out.push(Output::unparsed(unparsed("delegate", error.to_string())));
            }
        };
        if !self.turns.goes_on() {
            // Nobody would answer any more.
            out.push(answer(delegate, &Answer::reject(REJECTED)));
            return dropped(DropReason::Superseded, out);
        }
        match self.tools.unasked(&asked.question.tool, &asked.input).cloned() {
            Some(id) => self.asks_for(asked, id, out),
            None => {
                let wait = self.requests.wait(asked, HostRequest::Timer(UNTOLD_CALL));
                out.push(wait);
                dropped(DropReason::Internal, out);
            }
        }
    }

    fn read_question(&self, delegate: HostKey, question: &str) -> Result<PendingQuestion, serde_json::Error> {
        let question: Question = serde_json::from_str(question)?;
        let input = serde_json::from_str(&question.input)?;
        let about = tool_kinds::about(&question.tool, &question.input);
        let about = about.in_session_of(self.session.cwd.as_deref());
        let paths = if about.kind == ToolKind::Edit { about.subject.paths.as_slice() } else { &[] };
        let unread = paths.iter().map(|file| PathBuf::from(&file.path)).collect();
        let inside = !paths.is_empty();
        Ok(PendingQuestion { delegate, question, input, about, call: None, unread, inside })
    }

    /// A call was told: a question may have come before it.
    pub(crate) fn call_told(&mut self, name: &str, input: &str, id: &str, out: &mut Vec<Output>) {
        let Ok(input) = serde_json::from_str::<Value>(input) else { return };
        let asks_for_it = |asked: &PendingQuestion| {
            asked.call.is_none() && asked.question.tool == name && asked.input == input
        };
        let waiting =
            self.requests.undecided.iter().filter(|(_, asked)| asks_for_it(asked)).map(|(key, _)| *key);
        if let Some(asked) = waiting.min().and_then(|key| self.requests.undecided.remove(&key)) {
            self.asks_for(asked, id.to_owned(), out);
        }
    }

    fn asks_for(&mut self, mut asked: PendingQuestion, id: String, out: &mut Vec<Output>) {
        if let Some(call) = self.tools.get_mut(&id) {
            call.asked = true;
        }
        asked.call = Some(id);
        self.look_at_files(asked, out);
    }

    /// Reads the files that the call would change, one after the other, and decides then.
    fn look_at_files(&mut self, mut asked: PendingQuestion, out: &mut Vec<Output>) {
        match asked.unread.pop() {
            Some(path) => {
                let file = ReadFile { path, ..ReadFile::default() };
                let wait = self.requests.wait(asked, HostRequest::ReadFile(file));
                out.push(wait);
                dropped(DropReason::Internal, out);
            }
            None => self.decide(&asked, out),
        }
    }

    fn file_was_read(&mut self, reading: HostKey, before: Option<Before>, out: &mut Vec<Output>) {
        let Some(mut asked) = self.requests.undecided.remove(&reading) else { return };
        asked.inside &= before.is_some();
        let call = asked.call.as_deref().and_then(|id| self.tools.get_mut(id));
        if let Some(call) = call.filter(|call| call.written_file().is_some()) {
            call.before = before.unwrap_or_default();
        }
        self.look_at_files(asked, out);
    }

    fn decide(&mut self, asked: &PendingQuestion, out: &mut Vec<Output>) {
        let PendingQuestion { delegate, question, about, inside, .. } = asked;
        let decided = match self.session.permission_mode.as_deref() {
            _ if !self.turns.goes_on() => Some(Answer::reject(REJECTED)),
            _ if tool_kinds::only_reads(&question.tool) => Some(Answer::allow()),
            Some("bypass") => Some(Answer::allow()),
            Some("acceptEdits") if *inside && !is_own_configuration(about) => Some(Answer::allow()),
            Some("plan") => Some(Answer::reject(PLANNING)),
            _ => None,
        };
        if let Some(decided) = decided {
            out.push(answer(*delegate, &decided));
            return dropped(DropReason::Internal, out);
        }
        let call = asked.call.as_deref().and_then(|id| self.tools.get(id));
        let ask = permission(call, question, about.clone());
        let key = self.requests.open.add(delegate.0, Permission);
        out.push(Draft::PermissionRequested(PermissionAsk { key, ..ask }).into());
    }

    /// It was ended, or gave up.
    fn delegate_left(&mut self, key: HostKey, out: &mut Vec<Output>) {
        self.requests.undecided.retain(|_, asked| asked.delegate != key);
        match self.requests.open.take(&key.0) {
            Some(open) => out.push(open.rejected(ResolvedBy::Agent).into()),
            None => dropped(DropReason::Internal, out),
        }
    }

    pub(crate) fn reply(&mut self, command: &Command, out: &mut Vec<Output>) {
        let Some(open) = self.requests.open.reply(command) else { return };
        let key = open.id;
        let Some(open) = self.requests.open.take(&key) else { return };
        let by = open.answered_by();
        let (answered, draft) = match &open.reply {
            Some(Reply::Permission(PermissionReply::Once | PermissionReply::Always, _)) => {
                (Answer::allow(), open.permission(open.granted(PermissionStatus::Accept), by, None))
            }
            Some(Reply::Permission(PermissionReply::Reject, message)) => {
                let words = message.as_deref().filter(|words| !words.is_empty()).unwrap_or(REJECTED);
                (Answer::reject(words), open.permission(PermissionStatus::Reject, by, None))
            }
            Some(Reply::Withdrawal | Reply::Answers(_)) | None => {
                (Answer::reject(REJECTED), open.rejected(by))
            }
        };
        out.push(answer(HostKey(key), &answered));
        out.push(draft.into());
    }
}

fn answer(key: HostKey, answer: &Answer) -> Output {
    Output::host(HostAsk { key, request: HostRequest::AnswerHelper(answer.line()) })
}

/// Amp reads its settings and plugins from these directories while it runs: an edit there may switch the asking off.
fn is_own_configuration(about: &About) -> bool {
    let signs = [".amp/", ".config/amp/"];
    about.subject.paths.iter().any(|file| signs.iter().any(|sign| file.path.contains(sign)))
}

/// An `always` covers the same command in the same directory, or the same files; of other tools the same arguments.
fn permission(call: Option<&Call>, question: &Question, about: About) -> PermissionAsk {
    let tool = question.tool.clone();
    let subject = &about.subject;
    let paths: Vec<&str> = subject.paths.iter().map(|file| file.path.as_str()).collect();
    let named = subject.command.clone().or_else(|| (!paths.is_empty()).then(|| paths.join(", ")));
    let pattern = named.clone().map_or_else(
        || question.input.clone(),
        |named| subject.cwd.as_ref().map_or(named.clone(), |cwd| format!("{cwd}$ {named}")),
    );
    PermissionAsk {
        key: RequestKey(String::new()),
        native_id: None,
        action: named.map_or_else(|| tool.clone(), |named| format!("{tool}: {named}")),
        call: call.map(|call| call.key.clone()),
        tool: Some(tool),
        pattern: Some(pattern),
        options: options([
            ("once", "Allow once"),
            ("always", "Allow the same in this session"),
            ("reject", "Reject"),
        ]),
        files: call.map(Call::intended).unwrap_or_default(),
        detail: None,
        kind: Some(about.kind),
        subject: about.subject.boxed(),
    }
}
