//! Instructions that a session is created with.

use omniglot_schema::SystemPrompt;

use super::Dialect;
use crate::models::Reply;

/// The model gets the words beside the agent's own, also after a restart.
pub async fn an_appended_system_prompt_reaches_the_model(agent: &Dialect) {
    let words = "Call every bird a heron.";
    let fixture = agent
        .fixture_with([Reply::text("Hello.")], |request| {
            request.system_prompt = Some(SystemPrompt::Append(words.to_owned()));
        })
        .await;
    fixture.turn("Hello.").await;
    let first = fixture.model.last().body.to_string();
    assert!(first.contains(words), "{first}");
    let fixture = fixture.restart();
    fixture.answered("Hello again.", Reply::text("Hello.")).await;
    let second = fixture.model.last().body.to_string();
    assert!(second.contains(words), "{second}");
}

/// The model gets the words instead of the agent's own, which are longer.
pub async fn a_replaced_system_prompt_reaches_the_model(agent: &Dialect) {
    let words = "You are a heron.";
    let own = agent.fixture([Reply::text("Hello.")]).await;
    own.turn("Hello.").await;
    let fixture = agent
        .fixture_with([Reply::text("Hello.")], |request| {
            request.system_prompt = Some(SystemPrompt::Replace(words.to_owned()));
        })
        .await;
    fixture.turn("Hello.").await;
    let (own, replaced) = (own.model.last(), fixture.model.last());
    assert!(replaced.body.to_string().contains(words), "{}", replaced.body);
    assert!(replaced.system.len() < own.system.len(), "{}", replaced.system);
}
