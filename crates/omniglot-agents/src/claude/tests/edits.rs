//! The diffs of edits: from the files themselves where they are told, since the patch is for display.

use omniglot_schema::{ContentPart, FileAction};
use serde_json::{Value, json};

use super::Harness;
use crate::claude::diff::{FileChange, made};

/// Action and diff of a change that is told so.
fn change(told: Value) -> (FileAction, Option<String>) {
    let change: FileChange = serde_json::from_value(told).unwrap();
    let ContentPart::FileRef { action, diff, .. } = change.into_part() else { panic!("a file") };
    (action, diff)
}

fn diff(told: Value) -> String {
    change(told).1.unwrap()
}

fn edit(original: &str, old: &str, new: &str, shown: &[&str]) -> Value {
    json!({"filePath": "/a.go", "originalFile": original, "oldString": old, "newString": new,
        "structuredPatch": [{"oldStart": 1, "oldLines": 9, "newStart": 1, "newLines": 9, "lines": shown}]})
}

#[test]
fn tabs_stay_tabs() {
    let shown = [" func f() {", "-  x()", "+  y()", "+    z()", " }"];
    insta::assert_snapshot!(diff(edit("func f() {\n\tx()\n}\n", "\tx()", "\ty()\n\t\tz()", &shown)), @r"
    --- a/a.go
    +++ b/a.go
    @@ -1,3 +1,4 @@
     func f() {
    -	x()
    +	y()
    +		z()
     }
    ");
}

#[test]
fn lines_that_are_removed_go_with_their_line_breaks() {
    insta::assert_snapshot!(diff(edit("one\ntwo\nthree\n", "two", "", &[" one", "-two", " three"])), @r"
    --- a/a.go
    +++ b/a.go
    @@ -1,3 +1,2 @@
     one
    -two
     three
    ");
}

#[test]
fn an_edit_may_change_every_occurrence() {
    let mut told = edit("a b a\nc\na\n", "a", "x", &["-a b a", "+x b x", " c", "-a", "+x"]);
    told["replaceAll"] = true.into();
    insta::assert_snapshot!(diff(told), @r"
    --- a/a.go
    +++ b/a.go
    @@ -1,3 +1,3 @@
    -a b a
    +x b x
     c
    -a
    +x
    ");
}

#[test]
fn where_the_cli_has_written_something_else_its_patch_is_right() {
    let told = edit("say “hi”\n", "say “hi”", "say \"ho\"", &["-say “hi”", "+say “ho”"]);
    assert!(diff(told).ends_with("\n-say “hi”\n+say “ho”\n"));
}

#[test]
fn a_file_that_is_written_anew_is_compared_with_what_it_was() {
    let mut told = json!({"type": "update", "filePath": "/a", "content": "one\n\tzwei\n", "originalFile": "one\n\ttwo\n",
        "structuredPatch": [{"oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 2, "lines": [" one", "-  two", "+  zwei"]}]});
    insta::assert_snapshot!(diff(told.clone()), @r"
    --- a/a
    +++ b/a
    @@ -1,2 +1,2 @@
     one
    -	two
    +	zwei
    ");
    // What a large file was is not told, and neither is it new.
    told["originalFile"] = Value::Null;
    told["structuredPatch"] = json!([]);
    assert_eq!(change(told.clone()).1, None);
    told["type"] = "create".into();
    let (action, diff) = change(told);
    assert_eq!(action, FileAction::Write);
    assert!(diff.unwrap().starts_with("--- /dev/null\n+++ b/a\n@@ -0,0 +1,2 @@\n"));
}

#[test]
fn the_edits_of_a_subagent_are_told_from_what_it_called() {
    let call = |tool: &str, input: Value, words: &str| {
        let Value::Object(input) = input else { panic!("arguments") };
        match made(tool, &input, words).as_slice() {
            [ContentPart::FileRef { action, diff, .. }] => (*action, diff.clone()),
            other => panic!("{other:?}"),
        }
    };
    let edit = json!({"file_path": "/a", "old_string": "\tb", "new_string": "\tx"});
    let (action, diff) = call("Edit", edit, "The file /a has been updated successfully.");
    assert_eq!(action, FileAction::Patch);
    insta::assert_snapshot!(diff.unwrap(), @r"
    --- a/a
    +++ b/a
    @@ -1 +1 @@
    -	b
    +	x
    ");
    let write = json!({"file_path": "/a", "content": "new\n"});
    let (action, diff) = call("Write", write.clone(), "File created successfully at: /a");
    assert_eq!(action, FileAction::Write);
    assert!(diff.unwrap().starts_with("--- /dev/null\n"));
    assert_eq!(call("Write", write, "The file /a has been updated successfully."), (FileAction::Write, None));
}

#[test]
fn a_notebook_is_compared_with_what_it_was() {
    let told = json!({"notebook_path": "/n.ipynb", "original_file": "{\n\"a\": 1\n}\n", "updated_file": "{\n\"a\": 2\n}\n"});
    insta::assert_snapshot!(diff(told), @r#"
    --- a/n.ipynb
    +++ b/n.ipynb
    @@ -1,3 +1,3 @@
     {
    -"a": 1
    +"a": 2
     }
    "#);
}

/// The diffs that a subagent's calls are told with: each is a tool, its input and the words of its result.
fn subagent(calls: &[(&str, Value, &str)]) -> Vec<String> {
    let mut harness = Harness::prompted();
    harness.says("a0", r#"{"type":"tool_use","id":"a1","name":"Agent","input":{"prompt":"go"}}"#);
    for (number, (tool, input, words)) in calls.iter().enumerate() {
        let id = format!("t{number}");
        let call = json!({"type": "tool_use", "id": id, "name": tool, "input": input});
        let called = json!({"type": "assistant", "parent_tool_use_id": "a1",
            "message": {"id": format!("m{number}"), "model": "m", "content": [call]}});
        let result = json!({"type": "tool_result", "tool_use_id": id, "content": words});
        let done = json!({"type": "user", "parent_tool_use_id": "a1",
            "message": {"role": "user", "content": [result]}});
        harness.hear(&called.to_string()).hear(&done.to_string());
    }
    let said = harness.said();
    let diffs = said.lines().filter_map(|line| line.split_once("--- a/").map(|(_, diff)| diff.to_owned()));
    diffs.collect()
}

#[test]
fn the_edits_of_a_subagent_have_the_line_numbers_of_the_file_that_it_has_read() {
    let edit = json!({"file_path": "/a", "old_string": "five", "new_string": "FIVE"});
    let write = json!({"file_path": "/a", "content": "one\ntwo\n"});
    let read = "1\tone\n2\ttwo\n3\tthree\n4\tfour\n5\tfive\n6\t";
    let updated = "The file /a has been updated successfully.";
    let known = subagent(&[
        ("Read", json!({"file_path": "/a"}), read),
        ("Edit", edit.clone(), updated),
        ("Write", write, updated),
    ]);
    assert_eq!(known.len(), 2, "{known:?}");
    assert!(known[0].contains(r"@@ -2,4 +2,4 @@\n two\n three\n four\n-five\n+FIVE"), "{known:?}");
    assert!(known[1].contains(r"@@ -1,5 +1,2 @@\n one\n two\n-three\n-four\n-FIVE"), "{known:?}");
    let part = json!({"file_path": "/a", "offset": 5, "limit": 1});
    let unknown = subagent(&[("Read", part, "5\tfive"), ("Edit", edit, updated)]);
    assert!(unknown[0].contains("@@ -1 +1 @@"), "{unknown:?}");
}
