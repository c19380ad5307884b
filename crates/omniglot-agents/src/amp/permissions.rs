//! The delegate: Amp starts it before every tool, it asks us, and the permission mode decides whether a person is
//! asked (T10, T11).
//!
//! The delegate names the tool and its input, and not the call: it asks for the oldest such call that nobody has
//! asked for. Before a file is written anew, its content is read, so that the diff is true.

use std::collections::HashMap;
use std::path::PathBuf;

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

/// The delegates that wait for an answer, by the number of their key.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    open: InboundRequests<u64, Permission>,
    /// The questions that wait for the content of a file, by the key of its reading.
    reading: HashMap<HostKey, (HostKey, Question, Option<String>)>,
    readings: u64,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Permission;

impl RequestDetails for Permission {
    fn is_question(&self) -> bool {
        false
    }
}

impl Amp {
    pub(crate) fn host_news(&mut self, key: HostKey, news: &HostOutcome, out: &mut Vec<Output>) {
        match news {
            HostOutcome::HelperAsked(question) => self.delegate_asks(key, question, out),
            HostOutcome::HelperLeft => self.delegate_left(key, out),
            HostOutcome::Read(read) => {
                let before = match read {
                    Ok(content) => Before::Content(content.clone()),
                    Err(error) if error.kind == HostErrorKind::NotFound => Before::Missing,
                    Err(_) => Before::Unknown,
                };
                self.file_was_read(key, before, out);
            }
            HostOutcome::Written(_)
            | HostOutcome::Started(_)
            | HostOutcome::Said(_)
            | HostOutcome::Ended(_)
            | HostOutcome::Elapsed => {}
        }
    }

    fn delegate_asks(&mut self, key: HostKey, question: &str, out: &mut Vec<Output>) {
        let asked = serde_json::from_str::<Question>(question).map_err(|error| error.to_string());
        let asked = asked.and_then(|asked| match serde_json::from_str::<Value>(&asked.input) {
            Ok(input) => Ok((asked, input)),
            Err(error) => Err(error.to_string()),
        });
        let (question, input) = match asked {
            Ok(asked) => asked,
            Err(error) => {
                out.push(answer(key, &Answer::reject(NOT_UNDERSTOOD)));
                return out.push(Output::unparsed(unparsed("delegate", error)));
            }
        };
        let id = self.tools.unasked(&question.tool, &input).cloned();
        if let Some(call) = id.as_deref().and_then(|id| self.tools.get_mut(id)) {
            call.asked = true;
        }
        let file = id.as_deref().and_then(|id| self.tools.get(id)).and_then(Call::written_file);
        match file {
            Some(path) => {
                self.requests.readings += 1;
                let reading = HostKey(self.requests.readings);
                self.requests.reading.insert(reading, (key, question, id));
                let request =
                    HostRequest::ReadFile(ReadFile { path: PathBuf::from(path), ..ReadFile::default() });
                out.push(Output::host(HostAsk { key: reading, request }));
                dropped(DropReason::Internal, out);
            }
            None => self.decide(key, &question, id.as_deref(), out),
        }
    }

    fn file_was_read(&mut self, reading: HostKey, before: Before, out: &mut Vec<Output>) {
        let Some((key, question, id)) = self.requests.reading.remove(&reading) else { return };
        if let Some(call) = id.as_deref().and_then(|id| self.tools.get_mut(id)) {
            call.before = before;
        }
        self.decide(key, &question, id.as_deref(), out);
    }

    fn decide(&mut self, key: HostKey, question: &Question, id: Option<&str>, out: &mut Vec<Output>) {
        let about =
            tool_kinds::about(&question.tool, &question.input).in_session_of(self.session.cwd.as_deref());
        let decided = match self.session.permission_mode.as_deref() {
            _ if tool_kinds::only_reads(&question.tool) => Some(Answer::allow()),
            Some("bypass") => Some(Answer::allow()),
            Some("acceptEdits") if about.kind == ToolKind::Edit && !is_own_configuration(&about) => {
                Some(Answer::allow())
            }
            Some("plan") => Some(Answer::reject(PLANNING)),
            _ => None,
        };
        if let Some(decided) = decided {
            out.push(answer(key, &decided));
            return dropped(DropReason::Internal, out);
        }
        let call = id.and_then(|id| self.tools.get(id));
        let ask = permission(call, question, about);
        let key = self.requests.open.add(key.0, Permission);
        out.push(Draft::PermissionRequested(PermissionAsk { key, ..ask }).into());
    }

    /// It was ended, or gave up.
    fn delegate_left(&mut self, key: HostKey, out: &mut Vec<Output>) {
        self.requests.reading.retain(|_, (waiting, ..)| *waiting != key);
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

/// An `always` covers the same command, or the same file; of other tools the same arguments.
fn permission(call: Option<&Call>, question: &Question, about: About) -> PermissionAsk {
    let tool = question.tool.clone();
    let subject = &about.subject;
    let named = subject.command.clone().or_else(|| subject.paths.first().map(|file| file.path.clone()));
    let pattern = Some(named.clone().unwrap_or_else(|| question.input.clone()));
    PermissionAsk {
        key: RequestKey(String::new()),
        native_id: None,
        action: named.map_or_else(|| tool.clone(), |named| format!("{tool}: {named}")),
        call: call.map(|call| call.key.clone()),
        tool: Some(tool),
        pattern,
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
