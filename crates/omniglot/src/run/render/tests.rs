//! One hand-made turn with everything in it, plain and coloured.

use jiff::Timestamp;
use omniglot_schema::*;
use unicode_width::UnicodeWidthStr as _;

use super::*;

#[test]
fn a_whole_turn_reads_well_without_colours() {
    insta::assert_snapshot!(shown(Style::Plain, 60, turn()));
}

#[test]
fn a_whole_turn_reads_well_in_colours() {
    insta::assert_snapshot!(shown(Style::Colour, 60, turn()).replace('\x1b', "␛"));
}

#[test]
fn a_whole_turn_fits_on_a_narrow_screen() {
    let text = shown(Style::Plain, 32, turn());
    let wide: Vec<&str> = text.lines().filter(|line| line.width() > 32).collect();
    assert!(wide.is_empty(), "{wide:?}");
    insta::assert_snapshot!(text);
}

#[test]
fn the_colours_of_a_narrow_screen_change_no_word() {
    let coloured = shown(Style::Colour, 32, turn());
    let mut bare = String::new();
    for (index, piece) in coloured.split('\x1b').enumerate() {
        bare.push_str(if index == 0 { piece } else { piece.split_once('m').unwrap().1 });
    }
    assert_eq!(bare, shown(Style::Plain, 32, turn()));
}

#[test]
fn prose_stays_as_it_is_on_endless_paper() {
    let long = "word ".repeat(60);
    let events =
        vec![message("m", ItemRole::Assistant), delta_of("m", None, &long), delta_of("m", None, "e")];
    assert_eq!(written(Renderer::new(Style::Plain, Paper::Endless), events), format!("{long}e"));
}

#[test]
fn every_line_of_a_thought_is_marked_also_where_nothing_is_coloured() {
    let think = |text: &str| delta_of("t", Some(DeltaPart::Reasoning), text);
    let events = vec![
        message("t", ItemRole::Assistant),
        think("First this.\n"),
        think("Then "),
        think("that."),
        message("m", ItemRole::Assistant),
        delta_of("m", None, "Done.\nReally."),
    ];
    let text = written(Renderer::new(Style::Plain, Paper::Endless), events);
    assert_eq!(text, "~ First this.\n~ Then that.\n\nDone.\nReally.");
}

#[test]
fn a_transcript_shows_what_people_said() {
    let mut renderer = Renderer::new(Style::Plain, Paper::Screen(60));
    renderer.show_everybody(true);
    let text = written(renderer, turn());
    assert!(text.starts_with("› Add a line\n\n~ First I look at the file.\n"), "{text}");
}

#[test]
fn a_screen_that_changes_its_width_changes_the_next_lines() {
    let mut renderer = Renderer::new(Style::Plain, Paper::Screen(40));
    let say = |renderer: &mut Renderer, text: &str| written_by(renderer, vec![delta_of("m", None, text)]);
    written_by(&mut renderer, vec![message("m", ItemRole::Assistant)]);
    assert_eq!(say(&mut renderer, "some words for a start and "), "some words for a start and");
    renderer.resize(20);
    assert_eq!(say(&mut renderer, "some more of these "), " some more of\nthese");
    assert_eq!(renderer.cursor(), (5, 15));
}

#[test]
fn a_pause_shows_the_word_that_was_held_back() {
    let mut renderer = Renderer::new(Style::Colour, Paper::Screen(40));
    let begun = vec![message("m", ItemRole::Assistant), delta_of("m", Some(DeltaPart::Reasoning), "I thi")];
    assert_eq!(written_by(&mut renderer, begun), "\x1b[2m~ I\x1b[0m");
    assert_eq!(renderer.pause(10), "\x1b[2m thi\x1b[0m");
    assert_eq!(renderer.pause(10), "");
}

#[test]
fn a_complete_message_leaves_the_cursor_at_the_beginning_of_a_line() {
    let mut renderer = Renderer::new(Style::Plain, Paper::Screen(40));
    let part = vec![ContentPart::text("Done.")];
    let events = vec![
        message("m", ItemRole::Assistant),
        delta_of("m", None, "Done."),
        completed(item("m", ItemKind::Message, Some(ItemRole::Assistant), part)),
    ];
    assert_eq!(written_by(&mut renderer, events), "Done.\n");
    assert_eq!(renderer.cursor().0, 0);
}

#[test]
fn the_closing_line_tells_how_full_the_context_is() {
    for (used, window, words) in
        [(24_000, 200_000, "context 12% of 200k"), (70, 1_000_000, "context <1% of 1M")]
    {
        let context = Some(Some(ContextFill { used, window }));
        let events = vec![
            EventData::SessionUpdated(StatePatch { context, ..StatePatch::default() }),
            turn_ended(StopReason::EndTurn, None),
        ];
        assert_eq!(shown(Style::Plain, 60, events), format!("── end_turn · {words} · 1.2 s\n"));
    }
}

#[test]
fn a_failed_turn_names_its_error() {
    let events = vec![
        delta_of("m", None, "Let me"),
        EventData::Error(ErrorData {
            message: "the provider is overloaded".into(),
            code: Some(ErrorCode::ApiError),
            details: None,
        }),
        turn_ended(StopReason::Error, None),
    ];
    let events = [vec![message("m", ItemRole::Assistant)], events].concat();
    insta::assert_snapshot!(shown(Style::Plain, 60, events), @r"
    Let me

    ✗ error api_error: the provider is overloaded

    ── error · 1.2 s
    ");
}

#[test]
fn a_message_without_deltas_is_shown_when_it_is_complete() {
    let events = vec![
        message("m", ItemRole::Assistant),
        completed(item(
            "m",
            ItemKind::Message,
            Some(ItemRole::Assistant),
            vec![ContentPart::text("All at once.\n")],
        )),
        turn_ended(StopReason::EndTurn, None),
    ];
    insta::assert_snapshot!(shown(Style::Plain, 60, events), @r"
    All at once.

    ── end_turn · 1.2 s
    ");
}

#[test]
fn results_of_parallel_calls_name_their_call() {
    let events = vec![
        call("c1", "read", ToolKind::Read, about_file("a")),
        call("c2", "read", ToolKind::Read, about_file("b")),
        result("c1", "one", None, vec![]),
        result("c2", "two", None, vec![]),
    ];
    insta::assert_snapshot!(shown(Style::Plain, 60, events), @r"
    ● read a
    ● read b
    ↳ read a
      │ one
    ↳ read b
      │ two
    ");
}

#[test]
fn what_a_command_wrote_to_stderr_is_shown_below_its_output() {
    let part = ContentPart::ToolResult {
        call_id: CallId("c1".into()),
        output: "out".into(),
        stderr: Some("oops".into()),
        is_error: None,
        exit_code: None,
        duration_ms: None,
    };
    let done = completed(item("r", ItemKind::ToolResult, Some(ItemRole::Tool), vec![part]));
    insta::assert_snapshot!(shown(Style::Plain, 60, vec![call("c1", "Bash", ToolKind::Execute, ToolSubject::default()), done]), @r"
    ● Bash
      │ out
      │ oops
    ");
}

#[test]
fn structured_output_is_shown_only_when_a_result_has_nothing_else() {
    let json = || ContentPart::Json { json: serde_json::json!({"written": 163}) };
    let diff = Some("--- a\n+++ a\n@@ -1 +1 @@\n-old\n+new\n".to_owned());
    let file = ContentPart::file("a".into(), FileAction::Patch, diff);
    let events = vec![
        call("c1", "edit", ToolKind::Edit, ToolSubject::default()),
        result("c1", "", None, vec![json(), file]),
        call("c2", "read", ToolKind::Read, ToolSubject::default()),
        result("c2", "hello", None, vec![json()]),
        call("c3", "count", ToolKind::Mcp, ToolSubject::default()),
        result("c3", "", None, vec![json()]),
    ];
    insta::assert_snapshot!(shown(Style::Plain, 60, events), @r#"
    ● edit
      a
      @@ -1 +1 @@
      -old
      +new
    ● read
      │ hello
    ● count
      │ {"written":163}
    "#);
}

fn shown(style: Style, width: usize, events: Vec<EventData>) -> String {
    written(Renderer::new(style, Paper::Screen(width)), events)
}

fn written(mut renderer: Renderer, events: Vec<EventData>) -> String {
    written_by(&mut renderer, events)
}

fn written_by(renderer: &mut Renderer, events: Vec<EventData>) -> String {
    renderer.work_in("/home/dev/project");
    let session_id = SessionId::parse("s").unwrap();
    (1..)
        .zip(events)
        .map(|(sequence, data)| UniversalEvent {
            event_id: EventId(format!("evt_{sequence}")),
            sequence,
            time: Timestamp::UNIX_EPOCH,
            session_id: session_id.clone(),
            native_session_id: None,
            source: EventSource::Agent,
            synthetic: false,
            metadata: None,
            data,
            raw: None,
        })
        .map(|event| renderer.event(&event))
        .collect()
}

fn turn() -> Vec<EventData> {
    [opening(), working(), asking(), closing()].concat()
}

fn opening() -> Vec<EventData> {
    vec![
        EventData::SessionStarted(SessionStartedData::default()),
        EventData::TurnStarted(TurnStartedData {
            phase: TurnPhase::Started,
            turn_id: TurnId("turn_1".into()),
            metadata: TurnStartedMetadata {
                origin: TurnOrigin::User,
                message_id: None,
                client_ids: vec![],
                by: None,
                client_metadata: None,
            },
        }),
        message("user", ItemRole::User),
        delta_of("user", None, "Add a line"),
        completed(item(
            "user",
            ItemKind::Message,
            Some(ItemRole::User),
            vec![ContentPart::text("Add a line")],
        )),
        message("thought", ItemRole::Assistant),
        delta_of("thought", Some(DeltaPart::Reasoning), "First I look"),
        delta_of("thought", Some(DeltaPart::Reasoning), " at the file."),
        completed(item(
            "thought",
            ItemKind::Message,
            Some(ItemRole::Assistant),
            vec![ContentPart::Reasoning {
                text: "First I look at the file.".into(),
                visibility: ReasoningVisibility::Public,
            }],
        )),
        message("answer", ItemRole::Assistant),
        delta_of("answer", None, "I'll read "),
        delta_of("answer", None, "it \x1b[2Jfirst."),
        todos(&[("Read", TodoStatus::InProgress), ("Add the line", TodoStatus::Pending)]),
    ]
}

fn working() -> Vec<EventData> {
    let command = "make test && echo a very long command line that goes on and on and on";
    let numbered: String = (1..=8).map(|n| format!("line {n}\n")).collect();
    vec![
        call("c1", "read", ToolKind::Read, about_file("/home/dev/project/README.md")),
        result("c1", &numbered, None, vec![]),
        call(
            "c2",
            "bash",
            ToolKind::Execute,
            ToolSubject { command: Some(command.into()), ..about_file("Makefile") },
        ),
        result("c2", "boom\n", Some(2), vec![]),
        todos(&[("Read", TodoStatus::Completed), ("Add the line", TodoStatus::InProgress)]),
        completed(item(
            "warned",
            ItemKind::Status,
            None,
            vec![ContentPart::Status {
                label: "mock.warning".into(),
                detail: Some("the model is unknown".into()),
                usage: None,
            }],
        )),
        completed(item(
            "packed",
            ItemKind::Status,
            None,
            vec![ContentPart::Status {
                label: "mock.compaction".into(),
                detail: Some("history packed".into()),
                usage: None,
            }],
        )),
        completed(item(
            "stepped",
            ItemKind::Status,
            None,
            vec![ContentPart::Status {
                label: "mock.step".into(),
                detail: Some("nobody reads this".into()),
                usage: Some(omniglot_schema::Usage::default()),
            }],
        )),
    ]
}

fn asking() -> Vec<EventData> {
    let diff = "--- a/README.md\n+++ b/README.md\n@@ -1,2 +1,2 @@\n # Hello\n-old\n+new\n";
    let file = ContentPart::file("README.md".into(), FileAction::Patch, Some(diff.into()));
    let detail = Some("The greeting is old.\nIt changes one line.".to_owned());
    let metadata = RequestMetadata { files: vec![file.clone()], detail, ..RequestMetadata::default() };
    let permission = |status, metadata| PermissionEventData {
        permission_id: PermissionId("perm_1".into()),
        action: "Edit README.md".into(),
        status,
        metadata,
    };
    let question = |status, response: Option<&str>| QuestionEventData {
        question_id: QuestionId("qst_1".into()),
        prompt: "Which colour?".into(),
        options: vec!["red".into(), "blue".into()],
        status,
        response: response.map(str::to_owned),
        metadata: None,
    };
    vec![
        call("c3", "edit", ToolKind::Edit, about_file("README.md")),
        EventData::PermissionRequested(permission(PermissionStatus::Requested, Some(metadata))),
        EventData::PermissionResolved(permission(PermissionStatus::Accept, None)),
        result("c3", "", None, vec![file]),
        EventData::QuestionRequested(question(QuestionStatus::Requested, None)),
        EventData::QuestionResolved(question(QuestionStatus::Answered, Some("blue"))),
    ]
}

fn closing() -> Vec<EventData> {
    let usage = Usage { input_tokens: Some(1_200), output_tokens: Some(34), ..Usage::default() }.with_total();
    vec![
        EventData::AgentUnparsed(AgentUnparsedData {
            error: "expected value".into(),
            location: "stdout".into(),
            raw_hash: None,
        }),
        EventData::SessionUpdated(StatePatch {
            context: Some(Some(ContextFill { used: 24_000, window: 200_000 })),
            ..StatePatch::default()
        }),
        message("end", ItemRole::Assistant),
        delta_of("end", None, "Done.\n"),
        turn_ended(StopReason::EndTurn, Some(usage)),
    ]
}

fn item(id: &str, kind: ItemKind, role: Option<ItemRole>, content: Vec<ContentPart>) -> UniversalItem {
    UniversalItem {
        item_id: ItemId(id.into()),
        native_item_id: None,
        parent_id: None,
        kind,
        role,
        status: ItemStatus::Completed,
        content,
    }
}

fn message(id: &str, role: ItemRole) -> EventData {
    EventData::ItemStarted(ItemEventData {
        item: item(id, ItemKind::Message, Some(role), vec![]),
        metadata: None,
    })
}

fn completed(item: UniversalItem) -> EventData {
    EventData::ItemCompleted(ItemEventData { item, metadata: None })
}

fn delta_of(id: &str, part_type: Option<DeltaPart>, delta: &str) -> EventData {
    EventData::ItemDelta(ItemDeltaData {
        item_id: ItemId(id.into()),
        native_item_id: None,
        delta: delta.into(),
        part_type,
    })
}

fn about_file(path: &str) -> ToolSubject {
    ToolSubject { paths: vec![ToolPath::new(path)], ..ToolSubject::default() }
}

fn call(id: &str, name: &str, kind: ToolKind, subject: ToolSubject) -> EventData {
    let (name, arguments, call_id) = (name.into(), "{}".into(), CallId(id.into()));
    let (kind, subject) = (Some(kind), subject.boxed());
    let part = ContentPart::ToolCall { name, arguments, call_id, title: None, kind, subject };
    completed(item(id, ItemKind::ToolCall, Some(ItemRole::Assistant), vec![part]))
}

fn result(id: &str, output: &str, exit_code: Option<i64>, parts: Vec<ContentPart>) -> EventData {
    let part = ContentPart::ToolResult {
        call_id: CallId(id.into()),
        output: output.into(),
        stderr: None,
        is_error: None,
        exit_code,
        duration_ms: exit_code.map(|_| 1_500),
    };
    let content = [vec![part], parts].concat();
    completed(item(&format!("{id}-result"), ItemKind::ToolResult, Some(ItemRole::Tool), content))
}

fn todos(list: &[(&str, TodoStatus)]) -> EventData {
    let todos = list.iter().map(|(text, status)| Todo { text: (*text).into(), status: *status }).collect();
    EventData::SessionUpdated(StatePatch { todos: Some(Some(todos)), ..StatePatch::default() })
}

fn turn_ended(stop_reason: StopReason, usage: Option<Usage>) -> EventData {
    EventData::TurnEnded(TurnEndedData {
        phase: TurnPhase::Ended,
        turn_id: TurnId("turn_1".into()),
        metadata: TurnEndedMetadata {
            stop_reason,
            model: None,
            cost_usd: usage.as_ref().map(|_| 0.0123),
            usage,
            usage_subagents: None,
            duration_ms: 1_234,
        },
    })
}

/// The event's item as one of the subagent that `parent` has started.
fn below(parent: &str, event: EventData) -> EventData {
    let nested = |data: ItemEventData| ItemEventData {
        item: UniversalItem { parent_id: Some(ItemId(parent.into())), ..data.item },
        metadata: data.metadata,
    };
    match event {
        EventData::ItemStarted(data) => EventData::ItemStarted(nested(data)),
        EventData::ItemCompleted(data) => EventData::ItemCompleted(nested(data)),
        other => other,
    }
}

/// B13: the work of a subagent stands below its call, its words when they are whole.
#[test]
fn b13_subagents_are_indented_under_their_call() {
    let says = |id: &str, text: &str| {
        completed(item(id, ItemKind::Message, Some(ItemRole::Assistant), vec![ContentPart::text(text)]))
    };
    let task = ToolSubject { description: Some("Count the files".into()), ..ToolSubject::default() };
    let events = vec![
        call("agent", "Task", ToolKind::Agent, task.clone()),
        below("agent", message("s", ItemRole::Assistant)),
        delta_of("s", None, "I look at all of them, "),
        below("agent", call("ls", "bash", ToolKind::Execute, about_file("src"))),
        result("ls", "a\nb\n", None, vec![]),
        below("agent", call("deeper", "Task", ToolKind::Agent, task)),
        below("deeper", call("wc", "bash", ToolKind::Execute, about_file("a"))),
        result("wc", "2\n", None, vec![]),
        below("agent", says("s", "I look at all of them, one after the other, until all are counted.")),
        result("agent", "Two files.\n", None, vec![]),
        message("m2", ItemRole::Assistant),
        delta_of("m2", None, "There are two."),
    ];
    insta::assert_snapshot!(shown(Style::Plain, 40, events), @"
    ● Task Count the files
      ● bash src
        │ a
        │ b
      ● Task Count the files
        ● bash a
          │ 2
      I look at all of them, one after the
      other, until all are counted.
    ↳ Task Count the files
      │ Two files.

    There are
    ");
}

/// B13: `run` ends with the turn, so the reason of a crash is told with its error, and once.
#[test]
fn b13_a_crash_shows_stderr_before_its_turn_ends() {
    let stderr = StderrOutput {
        head: None,
        tail: Some("boom: no such file".into()),
        truncated: false,
        total_lines: Some(1),
    };
    let events = vec![
        EventData::Error(ErrorData {
            message: "the agent's process ended".into(),
            code: Some(ErrorCode::AgentCrashed),
            details: Some(serde_json::json!({ "exit_code": 7, "stderr": stderr })),
        }),
        turn_ended(StopReason::Error, None),
        EventData::SessionEnded(SessionEndedData {
            reason: SessionEndReason::Error,
            terminated_by: TerminatedBy::Agent,
            message: Some("the agent's process ended".into()),
            exit_code: Some(7),
            stderr: Some(stderr),
        }),
    ];
    let text = shown(Style::Plain, 60, events);
    assert_eq!(text.matches("boom: no such file").count(), 1, "{text}");
    assert!(text.find("boom").unwrap() < text.find("──").unwrap(), "{text}");
}
