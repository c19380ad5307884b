//! Paths that lead elsewhere, that no file can have, and files that are none.

use std::os::unix::fs::symlink;
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, RenameFlags, mknodat, renameat_with};

use super::*;

/// Sends the path to every route; returns the status of each.
async fn statuses(scene: &Scene, path: &str) -> Vec<u16> {
    let query = [("path", path), ("sessionId", "s")];
    let json = |from: &str, to: &str| {
        scene.request(Method::POST, "move", &query[1..]).json(&rename(from, to, Some(true)))
    };
    let archive = scene.request(Method::POST, "upload-batch", &query);
    let requests = [
        scene.request(Method::GET, "entries", &query),
        scene.request(Method::GET, "stat", &query),
        scene.request(Method::GET, "file", &query),
        scene.request(Method::PUT, "file", &query).body("stolen"),
        scene.request(Method::POST, "mkdir", &query),
        json(path, "moved"),
        json("a.txt", path),
        scene.request(Method::DELETE, "entry", &[query[0], query[1], ("recursive", "true")]),
        archive.header("content-type", "application/x-tar").body(vec![0; 1024]),
    ];
    let mut found = vec![];
    for request in requests {
        let response = request.timeout(Duration::from_secs(20)).send().await.unwrap();
        if !response.status().is_success() {
            assert_eq!(response.headers()["content-type"], "application/problem+json");
        }
        found.push(response.status().as_u16());
    }
    found
}

#[tokio::test]
async fn no_path_leads_out() {
    let scene = Scene::new().await;
    std::fs::write(scene.path("a.txt"), "inside").unwrap();
    let secret = scene.daemon.home().join("secret");
    std::fs::write(&secret, "outside").unwrap();
    symlink(scene.daemon.home(), scene.path("up")).unwrap();
    for way in [
        "../secret",
        "a/../../secret",
        "..",
        "./..",
        "sub/..",
        "/etc/hostname",
        "/",
        secret.to_str().unwrap(),
        "/proc/self/root/etc/hostname",
        "up/secret",
        "up/new",
        "up/new/deep",
        scene.path("../secret").to_str().unwrap(),
        scene.path("up/secret").to_str().unwrap(),
    ] {
        let found = statuses(&scene, way).await;
        assert!(found.iter().all(|status| matches!(status, 400 | 403)), "{way}: {found:?}");
    }
    assert_eq!(std::fs::read_to_string(&secret).unwrap(), "outside");
    assert_eq!(std::fs::read_to_string(scene.path("a.txt")).unwrap(), "inside");
    assert_eq!(scene.names(), ["a.txt", "up"]);
    // The link itself is within.
    scene.client().fs_delete_entry(scene.s(), "up", true).await.unwrap();
    assert!(secret.exists());
}

#[tokio::test]
async fn a_path_that_no_file_can_have_is_refused() {
    let scene = Scene::new().await;
    std::fs::write(scene.path("a.txt"), "x").unwrap();
    let (name, path) = (format!("new/{}", "n".repeat(300)), "d/".repeat(3000));
    for bad in ["a\0b", "\0", &name, &path] {
        assert_eq!(statuses(&scene, bad).await, [400; 9], "{bad:.20}");
    }
    let empty = statuses(&scene, "").await;
    assert_eq!(empty, [200, 400, 400, 400, 400, 400, 400, 400, 200]);
    // Not UTF-8, so it would be the name of another file.
    for (method, route) in [(Method::PUT, "file"), (Method::GET, "file"), (Method::DELETE, "entry")] {
        let url = format!("{}/v1/fs/{route}?session_id=s&path=caf%e9", scene.daemon.url);
        let request = reqwest::Client::new().request(method, url).bearer_auth(&scene.daemon.token);
        assert_eq!(request.send().await.unwrap().status(), 400, "{route}");
    }
    assert_eq!(scene.names(), ["a.txt"]);
    for query in [&[][..], &[("path", "a.txt"), ("x", "y")], &[("path", "a.txt"), ("session_id", "a b")]] {
        let status = scene.request(Method::GET, "file", query).send().await.unwrap().status();
        assert_eq!(status, 400, "{query:?}");
    }
}

#[tokio::test]
async fn names_of_other_languages_and_signs_are_names() {
    let scene = Scene::new().await;
    for name in ["größe 日本.txt", "a b+c&d=e%20#?.txt", "..a", "-", "line\nbreak", "\"q\""] {
        scene.client().fs_write_file(scene.s(), name, "x").await.unwrap();
        assert_eq!(std::fs::read_to_string(scene.path(name)).unwrap(), "x");
        assert_eq!(scene.client().fs_read_file(scene.s(), name).await.unwrap(), "x");
        scene.client().fs_delete_entry(scene.s(), name, false).await.unwrap();
    }
}

#[tokio::test]
async fn pipes_and_devices_are_no_files_and_nobody_waits_for_them() {
    let scene = Scene::new().await;
    mknodat(CWD, scene.path("pipe"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let socket = std::os::unix::net::UnixListener::bind(scene.path("socket")).unwrap();
    let (client, s) = (scene.client(), scene.s());
    for path in ["pipe", "socket"] {
        refused(client.fs_stat(s, path).await, 400);
        refused(client.fs_read_file(s, path).await, 400);
        refused(client.fs_write_file(s, path, "x").await, 400);
        refused(client.fs_mkdir(s, path).await, 409);
    }
    assert_eq!(client.fs_entries(s, "").await.unwrap(), []);
    client.fs_delete_entry(s, "pipe", false).await.unwrap();
    drop(socket);
    client.fs_delete_entry(s, "socket", false).await.unwrap();
    assert_eq!(scene.names(), Vec::<String>::new());
}

#[tokio::test]
async fn a_directory_that_is_exchanged_for_a_link_never_leads_out() {
    let scene = Scene::new().await;
    let outside = scene.daemon.home().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::create_dir(scene.path("dir")).unwrap();
    symlink(&outside, scene.path("link")).unwrap();
    let (dir, link) = (scene.path("dir"), scene.path("link"));
    let swapped = std::thread::spawn(move || {
        for _ in 0..2000 {
            renameat_with(CWD, &dir, CWD, &link, RenameFlags::EXCHANGE).unwrap();
        }
    });
    while !swapped.is_finished() {
        let _ = scene.client().fs_write_file(scene.s(), "dir/x", "x").await;
        let _ = scene.client().fs_mkdir(scene.s(), "dir/y/z").await;
    }
    swapped.join().unwrap();
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
}
