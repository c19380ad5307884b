//! B4: files of a directory are listed, read and searched, and nothing beyond it.

use omniglot_schema::{CreateSessionRequest, CreateTokenRequest, Label, Scope, SessionId};
use reqwest::Method;
use serde_json::json;

use super::support::{Face, daemon, encoded};

#[tokio::test]
async fn files_are_found_by_a_few_letters() {
    let daemon = daemon();
    let face = Face::of(&daemon);
    std::fs::create_dir(daemon.work().join("mail")).unwrap();
    std::fs::write(daemon.work().join("main.py"), "").unwrap();
    let found = Face::of_a_program(&daemon).get("/api/fs/find?query=mai&limit=20").await;
    let (folder, file) =
        (json!({ "path": "mail/", "type": "directory" }), json!({ "path": "main.py", "type": "file" }));
    assert_eq!(found["data"], json!([folder, file]));
    assert_eq!(face.get("/find/file?query=ma").await, json!(["main.py"]));
    assert_eq!(face.get("/find/file?query=ma&dirs=true").await, json!(["mail/"]));
    assert_eq!(face.get("/find/file?query=ma&type=directory").await, json!(["mail/"]));
}

#[tokio::test]
async fn a_directory_is_listed_and_a_file_of_it_is_read() {
    let daemon = daemon();
    let face = Face::of(&daemon);
    let work = daemon.work().canonicalize().unwrap();
    std::fs::create_dir_all(work.join("src/made")).unwrap();
    std::fs::write(work.join(".gitignore"), "made\n").unwrap();
    std::fs::write(work.join("src/a.txt"), "one\n").unwrap();
    std::fs::write(work.join("src/b.png"), [0, 255]).unwrap();
    std::os::unix::fs::symlink("/etc", work.join("src/link")).unwrap();
    let listed = face.get(&format!("/file?directory={}&path=src", encoded(&work))).await;
    let node = |name: &str, kind: &str, ignored: bool| {
        let absolute = work.join("src").join(name);
        json!({ "name": name, "path": format!("src/{name}"), "absolute": absolute, "type": kind, "ignored": ignored })
    };
    assert_eq!(
        listed,
        json!([node("made", "directory", true), node("a.txt", "file", false), node("b.png", "file", false)])
    );
    for path in ["", ".", "./"] {
        assert_eq!(face.get(&format!("/file?path={path}")).await[0]["name"], "src", "{path}");
    }
    assert_eq!(
        face.get("/file/content?path=src%2Fa.txt").await,
        json!({ "type": "text", "content": "one\n" })
    );
    let picture =
        json!({ "type": "binary", "content": "AP8=", "encoding": "base64", "mimeType": "image/png" });
    assert_eq!(face.get("/file/content?path=src%2Fb.png").await, picture);
    let missing = face.get("/file/content?path=none").await;
    assert_eq!(missing, json!({ "type": "text", "content": "" }), "as OpenCode answers");
    assert_eq!(face.get("/file/status").await, json!([]));
}

#[tokio::test]
async fn a_text_is_found_in_files() {
    let daemon = daemon();
    let face = Face::of(&daemon);
    std::fs::write(daemon.work().join("a.txt"), "x\nthe heron\n").unwrap();
    let found = face.get("/find?pattern=her.n").await;
    let expected = json!([{ "path": { "text": "a.txt" }, "lines": { "text": "the heron\n" }, "line_number": 2,
        "absolute_offset": 2, "submatches": [{ "match": { "text": "heron" }, "start": 4, "end": 9 }] }]);
    assert_eq!(found, expected);
    assert_eq!(face.get("/find/symbol?query=x").await, json!([]));
    assert_eq!(face.refused(Method::GET, "/find?pattern=(", None).await.0, 400);
}

#[tokio::test]
async fn nothing_outside_of_the_directory_and_no_private_file_is_read() {
    let daemon = daemon();
    let face = Face::of(&daemon);
    std::os::unix::fs::symlink("/etc/passwd", daemon.work().join("link")).unwrap();
    for path in ["%2Fetc%2Fpasswd", "..%2Fx", "link", "a%00b"] {
        let (status, message) = face.refused(Method::GET, &format!("/file/content?path={path}"), None).await;
        assert_eq!(status, 400, "{path}: {message}");
    }
    let data = encoded(&daemon.data());
    let (status, message) = face
        .refused(Method::GET, &format!("/file/content?directory={data}&path=private%2Ftoken"), None)
        .await;
    assert!(status == 400 && message.contains("private"), "{status} {message}");
    assert_eq!(face.refused(Method::GET, &format!("/file?directory={data}%2Fprivate"), None).await.0, 400);
    assert_eq!(face.refused(Method::GET, "/file?path=none", None).await.0, 404);
}

/// The web page opens a project by listing folders: who sees a session finds its folder, and nothing beside it.
#[tokio::test]
async fn a_token_that_only_reads_or_is_limited_sees_folders_of_its_sessions_and_no_files() {
    let daemon = daemon();
    let (shop, other) = (daemon.work().join("shop"), daemon.work().join("other"));
    for folder in [&shop, &other] {
        std::fs::create_dir(folder).unwrap();
        std::fs::write(folder.join("a"), "").unwrap();
    }
    std::fs::create_dir(daemon.work().join("private-plans")).unwrap();
    let label = Label::new("app", "shop").unwrap();
    for (id, folder, labels) in [("s", &shop, vec![label.clone()]), ("o", &other, vec![])] {
        let labels = labels.into_iter().map(|label| (label.key, label.value)).collect();
        let request = CreateSessionRequest {
            directory: Some(folder.to_string_lossy().into_owned()),
            labels,
            ..CreateSessionRequest::new("mock")
        };
        daemon.client.create(&SessionId::parse(id).unwrap(), &request).await.unwrap();
    }
    let rows = [(Scope::Read, None, &["other", "shop"][..]), (Scope::Drive, Some(label), &["shop"])];
    for (scope, sessions, names) in rows {
        let request =
            CreateTokenRequest { name: format!("{scope}"), scope, sessions, expires_in_seconds: None };
        let token = daemon.client.create_token(&request).await.unwrap().secret;
        let face = Face::of(&daemon).with_token(token);
        let listed = face.get(&format!("/file?directory={}&path=", encoded(&daemon.work()))).await;
        let told: Vec<&str> =
            listed.as_array().unwrap().iter().map(|node| node["name"].as_str().unwrap()).collect();
        assert_eq!(told, names);
        let find = format!("/find/file?directory={}&query=sho&type=directory", encoded(&daemon.work()));
        assert_eq!(face.get(&find).await, json!(["shop/"]));
        assert_eq!(face.get(&format!("/file?directory={}&path=", encoded(&shop))).await, json!([]));
        assert_eq!(face.get(&format!("/find/file?directory={}&query=a", encoded(&shop))).await, json!([]));
        for path in ["/file/content?path=a", "/find?pattern=a"] {
            assert_eq!(face.refused(Method::GET, path, None).await.0, 403, "{path}");
        }
    }
}

/// As by `/v1/fs`: the uploads of others are in the data directory.
#[tokio::test]
async fn a_token_that_drives_reads_no_file_of_the_data_directory() {
    let daemon = daemon();
    let upload = daemon.data().join("shared/upload.txt");
    std::fs::write(&upload, "of somebody else").unwrap();
    let request = CreateTokenRequest {
        name: "driver".into(),
        scope: Scope::Drive,
        sessions: None,
        expires_in_seconds: None,
    };
    let token = daemon.client.create_token(&request).await.unwrap().secret;
    let path = |route: &str, folder: &std::path::Path| format!("{route}&directory={}", encoded(folder));
    let (own, driver) = (Face::of(&daemon), Face::of(&daemon).with_token(token));
    let above = path("/file/content?path=data%2Fshared%2Fupload.txt", daemon.home());
    let within = path("/file/content?path=upload.txt", &daemon.data().join("shared"));
    for path in [&above, &within] {
        assert_eq!(own.get(path).await["content"], "of somebody else");
        assert_eq!(driver.refused(Method::GET, path, None).await.0, 400, "{path}");
    }
    let search = path("/find?pattern=somebody", daemon.home());
    assert_eq!(driver.get(&search).await, json!([]));
}
