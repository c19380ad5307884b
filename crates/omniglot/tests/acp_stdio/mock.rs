//! The whole protocol with the built-in agent, by each library.

use omniglot_schema::{EventData, PermissionReply, UniversalEventType};
use omniglot_testkit::acp_client::{AcpClient, Library, choose};
use omniglot_testkit::session_driver::{SessionDriver, session_id};
use serde_json::{Value, json};

use crate::editor::{
    ask, daemon, editor, handshake, id_of, new_session, new_session_answer, of_kind, prompt, said, text_of,
    tool_ends,
};
use crate::with_each_library;

with_each_library! {
    a_session_is_made_and_its_answer_streamed,
    a_permission_is_given_and_refused,
    a_question_is_a_form,
    a_question_is_a_choice_for_a_client_without_forms,
    a_turn_is_cancelled_and_the_next_goes_on,
    plans_usage_commands_and_titles_are_shown,
    modes_and_options_are_set,
    a_picture_reaches_the_agent,
    another_process_loads_the_session_with_its_history,
    another_process_resumes_the_session_without_it,
    what_cannot_be_done_is_an_error_that_says_why,
    the_session_outlives_the_editor,
}

async fn a_session_is_made_and_its_answer_streamed(library: Library) {
    let daemon = daemon();
    let mut client = AcpClient::start(library, &daemon, "mock");
    let hello = client.get("initialize", handshake(json!({}))).await;
    assert_eq!(hello["protocolVersion"], 1);
    assert_eq!(hello["agentCapabilities"]["loadSession"], true);
    for ability in ["list", "resume", "close"] {
        assert!(hello["agentCapabilities"]["sessionCapabilities"][ability].is_object(), "{ability}: {hello}");
    }
    let session = new_session(&mut client, &daemon).await;
    assert_eq!(ask(&mut client, &session, "[[reasoning]] [[text:20]]").await, "end_turn");
    assert!(!text_of(&client, "agent_thought_chunk").is_empty());
    assert!(of_kind(&client, "agent_message_chunk").len() > 10, "{:?}", client.updates);
    // The client does not receive its own messages.
    assert!(of_kind(&client, "user_message_chunk").is_empty());
    let stored = daemon.client.detail(&session_id(&session)).await.unwrap();
    assert_eq!(stored.info.agent, "mock");
}

async fn a_permission_is_given_and_refused(library: Library) {
    let daemon = daemon();
    let mut client = editor(library, &daemon, "mock", json!({})).await;
    let session = new_session(&mut client, &daemon).await;
    assert_eq!(ask(&mut client, &session, "[[permission]]").await, "end_turn");
    let [asked] = &*client.asked else { panic!("{:?}", client.asked) };
    assert_eq!(asked.method, "session/request_permission");
    assert_eq!(asked.params["sessionId"], session.as_str());
    assert_eq!(tool_ends(&client), ["completed"]);
    client.answer_with(|asked| choose(asked, "reject_once"));
    ask(&mut client, &session, "[[permission]]").await;
    assert_eq!(client.asked.len(), 2);
    assert_eq!(tool_ends(&client), ["failed"]);
}

async fn a_question_is_a_form(library: Library) {
    let daemon = daemon();
    let mut client = editor(library, &daemon, "mock", json!({ "elicitation": { "form": {} } })).await;
    let session = new_session(&mut client, &daemon).await;
    client.answer_with(|asked| {
        assert_eq!(asked.method, "elicitation/create");
        let properties = asked.params["requestedSchema"]["properties"].as_object().unwrap();
        let (name, field) = properties.iter().next().unwrap();
        let choice = field.pointer("/oneOf/0/const").or(field.pointer("/enum/0")).unwrap();
        Ok(json!({ "action": "accept", "content": { name: choice } }))
    });
    assert_eq!(ask(&mut client, &session, "[[question:one]]").await, "end_turn");
    assert_eq!(client.asked.len(), 1);
}

async fn a_question_is_a_choice_for_a_client_without_forms(library: Library) {
    let daemon = daemon();
    let mut client = editor(library, &daemon, "mock", json!({})).await;
    let session = new_session(&mut client, &daemon).await;
    client.answer_with(|asked| {
        assert_eq!(asked.method, "session/request_permission");
        let first = &asked.params["options"][0];
        Ok(json!({ "outcome": { "outcome": "selected", "optionId": first["optionId"] } }))
    });
    assert_eq!(ask(&mut client, &session, "[[question:one]]").await, "end_turn");
    assert_eq!(client.asked.len(), 1);
}

async fn a_turn_is_cancelled_and_the_next_goes_on(library: Library) {
    let daemon = daemon();
    let mut client = editor(library, &daemon, "mock", json!({})).await;
    let session = new_session(&mut client, &daemon).await;
    let call = client.begin("session/prompt", prompt(&session, "[[text]] [[silence]]")).await;
    client.update(|params| params["update"]["sessionUpdate"] == "agent_message_chunk").await;
    client.notify("session/cancel", json!({ "sessionId": session })).await;
    assert_eq!(client.finish(call).await.unwrap()["stopReason"], "cancelled");
    assert_eq!(ask(&mut client, &session, "[[text]]").await, "end_turn");
}

async fn plans_usage_commands_and_titles_are_shown(library: Library) {
    let daemon = daemon();
    let mut client = editor(library, &daemon, "mock", json!({})).await;
    let session = new_session(&mut client, &daemon).await;
    ask(&mut client, &session, "[[plan]] [[usage]] [[commands]] [[title]] [[mode]]").await;
    let done = of_kind(&client, "plan").last().unwrap()["entries"].clone();
    assert!(done.as_array().unwrap().iter().all(|entry| entry["status"] == "completed"), "{done}");
    for kind in ["usage_update", "available_commands_update", "session_info_update", "current_mode_update"] {
        assert!(!of_kind(&client, kind).is_empty(), "no {kind}: {:?}", client.updates);
    }
}

async fn modes_and_options_are_set(library: Library) {
    let daemon = daemon();
    let mut client = editor(library, &daemon, "mock", json!({})).await;
    let made = new_session_answer(&mut client, &daemon).await;
    let session = id_of(&made);
    let modes = &made["modes"];
    let other = |list: &Value, key: &str, current: &Value| {
        list.as_array().unwrap().iter().map(|entry| entry[key].clone()).find(|id| id != current).unwrap()
    };
    let mode = other(&modes["availableModes"], "id", &modes["currentModeId"]);
    client.get("session/set_mode", json!({ "sessionId": session, "modeId": mode })).await;
    let options = made["configOptions"].as_array().unwrap();
    let model = options.iter().find(|option| option["id"] == "model").unwrap();
    let value = other(&model["options"], "value", &model["currentValue"]);
    let request = json!({ "sessionId": session, "configId": "model", "value": value });
    let set = client.get("session/set_config_option", request).await;
    let current = |id: &str| {
        let options = set["configOptions"].as_array().unwrap();
        options.iter().find(|option| option["id"] == id).unwrap()["currentValue"].clone()
    };
    assert_eq!((current("model"), current("mode")), (value.clone(), mode.clone()));
    let detail = daemon.client.detail(&session_id(&session)).await.unwrap();
    assert_eq!(detail.state.model.as_deref(), value.as_str());
    assert_eq!(detail.state.agent_mode.as_deref(), mode.as_str());
}

async fn a_picture_reaches_the_agent(library: Library) {
    let daemon = daemon();
    let mut client = editor(library, &daemon, "mock", json!({})).await;
    let session = new_session(&mut client, &daemon).await;
    let picture = json!({ "type": "image", "mimeType": "image/png", "data": PIXEL });
    let words = json!({ "type": "text", "text": "[[attachments]]" });
    let prompt = json!({ "sessionId": session, "prompt": [words, picture] });
    assert_eq!(client.get("session/prompt", prompt).await["stopReason"], "end_turn");
    assert!(said(&client).contains("image/png"), "{}", said(&client));
}

async fn another_process_loads_the_session_with_its_history(library: Library) {
    let daemon = daemon();
    let mut first = editor(library, &daemon, "mock", json!({})).await;
    let session = new_session(&mut first, &daemon).await;
    ask(&mut first, &session, "Remember the heron. [[text]] [[permission]]").await;
    let before = said(&first);
    assert_eq!(first.leave().await, Some(0));

    let mut second = editor(library, &daemon, "mock", json!({})).await;
    let listed = second.get("session/list", json!({})).await;
    let sessions = listed["sessions"].as_array().unwrap();
    assert!(sessions.iter().any(|known| known["sessionId"] == session.as_str()), "{listed}");
    let again = json!({ "sessionId": session, "cwd": daemon.work(), "mcpServers": [] });
    second.get("session/load", again).await;
    assert!(text_of(&second, "user_message_chunk").contains("Remember the heron."));
    assert_eq!(said(&second), before);
    assert_eq!(tool_ends(&second), ["completed"]);
    assert!(second.asked.is_empty(), "{:?}", second.asked);
    ask(&mut second, &session, "[[recall]]").await;
    assert!(said(&second).contains("heron"), "{}", said(&second));
}

async fn another_process_resumes_the_session_without_it(library: Library) {
    let daemon = daemon();
    let mut first = editor(library, &daemon, "mock", json!({})).await;
    let session = new_session(&mut first, &daemon).await;
    ask(&mut first, &session, "Remember the heron. [[text]]").await;
    first.leave().await;
    let mut second = editor(library, &daemon, "mock", json!({})).await;
    let again = json!({ "sessionId": session, "cwd": daemon.work(), "mcpServers": [] });
    second.get("session/resume", again).await;
    assert_eq!((said(&second), text_of(&second, "user_message_chunk")), (String::new(), String::new()));
    ask(&mut second, &session, "[[recall]]").await;
    assert!(said(&second).contains("heron"), "{}", said(&second));
}

async fn what_cannot_be_done_is_an_error_that_says_why(library: Library) {
    let daemon = daemon();
    let mut client = editor(library, &daemon, "mock", json!({})).await;
    let unknown = client.call("session/prompt", prompt("nobody", "Hello.")).await.unwrap_err();
    assert!(unknown.code != 0 && !unknown.message.is_empty(), "{unknown:?}");
    let session = new_session(&mut client, &daemon).await;
    let failed = client.call("session/prompt", prompt(&session, "[[error:rate_limit]]")).await.unwrap_err();
    assert!(!failed.message.is_empty(), "{failed:?}");
    let crashed = client.call("session/prompt", prompt(&session, "[[crash]]")).await.unwrap_err();
    assert!(!crashed.message.is_empty(), "{crashed:?}");
    assert_eq!(ask(&mut client, &session, "[[text]]").await, "end_turn");
}

async fn the_session_outlives_the_editor(library: Library) {
    let daemon = daemon();
    let mut client = editor(library, &daemon, "mock", json!({})).await;
    let session = new_session(&mut client, &daemon).await;
    client.begin("session/prompt", prompt(&session, "[[permission]] [[text]]")).await;
    // The editor exits while its agent waits for an answer; another client gives it.
    let driver = SessionDriver::of(&daemon.client, &session);
    let asked = driver.wait_for(0, |event| event.kind() == UniversalEventType::PermissionRequested).await;
    drop(client);
    let EventData::PermissionRequested(asked) = &asked.data else { unreachable!() };
    driver.reply(asked.permission_id.as_str(), PermissionReply::Once).await.unwrap();
    driver.wait_for(0, |event| event.kind() == UniversalEventType::TurnEnded).await;
    driver.history().await;
}

/// One pixel.
const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
