//! Tests prompts and new sessions in the form that clients send.

use omniglot_schema::SystemPrompt;
use serde_json::json;

use super::*;

fn message(blocks: serde_json::Value) -> Result<Message, String> {
    let params = json!({ "sessionId": "s", "prompt": blocks }).to_string();
    let prompt: Prompt = serde_json::from_str(&params).unwrap();
    prompt.into_message().map_err(|error| error.to_string())
}

#[test]
fn a_prompt_reads_as_its_client_has_put_it_together() {
    let message = message(json!([
        { "type": "text", "text": "Explain " },
        { "type": "resource_link", "name": "a b.rs", "uri": "file:///w/a%20b.rs", "mimeType": "text/x-rust" },
        { "type": "text", "text": " and " },
        { "type": "resource_link", "name": "page", "uri": "https://a.example/page" },
        { "type": "resource", "resource": { "uri": "file:///w/c.rs", "text": "fn c() {}" } },
    ]))
    .unwrap();
    assert_eq!(
        message.request.message,
        "Explain [@a b.rs](file:///w/a%20b.rs) and [@page](https://a.example/page)\n\
         <context ref=\"file:///w/c.rs\">\nfn c() {}\n</context>\n"
    );
    let file = MessageAttachment {
        path: "/w/a b.rs".into(),
        mime: Some("text/x-rust".into()),
        filename: Some("a b.rs".into()),
    };
    assert_eq!(message.request.attachments, [file]);
    assert!(message.inline.is_empty());
}

#[test]
fn pictures_come_inside_the_prompt() {
    let message = message(json!([
        { "type": "image", "data": "AAE=", "mimeType": "image/png" },
        { "type": "resource", "resource": { "uri": "file:///w/b.bin", "blob": "AgM=", "mimeType": "x/y" } },
    ]))
    .unwrap();
    let image = InlineFile { name: "image".into(), mime: Some("image/png".into()), bytes: vec![0, 1] };
    let blob = InlineFile { name: "b.bin".into(), mime: Some("x/y".into()), bytes: vec![2, 3] };
    assert_eq!(message.inline, [image, blob]);
}

#[test]
fn content_that_cannot_be_read_is_refused_by_its_place() {
    let text = json!({ "type": "text", "text": "x" });
    for (bad, why) in [
        (
            json!({ "type": "image", "data": "*", "mimeType": "image/png" }),
            "prompt[1]: its data is not base64",
        ),
        (json!({ "type": "audio", "data": "", "mimeType": "audio/wav" }), "prompt[1]: no agent takes audio"),
        (json!({ "type": "hologram" }), "prompt[1]: "),
    ] {
        let refused = message(json!([text, bad])).unwrap_err();
        assert!(refused.starts_with(why), "{refused}");
    }
}

#[test]
fn a_server_that_cannot_be_read_is_refused_by_its_place() {
    let asked = |servers: serde_json::Value| {
        let params = json!({ "cwd": "/w", "mcpServers": servers }).to_string();
        let params: NewSession = serde_json::from_str(&params).unwrap();
        params.into_request(Some("mock"))
    };
    let refused = asked(json!([{ "name": "x" }])).unwrap_err().to_string();
    assert!(refused.starts_with("mcpServers[0]: "), "{refused}");
    assert_eq!(asked(json!([])).unwrap().mcp, None);
}

#[test]
fn a_session_needs_an_agent() {
    let params: NewSession = serde_json::from_str(r#"{"cwd":"/w","mcpServers":[]}"#).unwrap();
    assert_eq!(params.into_request(None), Err(Unfit::NoAgent));
}

/// B16: the client's own id of the turn is told back by `turn.started`.
#[test]
fn b16_the_turn_id_of_a_prompt_is_an_id_of_its_client() {
    let read = |turn: serde_json::Value| {
        let params =
            json!({ "sessionId": "s", "prompt": [], "_meta": { "sandbox-agent/turnId": turn, "x": 1 } });
        let prompt: Prompt = serde_json::from_str(&params.to_string()).unwrap();
        prompt.into_message().map(|message| message.request.client_ids)
    };
    assert_eq!(read(json!("turn-7")), Ok(vec!["turn-7".to_owned()]));
    assert_eq!(read(json!(null)), Ok(vec![]));
    assert!(read(json!(7)).unwrap_err().to_string().starts_with("_meta[\"sandbox-agent/turnId\"]"));
}

/// B15: the options of acpx are those of the session; one of another type is refused by its name.
#[test]
fn b15_the_options_of_acpx_are_read_and_none_is_dropped() {
    let read = |meta: serde_json::Value| {
        let params = json!({ "cwd": "/w", "mcpServers": [], "_meta": meta });
        let new: NewSession = serde_json::from_str(&params.to_string()).unwrap();
        new.into_request(Some("mock")).map_err(|error| error.to_string())
    };
    let options = json!({ "model": "opus", "settingSources": [], "allowedTools": ["Read"], "maxTurns": 2 });
    let request = read(json!({ "claudeCode": { "options": options } })).unwrap();
    assert_eq!(request.model.as_deref(), Some("opus"));
    assert_eq!(request.allowed_tools, Some(vec!["Read".to_owned()]));
    assert_eq!(request.max_turns.map(u32::from), Some(2));
    let prompt =
        |prompt: serde_json::Value| read(json!({ "systemPrompt": prompt })).map(|new| new.system_prompt);
    assert_eq!(prompt(json!("Be brief.")), Ok(Some(SystemPrompt::Replace("Be brief.".into()))));
    assert_eq!(prompt(json!({ "append": "Be kind." })), Ok(Some(SystemPrompt::Append("Be kind.".into()))));
    assert!(prompt(json!({ "prepend": "x" })).unwrap_err().contains("systemPrompt"));
    assert!(
        read(json!({ "claudeCode": { "options": { "maxTurns": 0 } } })).unwrap_err().contains("claudeCode")
    );
}
