//! The real Claude Code and the real Codex behind `omniglot acp`, by each library, against scripted models.

use std::path::Path;

use omniglot_testkit::acp_client::Library;
use omniglot_testkit::agents::RealAgent;
use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::models::{Model, Reply, Script};
use omniglot_timeline::check::Allow;
use serde_json::{Value, json};

use crate::editor::{ask, editor, new_session, of_kind, prompt, said, text_of, tool_ends};

/// Makes each scenario a test of each agent and library.
macro_rules! with_each_agent {
    ($($scenario:ident),* $(,)?) => {
        mod claude {
            mod typescript {
                $(#[tokio::test]
                async fn $scenario() {
                    crate::real::$scenario(super::super::Library::TypeScript, &crate::real::CLAUDE).await;
                })*
            }
            mod python {
                $(#[tokio::test]
                async fn $scenario() {
                    crate::real::$scenario(super::super::Library::Python, &crate::real::CLAUDE).await;
                })*
            }
        }
        mod codex {
            mod typescript {
                $(#[tokio::test]
                async fn $scenario() {
                    crate::real::$scenario(super::super::Library::TypeScript, &crate::real::CODEX).await;
                })*
            }
            mod python {
                $(#[tokio::test]
                async fn $scenario() {
                    crate::real::$scenario(super::super::Library::Python, &crate::real::CODEX).await;
                })*
            }
        }
    };
}

with_each_agent! {
    its_words_are_streamed_and_counted,
    it_asks_before_it_makes_a_file,
    a_turn_is_cancelled_and_the_next_goes_on,
    another_model_is_asked_from_then_on,
    a_picture_reaches_the_model,
    another_process_loads_the_session_and_the_agent_remembers,
    its_question_is_a_form,
    its_todos_are_a_plan,
}

/// The facts of an agent that the scenarios need.
struct Real {
    script: fn() -> Script,
    agent: fn(&Model) -> RealAgent,
    /// Writes a file by a tool that asks for permission.
    make: fn(&Path) -> Reply,
    /// A model other than the initial one: the clients' name for it, and the provider's.
    other_model: (&'static str, &'static str),
    /// Asks for a colour, red or blue, in this mode.
    question: fn() -> Reply,
    asking_mode: Option<&'static str>,
    /// Plans to look, which is done, and to leap, which is in progress.
    plan: fn() -> Vec<Reply>,
}

const CLAUDE: Real = Real {
    script: Model::anthropic,
    agent: RealAgent::claude,
    make: |path| {
        let command = format!("touch {}", path.display());
        Reply::tool("Bash", json!({ "command": command, "description": "Make it." }))
    },
    other_model: ("haiku", "claude-haiku-5-5"),
    question: || {
        let question = json!({
            "question": "Which colour?", "header": "Colour", "multiSelect": false, "options": colours(),
        });
        Reply::tool("AskUserQuestion", json!({ "questions": [question] }))
    },
    asking_mode: None,
    plan: || {
        let task = |what: &str| json!({ "subject": what, "description": what, "activeForm": what });
        let update =
            |id: &str, status: &str| Reply::tool("TaskUpdate", json!({ "taskId": id, "status": status }));
        let begin = Reply::tool("TaskCreate", task("Look")).and_tool("TaskCreate", task("Leap"));
        vec![begin, update("1", "completed"), update("2", "in_progress")]
    },
};

const CODEX: Real = Real {
    script: Model::responses,
    agent: RealAgent::codex,
    make: |path| {
        let command = format!("touch {}", path.display());
        let why = ("require_escalated", "May I?");
        Reply::tool(
            "exec_command",
            json!({ "cmd": command, "sandbox_permissions": why.0, "justification": why.1 }),
        )
    },
    other_model: ("gpt-5.6-sol", "gpt-5.6-sol"),
    question: || {
        let question = json!({
            "id": "colour", "header": "Colour", "question": "Which colour?", "options": colours(),
        });
        Reply::tool("request_user_input", json!({ "questions": [question] }))
    },
    asking_mode: Some("plan"),
    plan: || {
        let step = |what: &str, status: &str| json!({ "step": what, "status": status });
        let steps = json!([step("Look", "completed"), step("Leap", "in_progress")]);
        vec![Reply::tool("update_plan", json!({ "explanation": "As agreed", "plan": steps }))]
    },
};

fn colours() -> Value {
    json!([{ "label": "Red", "description": "As fire" }, { "label": "Blue", "description": "As water" }])
}

/// In drop order: the daemon stops its agent before the model ends.
struct Fixture {
    daemon: Daemon,
    model: Model,
    agent: RealAgent,
}

impl Real {
    fn fixture(&self, replies: impl IntoIterator<Item = Reply>) -> Fixture {
        let model = replies.into_iter().fold((self.script)(), Script::reply).start();
        let agent = (self.agent)(&model);
        let mut daemon = Setup::new(env!("CARGO_BIN_EXE_omniglot")).config(agent.toml()).start();
        daemon.allow = Allow { open_turn: false, unparsed: false };
        Fixture { daemon, model, agent }
    }
}

async fn its_words_are_streamed_and_counted(library: Library, real: &Real) {
    let fixture = real.fixture([Reply::text("Hello from the model.")]);
    let mut client = editor(library, &fixture.daemon, fixture.agent.name(), json!({})).await;
    let session = new_session(&mut client, &fixture.daemon).await;
    assert_eq!(ask(&mut client, &session, "Say hello.").await, "end_turn");
    assert_eq!(said(&client), "Hello from the model.");
    assert!(of_kind(&client, "agent_message_chunk").len() > 1, "{:?}", client.updates);
    assert!(!of_kind(&client, "usage_update").is_empty(), "{:?}", client.updates);
}

async fn it_asks_before_it_makes_a_file(library: Library, real: &Real) {
    let fixture = real.fixture([]);
    let mut client = editor(library, &fixture.daemon, fixture.agent.name(), json!({})).await;
    let session = new_session(&mut client, &fixture.daemon).await;
    let file = fixture.daemon.work().join("made");
    fixture.model.push((real.make)(&file));
    fixture.model.push(Reply::text("Made."));
    assert_eq!(ask(&mut client, &session, "Make a file.").await, "end_turn");
    assert_eq!(client.asked.len(), 1, "{:?}", client.asked);
    assert!(file.exists(), "{:?}", client.updates);
    assert_eq!(tool_ends(&client), ["completed"]);
    assert_eq!(said(&client), "Made.");
}

async fn a_turn_is_cancelled_and_the_next_goes_on(library: Library, real: &Real) {
    let (endless, gate) = Reply::text("This takes a while.").hold();
    let fixture = real.fixture([endless]);
    let mut client = editor(library, &fixture.daemon, fixture.agent.name(), json!({})).await;
    let session = new_session(&mut client, &fixture.daemon).await;
    let call = client.begin("session/prompt", prompt(&session, "Tell me everything.")).await;
    gate.reached().await;
    client.update(|params| params["update"]["sessionUpdate"] == "agent_message_chunk").await;
    client.notify("session/cancel", json!({ "sessionId": session })).await;
    assert_eq!(client.finish(call).await.unwrap()["stopReason"], "cancelled");
    fixture.model.push(Reply::text("Gladly."));
    assert_eq!(ask(&mut client, &session, "Then something else.").await, "end_turn");
    assert_eq!(said(&client), "Gladly.");
}

async fn another_model_is_asked_from_then_on(library: Library, real: &Real) {
    let fixture = real.fixture([Reply::text("One."), Reply::text("Two.")]);
    let (wanted, heard) = real.other_model;
    let mut client = editor(library, &fixture.daemon, fixture.agent.name(), json!({})).await;
    let session = new_session(&mut client, &fixture.daemon).await;
    ask(&mut client, &session, "The first.").await;
    assert_ne!(fixture.model.last().model, heard);
    let request = json!({ "sessionId": session, "configId": "model", "value": wanted });
    let set = client.get("session/set_config_option", request).await;
    let model =
        set["configOptions"].as_array().unwrap().iter().find(|option| option["id"] == "model").unwrap();
    assert_eq!(model["currentValue"], wanted, "{set}");
    ask(&mut client, &session, "The second.").await;
    assert_eq!((said(&client).as_str(), fixture.model.last().model.as_str()), ("Two.", heard));
}

async fn a_picture_reaches_the_model(library: Library, real: &Real) {
    let fixture = real.fixture([Reply::text("A dot.")]);
    let mut client = editor(library, &fixture.daemon, fixture.agent.name(), json!({})).await;
    let session = new_session(&mut client, &fixture.daemon).await;
    let picture = json!({ "type": "image", "mimeType": "image/png", "data": DOT });
    let words = json!({ "type": "text", "text": "What is this?" });
    let asked: Value = json!({ "sessionId": session, "prompt": [words, picture] });
    assert_eq!(client.get("session/prompt", asked).await["stopReason"], "end_turn");
    assert_eq!(fixture.model.last().images(), ["image/png"]);
}

async fn another_process_loads_the_session_and_the_agent_remembers(library: Library, real: &Real) {
    let fixture = real.fixture([Reply::text("I will.")]);
    let mut first = editor(library, &fixture.daemon, fixture.agent.name(), json!({})).await;
    let session = new_session(&mut first, &fixture.daemon).await;
    ask(&mut first, &session, "Remember the heron.").await;
    assert_eq!(first.leave().await, Some(0));
    let mut second = editor(library, &fixture.daemon, fixture.agent.name(), json!({})).await;
    let again = json!({ "sessionId": session, "cwd": fixture.daemon.work(), "mcpServers": [] });
    second.get("session/load", again).await;
    assert_eq!(text_of(&second, "user_message_chunk"), "Remember the heron.");
    assert_eq!(said(&second), "I will.");
    fixture.model.push(Reply::text("The heron."));
    ask(&mut second, &session, "Which bird?").await;
    assert_eq!(said(&second), "The heron.");
    let heard = fixture.model.last();
    assert!(heard.messages.iter().any(|message| message.text().contains("heron")), "{heard:?}");
}

async fn its_question_is_a_form(library: Library, real: &Real) {
    let fixture = real.fixture([(real.question)(), Reply::text("Blue it is.")]);
    let can = json!({ "elicitation": { "form": {} } });
    let mut client = editor(library, &fixture.daemon, fixture.agent.name(), can).await;
    let session = new_session(&mut client, &fixture.daemon).await;
    if let Some(mode) = real.asking_mode {
        client.get("session/set_mode", json!({ "sessionId": session, "modeId": mode })).await;
    }
    client.answer_with(|asked| {
        let properties = asked.params["requestedSchema"]["properties"].as_object().unwrap();
        let (name, field) = properties.iter().next().unwrap();
        let choices = field["oneOf"].as_array().unwrap();
        let blue = choices.iter().find(|choice| choice.to_string().contains("Blue")).unwrap();
        Ok(json!({ "action": "accept", "content": { name: blue["const"] } }))
    });
    assert_eq!(ask(&mut client, &session, "Paint it.").await, "end_turn");
    assert_eq!(client.asked[0].method, "elicitation/create");
    assert!(fixture.model.last().tool_results().concat().contains("Blue"));
}

async fn its_todos_are_a_plan(library: Library, real: &Real) {
    let fixture = real.fixture((real.plan)());
    fixture.model.push(Reply::text("Planned."));
    let mut client = editor(library, &fixture.daemon, fixture.agent.name(), json!({})).await;
    let session = new_session(&mut client, &fixture.daemon).await;
    ask(&mut client, &session, "Plan it.").await;
    let plan = of_kind(&client, "plan").last().expect("a plan")["entries"].clone();
    let entries = plan.as_array().unwrap().iter();
    let shown: Vec<_> = entries.map(|entry| [&entry["content"], &entry["status"]]).collect();
    assert_eq!(json!(shown), json!([["Look", "completed"], ["Leap", "in_progress"]]));
}

/// One red pixel.
const DOT: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVQI12P4z8AAAAMBAQAY3Y2wAAAAAElFTkSuQmCC";
