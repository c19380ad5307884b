//! `fs/*` and `terminal/*`: what the agent wants of its machine, and our answers (T18).
//!
//! Carries nothing out: the runtime does, inside the session's directory. What a terminal has said so far
//! is kept in `terminal`; how it shows in the transcript is the tool table's.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::path::PathBuf;

use agent_client_protocol_schema::v1::{
    CreateTerminalRequest, CreateTerminalResponse, InitializeRequest, KillTerminalResponse,
    ReadTextFileRequest, ReadTextFileResponse, ReleaseTerminalResponse, TerminalOutputResponse,
    WaitForTerminalExitResponse, WriteTextFileRequest, WriteTextFileResponse,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Acp;
use super::terminal::Terminal;
use crate::contract::{DropReason, Output, Unparsed, decode};
use crate::exit::Exit;
use crate::host::{
    HostAsk, HostError, HostErrorKind, HostKey, HostOutcome, HostRequest, ReadFile, TerminalStart,
};
use crate::rpc::{self, RpcError, RpcId, send};

/// The duties that we took on, and those that are under way.
#[derive(Debug, Default)]
pub(crate) struct Duties {
    offered: Offer,
    last_key: u64,
    /// The host requests under way, each with the agent's request.
    under_way: HashMap<HostKey, RpcId>,
    /// Requests whose answer was not sent yet; a recording tells there what came of them.
    unanswered: HashMap<RpcId, Duty>,
}

/// The host duties that the handshake offered; a recording has them too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Offer {
    pub(crate) read: bool,
    pub(crate) write: bool,
    pub(crate) terminal: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Duty {
    File,
    Create { limit: Option<u64> },
    Output { terminal: String },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TerminalParams {
    terminal_id: String,
}

impl Duties {
    fn begin(&mut self, id: RpcId, duty: Duty, request: HostRequest) -> Output {
        self.last_key += 1;
        let key = HostKey(self.last_key);
        self.under_way.insert(key, id.clone());
        self.unanswered.insert(id, duty);
        Output::host(HostAsk { key, request })
    }

    fn serves(&self, method: &str) -> bool {
        match method {
            "fs/read_text_file" => self.offered.read,
            "fs/write_text_file" => self.offered.write,
            _ => self.offered.terminal && method.starts_with("terminal/"),
        }
    }
}

impl Acp {
    /// Our handshake went out: what it offers, we serve.
    pub(crate) fn initialize_sent(&mut self, params: &RawValue) {
        let offer = decode::<InitializeRequest>("initialize", params).map(|request| {
            let client = request.client_capabilities;
            Offer {
                read: client.fs.read_text_file,
                write: client.fs.write_text_file,
                terminal: client.terminal,
            }
        });
        self.duties.offered = offer.unwrap_or_default();
    }

    /// Takes a request that is a duty of ours; false for any other, which is refused elsewhere.
    pub(crate) fn duty_requested(
        &mut self,
        id: &RpcId,
        method: &str,
        params: &RawValue,
        out: &mut Vec<Output>,
    ) -> bool {
        if !self.duties.serves(method) {
            return false;
        }
        let taken = match method {
            "fs/read_text_file" => decode(method, params).map(|request| self.read_file(id, request)),
            "fs/write_text_file" => decode(method, params).map(|request| self.write_file(id, request)),
            "terminal/create" => decode(method, params).map(|request| self.create_terminal(id, request)),
            "terminal/output" => self.with_terminal(id, method, params, Self::terminal_output),
            "terminal/wait_for_exit" => self.with_terminal(id, method, params, Self::await_exit),
            "terminal/kill" => self.with_terminal(id, method, params, Self::kill_terminal),
            "terminal/release" => self.with_terminal(id, method, params, Self::release_terminal),
            _ => return false,
        };
        match taken {
            Ok(mut outputs) => out.append(&mut outputs),
            Err(fault) => refuse_params(id, fault, out),
        }
        true
    }

    fn read_file(&mut self, id: &RpcId, request: ReadTextFileRequest) -> Vec<Output> {
        let file = ReadFile { path: request.path, line: request.line, limit: request.limit };
        vec![self.duties.begin(id.clone(), Duty::File, HostRequest::ReadFile(file))]
    }

    fn write_file(&mut self, id: &RpcId, request: WriteTextFileRequest) -> Vec<Output> {
        let WriteTextFileRequest { path, content, .. } = request;
        vec![self.duties.begin(id.clone(), Duty::File, HostRequest::WriteFile { path, content })]
    }

    fn create_terminal(&mut self, id: &RpcId, request: CreateTerminalRequest) -> Vec<Output> {
        let CreateTerminalRequest { command, args, env, cwd, output_byte_limit, .. } = request;
        let env = env.into_iter().map(|variable| (variable.name, variable.value)).collect();
        let cwd = cwd.filter(|cwd| *cwd != PathBuf::new());
        let start = HostRequest::StartTerminal(TerminalStart { command, args, env, cwd });
        vec![self.duties.begin(id.clone(), Duty::Create { limit: output_byte_limit }, start)]
    }

    fn with_terminal(
        &mut self,
        id: &RpcId,
        method: &str,
        params: &RawValue,
        act: fn(&mut Self, &RpcId, &str) -> Option<Vec<Output>>,
    ) -> Result<Vec<Output>, Unparsed> {
        let TerminalParams { terminal_id } = decode(method, params)?;
        Ok(act(self, id, &terminal_id).unwrap_or_else(|| {
            let message = format!("there is no terminal {terminal_id}: it was released, or never created");
            vec![send(rpc::refusal(id, &RpcError::new(RpcError::NOT_FOUND, message)))]
        }))
    }

    fn terminal_output(&mut self, id: &RpcId, name: &str) -> Option<Vec<Output>> {
        let terminal = self.tools.terminals.open(name)?;
        let (output, truncated) = terminal.view();
        let answer = TerminalOutputResponse::new(output, truncated).exit_status(terminal.exit_status());
        self.duties.unanswered.insert(id.clone(), Duty::Output { terminal: name.to_owned() });
        Some(vec![respond(id, &answer)])
    }

    fn await_exit(&mut self, id: &RpcId, name: &str) -> Option<Vec<Output>> {
        let terminal = self.tools.terminals.open(name)?;
        Some(match terminal.exit_status() {
            Some(status) => vec![respond(id, &WaitForTerminalExitResponse::new(status))],
            None => {
                terminal.waiting.push(id.clone());
                vec![Output::dropped(DropReason::Internal)]
            }
        })
    }

    fn kill_terminal(&mut self, id: &RpcId, name: &str) -> Option<Vec<Output>> {
        let end = self.tools.terminals.open(name)?.end();
        Some(end.into_iter().chain([respond(id, &KillTerminalResponse::new())]).collect())
    }

    fn release_terminal(&mut self, id: &RpcId, name: &str) -> Option<Vec<Output>> {
        let terminal = self.tools.terminals.open(name)?;
        terminal.released = true;
        let end = terminal.end();
        Some(end.into_iter().chain([respond(id, &ReleaseTerminalResponse::new())]).collect())
    }

    /// A cancel ends the commands that the agent waits for: it would wait for ever otherwise.
    pub(crate) fn end_awaited_terminals(&mut self, out: &mut Vec<Output>) {
        out.extend(self.tools.terminals.awaited().filter_map(Terminal::end));
    }

    pub(crate) fn host_outcome(&mut self, key: HostKey, outcome: &HostOutcome, out: &mut Vec<Output>) {
        match outcome {
            HostOutcome::Read(result) => {
                let answer = result.clone().map(ReadTextFileResponse::new);
                self.answer_duty(key, answer, out);
            }
            HostOutcome::Written(result) => {
                let answer = result.clone().map(|()| WriteTextFileResponse::new());
                self.answer_duty(key, answer, out);
            }
            HostOutcome::Started(result) => self.terminal_started(key, result.clone(), out),
            HostOutcome::Said(said) => self.tools.terminal_said(key, said, out),
            HostOutcome::Ended(exit) => self.terminal_ended(key, *exit, out),
            // It is given no helper and sets no timers.
            HostOutcome::HelperAsked(_) | HostOutcome::HelperLeft | HostOutcome::Elapsed => {}
        }
    }

    fn answer_duty<T: Serialize>(
        &mut self,
        key: HostKey,
        answer: Result<T, HostError>,
        out: &mut Vec<Output>,
    ) {
        // Nobody is owed an answer whose request was cancelled.
        let Some(id) = self.duties.under_way.remove(&key) else { return };
        out.push(match answer {
            Ok(answer) => respond(&id, &answer),
            Err(error) => send(rpc::refusal(&id, &rpc_error(&error))),
        });
    }

    fn terminal_started(&mut self, key: HostKey, result: Result<(), HostError>, out: &mut Vec<Output>) {
        let id = self.duties.under_way.get(&key);
        let duty = id.and_then(|id| self.duties.unanswered.get(id));
        match (result, duty) {
            (Ok(()), Some(Duty::Create { limit })) => {
                let name = format!("terminal-{}", key.0);
                self.tools.terminals.add(name.clone(), Terminal::live(key, *limit));
                self.answer_duty(key, Ok(CreateTerminalResponse::new(name)), out);
            }
            (Ok(()), _) => out.push(Output::host(HostAsk { key, request: HostRequest::EndTerminal })),
            (Err(error), _) => self.answer_duty::<()>(key, Err(error), out),
        }
    }

    fn terminal_ended(&mut self, key: HostKey, exit: Exit, out: &mut Vec<Output>) {
        let Some(terminal) = self.tools.terminals.by_key(key) else { return };
        terminal.ended(exit);
        let Some(status) = terminal.exit_status() else { return };
        let answer = WaitForTerminalExitResponse::new(status);
        out.extend(std::mem::take(&mut terminal.waiting).iter().map(|id| respond(id, &answer)));
    }

    /// The agent no longer wants what it asked for; the protocol asks for an answer all the same.
    pub(crate) fn duty_cancelled(&mut self, id: &RpcId, out: &mut Vec<Output>) -> bool {
        let under_way = self.duties.under_way.iter().find(|(_, asked)| *asked == id).map(|(key, _)| *key);
        let found = match under_way {
            Some(key) => self.duties.under_way.remove(&key).is_some(),
            None => self.tools.terminals.forget_waiting(id),
        };
        if found {
            out.push(send(rpc::refusal(id, &RpcError::new(RpcError::CANCELLED, "cancelled"))));
        }
        found
    }

    /// An answer of ours went out. A recording learns here what its terminals were called and said.
    pub(crate) fn duty_answered(&mut self, id: &RpcId, result: Result<&RawValue, RpcError>) {
        self.duties.under_way.retain(|_, asked| asked != id);
        let (Some(duty), Ok(raw)) = (self.duties.unanswered.remove(id), result) else { return };
        match duty {
            Duty::File => {}
            Duty::Create { limit } => {
                if let Ok(answer) = serde_json::from_str::<CreateTerminalResponse>(raw.get()) {
                    self.tools.terminals.recorded(&answer.terminal_id.0, limit);
                }
            }
            Duty::Output { terminal } => {
                if let Ok(answer) = serde_json::from_str::<TerminalOutputResponse>(raw.get()) {
                    self.tools.terminals.recorded_output(&terminal, &answer);
                }
            }
        }
    }
}

fn respond<T: Serialize>(id: &RpcId, answer: &T) -> Output {
    send(rpc::answer(id, answer))
}

fn rpc_error(error: &HostError) -> RpcError {
    let code = match error.kind {
        HostErrorKind::NotFound => RpcError::NOT_FOUND,
        HostErrorKind::Refused => RpcError::INVALID_PARAMS,
        HostErrorKind::Failed => RpcError::INTERNAL,
    };
    RpcError::new(code, error.message.clone())
}

fn refuse_params(id: &RpcId, fault: Unparsed, out: &mut Vec<Output>) {
    let error = RpcError::new(RpcError::INVALID_PARAMS, fault.error.clone());
    out.push(send(rpc::refusal(id, &error)));
    out.push(Output::unparsed(fault));
}
