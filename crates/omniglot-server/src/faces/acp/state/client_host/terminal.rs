//! A command in a terminal of the client: started there, its output fetched, its end awaited.
//!
//! The protocol does not push output, so it is polled, and fetched once more after the end.

use std::time::Duration;

use agent_client_protocol_schema::v1::{
    CreateTerminalRequest, CreateTerminalResponse, EnvVariable, KillTerminalRequest, ReleaseTerminalRequest,
    TerminalExitStatus, TerminalId, TerminalOutputRequest, TerminalOutputResponse,
    WaitForTerminalExitRequest, WaitForTerminalExitResponse,
};
use omniglot_runtime::agent::client_host::{ClientTerminal, Exit, HostError, HostErrorKind, TerminalStart};
use serde::de::IgnoredAny;
use tokio::time::sleep;

use super::{AskClient, Caller, Unanswered, refusal};

/// The polling intervals of a terminal, at the beginning and when it runs for long.
const OFTEN: Duration = Duration::from_millis(200);
const SELDOM: Duration = Duration::from_secs(2);

pub(super) async fn run<C: AskClient>(start: TerminalStart, terminal: ClientTerminal, caller: Caller<C>) {
    match create(start, &caller).await {
        Err(error) => terminal.started(Err(error)).await,
        Ok(id) => {
            terminal.started(Ok(())).await;
            let mut watch = Watch { id, caller, said: 0 };
            let exit = watch.until_end(&terminal).await;
            watch.look(&terminal).await;
            watch.release().await;
            terminal.ended(exit).await;
        }
    }
}

async fn create<C: AskClient>(start: TerminalStart, caller: &Caller<C>) -> Result<TerminalId, HostError> {
    let TerminalStart { command, args, env, cwd } = start;
    let env = env.into_iter().map(|(name, value)| EnvVariable::new(name, value)).collect();
    let request =
        CreateTerminalRequest::new(caller.session.to_string(), command).args(args).env(env).cwd(cwd);
    let created = caller.call::<CreateTerminalResponse>("terminal/create", &request).await;
    created.map(|answer| answer.terminal_id).map_err(|why| match why {
        Unanswered::Refused { code, message } => refusal(code, message),
        Unanswered::Gone => HostError::new(HostErrorKind::Failed, "the client left"),
    })
}

struct Watch<C> {
    id: TerminalId,
    caller: Caller<C>,
    /// The number of bytes of its output that were reported.
    said: usize,
}

impl<C: AskClient> Watch<C> {
    /// Reports the output as it grows, and kills the command on request.
    async fn until_end(&mut self, terminal: &ClientTerminal) -> Exit {
        let request = WaitForTerminalExitRequest::new(self.caller.session.to_string(), self.id.clone());
        let caller = Caller { session: self.caller.session.clone(), client: self.caller.client.clone() };
        let ended = caller.call::<WaitForTerminalExitResponse>("terminal/wait_for_exit", &request);
        tokio::pin!(ended);
        let mut pause = OFTEN;
        let mut killed = false;
        loop {
            tokio::select! {
                answer = &mut ended => return exit_of(answer.ok().map(|answer| answer.exit_status)),
                () = terminal.abandoned() => return exit_of(None),
                () = terminal.end_wanted(), if !killed => {
                    self.kill().await;
                    killed = true;
                }
                () = sleep(pause) => {
                    self.look(terminal).await;
                    pause = (pause * 2).min(SELDOM);
                }
            }
        }
    }

    async fn look(&mut self, terminal: &ClientTerminal) {
        let request = TerminalOutputRequest::new(self.caller.session.to_string(), self.id.clone());
        let Ok(seen) = self.caller.call::<TerminalOutputResponse>("terminal/output", &request).await else {
            return;
        };
        // Output that a client truncates at the front may be unreported: nothing is reported twice.
        if let Some(news) = seen.output.get(self.said..).filter(|news| !news.is_empty()) {
            self.said = seen.output.len();
            terminal.said(news.to_owned()).await;
        }
    }

    async fn kill(&self) {
        let request = KillTerminalRequest::new(self.caller.session.to_string(), self.id.clone());
        self.hardly_matters("terminal/kill", self.caller.call("terminal/kill", &request).await);
    }

    async fn release(&self) {
        let request = ReleaseTerminalRequest::new(self.caller.session.to_string(), self.id.clone());
        self.hardly_matters("terminal/release", self.caller.call("terminal/release", &request).await);
    }

    /// Logs a failure only: the end of the command is awaited either way.
    fn hardly_matters(&self, what: &str, answer: Result<IgnoredAny, Unanswered>) {
        if let Err(why) = answer {
            tracing::debug!(?why, session = %self.caller.session, "{what}");
        }
    }
}

fn exit_of(status: Option<TerminalExitStatus>) -> Exit {
    let Some(TerminalExitStatus { exit_code, signal, .. }) = status else {
        return Exit { code: None, signal: None };
    };
    let code = exit_code.and_then(|code| i32::try_from(code).ok());
    Exit { code, signal: signal.as_deref().and_then(number_of) }
}

/// Returns the number of a signal, which the protocol names; these signals end commands.
fn number_of(signal: &str) -> Option<i32> {
    match signal.trim_start_matches("SIG") {
        "HUP" => Some(1),
        "INT" => Some(2),
        "QUIT" => Some(3),
        "ABRT" => Some(6),
        "KILL" => Some(9),
        "SEGV" => Some(11),
        "PIPE" => Some(13),
        "TERM" => Some(15),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_a_code_or_a_signal() {
        let end = |status: TerminalExitStatus| exit_of(Some(status));
        assert_eq!(end(TerminalExitStatus::new().exit_code(3)), Exit { code: Some(3), signal: None });
        let killed = TerminalExitStatus::new().signal("SIGKILL".to_owned());
        assert_eq!(end(killed), Exit { code: None, signal: Some(9) });
        assert_eq!(exit_of(None), Exit { code: None, signal: None });
    }
}
