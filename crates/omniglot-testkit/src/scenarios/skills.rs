//! Skills that a session was created with.

use super::Dialect;
use crate::models::Reply;
use crate::skills::{SkillFolder, from};

/// The model is told of the session's skill, also after a restart, and nothing is left of it in the end.
pub async fn a_skill_of_the_session_is_told_to_the_model(agent: &Dialect) {
    let folder = SkillFolder::default();
    folder.add("weather-lore", "Foretells the weather from a canary in a mine.");
    folder.commit();
    let source = folder.as_git();
    let fixture = agent
        .fixture_with([Reply::text("Hello.")], |request| {
            request.skills = from([source]);
            request.permission_mode = agent.asking_mode.map(str::to_owned);
        })
        .await;
    drop(folder);
    fixture.turn("Hello.").await;
    assert_told(&fixture.model.last());
    let fixture = fixture.restart();
    fixture.answered("Hello again.", Reply::text("Hello.")).await;
    assert_told(&fixture.model.last());
    fixture.session.history().await;
    fixture.daemon.client.delete(&fixture.session.id).await.expect("it is deleted");
    let kept = std::fs::read_dir(fixture.daemon.data().join("shared/skills")).expect("the skills");
    assert_eq!(kept.count(), 0);
    let left: Vec<_> = std::fs::read_dir(fixture.daemon.work()).expect("the project").flatten().collect();
    assert!(!left.iter().any(|entry| entry.path().join("skills").exists()), "{left:?}");
}

#[track_caller]
fn assert_told(request: &crate::models::Request) {
    let body = request.body.to_string();
    assert!(body.contains("weather-lore") && body.contains("from a canary in a mine"), "{body}");
}
