//! Which files a caller reaches: by its session, by a configured root, and never those of the daemon.

use omniglot_schema::{CreateTokenRequest, Label, Scope};
use omniglot_testkit::session_driver::session_id;

use super::*;

async fn client_of(daemon: &Daemon, scope: Scope, sessions: Option<Label>) -> Client {
    let request = CreateTokenRequest { name: "t".into(), scope, sessions, expires_in_seconds: None };
    let token = daemon.client.create_token(&request).await.unwrap();
    Client::new(&daemon.url, Some(token.secret)).unwrap()
}

#[tokio::test]
async fn without_a_session_there_must_be_a_configured_root() {
    let daemon = daemon();
    let refused = refused(daemon.client.fs_entries(None, "").await, 400);
    assert!(refused.detail.unwrap().contains("`roots` under [files]"));
}

#[tokio::test]
async fn a_configured_root_is_for_an_admin() {
    let roots = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let [first, second] = roots.each_ref().map(|root| root.path().to_str().unwrap());
    let config = format!("[files]\nroots = [{first:?}, {second:?}]\n");
    let daemon = Setup::new(env!("CARGO_BIN_EXE_omniglot")).config(config).start();
    let client = &daemon.client;
    client.fs_write_file(None, "a", "1").await.unwrap();
    client.fs_write_file(None, &format!("{second}/b"), "2").await.unwrap();
    assert_eq!(std::fs::read_to_string(roots[0].path().join("a")).unwrap(), "1");
    client.fs_move(None, &rename("a", &format!("{second}/a"), None)).await.unwrap();
    assert_eq!(client.fs_entries(None, second).await.unwrap().len(), 2);
    refused(client.fs_entries(None, "/").await, 403);
    refused(client.fs_read_file(None, "/etc/hostname").await, 403);
    refused(client.fs_delete_entry(None, second, true).await, 400);
    // A session's files need no root; an admin reaches both.
    SessionDriver::create(client, "s").await;
    let s = session_id("s");
    client.fs_write_file(Some(&s), "c", "3").await.unwrap();
    assert!(daemon.work().join("c").exists());
    assert_eq!(client.fs_read_file(Some(&s), &format!("{second}/b")).await.unwrap(), "2");
    let driver = client_of(&daemon, Scope::Drive, None).await;
    assert_eq!(driver.fs_read_file(Some(&s), "c").await.unwrap(), "3");
    refused(driver.fs_read_file(Some(&s), &format!("{second}/b")).await, 403);
    assert!(refused(driver.fs_entries(None, "").await, 403).detail.unwrap().contains("`admin`"));
    refused(driver.fs_write_file(None, "x", "x").await, 403);
}

#[tokio::test]
async fn the_scope_and_the_limit_of_a_token_count() {
    let scene = Scene::new().await;
    scene.client().fs_write_file(scene.s(), "a", "1").await.unwrap();
    let answerer = client_of(&scene.daemon, Scope::Answer, None).await;
    assert!(refused(answerer.fs_read_file(scene.s(), "a").await, 403).detail.unwrap().contains("`drive`"));
    scene.client().revoke_token(&scene.client().tokens().await.unwrap()[0].id).await.unwrap();
    let limited = client_of(&scene.daemon, Scope::Drive, Some(Label::new("app", "x").unwrap())).await;
    let other = scene.s();
    refused(limited.fs_entries(other, "").await, 404);
    refused(limited.fs_stat(other, "a").await, 404);
    refused(limited.fs_read_file(other, "a").await, 404);
    refused(limited.fs_write_file(other, "a", "2").await, 404);
    refused(limited.fs_delete_entry(other, "a", false).await, 404);
    refused(limited.fs_mkdir(other, "b").await, 404);
    refused(limited.fs_move(other, &rename("a", "b", None)).await, 404);
    refused(limited.fs_upload_batch(other, "", vec![0; 1024]).await, 404);
    refused(limited.fs_entries(None, "").await, 403);
    assert!(refused(limited.fs_stat(Some(&session_id("none")), "a").await, 404).session_id.is_some());
    let directory = Some(scene.daemon.work().to_str().unwrap().to_owned());
    let own = CreateSessionRequest { directory, ..CreateSessionRequest::new("mock") };
    SessionDriver::create_with(&limited, "own", &own).await;
    limited.fs_write_file(Some(&session_id("own")), "mine", "1").await.unwrap();
    assert_eq!(scene.names(), ["a"]);
}

#[tokio::test]
async fn private_files_of_the_daemon_are_out_of_reach() {
    let daemon = daemon();
    let home = daemon.home().to_owned();
    std::os::unix::fs::symlink("data/private", home.join("link")).unwrap();
    let scene = Scene::in_directory(daemon, &home).await;
    let (client, s) = (scene.client(), scene.s());
    let token = std::fs::read_to_string(home.join("data/private/token")).unwrap();
    for path in ["data/private", "data/private/token", "link/token", "data/private/new", "data/omniglot.toml"]
    {
        for path in [path.to_owned(), home.join(path).to_str().unwrap().to_owned()] {
            refused(client.fs_write_file(s, &path, "x").await, 403);
            refused(client.fs_delete_entry(s, &path, true).await, 403);
            refused(client.fs_mkdir(s, &path).await, 403);
            refused(client.fs_move(s, &rename(&path, "stolen", None)).await, 403);
            assert!(client.fs_read_file(s, &path).await.is_err());
            assert!(client.fs_stat(s, &path).await.is_err());
            assert!(client.fs_upload_batch(s, &path, vec![0; 1024]).await.is_err());
        }
    }
    refused(client.fs_entries(s, "data/private").await, 403);
    refused(client.fs_delete_entry(s, "data", true).await, 403);
    refused(client.fs_move(s, &rename("data", "moved", None)).await, 403);
    let names: Vec<_> =
        client.fs_entries(s, "data").await.unwrap().into_iter().map(|entry| entry.name).collect();
    assert!(!names.iter().any(|name| name == "private"), "{names:?}");
    assert_eq!(std::fs::read_to_string(home.join("data/private/token")).unwrap(), token);
}

#[tokio::test]
async fn changes_are_in_the_audit_with_their_session() {
    let scene = Scene::new().await;
    scene.client().fs_write_file(scene.s(), "a", "1").await.unwrap();
    refused(scene.client().fs_delete_entry(scene.s(), "none", false).await, 404);
    scene.client().fs_read_file(scene.s(), "a").await.unwrap();
    let entries = scene.client().audit(0, None).await.unwrap().entries;
    let of_files = entries.iter().filter(|entry| entry.call.what.contains("/v1/fs/"));
    let told: Vec<_> = of_files
        .map(|entry| (&*entry.call.what, entry.call.session_id.as_ref(), &*entry.call.outcome))
        .collect();
    assert_eq!(told, [("PUT /v1/fs/file", scene.s(), "200"), ("DELETE /v1/fs/entry", scene.s(), "404")]);
}
