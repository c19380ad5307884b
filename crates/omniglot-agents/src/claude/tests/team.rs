//! The team of a session, as its members and tasks change.

use omniglot_schema::{MemberStatus, Team, TeamMember, TeamTask, TodoStatus};

use super::*;

const STARTED: &str = r#"{"type":"system","subtype":"task_started","task_id":"k","tool_use_id":"a1","task_type":"local_agent"}"#;
const ENDED: &str =
    r#"{"type":"system","subtype":"task_updated","task_id":"k","patch":{"status":"completed"}}"#;

fn teams(harness: &mut Harness) -> Vec<String> {
    let told = harness.states();
    told.lines().filter(|line| line.contains(r#""team""#)).map(str::to_owned).collect()
}

fn call(harness: &mut Harness, id: &str, input: &str) {
    harness.says(id, &format!(r#"{{"type":"tool_use","id":"{id}","name":"Agent","input":{input}}}"#));
}

fn member(status: &str) -> String {
    format!(r#"{{"id":"k","name":"scout","status":"{status}","parent_item":"call:2:a1"}}"#)
}

#[test]
fn a_named_agent_is_a_member_and_one_without_a_name_is_not() {
    let mut harness = Harness::prompted();
    call(&mut harness, "a0", r#"{"prompt":"go"}"#);
    harness.hear(&STARTED.replace("\"k\"", "\"j\"").replace("a1", "a0"));
    assert_eq!(teams(&mut harness), [""; 0]);
    call(&mut harness, "a1", r#"{"name":"scout","prompt":"go"}"#);
    harness.hear(STARTED);
    let team = |status| format!(r#"state {{"team":{{"members":[{}],"tasks":[]}}}}"#, member(status));
    assert_eq!(teams(&mut harness), [team("working")]);
    harness.hear(ENDED);
    assert_eq!(teams(&mut harness), [team("idle")]);
    harness.uses("m1", "SendMessage", r#"{"to":"scout","message":"more"}"#, r#"{"success":false}"#);
    assert_eq!(teams(&mut harness), [""; 0], "nobody has heard it");
    harness.uses("m2", "SendMessage", r#"{"to":"scout","message":"more"}"#, r#"{"success":true}"#);
    assert_eq!(teams(&mut harness), [team("working")]);
    harness.hear(&ENDED.replace("completed", "failed"));
    assert_eq!(teams(&mut harness), [team("failed")]);
}

#[test]
fn tasks_are_of_the_team_once_there_is_one() {
    let mut harness = Harness::prompted();
    harness.uses("t1", "TaskCreate", "{}", r#"{"task":{"id":"1","subject":"Look"}}"#);
    assert_eq!(teams(&mut harness), [""; 0]);
    harness.uses("t2", "TaskUpdate", r#"{"taskId":"1","owner":"scout"}"#, r#"{"success":true,"taskId":"1"}"#);
    let task = |status: &str| format!(r#"{{"id":"1","text":"Look","status":"{status}","owner":"scout"}}"#);
    let team = |task: String| format!(r#"state {{"team":{{"members":[],"tasks":[{task}]}}}}"#);
    assert_eq!(teams(&mut harness), [team(task("pending"))]);
    let done = r#"{"taskId":"1","status":"completed"}"#;
    harness.uses("t3", "TaskUpdate", done, r#"{"success":true,"taskId":"1"}"#);
    assert_eq!(teams(&mut harness), [team(task("completed"))]);
    harness.uses("t4", "TaskUpdate", r#"{"taskId":"1","status":"deleted"}"#, r#"{"success":true}"#);
    assert_eq!(teams(&mut harness), [r#"state {"team":null}"#]);
}

#[test]
fn the_team_of_an_earlier_process_goes_on() {
    let members = vec![TeamMember {
        id: "k".into(),
        name: "scout".into(),
        status: MemberStatus::Idle,
        parent_item: Some("itm_1".into()),
    }];
    let owner = Some("scout".to_owned());
    let tasks = vec![TeamTask { id: "7".into(), text: "Look".into(), status: TodoStatus::Pending, owner }];
    let team = Some(Team { members, tasks });
    let mut harness = Harness::resumed(Carryover { team, ..Carryover::default() });
    harness.uses("m1", "SendMessage", r#"{"to":"scout","message":"more"}"#, r#"{"success":true}"#);
    let done = r#"{"taskId":"7","status":"completed"}"#;
    harness.uses("t1", "TaskUpdate", done, r#"{"success":true,"taskId":"7"}"#);
    let told = |status: &str| {
        let member = r#"{"id":"k","name":"scout","status":"working","parent_item":"itm_1"}"#;
        let task = format!(r#"{{"id":"7","text":"Look","status":"{status}","owner":"scout"}}"#);
        format!(r#"state {{"team":{{"members":[{member}],"tasks":[{task}]}}}}"#)
    };
    assert_eq!(teams(&mut harness), [told("pending"), told("completed")]);
}
