//! Archives over HTTP; `hub/files/unpack` of the runtime tests what may be in one.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;

fn archive(files: &[(&str, &str)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(vec![]);
    for (name, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        builder.append_data(&mut header, name, content.as_bytes()).unwrap();
    }
    builder.into_inner().unwrap()
}

fn link(name: &str, target: &str) -> Vec<u8> {
    let mut builder = tar::Builder::new(archive(&[("good", "1")])[..1024].to_vec());
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Symlink);
    header.set_size(0);
    builder.append_link(&mut header, name, target).unwrap();
    builder.into_inner().unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(vec![], Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn an_archive_is_unpacked_whatever_its_type_says() {
    let scene = Scene::new().await;
    let plain = archive(&[("a.txt", "1"), ("deep/b.txt", "2")]);
    for (number, kind) in ["octet-stream", "x-tar", "gzip", "x-gzip"].into_iter().enumerate() {
        for (form, bytes) in [("plain", plain.clone()), ("packed", gzip(&plain))] {
            let path = format!("{form}{number}");
            let request =
                scene.request(Method::POST, "upload-batch", &[("path", &path), ("session_id", "s")]);
            let request = request.header("content-type", format!("application/{kind}"));
            let answer: serde_json::Value = request.body(bytes).send().await.unwrap().json().await.unwrap();
            let place = |name: &str| scene.path(&path).join(name);
            let paths = [place("a.txt"), place("deep/b.txt")];
            assert_eq!(answer, serde_json::json!({ "paths": paths, "truncated": false }));
            assert_eq!(std::fs::read_to_string(&paths[1]).unwrap(), "2");
        }
    }
    let here = scene.client().fs_upload_batch(scene.s(), "", archive(&[("a.txt", "new")])).await.unwrap();
    assert_eq!(here.paths, [scene.path("a.txt").to_str().unwrap()]);
    assert_eq!(scene.names().len(), 9);
    let plain_text = scene.request(Method::POST, "upload-batch", &[("session_id", "s")]).body("text");
    assert_eq!(plain_text.send().await.unwrap().status(), 415);
}

#[tokio::test]
async fn a_refused_archive_leaves_nothing() {
    let scene = Scene::new().await;
    std::fs::write(scene.path("old"), "old").unwrap();
    let whole = archive(&[("good", "1"), ("long", &"x".repeat(100_000))]);
    for (bytes, status) in [
        (vec![], 400),
        (b"no archive at all".to_vec(), 400),
        (whole[..50_000].to_vec(), 400),
        (gzip(&whole)[..100].to_vec(), 400),
        (link("bad", "/etc"), 400),
        (archive(&[("good", "1"), ("old/in", "2")]), 409),
    ] {
        let problem = refused(scene.client().fs_upload_batch(scene.s(), "", bytes).await, status);
        assert!(problem.detail.is_some_and(|detail| !detail.is_empty()));
        assert_eq!(scene.names(), ["old"]);
    }
}

#[tokio::test]
async fn a_bomb_is_refused_with_413_and_too_many_entries_are_cut() {
    let scene = Scene::new().await;
    // A file that says to have 2 GiB, and a stream of zeros that is compressed to a thousandth of that.
    let mut header = tar::Header::new_gnu();
    header.set_path("huge").unwrap();
    header.set_size(2 << 30);
    header.set_cksum();
    let lying = refused(scene.client().fs_upload_batch(scene.s(), "", header.as_bytes().to_vec()).await, 413);
    assert!(lying.hint.unwrap().contains("nothing was unpacked"));
    assert_eq!(scene.names(), Vec::<String>::new());
    let names: Vec<String> = (0..10_001).map(|number| format!("{number}")).collect();
    let many: Vec<_> = names.iter().map(|name| (name.as_str(), "")).collect();
    let cut = scene.client().fs_upload_batch(scene.s(), "many", gzip(&archive(&many))).await.unwrap();
    assert_eq!((cut.paths.len(), cut.truncated), (10_000, true));
    assert_eq!(std::fs::read_dir(scene.path("many")).unwrap().count(), 10_000);
}
