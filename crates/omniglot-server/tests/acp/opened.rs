//! The results for a client that lists or opens a session.

use omniglot_schema::{AgentInfo, SessionInfo, SessionState};
use omniglot_server::faces::acp::project::setup::{self, Opened};
use serde_json::{Value, json};

use crate::schema;

/// Returns a session with all members, as it is listed and as it is opened.
pub(crate) fn opened() -> [Value; 2] {
    let info: SessionInfo = serde_json::from_value(json!({
        "sessionId": "s", "agent": "claude", "agentMode": "build", "permissionMode": "default",
        "model": "opus", "variant": "high", "nativeSessionId": "n", "ended": false, "eventCount": 3,
        "createdAt": 1, "updatedAt": 2, "directory": "/w", "title": "t",
        "agentVersion": "2.1.325", "forkedFrom": "origin",
        "mcp": { "m": { "type": "local", "command": "server" } },
        "skills": { "sources": [{ "type": "github", "source": "a/b" }] },
    }))
    .unwrap();
    let state: SessionState = serde_json::from_value(json!({
        "model": "opus", "agent_mode": "build", "permission_mode": "default",
        "models": [{ "id": "opus", "variants": ["low", "high"] }, { "id": "haiku" }],
        "modes": [{ "id": "build", "name": "Build", "description": "" }],
    }))
    .unwrap();
    let (listed, opened) = (setup::listed(&info), Opened::new(&info, &state));
    let schema = schema::Schema::load();
    schema.assert_is("SessionInfo", "listed", &listed);
    schema.assert_is("NewSessionResponse", "opened", &opened);
    insta::assert_json_snapshot!(opened, @r#"
    {
      "sessionId": "s",
      "modes": {
        "currentModeId": "build",
        "availableModes": [
          {
            "id": "build",
            "name": "Build"
          }
        ]
      },
      "models": {
        "currentModelId": "opus",
        "availableModels": [
          {
            "modelId": "opus",
            "name": "opus"
          },
          {
            "modelId": "haiku",
            "name": "haiku"
          }
        ]
      },
      "configOptions": [
        {
          "id": "model",
          "name": "Model",
          "category": "model",
          "type": "select",
          "currentValue": "opus",
          "options": [
            {
              "value": "opus",
              "name": "opus"
            },
            {
              "value": "haiku",
              "name": "haiku"
            }
          ]
        },
        {
          "id": "mode",
          "name": "Mode",
          "category": "mode",
          "type": "select",
          "currentValue": "build",
          "options": [
            {
              "value": "build",
              "name": "Build"
            }
          ]
        },
        {
          "id": "thought_level",
          "name": "Reasoning effort",
          "category": "thought_level",
          "type": "select",
          "currentValue": "default",
          "options": [
            {
              "value": "default",
              "name": "default"
            },
            {
              "value": "low",
              "name": "low"
            },
            {
              "value": "high",
              "name": "high"
            }
          ]
        },
        {
          "id": "permission_mode",
          "name": "Permissions",
          "category": "_permission_mode",
          "type": "select",
          "currentValue": "default",
          "options": [
            {
              "value": "default",
              "name": "Default",
              "description": "Asks before it changes anything"
            },
            {
              "value": "acceptEdits",
              "name": "Accept edits",
              "description": "Changes files without asking"
            },
            {
              "value": "plan",
              "name": "Plan",
              "description": "Reads and plans only"
            },
            {
              "value": "bypass",
              "name": "Bypass permissions",
              "description": "Asks nothing"
            }
          ]
        }
      ],
      "_meta": {
        "sandbox-agent/agent": "claude",
        "sandbox-agent/agentVersion": "2.1.325",
        "sandbox-agent/agentMode": "build",
        "sandbox-agent/permissionMode": "default",
        "sandbox-agent/model": "opus",
        "sandbox-agent/variant": "high",
        "sandbox-agent/nativeSessionId": "n",
        "sandbox-agent/createdAt": 1,
        "sandbox-agent/ended": false,
        "sandbox-agent/eventCount": 3,
        "omniglot/forkedFrom": "origin",
        "sandbox-agent/mcp": {
          "m": {
            "type": "local",
            "command": "server"
          }
        },
        "sandbox-agent/skills": {
          "sources": [
            {
              "type": "github",
              "source": "a/b"
            }
          ]
        }
      }
    }
    "#);
    [serde_json::to_value(listed).unwrap(), serde_json::to_value(opened).unwrap()]
}

#[test]
fn every_agent_is_introduced_as_one_that_loads_lists_and_resumes() {
    let agent: AgentInfo = serde_json::from_value(json!({
        "id": "mock", "installed": true, "credentialsAvailable": true, "version": null, "path": null,
        "capabilities": {
            "planMode": false, "permissions": true, "questions": true, "toolCalls": true, "toolResults": true,
            "textMessages": true, "images": true, "fileAttachments": true, "sessionLifecycle": false,
            "errorEvents": true, "reasoning": true, "status": true, "commandExecution": true,
            "fileChanges": true, "mcpTools": true, "mcpHttp": true, "mcpSse": false,
            "streamingDeltas": true, "itemStarted": true, "sharedProcess": false,
        },
    }))
    .unwrap();
    let introduced = setup::introduced(&agent);
    schema::Schema::load().assert_is("InitializeResponse", "introduced", &introduced);
    let json = serde_json::to_value(introduced).unwrap();
    assert_eq!(json["protocolVersion"], 1);
    // B16: the version of the daemon is not that of the agent.
    assert_eq!(json["agentInfo"], json!({ "name": "mock", "version": "unknown" }));
    let can = &json["agentCapabilities"];
    assert_eq!((&can["loadSession"], &can["promptCapabilities"]["image"]), (&json!(true), &json!(true)));
    assert_eq!(
        (&can["mcpCapabilities"]["http"], &can["mcpCapabilities"]["sse"]),
        (&json!(true), &json!(false))
    );
    for method in ["list", "resume", "close", "delete", "fork"] {
        assert!(can["sessionCapabilities"][method].is_object(), "{method}");
    }
}
