//! Single lines, commands and questions, and the traps of Amp: one test each, named after it. Whole recordings are
//! in `tests/captures.rs`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use omniglot_schema::{McpServers, PermissionReply};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::Amp;
use super::launch::{launch, prepare};
use crate::contract::{
    Carryover, Command, Input, Open, Output, Prompt, Refusal, RefusalKind, RequestKey, SettingsRequest,
    Translator as _, TransportOutput,
};
use crate::host::{HostAsk, HostError, HostErrorKind, HostKey, HostOutcome, HostRequest};
use crate::launch::LaunchSpec;
use crate::prepare::{LaunchFileContent, Machine, Preparation, Prepared};
use crate::replay::show;

struct Session {
    amp: Amp,
    /// The content of every file.
    file: Result<String, HostError>,
    /// Timers elapse at once.
    elapses: bool,
}

const DELEGATE: HostKey = HostKey(1 << 63);
const INIT: &str =
    r#"{"type":"system","subtype":"init","cwd":"/w","session_id":"T-1","agent_mode":"medium"}"#;
const EDIT: &str = r#"{"path":"/w/a","content":"new\n"}"#;

impl Session {
    fn new() -> Self {
        Self { amp: Amp::new(), file: Ok("old\n".to_owned()), elapses: true }
    }

    /// A session in this permission mode, in its first turn.
    fn in_turn(mode: &str) -> Self {
        let mut session = Self::new();
        session.handle(Input::Started { argv: &[], carryover: &Carryover::default() });
        let requested = settings(mode);
        session.command(&Command::Open(Open { requested, cwd: "/w".into(), ..Open::default() }));
        let prompt = Prompt { message_id: None, text: "Go.".into(), attachments: vec![] };
        session.command(&Command::Prompt(prompt));
        session.frame(INIT);
        session
    }

    fn handle(&mut self, input: Input<'_>) -> Vec<String> {
        let mut out = Vec::new();
        self.amp.handle(input, &mut out);
        let mut told = Vec::new();
        for output in out {
            match output {
                Output::Transport(TransportOutput::Host(HostAsk {
                    request: HostRequest::AnswerHelper(line),
                    ..
                })) => {
                    told.push(format!("answer {line}"));
                }
                Output::Transport(TransportOutput::Host(HostAsk {
                    key,
                    request: HostRequest::ReadFile(file),
                })) => {
                    told.push(format!("read {}", file.path.display()));
                    let read = HostOutcome::Read(self.file.clone());
                    told.extend(self.host(key, read));
                }
                Output::Transport(TransportOutput::Host(HostAsk { key, request: HostRequest::Timer(_) })) => {
                    if self.elapses {
                        told.extend(self.host(key, HostOutcome::Elapsed));
                    }
                }
                Output::Transport(TransportOutput::Send(message)) => {
                    told.extend(self.handle(Input::Sent(&message)));
                }
                output @ (Output::Stream(_) | Output::Transport(_) | Output::Answer(_)) => {
                    told.push(show::show_output(&output));
                }
            }
        }
        told
    }

    fn frame(&mut self, json: &str) -> Vec<String> {
        self.handle(Input::Frame(&RawValue::from_string(json.to_owned()).unwrap()))
    }

    fn command(&mut self, command: &Command) -> Vec<String> {
        self.handle(Input::Command(command))
    }

    fn calls(&mut self, id: &str, tool: &str, input: &str) {
        self.frame(&format!(
            r#"{{"type":"assistant","message":{{"content":[{{"type":"tool_use","id":"{id}","name":"{tool}","input":{input}}}],"stop_reason":"tool_use"}}}}"#
        ));
    }

    fn delegate_asks(&mut self, key: u64, tool: &str, input: &str) -> Vec<String> {
        let question = json!({"tool": tool, "input": input}).to_string();
        self.host(HostKey(DELEGATE.0 + key), HostOutcome::HelperAsked(question))
    }

    fn host(&mut self, key: HostKey, outcome: HostOutcome) -> Vec<String> {
        self.handle(Input::Host { key, outcome: &outcome })
    }
}

fn settings(permission_mode: &str) -> SettingsRequest {
    SettingsRequest { permission_mode: Some(permission_mode.to_owned()), ..SettingsRequest::default() }
}

fn has(told: &[String], sign: &str) -> bool {
    told.iter().any(|line| line.contains(sign))
}

#[test]
fn a_process_that_is_stopped_without_a_prompt_tells_nothing() {
    let mut session = Session::new();
    session.command(&Command::Open(Open::default()));
    assert_eq!(session.frame(INIT), ["dropped internal"]);
    let result = r#"{"type":"result","is_error":true,"error":"No valid messages found in stdin"}"#;
    assert_eq!(session.frame(result), ["dropped internal"]);
}

#[test]
fn tools_that_only_read_pass_and_all_others_are_asked_for() {
    let mut session = Session::in_turn("default");
    assert!(has(&session.delegate_asks(0, "Read", r#"{"path":"/w/a"}"#), r#"answer {"exit_code":0}"#));
    for (key, tool) in
        ["shell_command", "web_search", "mcp__a__b", "load_plugin", "unheard_of"].iter().enumerate()
    {
        let told = session.delegate_asks(1 + key as u64, tool, "{}");
        assert!(!has(&told, "answer") && has(&told, "permission"), "{told:?}");
    }
}

#[test]
fn the_permission_mode_answers_in_the_place_of_a_person() {
    let ask =
        |mode: &str, tool: &str, input: &str| Session::in_turn(mode).delegate_asks(0, tool, input).concat();
    let edit = r#"{"path":"/w/a","old_str":"a","new_str":"b"}"#;
    assert!(ask("acceptEdits", "edit_file", edit).contains(r#""exit_code":0"#));
    assert!(!ask("acceptEdits", "shell_command", r#"{"command":"ls"}"#).contains("answer"));
    assert!(ask("plan", "edit_file", edit).contains(r#""exit_code":2,"stderr":"The session only plans"#));
    assert!(ask("bypass", "shell_command", r#"{"command":"ls"}"#).contains(r#""exit_code":0"#));
}

/// Amp reads its settings again while it runs.
#[test]
fn an_edit_of_amps_own_settings_is_asked_for_even_where_edits_are_accepted() {
    let mut session = Session::in_turn("acceptEdits");
    let told = session.delegate_asks(
        0,
        "edit_file",
        r#"{"path":"/w/.amp/settings.json","old_str":"","new_str":"x"}"#,
    );
    assert!(!has(&told, "answer") && has(&told, "permission"), "{told:?}");
}

#[test]
fn equal_calls_at_once_are_asked_for_one_by_one() {
    let mut session = Session::in_turn("default");
    let input = r#"{"command":"ls"}"#;
    session.calls("TU-1", "shell_command", input);
    session.calls("TU-2", "shell_command", input);
    assert!(has(&session.delegate_asks(0, "shell_command", input), "call:TU-1"));
    assert!(has(&session.delegate_asks(1, "shell_command", input), "call:TU-2"));
}

#[test]
fn a_reply_answers_the_delegate_and_resolves_the_request() {
    let mut session = Session::in_turn("default");
    session.delegate_asks(0, "shell_command", r#"{"command":"ls"}"#);
    let key = RequestKey(format!("1:{}", DELEGATE.0));
    let (reply, message) = (PermissionReply::Reject, Some("Not now.".to_owned()));
    let told = session.command(&Command::ReplyPermission { key: key.clone(), reply, message });
    assert!(has(&told, r#"answer {"exit_code":2,"stderr":"Not now."}"#), "{told:?}");
    assert!(has(&told, "reject"), "{told:?}");
    assert!(session.command(&Command::Withdraw { key }).is_empty());
}

#[test]
fn a_delegate_that_leaves_takes_its_request_along() {
    let mut session = Session::in_turn("default");
    session.delegate_asks(0, "shell_command", r#"{"command":"ls"}"#);
    let told = session.host(DELEGATE, HostOutcome::HelperLeft);
    assert!(has(&told, "reject"), "{told:?}");
    assert_eq!(session.host(DELEGATE, HostOutcome::HelperLeft), ["dropped internal"]);
}

#[test]
fn a_question_that_is_none_is_refused() {
    let mut session = Session::in_turn("default");
    for question in ["", "{}", r#"{"tool":"shell_command","input":"no json"}"#] {
        let told = session.host(DELEGATE, HostOutcome::HelperAsked(question.to_owned()));
        assert!(has(&told, r#""exit_code":2"#) && has(&told, "unparsed"), "{told:?}");
    }
}

/// Its result does not tell what was overwritten.
#[test]
fn a_file_is_read_before_it_is_written_so_that_its_diff_is_true() {
    let written = |mode: &str, before: Result<String, HostError>| {
        let mut session = Session { file: before, ..Session::in_turn(mode) };
        session.calls("TU-1", "create_file", EDIT);
        let told = session.delegate_asks(0, "create_file", EDIT);
        assert!(has(&told, "read /w/a"), "{told:?}");
        let result = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"TU-1","content":"Successfully created file /w/a","is_error":false}]}}"#;
        (has(&told, r#""exit_code":0"#), session.frame(result).concat())
    };
    let (passed, changed) = written("acceptEdits", Ok("old\n".to_owned()));
    assert!(passed && changed.contains("-old") && changed.contains("+new"), "{changed}");
    let (passed, made) = written("acceptEdits", Err(HostError::new(HostErrorKind::NotFound, "no")));
    assert!(passed && made.contains("/dev/null"), "{made}");
    let (passed, unknown) = written("acceptEdits", Err(HostError::new(HostErrorKind::Refused, "outside")));
    assert!(!passed && !unknown.contains("+new"), "{unknown}");
}

/// A link in the project may lead to the settings of this very process.
#[test]
fn an_edit_outside_of_the_session_is_asked_for_even_where_edits_are_accepted() {
    let patch = r#"{"patchText":"*** Begin Patch\n*** Update File: /w/a\r*** Move to: /x/b\n*** End Patch"}"#;
    let mut session = Session::in_turn("acceptEdits");
    session.calls("TU-1", "apply_patch", patch);
    let told = session.delegate_asks(0, "apply_patch", patch);
    assert!(has(&told, "read /w/a") && has(&told, "read /x/b") && has(&told, r#""exit_code":0"#), "{told:?}");
    let outside = Err(HostError::new(HostErrorKind::Refused, "outside"));
    let mut session = Session { file: outside, ..Session::in_turn("acceptEdits") };
    let told = session.delegate_asks(0, "apply_patch", patch);
    assert!(!has(&told, "answer") && has(&told, "permission"), "{told:?}");
    let told = session.delegate_asks(1, "apply_patch", "{}");
    assert!(!has(&told, "answer"), "a patch that names no file may be any: {told:?}");
}

#[test]
fn a_question_that_comes_before_its_call_waits_for_it() {
    let mut session = Session { elapses: false, ..Session::in_turn("default") };
    let input = r#"{"command":"ls"}"#;
    assert_eq!(session.delegate_asks(0, "shell_command", input), ["dropped internal"]);
    let line = json!({"type": "assistant", "message": {"content": [
        {"type": "tool_use", "id": "TU-1", "name": "shell_command", "input": {"command": "ls"}}]}});
    let told = session.frame(&line.to_string());
    assert!(has(&told, "permission") && has(&told, "call:TU-1"), "{told:?}");
    assert!(session.host(HostKey(1), HostOutcome::Elapsed).is_empty());
}

/// The person has cancelled, or the turn is over: nobody would answer, and no turn may begin by it.
#[test]
fn a_question_that_comes_too_late_is_refused() {
    let late = |end: fn(&mut Session)| {
        let mut session = Session::in_turn("default");
        end(&mut session);
        session.delegate_asks(0, "shell_command", "{}")
    };
    let cancelled = late(|session| drop(session.command(&Command::Cancel)));
    let over = late(|session| drop(session.frame(r#"{"type":"result","is_error":false}"#)));
    for told in [cancelled, over] {
        assert!(has(&told, r#""exit_code":2"#) && !has(&told, "permission"), "{told:?}");
    }
}

#[test]
fn an_image_that_was_read_is_an_image_and_an_empty_list_is_a_list() {
    let result = |tool: &str, input: &str, content: Value| {
        let mut session = Session::in_turn("bypass");
        session.calls("TU-1", tool, input);
        let result = json!({"type": "tool_result", "tool_use_id": "TU-1", "content": content.to_string()});
        session.frame(&json!({"type": "user", "message": {"content": [result]}}).to_string()).concat()
    };
    let picture = json!({"isImage": true, "imageInfo": {"mimeType": "image/png"}, "content": "aGk="});
    let read = result("Read", r#"{"path":"/w/a.png"}"#, picture);
    assert!(read.contains("image/png") && !read.contains("isImage"), "{read}");
    let found = result("glob", r#"{"filePattern":"*"}"#, json!([]));
    assert!(found.contains("[]"), "{found}");
}

/// A machine with these variables and files.
#[derive(Default)]
struct FakeMachine {
    variables: HashMap<&'static str, &'static str>,
    files: HashMap<PathBuf, String>,
}

impl FakeMachine {
    fn logged_in() -> Self {
        Self { variables: HashMap::from([("AMP_API_KEY", "k"), ("HOME", "/h")]), ..Self::default() }
    }

    fn with(mut self, path: &str, text: &str) -> Self {
        self.files.insert(PathBuf::from(path), text.to_owned());
        self
    }

    fn prepare(&self, open: &Open) -> Result<(LaunchSpec, Prepared), Refusal> {
        let base = LaunchSpec { program: "amp".into(), args: vec![], env: Default::default() };
        let mut spec = launch(&base, open);
        let start = Preparation {
            open,
            dir: Path::new("/d"),
            own_program: Path::new("/bin/omniglot"),
            socket: Path::new("/d/s"),
            machine: self,
        };
        prepare(&mut spec, &start).map(|prepared| (spec, prepared))
    }

    fn settings(&self, open: &Open) -> Value {
        let (_, prepared) = self.prepare(open).unwrap();
        let settings = prepared.files.into_iter().find(|file| file.name == "settings.json").unwrap();
        let LaunchFileContent::Text(text) = settings.content else { panic!("a text") };
        serde_json::from_str(&text).unwrap()
    }
}

impl Machine for FakeMachine {
    fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name).map(|value| (*value).to_owned())
    }

    fn read(&self, path: &Path) -> Result<Option<String>, String> {
        Ok(self.files.get(path).cloned())
    }

    fn find_line(&self, _: &Path, _: &dyn Fn(&str) -> bool) -> Result<Option<String>, String> {
        Ok(None)
    }

    fn exists(&self, path: &Path) -> bool {
        self.files.keys().any(|file| file.starts_with(path))
    }
}

fn in_project(permission_mode: &str) -> Open {
    Open { cwd: "/w/sub".into(), requested: settings(permission_mode), ..Open::default() }
}

#[test]
fn without_a_login_amp_is_not_started() {
    let machine = FakeMachine { variables: HashMap::from([("HOME", "/h")]), ..FakeMachine::default() };
    let refusal = machine.prepare(&in_project("default")).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Auth);
    let secrets = "/h/.local/share/amp/secrets.json";
    let machine = machine.with(secrets, r#"{"apiKey@https://x/": ""}"#);
    assert_eq!(machine.prepare(&in_project("default")).unwrap_err().kind, RefusalKind::Auth, "logged out");
    let machine = machine.with(secrets, r#"{"apiKey@https://x/": "k"}"#);
    assert!(machine.prepare(&in_project("default")).is_ok());
}

#[test]
fn the_users_settings_stay_and_of_their_rules_those_that_reject() {
    let own = r#"{
        // A comment.
        "amp.url": "http://x", "amp.dangerouslyAllowAll": true,
        "amp.permissions": [{"tool": "Bash", "action": "allow"}, {"tool": "rm", "action": "reject"}],
    }"#;
    let machine = FakeMachine::logged_in().with("/h/.config/amp/settings.json", own);
    let delegate = json!({"tool": "*", "action": "delegate", "to": "/d/omniglot-amp-delegate"});
    assert_eq!(
        machine.settings(&in_project("default")),
        json!({"amp.url": "http://x", "amp.updates.mode": "disabled",
               "amp.permissions": [{"tool": "rm", "action": "reject"}, delegate],
               "amp.guardedFiles.allowlist": ["/**"]})
    );
    let bypass = machine.settings(&in_project("bypass"));
    assert_eq!(bypass["amp.permissions"][0]["action"], "allow");
}

#[test]
fn a_project_that_allows_tools_by_itself_is_refused_unless_everything_is_allowed() {
    let rules = r#"{"amp.permissions": [{"tool": "*", "action": "allow"}]}"#;
    let all = r#"{"amp.dangerouslyAllowAll": true}"#;
    for (text, at) in [(rules, "/w/.amp/settings.json"), (all, "/w/sub/.amp/settings.jsonc")] {
        let machine = FakeMachine::logged_in().with("/w/.git/HEAD", "ref").with(at, text);
        let refusal = machine.prepare(&in_project("default")).unwrap_err();
        assert_eq!(refusal.kind, RefusalKind::Unavailable);
        assert!(refusal.message.contains(at), "{}", refusal.message);
        assert!(machine.prepare(&in_project("bypass")).is_ok());
    }
    let harmless = r#"{"amp.permissions": [{"tool": "rm", "action": "reject"}]}"#;
    let machine = FakeMachine::logged_in().with("/w/sub/.amp/settings.json", harmless);
    assert!(machine.prepare(&in_project("default")).is_ok());
    // Amp does not look above the repository.
    let machine =
        FakeMachine::logged_in().with("/w/sub/.git/HEAD", "ref").with("/w/.amp/settings.json", rules);
    assert!(machine.prepare(&in_project("default")).is_ok());
}

/// A plugin of the project runs unasked and may answer in the place of our rule.
#[test]
fn a_project_with_plugins_is_refused_unless_everything_is_allowed() {
    let machine = FakeMachine::logged_in().with("/w/.git/HEAD", "ref").with("/w/.amp/plugins/a.ts", "");
    let refusal = machine.prepare(&in_project("default")).unwrap_err();
    assert!(refusal.message.contains("/w/.amp/plugins"), "{}", refusal.message);
    assert!(machine.prepare(&in_project("bypass")).is_ok());
}

#[test]
fn settings_that_cannot_be_read_are_refused_by_their_path() {
    let machine = FakeMachine::logged_in().with("/h/.config/amp/settings.json", "{ nonsense");
    let refusal = machine.prepare(&in_project("default")).unwrap_err();
    assert!(refusal.message.contains("/h/.config/amp/settings.json"), "{}", refusal.message);
}

/// Every process of the machine can read a command line.
#[test]
fn mcp_servers_are_in_a_file_and_not_on_the_command_line() {
    let servers = json!({"tiny": {"type": "local", "command": "tiny", "env": {"KEY": "hush"}}});
    let mcp: McpServers = serde_json::from_value(servers).unwrap();
    let (spec, prepared) = FakeMachine::logged_in().prepare(&Open { mcp, ..in_project("default") }).unwrap();
    assert!(!spec.args.concat().contains("hush"));
    assert!(spec.args.ends_with(&["--mcp-config".to_owned(), "/d/mcp.json".to_owned()]));
    let file = prepared.files.iter().find(|file| file.name == "mcp.json").unwrap();
    assert_eq!(
        file.content,
        LaunchFileContent::Text(r#"{"tiny":{"command":"tiny","args":[],"env":{"KEY":"hush"}}}"#.into())
    );
}

#[test]
fn an_mcp_server_that_amp_cannot_have_as_described_is_refused() {
    for member in [json!({"cwd": "/x"}), json!({"timeoutMs": 5})] {
        let mut server = json!({"type": "local", "command": "tiny"});
        server.as_object_mut().unwrap().extend(member.as_object().unwrap().clone());
        let mcp: McpServers = serde_json::from_value(json!({ "tiny": server })).unwrap();
        let refusal = FakeMachine::logged_in().prepare(&Open { mcp, ..in_project("default") }).unwrap_err();
        assert_eq!(refusal.kind, RefusalKind::BadRequest);
    }
}

#[test]
fn a_thread_is_continued_in_its_mode_and_only_bypass_allows_everything() {
    let args = |open: &Open| FakeMachine::logged_in().prepare(open).unwrap().0.args;
    let requested = SettingsRequest { variant: Some("high".into()), ..settings("bypass") };
    let resumed = args(&Open { resume: Some("T-1".into()), requested, ..in_project("bypass") });
    assert_eq!(resumed[..3], ["threads", "continue", "T-1"]);
    assert!(resumed.windows(2).any(|pair| pair == ["--mode", "high"]));
    assert!(resumed.iter().any(|arg| arg == "--dangerously-allow-all"));
    assert!(!args(&in_project("default")).iter().any(|arg| arg == "--dangerously-allow-all"));
}
