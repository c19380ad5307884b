//! `/v1/fs` over a real daemon: files of a session's directory and of configured roots, and every way to misuse them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

#[path = "files/access.rs"]
mod access;
#[path = "files/archives.rs"]
mod archives;
#[path = "files/bad_paths.rs"]
mod bad_paths;
#[path = "files/transfers.rs"]
mod transfers;

use std::path::{Path, PathBuf};

use omniglot_client::{Client, ClientError};
use omniglot_schema::{CreateSessionRequest, FsEntryType, FsMoveRequest, ProblemDetails, SessionId};
use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::session_driver::{SessionDriver, session_id};
use reqwest::{Method, RequestBuilder, Url};

fn daemon() -> Daemon {
    Setup::new(env!("CARGO_BIN_EXE_omniglot")).start()
}

/// A daemon whose session `s` works in a directory of its own.
struct Scene {
    daemon: Daemon,
    session: SessionId,
}

impl Scene {
    async fn new() -> Self {
        let daemon = daemon();
        let directory = daemon.home().join("project");
        std::fs::create_dir(&directory).unwrap();
        Self::in_directory(daemon, &directory).await
    }

    async fn in_directory(daemon: Daemon, directory: &Path) -> Self {
        let directory = Some(directory.to_str().unwrap().to_owned());
        let request = CreateSessionRequest { directory, ..CreateSessionRequest::new("mock") };
        SessionDriver::create_with(&daemon.client, "s", &request).await;
        Self { daemon, session: session_id("s") }
    }

    fn client(&self) -> &Client {
        &self.daemon.client
    }

    fn s(&self) -> Option<&SessionId> {
        Some(&self.session)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.daemon.home().join("project").join(name)
    }

    /// A request with any query, as no client of ours would send it.
    fn request(&self, method: Method, route: &str, query: &[(&str, &str)]) -> RequestBuilder {
        let url = Url::parse_with_params(&format!("{}/v1/fs/{route}", self.daemon.url), query).unwrap();
        reqwest::Client::new().request(method, url).bearer_auth(&self.daemon.token)
    }

    /// Returns the names in the directory, and the records of temporary files, so that nothing half done is missed.
    fn names(&self) -> Vec<String> {
        let places = [self.path(""), self.daemon.data().join("private/temporary")];
        let entries = places.iter().flat_map(|place| std::fs::read_dir(place).into_iter().flatten());
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, ClientError>, status: u16) -> ProblemDetails {
    let error = result.expect_err("a refusal");
    let problem = error.problem().unwrap_or_else(|| panic!("{error}")).clone();
    assert_eq!(problem.status, status, "{problem:?}");
    problem
}

fn rename(from: &str, to: &str, overwrite: Option<bool>) -> FsMoveRequest {
    FsMoveRequest { from: from.into(), to: to.into(), overwrite }
}

#[tokio::test]
async fn files_of_a_session_are_made_listed_read_moved_and_deleted() {
    let scene = Scene::new().await;
    let (client, s) = (scene.client(), scene.s());
    assert_eq!(client.fs_entries(s, "").await.unwrap(), []);
    let made = client.fs_mkdir(s, "a/b").await.unwrap();
    assert_eq!(made.path, scene.path("a/b").to_str().unwrap());
    client.fs_mkdir(s, "a/b").await.unwrap();
    let written = client.fs_write_file(s, "a/x.txt", "hello").await.unwrap();
    assert_eq!((Path::new(&written.path), written.bytes_written), (&*scene.path("a/x.txt"), 5));
    let entries = client.fs_entries(s, "a").await.unwrap();
    let told: Vec<_> = entries.iter().map(|entry| (&*entry.name, entry.entry_type, entry.size)).collect();
    assert_eq!((told[0].0, told[0].1), ("b", FsEntryType::Directory));
    assert_eq!(told[1], ("x.txt", FsEntryType::File, 5));
    // A path that was told can be used as it is.
    assert_eq!(client.fs_read_file(s, &entries[1].path).await.unwrap(), "hello");
    let stat = client.fs_stat(s, "./a/x.txt").await.unwrap();
    assert_eq!((stat.entry_type, stat.size), (FsEntryType::File, 5));
    assert!(stat.modified.unwrap().parse::<jiff::Timestamp>().is_ok());
    assert_eq!(client.fs_stat(s, ".").await.unwrap().entry_type, FsEntryType::Directory);
    client.fs_move(s, &rename("a/x.txt", "y.txt", None)).await.unwrap();
    client.fs_write_file(s, "z.txt", "other").await.unwrap();
    refused(client.fs_move(s, &rename("y.txt", "z.txt", None)).await, 409);
    client.fs_move(s, &rename("y.txt", "z.txt", Some(true))).await.unwrap();
    assert_eq!(client.fs_read_file(s, "z.txt").await.unwrap(), "hello");
    assert!(refused(client.fs_delete_entry(s, "a", false).await, 409).hint.unwrap().contains("recursive"));
    client.fs_delete_entry(s, "a", true).await.unwrap();
    client.fs_delete_entry(s, "z.txt", false).await.unwrap();
    assert_eq!(scene.names(), Vec::<String>::new());
}

#[tokio::test]
async fn what_cannot_be_done_is_told_and_changes_nothing() {
    let scene = Scene::new().await;
    let (client, s) = (scene.client(), scene.s());
    client.fs_mkdir(s, "dir/full").await.unwrap();
    client.fs_write_file(s, "file", "x").await.unwrap();
    for path in ["none", "none/deeper"] {
        refused(client.fs_entries(s, path).await, 404);
        refused(client.fs_stat(s, path).await, 404);
        assert!(refused(client.fs_read_file(s, path).await, 404).r#type.ends_with(":not_found"));
        refused(client.fs_delete_entry(s, path, true).await, 404);
        refused(client.fs_move(s, &rename(path, "new", None)).await, 404);
    }
    let missing = refused(client.fs_write_file(s, "none/file", "x").await, 404);
    assert_eq!(missing.detail.unwrap(), "none does not exist");
    assert!(missing.hint.unwrap().contains("mkdir"));
    refused(client.fs_move(s, &rename("file", "none/file", None)).await, 404);
    refused(client.fs_mkdir(s, "file").await, 409);
    refused(client.fs_mkdir(s, "file/deeper").await, 409);
    refused(client.fs_entries(s, "file").await, 400);
    refused(client.fs_read_file(s, "dir").await, 400);
    refused(client.fs_write_file(s, "dir", "x").await, 400);
    refused(client.fs_move(s, &rename("file", "dir", Some(true))).await, 409);
    refused(client.fs_move(s, &rename("dir", "file", Some(true))).await, 409);
    refused(client.fs_move(s, &rename("dir", "dir/full/in", None)).await, 400);
    for root in [".", "./", scene.path("").to_str().unwrap()] {
        refused(client.fs_delete_entry(s, root, true).await, 400);
        refused(client.fs_write_file(s, root, "x").await, 400);
        refused(client.fs_mkdir(s, root).await, 400);
        refused(client.fs_move(s, &rename(root, "new", None)).await, 400);
        refused(client.fs_move(s, &rename("file", root, Some(true))).await, 400);
    }
    assert_eq!(scene.names(), ["dir", "file"]);
}
