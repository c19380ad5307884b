//! Skills of a session with Amp: the loop runs on its server, so the model is told of them there, and Amp itself reads
//! them for it.

use omniglot_testkit::models::Reply;
use omniglot_testkit::skills::{SkillFolder, from};
use serde_json::json;

use crate::AMP;

#[tokio::test]
async fn a_skill_of_the_session_is_read_for_the_model() {
    let folder = SkillFolder::default();
    folder.add("weather-lore", "Foretells the weather from a canary in a mine.");
    let source = folder.as_local();
    let read = || Reply::tool("skill", json!({"name": "weather-lore"}));
    let fixture =
        AMP.fixture_with([read(), Reply::text("Read.")], |request| request.skills = from([source])).await;
    let turn = fixture.turn("Read it.").await;
    assert!(turn.outputs().concat().contains("Do what is said above."), "{turn}");
    fixture.session.history().await;
}
