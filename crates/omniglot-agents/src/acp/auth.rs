//! Ways to log in, as an agent offers them, and what a person has to do for each.
//!
//! We log nobody in: most ways want a browser or a terminal, and keys belong into the environment.

use omniglot_schema::{AuthMethodInfo, AuthState, AuthStatus, StatePatch};
use serde::Deserialize;

use super::Acp;
use super::failure::message;
use super::open::Agent;
use crate::contract::{Draft, Output, Refusal, RefusalKind};
use crate::rpc::RpcError;

/// One way to log in.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct AuthMethod {
    #[serde(flatten)]
    info: AuthMethodInfo,
    /// The variables that hold a key.
    #[serde(default)]
    vars: Vec<Variable>,
    #[serde(default, rename = "_meta")]
    meta: Option<serde_json::Value>,
}

#[derive(Debug, Clone, Deserialize)]
struct Variable {
    name: String,
}

/// The command that logs in.
#[derive(Deserialize)]
struct TerminalAuth {
    command: String,
    #[serde(default)]
    args: Vec<String>,
}

impl AuthMethod {
    /// Returns the advice for a person.
    fn advice(&self) -> String {
        let AuthMethodInfo { name, description, .. } = &self.info;
        if let Some(TerminalAuth { command, args }) = self.terminal() {
            let line: Vec<String> = std::iter::once(command).chain(args).map(|word| quoted(&word)).collect();
            return format!("{name}: run `{}`", line.join(" "));
        }
        if !self.vars.is_empty() {
            let names: Vec<&str> = self.vars.iter().map(|variable| variable.name.as_str()).collect();
            return format!("{name}: set {}", names.join(" and "));
        }
        match description {
            Some(description) if !description.is_empty() => format!("{name}: {description}"),
            _ => name.clone(),
        }
    }

    fn terminal(&self) -> Option<TerminalAuth> {
        serde_json::from_value(self.meta.as_ref()?.get("terminal-auth")?.clone()).ok()
    }
}

/// Returns a word as a shell takes it.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

impl Agent {
    pub(crate) fn auth(&self, state: AuthStatus) -> AuthState {
        AuthState { state, methods: self.auth_methods.iter().map(|method| method.info.clone()).collect() }
    }

    pub(crate) fn auth_hint(&self) -> String {
        let ways: Vec<String> = self.auth_methods.iter().map(AuthMethod::advice).collect();
        let login = self.quirks.start.login;
        match ways.as_slice() {
            [] if !login.is_empty() => login.to_owned(),
            [] => "log in with the agent's own command, or give it its key in the environment".to_owned(),
            ways => format!("log in first; its ways are: {}", ways.join("; ")),
        }
    }
}

impl Acp {
    /// No session without credentials: what is missing is state, too.
    pub(crate) fn refuse_for_auth(&mut self, error: &RpcError, out: &mut Vec<Output>) {
        let auth = Some(Some(self.agent.auth(AuthStatus::Required)));
        out.push(Draft::State(Box::new(StatePatch { auth, ..StatePatch::default() })).into());
        let hint = Some(self.agent.auth_hint());
        self.refuse(Refusal { kind: RefusalKind::Auth, message: message(error), hint }, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn advice(method: &str) -> String {
        serde_json::from_str::<AuthMethod>(method).unwrap().advice()
    }

    #[test]
    fn a_person_is_told_what_to_do_in_the_agents_own_words() {
        let claude = r#"{"description":"Run `claude /login` in the terminal","name":"Log in with Claude","id":"claude-login","type":"terminal","args":["--cli"],"_meta":{"terminal-auth":{"command":"/usr/bin/node","args":["a b.js","--cli"],"label":"Claude Login"}}}"#;
        insta::assert_snapshot!(advice(claude), @"Log in with Claude: run `/usr/bin/node 'a b.js' --cli`");
        let codex = r#"{"type":"env_var","id":"codex-api-key","name":"Use CODEX_API_KEY","description":"Requires setting it.","vars":[{"name":"CODEX_API_KEY"}]}"#;
        insta::assert_snapshot!(advice(codex), @"Use CODEX_API_KEY: set CODEX_API_KEY");
        let gemini = r#"{"id":"oauth-personal","name":"Log in with Google","description":"Log in with your Google account"}"#;
        insta::assert_snapshot!(advice(gemini), @"Log in with Google: Log in with your Google account");
        insta::assert_snapshot!(advice(r#"{"id":"x","name":"X"}"#), @"X");
    }
}
