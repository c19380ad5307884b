//! Commands of the runtime, and what follows from them, as messages to the agent.
//!
//! Builds and remembers nothing that the wire will tell: ids and turns are learnt when a message was
//! really sent.

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    CancelNotification, ClientCapabilities, CloseSessionRequest, ContentBlock, ElicitationCapabilities,
    ElicitationFormCapabilities, FileSystemCapabilities, ForkSessionRequest, Implementation,
    InitializeRequest, LoadSessionRequest, McpServer, NewSessionRequest, PromptRequest, ResumeSessionRequest,
    SetSessionConfigOptionRequest, SetSessionModeRequest,
};
use serde::Serialize;

use super::open::unavailable;
use super::settings::Control;
use super::{Acp, attach, mcp};
use crate::contract::{Command, Open, Output, Prompt, TransportOutput};
use crate::rpc::{self, RpcId, send};

impl Acp {
    pub(crate) fn command(&mut self, command: &Command, out: &mut Vec<Output>) {
        match command {
            Command::Open(open) => out.push(self.initialize(open)),
            Command::Configure(requested) => self.configure(requested, out),
            Command::Prompt(prompt) => out.push(self.prompt(prompt)),
            Command::Cancel => self.cancel(out),
            // The protocol has no word for it.
            Command::Rename { .. } => {}
            Command::Close => out.push(self.close()),
            Command::ReplyPermission { .. } | Command::ReplyQuestion { .. } | Command::Withdraw { .. } => {
                self.reply(command, out);
            }
        }
    }

    /// Offers to answer forms and, by the agent's quirks, files and terminals; nothing else beyond the
    /// protocol's base: what we do not serve, no agent may ask for.
    fn initialize(&mut self, open: &Open) -> Output {
        if open.cwd.to_str().is_none() {
            let message = "the name of the working directory is not UTF-8, which ACP cannot carry";
            return Output::refused(unavailable(message.to_owned(), Some("use another directory")));
        }
        self.open = Some(open.clone());
        let info = Implementation::new("omniglot", env!("CARGO_PKG_VERSION")).title("Omniglot".to_owned());
        let forms = ElicitationCapabilities::new().form(ElicitationFormCapabilities::new());
        let offers = self.agent.quirks.offers;
        let files = FileSystemCapabilities::new()
            .read_text_file(offers.read_files)
            .write_text_file(offers.write_files);
        let capabilities = ClientCapabilities::new()
            .elicitation(forms)
            .fs(files)
            .terminal(offers.terminals)
            .meta(serde_json::Map::from_iter([("terminal-auth".to_owned(), true.into())]));
        let request =
            InitializeRequest::new(ProtocolVersion::V1).client_capabilities(capabilities).client_info(info);
        self.calls.request("initialize", &request).1
    }

    pub(crate) fn new_session(&mut self, open: &Open) -> Output {
        let request = NewSessionRequest::new(&open.cwd);
        self.open_session("session/new", open, |servers| request.clone().mcp_servers(servers))
    }

    pub(crate) fn load_session(&mut self, id: String, open: &Open) -> Output {
        let request = LoadSessionRequest::new(id, &open.cwd);
        self.open_session("session/load", open, |servers| request.clone().mcp_servers(servers))
    }

    pub(crate) fn resume_session(&mut self, id: String, open: &Open) -> Output {
        let request = ResumeSessionRequest::new(id, &open.cwd);
        self.open_session("session/resume", open, |servers| request.clone().mcp_servers(servers))
    }

    pub(crate) fn fork_session(&mut self, id: String, open: &Open) -> Output {
        let request = ForkSessionRequest::new(id, &open.cwd);
        self.open_session("session/fork", open, |servers| request.clone().mcp_servers(servers))
    }

    /// The values of the servers' variables and headers are for the agent alone.
    fn open_session<T: Serialize>(
        &mut self,
        method: &str,
        open: &Open,
        with: impl Fn(Vec<McpServer>) -> T,
    ) -> Output {
        let (servers, problems) = mcp::to_wire(&open.mcp, &self.agent.capabilities.mcp_capabilities);
        self.session.cwd.clone_from(&open.cwd);
        self.session.warnings = problems;
        let shown = mcp::hidden(&servers).map(&with);
        let (id, output) = self.calls.request(method, &with(servers));
        let shown = shown.and_then(|shown| rpc::request(&id, method, &shown));
        match (output, shown) {
            (Output::Transport(TransportOutput::Send(message)), Some(shown)) => {
                Output::send_secret(message, shown)
            }
            (output, _) => output,
        }
    }

    pub(crate) fn set(&mut self, control: &Control, value: &str) -> (RpcId, Output) {
        let session = self.session.id.clone().unwrap_or_default();
        match control {
            Control::SetMode => {
                self.calls.request("session/set_mode", &SetSessionModeRequest::new(session, value.to_owned()))
            }
            Control::SetModel => {
                self.calls.request("session/set_model", &SetModel { session_id: &session, model_id: value })
            }
            Control::ConfigOption(option) => {
                let request = SetSessionConfigOptionRequest::new(session, option.clone(), value);
                self.calls.request("session/set_config_option", &request)
            }
        }
    }

    fn prompt(&mut self, prompt: &Prompt) -> Output {
        let Some(session) = self.session.id.clone() else {
            return Output::refused(unavailable(
                "a prompt came before the session was open".to_owned(),
                None,
            ));
        };
        let takes = &self.agent.capabilities.prompt_capabilities;
        let files = prompt.attachments.iter().map(|file| attach::block(file, takes, &self.session.cwd));
        // A message may be nothing but files.
        let text = (!prompt.text.is_empty() || prompt.attachments.is_empty()).then(|| prompt.text.clone());
        let blocks: Vec<_> = text.map(ContentBlock::from).into_iter().chain(files).collect();
        let (id, output) = self.calls.request("session/prompt", &PromptRequest::new(session, blocks));
        if let Some(message_id) = prompt.message_id.clone() {
            self.turns.commanded.insert(id, message_id);
        }
        output
    }

    /// Commands that somebody waits for are ended as well, so that no request of the agent stays open.
    fn cancel(&mut self, out: &mut Vec<Output>) {
        let Some(session) = self.session.id.clone().filter(|_| self.turns.is_running()) else { return };
        out.push(send(rpc::notification("session/cancel", Some(&CancelNotification::new(session)))));
        self.end_awaited_terminals(out);
    }

    /// An agent without a word for it is left by closing its stdin.
    fn close(&mut self) -> Output {
        let offers = self.agent.capabilities.session_capabilities.close.is_some();
        match self.session.id.clone().filter(|_| offers) {
            Some(session) => self.calls.request("session/close", &CloseSessionRequest::new(session)).1,
            None => Output::closed(),
        }
    }
}

/// A method that the protocol has dropped and some agents still serve.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SetModel<'a> {
    session_id: &'a str,
    model_id: &'a str,
}
