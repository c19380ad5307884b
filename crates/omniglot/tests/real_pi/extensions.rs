//! Extensions of the user beside our gate: their questions, and what happens when they fail.

use omniglot_client::ClientError;
use omniglot_schema::{
    ContentPart, CreateSessionRequest, EventData, QuestionEventData, QuestionReplyRequest, QuestionStatus,
    ResolvedBy, StopReason, UniversalEventType,
};
use omniglot_testkit::agents::RealAgent;
use omniglot_testkit::daemon::Setup;
use omniglot_testkit::fixture::Fixture;
use omniglot_testkit::models::{Reply, Script};
use omniglot_testkit::scenarios::Dialect;
use omniglot_testkit::session_driver::{session_id, status_of};
use serde_json::json;

use crate::own::{bypass, is};

/// Opens a session whose user has this extension.
async fn with_extension(pi: &Dialect, source: &str, replies: impl IntoIterator<Item = Reply>) -> Fixture {
    let script = replies.into_iter().fold((pi.script)(), Script::reply);
    let agent = |model: &_| {
        let agent = (pi.agent)(model);
        add_extension(&agent, source);
        agent
    };
    Fixture::open(pi.program, script, agent).await
}

fn add_extension(agent: &RealAgent, source: &str) {
    let folder = agent.home().join(".pi/agent/extensions");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("mine.ts"), source).unwrap();
}

async fn question_after(fixture: &Fixture, from: u64) -> (u64, QuestionEventData) {
    let event = fixture.session.wait_for(from, is(UniversalEventType::QuestionRequested)).await;
    match event.data {
        EventData::QuestionRequested(data) => (event.sequence, data),
        other => panic!("{other:?}"),
    }
}

async fn resolved_after(fixture: &Fixture, from: u64) -> QuestionEventData {
    match fixture.session.wait_for(from, is(UniversalEventType::QuestionResolved)).await.data {
        EventData::QuestionResolved(data) => data,
        other => panic!("{other:?}"),
    }
}

async fn answer(fixture: &Fixture, question: &QuestionEventData, answer: &str) -> Result<(), ClientError> {
    let request = QuestionReplyRequest { answers: vec![vec![answer.to_owned()]] };
    let session = &fixture.session;
    session.client.reply_question(&session.id, question.question_id.as_str(), &request).await
}

/// Adds the tool `ask`, which asks with this timeout and then once more without one.
fn asking(timeout: &str) -> String {
    let tool = "export default function (pi) {
      pi.registerTool({
        name: 'ask', label: 'Ask', description: 'Asks the user.',
        parameters: { type: 'object', properties: {} },
        async execute(_id, _params, signal, _update, ctx) {
          const first = await ctx.ui.select('Which colour?', ['red', 'blue'], TIMEOUT);
          const second = await ctx.ui.input('And why?');
          return { content: [{ type: 'text', text: `${first}, ${second}` }], details: {} };
        },
      });
    }";
    tool.replace("TIMEOUT", timeout)
}

pub(crate) async fn questions(pi: &Dialect) {
    let replies = [Reply::tool("ask", json!({})), Reply::text("Blue, then.")];
    let fixture = with_extension(pi, &asking("{}"), replies).await;
    bypass(&fixture).await;
    fixture.session.post("Ask me.").await;
    let (from, colour) = question_after(&fixture, 0).await;
    assert_eq!(
        (colour.prompt.as_str(), colour.options.as_slice()),
        ("Which colour?", &["red".into(), "blue".into()][..])
    );
    assert_eq!(status_of(answer(&fixture, &colour, "green").await), 400);
    answer(&fixture, &colour, "blue").await.unwrap();
    let (_, reason) = question_after(&fixture, from).await;
    answer(&fixture, &reason, "the sea").await.unwrap();
    fixture.session.wait_for(from, is(UniversalEventType::TurnEnded)).await;
    assert_eq!(fixture.model.last().tool_results(), ["blue, the sea"]);
    fixture.session.history().await;
}

/// Pi does not say so; an answer that comes later is refused, because Pi would ignore it.
pub(crate) async fn a_question_that_pi_gives_up_is_withdrawn(pi: &Dialect) {
    let replies = [Reply::tool("ask", json!({})), Reply::text("Nobody knows.")];
    let fixture = with_extension(pi, &asking("{ timeout: 200 }"), replies).await;
    bypass(&fixture).await;
    fixture.session.post("Ask me.").await;
    let (from, colour) = question_after(&fixture, 0).await;
    let resolved = resolved_after(&fixture, from).await;
    assert_eq!((&resolved.question_id, resolved.status), (&colour.question_id, QuestionStatus::Rejected));
    assert_eq!(resolved.metadata.unwrap().resolved_by, Some(ResolvedBy::Expiry));
    assert_eq!(status_of(answer(&fixture, &colour, "blue").await), 409);
    let (_, reason) = question_after(&fixture, from).await;
    answer(&fixture, &reason, "too slow").await.unwrap();
    fixture.session.wait_for(from, is(UniversalEventType::TurnEnded)).await;
    assert_eq!(fixture.model.last().tool_results(), ["undefined, too slow"]);
    fixture.session.history().await;
}

pub(crate) async fn an_extension_that_fails_is_told_and_the_turn_goes_on(pi: &Dialect) {
    let failing =
        "export default function (pi) { pi.on('turn_start', () => { throw new Error('on purpose'); }); }";
    let fixture = with_extension(pi, failing, [Reply::text("Here I am.")]).await;
    let turn = fixture.turn("Are you there?").await;
    assert_eq!((turn.text().as_str(), turn.stop_reason()), ("Here I am.", StopReason::EndTurn), "{turn}");
    let told = turn.items().into_iter().flat_map(|item| &item.content).any(|part| match part {
        ContentPart::Status { label, detail, .. } => {
            label == "pi.extension_error"
                && detail.as_deref().is_some_and(|words| words.contains("on purpose"))
        }
        _ => false,
    });
    assert!(told, "{turn}");
    fixture.session.history().await;
}

/// Pi does not start without one of its extensions.
pub(crate) async fn an_extension_that_does_not_load_is_named(pi: &Dialect) {
    let model = (pi.script)().start();
    let agent = (pi.agent)(&model);
    add_extension(&agent, "throw new Error('on purpose');");
    let daemon = Setup::new(pi.program).config(agent.toml()).start();
    let refused = daemon.client.create(&session_id("s"), &CreateSessionRequest::new(agent.name())).await;
    let words = refused.unwrap_err().to_string();
    assert!(words.contains("mine.ts") && words.contains("on purpose"), "{words}");
}
