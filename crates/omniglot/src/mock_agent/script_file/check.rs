//! Finds lines that could never work, before any of them plays.
//!
//! Checks their order only: values that are filled in must be known, answers that are waited for must have
//! been requested.

use agent_client_protocol_schema::v1::{AGENT_METHOD_NAMES as METHODS, RequestId};

use super::template::{Name, Template};
use super::{Fault, Line, Step, Until};

/// The values that are known when a line plays.
#[derive(Default)]
struct Known<'a> {
    names: Vec<Name>,
    requests: Vec<&'a RequestId>,
    waited: bool,
    ended: Option<usize>,
}

pub(super) fn check(lines: &[Line]) -> Result<(), (usize, Fault)> {
    if lines.is_empty() {
        return Err((
            1,
            Fault::new("the script has no line", "begin with one that waits for session/prompt"),
        ));
    }
    let mut known = Known::default();
    for line in lines {
        known.line(line).map_err(|fault| (line.number, fault))?;
    }
    Ok(())
}

impl<'a> Known<'a> {
    fn line(&mut self, line: &'a Line) -> Result<(), Fault> {
        if let Some(end) = self.ended {
            let what = format!("line {end} is the end, so this one is never played");
            return Err(Fault::new(what, "move it up, or take one of the two out"));
        }
        match &line.step {
            Step::Send(template) => self.send(template),
            Step::Wait(Until::Method(method)) => {
                self.hear(method);
                Ok(())
            }
            Step::Wait(Until::Answer(id)) => self.answer(id),
            Step::Edit(_) => self.need(Name::Cwd),
            Step::Exit(_) => {
                self.ended = Some(line.number);
                Ok(())
            }
            Step::Repeat if !self.waited => {
                Err(Fault::new("this script would never rest", "wait for something before it repeats"))
            }
            Step::Repeat => {
                self.ended = Some(line.number);
                Ok(())
            }
            Step::Sleep(_) | Step::Write(_) | Step::Complain(_) => Ok(()),
        }
    }

    fn send(&mut self, template: &'a Template) -> Result<(), Fault> {
        for name in template.names() {
            self.need(name)?;
        }
        self.requests.extend(&template.request);
        Ok(())
    }

    fn need(&self, name: Name) -> Result<(), Fault> {
        if self.names.contains(&name) {
            return Ok(());
        }
        let what = format!("{} is not known yet", name.text());
        Err(Fault::new(what, "put {\"wait\": {\"method\": \"session/prompt\"}} above this line"))
    }

    fn answer(&mut self, id: &RequestId) -> Result<(), Fault> {
        self.waited = true;
        if self.requests.contains(&id) {
            return Ok(());
        }
        Err(Fault::new(
            format!("no request {id} was sent"),
            "send one with this id and a method above this line",
        ))
    }

    fn hear(&mut self, method: &str) {
        self.waited = true;
        let in_session = method.starts_with("session/") && method != METHODS.session_list;
        if method != METHODS.session_cancel {
            self.names.push(Name::Id);
        }
        if in_session {
            self.names.push(Name::Cwd);
        }
        if in_session && method != METHODS.session_new {
            self.names.push(Name::Session);
        }
        if method == METHODS.session_prompt {
            self.names.extend([Name::Prompt, Name::PromptId]);
        }
    }
}
