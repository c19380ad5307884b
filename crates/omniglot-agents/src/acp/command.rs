//! Commands of the runtime, and what follows from them, as messages to the agent.
//!
//! Builds and remembers nothing that the wire will tell: ids and turns are learnt when a message was
//! really sent.

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    CancelNotification, ClientCapabilities, ContentBlock, ElicitationCapabilities,
    ElicitationFormCapabilities, ForkSessionRequest, Implementation, InitializeRequest, LoadSessionRequest,
    McpServer, NewSessionRequest, PromptRequest, ResumeSessionRequest, SetSessionConfigOptionRequest,
    SetSessionModeRequest,
};
use serde::Serialize;

use super::open::unavailable;
use super::settings::Control;
use super::wire::{self, RpcId};
use super::{Acp, attach, mcp, send};
use crate::contract::{Command, Open, Output, Prompt};

impl Acp {
    pub(crate) fn command(&mut self, command: &Command, out: &mut Vec<Output>) {
        match command {
            Command::Open(open) => out.push(self.initialize(open)),
            Command::Configure(wish) => self.configure(wish, out),
            Command::Prompt(prompt) => out.push(self.prompt(prompt)),
            Command::Cancel => out.extend(self.cancel()),
            Command::ReplyPermission { key, reply, message } => {
                out.extend(self.requests.reply(key, *reply, message.clone()));
            }
            Command::ReplyQuestion { key, answers } => {
                out.extend(self.elicitations.reply(key, answers.as_deref()));
            }
            Command::Withdraw { key } => {
                out.extend(self.requests.withdraw(key).or_else(|| self.elicitations.withdraw(key)));
            }
        }
    }

    /// Offers to answer forms, and nothing else beyond the protocol's base: what we do not serve, no
    /// agent may ask for.
    fn initialize(&mut self, open: &Open) -> Output {
        if open.cwd.to_str().is_none() {
            let message = "the name of the working directory is not UTF-8, which ACP cannot carry";
            return Output::Refused(unavailable(message.to_owned(), Some("use another directory")));
        }
        self.open = Some(open.clone());
        let info = Implementation::new("omniglot", env!("CARGO_PKG_VERSION")).title("Omniglot".to_owned());
        let forms = ElicitationCapabilities::new().form(ElicitationFormCapabilities::new());
        let request = InitializeRequest::new(ProtocolVersion::V1)
            .client_capabilities(ClientCapabilities::new().elicitation(forms))
            .client_info(info);
        self.request("initialize", &request).1
    }

    pub(crate) fn new_session(&mut self, open: &Open) -> Output {
        let servers = self.mcp_servers(open);
        self.request("session/new", &NewSessionRequest::new(&open.cwd).mcp_servers(servers)).1
    }

    pub(crate) fn load_session(&mut self, id: String, open: &Open) -> Output {
        let servers = self.mcp_servers(open);
        self.request("session/load", &LoadSessionRequest::new(id, &open.cwd).mcp_servers(servers)).1
    }

    pub(crate) fn resume_session(&mut self, id: String, open: &Open) -> Output {
        let servers = self.mcp_servers(open);
        self.request("session/resume", &ResumeSessionRequest::new(id, &open.cwd).mcp_servers(servers)).1
    }

    pub(crate) fn fork_session(&mut self, id: String, open: &Open) -> Output {
        let servers = self.mcp_servers(open);
        self.request("session/fork", &ForkSessionRequest::new(id, &open.cwd).mcp_servers(servers)).1
    }

    pub(crate) fn set(&mut self, control: &Control, value: &str) -> (RpcId, Output) {
        let session = self.session.id.clone().unwrap_or_default();
        match control {
            Control::SetMode => {
                self.request("session/set_mode", &SetSessionModeRequest::new(session, value.to_owned()))
            }
            Control::SetModel => {
                self.request("session/set_model", &SetModel { session_id: &session, model_id: value })
            }
            Control::ConfigOption(option) => {
                let request = SetSessionConfigOptionRequest::new(session, option.clone(), value);
                self.request("session/set_config_option", &request)
            }
        }
    }

    fn prompt(&mut self, prompt: &Prompt) -> Output {
        let Some(session) = self.session.id.clone() else {
            return Output::Refused(unavailable(
                "a prompt came before the session was open".to_owned(),
                None,
            ));
        };
        let takes = &self.agent.capabilities.prompt_capabilities;
        let files = prompt.attachments.iter().map(|file| attach::block(file, takes, &self.session.cwd));
        // A message may be nothing but files.
        let text = (!prompt.text.is_empty() || prompt.attachments.is_empty()).then(|| prompt.text.clone());
        let blocks: Vec<_> = text.map(ContentBlock::from).into_iter().chain(files).collect();
        let (id, output) = self.request("session/prompt", &PromptRequest::new(session, blocks));
        if let Some(message_id) = prompt.message_id.clone() {
            self.turns.commanded.insert(id, message_id);
        }
        output
    }

    fn cancel(&self) -> Option<Output> {
        let session = self.session.id.clone().filter(|_| self.turns.is_running())?;
        Some(send(wire::notification("session/cancel", &CancelNotification::new(session))))
    }

    fn mcp_servers(&mut self, open: &Open) -> Vec<McpServer> {
        let (servers, warnings) = mcp::to_wire(&open.mcp, &self.agent.capabilities.mcp_capabilities);
        self.session.cwd.clone_from(&open.cwd);
        self.session.warnings = warnings;
        servers
    }

    fn request<T: Serialize>(&mut self, method: &str, params: &T) -> (RpcId, Output) {
        self.last_id += 1;
        let id = RpcId::from(self.last_id);
        let output = send(wire::request(&id, method, params));
        (id, output)
    }
}

/// A method that the protocol has dropped and some agents still serve.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SetModel<'a> {
    session_id: &'a str,
    model_id: &'a str,
}
