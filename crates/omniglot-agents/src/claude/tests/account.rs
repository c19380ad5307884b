//! Tests of cost, context and todos over several turns and processes.

use omniglot_schema::{Todo, TodoStatus};

use super::{Harness, INIT, INITIALIZED, prompt};
use crate::contract::{Carryover, Command, Input, Open};

impl Harness {
    /// A session that goes on in a new process.
    pub(super) fn resumed(carryover: Carryover) -> Self {
        let mut harness = Self::default();
        let argv = ["claude".into(), "--resume".into(), "s".into()];
        harness.step(Input::Started { argv: &argv, carryover: &carryover });
        let resume = Some("s".to_owned());
        harness.command(&Command::Open(Open { cwd: "/w".into(), resume, carryover, ..Open::default() }));
        harness.hear(INITIALIZED).command(&prompt("hi")).hear(INIT);
        harness.lines.clear();
        harness
    }

    pub(super) fn uses(&mut self, id: &str, tool: &str, input: &str, result: &str) -> &mut Self {
        self.says(id, &format!(r#"{{"type":"tool_use","id":"{id}","name":"{tool}","input":{input}}}"#));
        self.hear(&format!(
            r#"{{"type":"user","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{id}","content":"ok"}}]}},"parent_tool_use_id":null,"tool_use_result":{result}}}"#
        ))
    }

    pub(super) fn states(&mut self) -> String {
        let said = self.said();
        said.lines().filter(|line| line.starts_with("state ")).collect::<Vec<_>>().join("\n")
    }
}

fn todos() -> Vec<Todo> {
    let todo = |text: &str| Todo { text: text.into(), status: TodoStatus::Pending };
    vec![todo("Look"), todo("Mend")]
}

#[test]
fn the_cost_of_a_session_goes_on_in_its_next_process() {
    let mut harness = Harness::resumed(Carryover { cost_usd: 0.5, ..Carryover::default() });
    harness.result(r#","total_cost_usd":0.25"#);
    insta::assert_snapshot!(harness.states(), @r#"state {"cost_usd":0.75}"#);
}

#[test]
fn a_sum_that_falls_has_begun_anew_and_the_session_has_still_cost_what_it_has() {
    let mut harness = Harness::prompted();
    harness.result(r#","total_cost_usd":0.5"#);
    harness.command(&prompt("/clear")).result(r#","total_cost_usd":0"#);
    harness.command(&prompt("hi")).result(r#","total_cost_usd":0.25"#);
    insta::assert_snapshot!(harness.states(), @r#"
    state {"cost_usd":0.5}
    state {"cost_usd":0.5}
    state {"cost_usd":0.75}
    "#);
}

#[test]
fn todos_of_an_earlier_process_stay_when_one_of_them_changes() {
    let mut harness = Harness::resumed(Carryover { todos: todos(), ..Carryover::default() });
    let done = r#"{"success":true,"taskId":"2","statusChange":{"from":"pending","to":"completed"}}"#;
    harness.uses("t1", "TaskUpdate", r#"{"taskId":"2","status":"completed"}"#, done);
    harness.uses("t2", "TaskCreate", "{}", r#"{"task":{"id":"3","subject":"Test"}}"#);
    insta::assert_snapshot!(harness.states(), @r#"
    state {"todos":[{"text":"Look","status":"pending"},{"text":"Mend","status":"completed"}]}
    state {"todos":[{"text":"Look","status":"pending"},{"text":"Mend","status":"completed"},{"text":"Test","status":"pending"}]}
    "#);
}

#[test]
fn a_change_of_a_todo_that_is_not_known_changes_nothing() {
    let mut harness = Harness::resumed(Carryover { todos: todos(), ..Carryover::default() });
    harness.uses("t1", "TaskUpdate", r#"{"taskId":"7","status":"completed"}"#, "{}");
    // After a deletion the ids are others than we think, which the old status may show.
    let done = r#"{"success":true,"taskId":"2","statusChange":{"from":"in_progress","to":"completed"}}"#;
    harness.uses("t2", "TaskUpdate", r#"{"taskId":"2","status":"completed"}"#, done);
    insta::assert_snapshot!(harness.states(), @"");
    // One that counts from the beginning has forgotten the old ones.
    harness.uses("t3", "TaskCreate", "{}", r#"{"task":{"id":"1","subject":"New"}}"#);
    insta::assert_snapshot!(harness.states(), @r#"state {"todos":[{"text":"New","status":"pending"}]}"#);
}

#[test]
fn the_end_of_a_call_may_tell_a_part_of_what_it_used() {
    let mut harness = Harness::prompted();
    harness.stream(&[
        r#"{"type":"message_start","message":{"id":"m1","model":"m","usage":{"input_tokens":40,"cache_read_input_tokens":60,"output_tokens":1}}}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":20}}"#,
    ]);
    harness.result(r#","modelUsage":{"m":{"contextWindow":1000}}"#);
    insta::assert_snapshot!(harness.states(), @r#"state {"context":{"used":120,"window":1000}}"#);
}

#[test]
fn a_result_without_numbers_of_its_own_has_those_of_the_models() {
    let usage = |input: u64| {
        format!(r#""modelUsage":{{"m":{{"inputTokens":{input},"outputTokens":5,"cacheReadInputTokens":2}}}}"#)
    };
    let mut harness = Harness::prompted();
    harness.result(&format!(r#","usage":{{"input_tokens":0,"output_tokens":0}},{}"#, usage(40)));
    harness.command(&prompt("again")).result(&format!(",{}", usage(50)));
    let said = harness.said();
    let ends: Vec<&str> = said.lines().filter(|line| line.starts_with("turn .")).collect();
    insta::assert_snapshot!(ends.join("\n"), @r#"
    turn . "end_turn" model="m" usage={"input_tokens":40,"output_tokens":5,"cache_read_tokens":2,"cache_write_tokens":0,"total_tokens":47}
    turn . "end_turn" model="m" usage={"input_tokens":10,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"total_tokens":10}
    "#);
}

#[test]
fn a_prompt_that_an_old_cli_puts_into_a_turn_of_its_own_is_answered_by_its_result() {
    let mut harness = Harness::ready();
    harness.command(&prompt("hi")).hear(INIT);
    harness.uses("t1", "Read", "{}", "{}").said();
    harness.result(r#","origin":{"kind":"task-notification"}"#);
    insta::assert_snapshot!(harness.said(), @r#"turn . "end_turn" model="m""#);
}

#[test]
fn what_a_turn_of_the_clis_own_used_counts_in_the_prompts_turn_around_it() {
    let mut harness = Harness::ready();
    harness.command(&prompt("hi")).hear(INIT);
    harness.result(r#","origin":{"kind":"task-notification"},"total_cost_usd":0.5,"usage":{"input_tokens":1,"output_tokens":2}"#);
    harness.hear(r#"{"type":"command_lifecycle","command_uuid":"01234567-89ab-cdef-0123-456789abcdef","state":"started"}"#);
    harness.said();
    harness.result(r#","total_cost_usd":0.75,"usage":{"input_tokens":10,"output_tokens":20}"#);
    insta::assert_snapshot!(harness.said(), @r#"
    state {"cost_usd":0.75}
    turn . "end_turn" model="m" usage={"input_tokens":11,"output_tokens":22,"total_tokens":33} cost=0.75
    "#);
}
