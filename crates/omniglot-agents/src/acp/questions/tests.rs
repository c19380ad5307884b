//! Forms as agents send them, and what becomes of answers.

use omniglot_timeline::Draft;
use serde_json::value::RawValue;

use crate::acp::Acp;
use crate::contract::{Command, Input, Output, RequestKey, StreamOutput, Translator, TransportOutput};
use crate::replay::show::show_output;

/// A session whose turn runs; everything sent is taken as sent.
struct Harness {
    acp: Acp,
    lines: Vec<String>,
    asked: Option<RequestKey>,
}

impl Harness {
    fn prompted() -> Self {
        let mut harness = Self { acp: Acp::new(), lines: vec![], asked: None };
        let open = [
            r#"{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}"#,
            r#"{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}"#,
        ];
        harness.step(Input::Sent(&raw(open[0])));
        harness.hear(r#"{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}"#);
        harness.step(Input::Sent(&raw(open[1])));
        harness.lines.clear();
        harness
    }

    /// A form of these properties, and what it asks.
    fn form(message: &str, schema: &str) -> Self {
        let mut harness = Self::prompted();
        harness.hear(&create(&format!(
            r#""mode":"form","sessionId":"s","message":{message:?},"requestedSchema":{schema}"#
        )));
        harness
    }

    fn hear(&mut self, frame: &str) -> &mut Self {
        self.step(Input::Frame(&raw(frame)))
    }

    fn answer(&mut self, answers: &[&[&str]]) -> String {
        let key = self.asked.clone().unwrap();
        let owned = |chosen: &&[&str]| chosen.iter().map(|label| (*label).to_owned()).collect();
        let answers = Some(answers.iter().map(owned).collect());
        self.lines.clear();
        self.step(Input::Command(&Command::ReplyQuestion { key, answers })).said()
    }

    fn step(&mut self, input: Input<'_>) -> &mut Self {
        let mut out = Vec::new();
        self.acp.handle(input, &mut out);
        for output in out {
            self.lines.push(show_output(&output));
            if let Output::Stream(StreamOutput::Draft(Draft::QuestionRequested(ask))) = &output {
                self.asked = Some(ask.key.clone());
            }
            if let Some(shown) = output.shown() {
                self.step(Input::Sent(shown));
            }
        }
        self
    }

    fn said(&mut self) -> String {
        std::mem::take(&mut self.lines).join("\n")
    }
}

fn raw(frame: &str) -> Box<RawValue> {
    RawValue::from_string(frame.to_owned()).unwrap()
}

fn create(params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":0,"method":"elicitation/create","params":{{{params}}}}}"#)
}

/// Every type, in an order that is not the alphabet's.
const ALL_TYPES: &str = r#"{"type":"object","required":["name"],"properties":{
    "name":{"type":"string","title":"Name","description":"How shall it be called?"},
    "kind":{"type":"string","oneOf":[{"const":"lib","title":"A library","description":"For others"},{"const":"bin","title":"A program"}]},
    "checks":{"type":"array","title":"Checks","items":{"type":"string","enum":["fmt","lint","test"]}},
    "count":{"type":"integer","title":"Copies"},
    "ratio":{"type":"number"},
    "force":{"type":"boolean","title":"Overwrite?"}}}"#;

#[test]
fn each_property_is_a_question_in_the_agents_order() {
    insta::assert_snapshot!(Harness::form("New project", ALL_TYPES).said(), @r#"question + 1:0 native=0 call=null [{"prompt":"New project\nHow shall it be called?","header":"Name","options":[],"multi_select":false,"free_text":true},{"prompt":"kind","options":[{"label":"A library","description":"For others"},{"label":"A program"}],"multi_select":false,"free_text":false},{"prompt":"Checks","options":[{"label":"fmt"},{"label":"lint"},{"label":"test"}],"multi_select":true,"free_text":false},{"prompt":"Copies","options":[],"multi_select":false,"free_text":true,"format":"integer"},"…2 more"]"#);
}

#[test]
fn answers_are_sent_as_the_types_of_their_properties() {
    let mut harness = Harness::form("New project", ALL_TYPES);
    let answers: &[&[&str]] = &[&["omni"], &["A program"], &["fmt", "test"], &["3"], &["0.5"], &["No"]];
    insta::assert_snapshot!(harness.answer(answers), @r#"
    send {"jsonrpc":"2.0","id":0,"result":{"action":"accept","content":{"checks":["fmt","test"],"count":3,"force":false,"kind":"bin","name":"omni","ratio":0.5}}}
    question . 1:0 [["omni"],["A program"],["fmt","test"],["3"],"…2 more"] by "person"
    "#);
}

#[test]
fn what_is_not_answered_is_not_sent() {
    let mut harness = Harness::form("New project", ALL_TYPES);
    insta::assert_snapshot!(harness.answer(&[&["omni"], &[], &[], &["many"]]), @r#"
    send {"jsonrpc":"2.0","id":0,"result":{"action":"accept","content":{"name":"omni"}}}
    question . 1:0 [["omni"]] by "person"
    "#);
}

/// As claude-agent-acp 0.99 asks two questions.
const CLAUDE: &str = r#"{"type":"object","properties":{
    "question_0":{"type":"string","title":"Store","description":"Which store?","oneOf":[{"const":"SQLite","title":"SQLite"},{"const":"Files","title":"Files"}]},
    "question_0_custom":{"type":"string","title":"Other"},
    "question_1":{"type":"array","title":"Extras","description":"Which extras?","items":{"anyOf":[{"const":"Docs","title":"Docs"},{"const":"Harness","title":"Harness"}]}},
    "question_1_custom":{"type":"string","title":"Other"}}}"#;

#[test]
fn a_custom_field_is_the_free_text_of_its_question() {
    let mut harness = Harness::form("Please answer the following questions.", CLAUDE);
    insta::assert_snapshot!(harness.said(), @r#"question + 1:0 native=0 call=null [{"prompt":"Which store?","header":"Store","options":[{"label":"SQLite"},{"label":"Files"}],"multi_select":false,"free_text":true},{"prompt":"Which extras?","header":"Extras","options":[{"label":"Docs"},{"label":"Harness"}],"multi_select":true,"free_text":true}]"#);
    insta::assert_snapshot!(harness.answer(&[&["In memory"], &["Docs", "A logo"]]), @r#"
    send {"jsonrpc":"2.0","id":0,"result":{"action":"accept","content":{"question_0_custom":"In memory","question_1":["Docs"],"question_1_custom":"A logo"}}}
    question . 1:0 [["In memory"],["Docs","A logo"]] by "person"
    "#);
}

#[test]
fn an_older_claude_writes_descriptions_into_titles() {
    let schema = r#"{"type":"object","properties":{"question_0":{"type":"string","title":"Database","oneOf":[
        {"const":"SQLite","title":"SQLite — One file","_meta":{"_claude/askUserQuestionOption":{"description":"One file"}}},
        {"const":"Postgres","title":"Postgres — A server","_meta":{"_claude/askUserQuestionOption":{"description":"A server"}}}]},
        "question_0_custom":{"type":"string","title":"Other"}}}"#;
    insta::assert_snapshot!(Harness::form("Which database should I use?", schema).said(), @r#"question + 1:0 native=0 call=null [{"prompt":"Which database should I use?","header":"Database","options":[{"label":"SQLite","description":"One file"},{"label":"Postgres","description":"A server"}],"multi_select":false,"free_text":true}]"#);
}

#[test]
fn a_note_of_codex_comes_with_the_option_that_points_at_it() {
    let schema = r#"{"type":"object","required":["db"],"properties":{
        "db":{"title":"Which database?","description":"Database","_meta":{"codex":{"isOther":true}},"type":"string","oneOf":[{"const":"SQLite","title":"SQLite"},{"const":"None of the above","title":"None of the above"}]},
        "db_note":{"type":"string","title":"Additional answer or note","_meta":{"codex":{"questionId":"db","role":"user_note"}}}}}"#;
    let mut harness = Harness::form("Codex needs your input to continue.", schema);
    insta::assert_snapshot!(harness.said(), @r#"question + 1:0 native=0 call=null [{"prompt":"Which database?","header":"Database","options":[{"label":"SQLite"},{"label":"None of the above"}],"multi_select":false,"free_text":true}]"#);
    insta::assert_snapshot!(harness.answer(&[&["Files"]]), @r#"
    send {"jsonrpc":"2.0","id":0,"result":{"action":"accept","content":{"db":"None of the above","db_note":"Files"}}}
    question . 1:0 [["Files"]] by "person"
    "#);
}

#[test]
fn a_form_without_fields_asks_for_a_yes_or_no() {
    let schema = r#"{"type":"object","properties":{}}"#;
    let mut harness = Harness::form("Delete the branch?", schema);
    insta::assert_snapshot!(harness.said(), @r#"question + 1:0 native=0 call=null [{"prompt":"Delete the branch?","options":[{"label":"Yes"},{"label":"No"}],"multi_select":false,"free_text":false}]"#);
    insta::assert_snapshot!(harness.answer(&[&["Yes"]]), @r#"
    send {"jsonrpc":"2.0","id":0,"result":{"action":"accept","content":{}}}
    question . 1:0 [["Yes"]] by "person"
    "#);
    insta::assert_snapshot!(Harness::form("Delete the branch?", schema).answer(&[&["No"]]), @r#"
    send {"jsonrpc":"2.0","id":0,"result":{"action":"decline"}}
    question . 1:0 null by "person"
    "#);
}

#[test]
fn options_whose_titles_repeat_are_told_apart_by_their_values() {
    let schema = r#"{"properties":{"c":{"type":"string","oneOf":[{"const":"1","title":"Red"},{"const":"2","title":"Red"},{"const":"3","title":"Blue"}]}}}"#;
    let mut harness = Harness::form("Which?", schema);
    insta::assert_snapshot!(harness.said(), @r#"question + 1:0 native=0 call=null [{"prompt":"Which?","options":[{"label":"1"},{"label":"2"},{"label":"Blue"}],"multi_select":false,"free_text":false}]"#);
    insta::assert_snapshot!(harness.answer(&[&["2"]]), @r#"
    send {"jsonrpc":"2.0","id":0,"result":{"action":"accept","content":{"c":"2"}}}
    question . 1:0 [["2"]] by "person"
    "#);
}

#[test]
fn a_question_can_be_rejected_and_withdrawn() {
    let mut harness = Harness::form("New project", ALL_TYPES);
    let key = harness.asked.clone().unwrap();
    harness.said();
    harness.step(Input::Command(&Command::ReplyQuestion { key: key.clone(), answers: None }));
    harness.step(Input::Command(&Command::ReplyQuestion { key, answers: None }));
    insta::assert_snapshot!(harness.said(), @r#"
    send {"jsonrpc":"2.0","id":0,"result":{"action":"decline"}}
    question . 1:0 null by "person"
    "#);
    let mut harness = Harness::form("New project", ALL_TYPES);
    let key = harness.asked.clone().unwrap();
    harness.said();
    insta::assert_snapshot!(harness.step(Input::Command(&Command::Withdraw { key })).said(), @r#"
    send {"jsonrpc":"2.0","id":0,"result":{"action":"cancel"}}
    question . 1:0 null by "cancel"
    "#);
}

#[test]
fn the_agent_may_take_its_question_back() {
    let mut harness = Harness::form("New project", ALL_TYPES);
    harness.said();
    harness.hear(r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":0}}"#);
    harness.hear(r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":0}}"#);
    insta::assert_snapshot!(harness.said(), @r#"
    send {"jsonrpc":"2.0","id":0,"result":{"action":"cancel"}}
    question . 1:0 null by "agent"
    dropped superseded
    "#);
}

#[test]
fn a_question_belongs_to_the_call_that_asks_it() {
    let mut harness = Harness::prompted();
    harness.hear(r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"c","title":"Ask","name":"ask","rawInput":{"q":1}}}}"#);
    let form = |call| {
        create(&format!(
            r#""mode":"form","sessionId":"s","toolCallId":"{call}","message":"Go on?","requestedSchema":{{"properties":{{}}}}"#
        ))
    };
    harness.hear(&form("c")).hear(&form("unheard"));
    insta::assert_snapshot!(harness.said(), @r#"
    call + call:1:c native="c" ask {"q":1} "Ask" kind="other"
    call = call:1:c ask {"q":1} "Ask" kind="other"
    question + 1:0 native=0 call="call:1:c" [{"prompt":"Go on?","options":[{"label":"Yes"},{"label":"No"}],"multi_select":false,"free_text":false}]
    question + 2:0 native=0 call=null [{"prompt":"Go on?","options":[{"label":"Yes"},{"label":"No"}],"multi_select":false,"free_text":false}]
    "#);
}

#[test]
fn what_cannot_be_asked_is_answered_at_once() {
    let mut harness = Harness::prompted();
    harness.hear(&create(
        r#""mode":"url","sessionId":"s","message":"Log in","url":"https://example.com","elicitationId":"e""#,
    ));
    harness.hear(&create(r#""mode":7"#));
    harness.hear(&create(r#""mode":"form","sessionId":"s","message":"?""#));
    harness.hear(&create(r#""mode":"form","sessionId":"other","message":"?","requestedSchema":{}"#));
    for property in [r#"{"type":"object"}"#, r#"{"type":"array","items":{"type":"string"}}"#, "7"] {
        harness.hear(&create(&format!(
            r#""sessionId":"s","requestedSchema":{{"properties":{{"p":{property}}}}}"#
        )));
    }
    let mut early = Harness { acp: Acp::new(), lines: vec![], asked: None };
    early.hear(&create(r#""mode":"form","requestId":1,"message":"?","requestedSchema":{}"#));
    harness.lines.append(&mut early.lines);
    insta::assert_snapshot!(harness.said(), @r#"
    send {"jsonrpc":"2.0","id":0,"error":{"code":-32602,"message":"a mode that we do not offer: url"}}
    unparsed elicitation/create: a mode that we do not offer: url
    send {"jsonrpc":"2.0","id":0,"error":{"code":-32602,"message":"invalid type: integer `7`, expected a string at line 1 column 9"}}
    unparsed elicitation/create: invalid type: integer `7`, expected a string at line 1 column 9
    send {"jsonrpc":"2.0","id":0,"result":{"action":"decline"}}
    unparsed elicitation/create: a form without a schema
    send {"jsonrpc":"2.0","id":0,"result":{"action":"decline"}}
    unparsed elicitation/create: a question of another session
    send {"jsonrpc":"2.0","id":0,"result":{"action":"decline"}}
    unparsed elicitation/create.requestedSchema.p: a property of type object that we cannot ask for
    send {"jsonrpc":"2.0","id":0,"result":{"action":"decline"}}
    unparsed elicitation/create.requestedSchema.p: a property of type array that we cannot ask for
    send {"jsonrpc":"2.0","id":0,"result":{"action":"decline"}}
    unparsed elicitation/create.requestedSchema.p: invalid type: integer `7`, expected struct RawProperty at line 1 column 1
    send {"jsonrpc":"2.0","id":0,"result":{"action":"decline"}}
    unparsed elicitation/create: a question before there is a session that it could be asked in
    "#);
}

/// A question of codex-acp's own tool whose answer is for the agent alone.
const SECRET: &str = r#"{"type":"object","properties":{
    "token":{"type":"string","title":"Which token?","description":"Token","_meta":{"codex":{"isSecret":true}}},
    "host":{"type":"string","title":"Which host?","description":"Host","_meta":{"codex":{"isSecret":false}}}}}"#;

#[test]
fn a_secret_answer_reaches_the_agent_and_nobody_else() {
    let mut harness = Harness::form("", SECRET);
    let key = harness.asked.clone().unwrap();
    let answers = Some(vec![vec!["hush".to_owned()], vec!["here".to_owned()]]);
    let mut out = Vec::new();
    harness.acp.handle(Input::Command(&Command::ReplyQuestion { key, answers: answers.clone() }), &mut out);
    let [Output::Transport(TransportOutput::SendSecret { message, .. })] = out.as_slice() else {
        panic!("{out:?}")
    };
    assert!(message.get().contains("hush"), "{message}");
    let said = harness.answer(&[&["hush"], &["here"]]);
    assert!(!said.contains("hush"), "{said}");
    assert!(said.contains(r#"[["***"],["here"]]"#), "{said}");
}
