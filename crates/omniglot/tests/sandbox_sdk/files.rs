//! The SDK names no session, so its files are those of a configured root.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::sandbox_sdk::SandboxSdk;
use serde_json::{Value, json};

fn daemon_with_root(root: &std::path::Path) -> Daemon {
    Setup::new(env!("CARGO_BIN_EXE_omniglot")).config(format!("[files]\nroots = [{root:?}]\n")).start()
}

fn base64(bytes: &[u8]) -> Value {
    json!({ "base64": STANDARD.encode(bytes) })
}

#[tokio::test]
async fn files_are_written_read_listed_moved_unpacked_and_deleted() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name).to_str().unwrap().to_owned();
    let daemon = daemon_with_root(root.path());
    let mut sdk = SandboxSdk::start(&daemon);
    let content = b"\0\xff bytes";
    let made = sdk.call("mkdirFs", json!([{ "path": "sub/deep" }])).await.unwrap();
    assert_eq!(made, json!({ "path": path("sub/deep") }));
    let file = json!({ "path": "sub/a.bin" });
    let written = sdk.call("writeFsFile", json!([file, base64(content)])).await.unwrap();
    assert_eq!(written, json!({ "path": path("sub/a.bin"), "bytesWritten": content.len() }));
    assert_eq!(
        sdk.call("readFsFile", json!([{ "path": path("sub/a.bin") }])).await.unwrap(),
        base64(content)
    );
    let stat = sdk.call("statFs", json!([file])).await.unwrap();
    assert_eq!((&stat["entryType"], &stat["size"]), (&json!("file"), &json!(content.len())));
    let entries = sdk.call("listFsEntries", json!([{ "path": "sub" }])).await.unwrap();
    let entries: Vec<_> =
        entries.as_array().unwrap().iter().map(|entry| [&entry["name"], &entry["entryType"]]).collect();
    assert_eq!(entries, [["a.bin", "file"], ["deep", "directory"]]);
    let from_to = json!({ "from": "sub/a.bin", "to": "b.bin" });
    let moved = sdk.call("moveFs", json!([from_to])).await.unwrap();
    assert_eq!(moved, json!({ "from": path("sub/a.bin"), "to": path("b.bin") }));
    let mut archive = tar::Builder::new(vec![]);
    let mut header = tar::Header::new_gnu();
    header.set_size(2);
    archive.append_data(&mut header, "c/d.txt", &b"hi"[..]).unwrap();
    let archive = base64(&archive.into_inner().unwrap());
    let unpacked = sdk.call("uploadFsBatch", json!([archive, { "path": "up" }])).await.unwrap();
    assert_eq!(unpacked, json!({ "paths": [path("up/c/d.txt")], "truncated": false }));
    let deleted = sdk.call("deleteFsEntry", json!([{ "path": "up", "recursive": true }])).await.unwrap();
    assert_eq!(deleted, json!({ "path": path("up") }));
    for (method, args, status) in [
        ("readFsFile", json!([file]), 404),
        ("writeFsFile", json!([{ "path": "no/where" }, "x"]), 404),
        ("moveFs", json!([{ "from": "b.bin", "to": "sub" }]), 409),
        ("deleteFsEntry", json!([{ "path": "sub" }]), 409),
        ("deleteFsEntry", json!([{ "path": "." }]), 400),
        ("statFs", json!([{ "path": "../x" }]), 400),
        ("readFsFile", json!([{ "path": "/etc/hostname" }]), 403),
    ] {
        let thrown = sdk.call(method, args).await.unwrap_err();
        assert_eq!(thrown.status, Some(status), "{method}: {thrown:?}");
    }
    sdk.leave().await;
}
