//! B11: the modes that clients offer are those of the agent that they use.

use omniglot_testkit::models::Reply;
use reqwest::Method;
use serde_json::{Value, json};

use crate::Real;

async fn ask(real: &Real, method: Method, path: &str, body: Option<Value>) -> (u16, Value) {
    let request = reqwest::Client::new().request(method, format!("{}/opencode{path}", real.daemon.url));
    let request = request.basic_auth("opencode", Some(&real.daemon.token));
    let request = match body {
        Some(body) => request.json(&body),
        None => request,
    };
    let response = request.send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

async fn modes(real: &Real, base: &str) -> Vec<String> {
    let (_, agents) = ask(real, Method::GET, &format!("{base}/agent"), None).await;
    agents.as_array().unwrap().iter().map(|agent| agent["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn modes_are_those_of_the_chosen_agent_and_another_s_mode_loses_no_prompt() {
    let real = Real::claude();
    let of_claude = modes(&real, "").await;
    let of_mock = modes(&real, "/agents/mock").await;
    let foreign = of_mock.iter().find(|mode| !of_claude.contains(mode)).expect("a mode of the mock alone");
    assert!(of_claude.contains(&"plan".to_owned()), "{of_claude:?}");
    let model = json!({ "providerID": "claude", "id": "default" });
    let new = json!({ "agent": foreign, "model": model });
    let (status, session) = ask(&real, Method::POST, "/session", Some(new)).await;
    assert_eq!(status, 200, "{session}");
    let path = format!("/session/{}/message", session["id"].as_str().unwrap());
    real.says([Reply::text("Here I am.")]);
    let prompt = json!({ "agent": foreign, "parts": [{ "type": "text", "text": "Hello." }] });
    let (status, answer) = ask(&real, Method::POST, &path, Some(prompt)).await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["info"]["agent"], "build");
    let nobody = json!({ "agent": "nobody", "parts": [{ "type": "text", "text": "Hello." }] });
    assert_eq!(ask(&real, Method::POST, &path, Some(nobody)).await.0, 400, "no agent has such a mode");
}
