//! Long bodies, ranges, and bodies that end too soon.

use std::io::Write as _;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use reqwest::Body;

use super::*;

/// Waits until the names in the directory are as wanted; fails after ten seconds.
fn wait_for_names(scene: &Scene, wanted: impl Fn(&[String]) -> bool) {
    let began = Instant::now();
    while !wanted(&scene.names()) {
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", scene.names());
        std::thread::yield_now();
    }
}

/// Begins to write a file, and stops in the middle.
fn half_written(scene: &Scene) -> TcpStream {
    let mut stream = TcpStream::connect(scene.daemon.url.strip_prefix("http://").unwrap()).unwrap();
    let head = format!(
        "PUT /v1/fs/file?path=a&session_id=s HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\ncontent-length: 1000\r\n\r\nhalf",
        scene.daemon.token
    );
    stream.write_all(head.as_bytes()).unwrap();
    // The file itself, and its record.
    let is_temporary = |name: &&String| name.starts_with(".omniglot-");
    wait_for_names(scene, |names| names.iter().filter(is_temporary).count() == 2);
    stream
}

#[tokio::test]
async fn ranges_of_a_file_are_read_and_browsers_never_show_it() {
    let scene = Scene::new().await;
    std::fs::write(scene.path("page.html"), "0123456789").unwrap();
    let get = |range: Option<&'static str>| {
        let request = scene.request(Method::GET, "file", &[("path", "page.html"), ("session_id", "s")]);
        match range {
            Some(range) => request.header("range", range),
            None => request,
        }
    };
    let whole = get(None).send().await.unwrap();
    let header = |name: &str| whole.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(header("content-type"), "application/octet-stream");
    assert_eq!(header("content-disposition"), "attachment; filename*=UTF-8''page%2Ehtml");
    assert_eq!(
        (header("x-content-type-options"), header("accept-ranges")),
        ("nosniff".into(), "bytes".into())
    );
    assert_eq!(header("content-length"), "10");
    let etag = header("etag");
    let part = get(Some("bytes=2-4")).header("if-range", &etag).send().await.unwrap();
    assert_eq!(
        (part.status().as_u16(), part.headers()["content-range"].to_str().unwrap()),
        (206, "bytes 2-4/10")
    );
    assert_eq!(part.text().await.unwrap(), "234");
    assert_eq!(get(Some("bytes=-3")).send().await.unwrap().text().await.unwrap(), "789");
    let other = get(Some("bytes=2-4")).header("if-range", "\"other\"").send().await.unwrap();
    assert_eq!(other.text().await.unwrap(), "0123456789");
    for range in ["bytes=10-", "bytes=4-2", "bytes=x"] {
        let beyond = get(Some(range)).send().await.unwrap();
        assert_eq!(
            (beyond.status().as_u16(), &beyond.headers()["content-range"]),
            (416, &"bytes */10".parse().unwrap())
        );
        assert_eq!(beyond.headers()["content-type"], "application/problem+json");
    }
    let head = scene
        .request(Method::HEAD, "file", &[("path", "page.html"), ("session_id", "s")])
        .send()
        .await
        .unwrap();
    assert_eq!((head.status().as_u16(), head.headers()["content-length"].to_str().unwrap()), (200, "10"));
}

#[tokio::test]
async fn a_long_file_goes_both_ways_in_little_memory() {
    const PIECES: u64 = 96;
    let scene = Scene::new().await;
    scene.client().fs_write_file(scene.s(), "warm", "up").await.unwrap();
    let before = scene.daemon.rss();
    let piece = Bytes::from(vec![7; 1 << 20]);
    let pieces = stream::iter((0..PIECES).map(move |_| Ok::<_, std::io::Error>(piece.clone())));
    let written = scene.client().fs_write_file(scene.s(), "long", Body::wrap_stream(pieces)).await.unwrap();
    assert_eq!(written.bytes_written, PIECES << 20);
    let query = [("path", "long"), ("session_id", "s")];
    let mut read = scene.request(Method::GET, "file", &query).send().await.unwrap().bytes_stream();
    let mut total = 0;
    while let Some(piece) = read.next().await {
        total += piece.unwrap().len() as u64;
    }
    assert_eq!(total, PIECES << 20);
    let grown = scene.daemon.rss().saturating_sub(before);
    assert!(grown < (PIECES << 20) / 2, "{grown} bytes");
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_and_the_old_file_stays() {
    let scene = Scene::new().await;
    std::fs::write(scene.path("a"), "old").unwrap();
    for (method, route, longest) in
        [(Method::PUT, "file", 256_u64 << 20), (Method::POST, "upload-batch", 1 << 30)]
    {
        let mut stream = TcpStream::connect(scene.daemon.url.strip_prefix("http://").unwrap()).unwrap();
        let head = format!(
            "{method} /v1/fs/{route}?path=a&session_id=s HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\ncontent-type: application/x-tar\r\ncontent-length: {}\r\n\r\n",
            scene.daemon.token,
            longest + 1
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = vec![0; 12];
        std::io::Read::read_exact(&mut stream, &mut answer).unwrap();
        assert_eq!(String::from_utf8(answer).unwrap(), "HTTP/1.1 413");
    }
    let piece = Bytes::from(vec![7; 1 << 20]);
    let pieces = stream::iter((0..300).map(move |_| Ok::<_, std::io::Error>(piece.clone())));
    let refused = scene.client().fs_write_file(scene.s(), "a", Body::wrap_stream(pieces)).await.unwrap_err();
    // The daemon may close the connection before its client has stopped sending.
    assert!(matches!(refused.status(), Some(413) | None), "{refused}");
    wait_for_names(&scene, |names| names == ["a"]);
    assert_eq!(std::fs::read_to_string(scene.path("a")).unwrap(), "old");
}

#[tokio::test]
async fn a_client_that_hangs_up_leaves_the_old_file_and_nothing_else() {
    let scene = Scene::new().await;
    std::fs::write(scene.path("a"), "old").unwrap();
    let stream = half_written(&scene);
    assert_eq!(scene.client().fs_read_file(scene.s(), "a").await.unwrap(), "old");
    drop(stream);
    wait_for_names(&scene, |names| names == ["a"]);
    assert_eq!(std::fs::read_to_string(scene.path("a")).unwrap(), "old");
}

#[tokio::test]
async fn a_daemon_removes_what_a_dead_one_has_left() {
    let mut scene = Scene::new().await;
    std::fs::write(scene.path("a"), "old").unwrap();
    let stream = half_written(&scene);
    scene.daemon.kill();
    assert_eq!(scene.names().len(), 3);
    let scene = Scene { daemon: scene.daemon.restart(), session: scene.session };
    drop(stream);
    assert_eq!(scene.names(), ["a"]);
    assert_eq!(scene.client().fs_read_file(scene.s(), "a").await.unwrap(), "old");
}

#[tokio::test]
async fn a_daemon_that_stops_ends_an_upload_and_leaves_nothing() {
    let mut scene = Scene::new().await;
    std::fs::write(scene.path("a"), "old").unwrap();
    let stream = half_written(&scene);
    scene.daemon.stop();
    assert_eq!(scene.names(), ["a"]);
    drop(stream);
}

#[tokio::test]
async fn whoever_reads_sees_the_old_file_or_the_new_one_and_no_other() {
    let scene = Scene::new().await;
    let contents = ["a".repeat(300_000), "b".repeat(200_000)];
    scene.client().fs_write_file(scene.s(), "file", contents[0].clone()).await.unwrap();
    let writes = async {
        for number in 0..40 {
            scene.client().fs_write_file(scene.s(), "file", contents[number % 2].clone()).await.unwrap();
        }
    };
    let reads = async {
        for _ in 0..40 {
            let read = scene.client().fs_read_file(scene.s(), "file").await.unwrap();
            assert!(contents.iter().any(|content| content.as_bytes() == read), "{} bytes", read.len());
        }
    };
    tokio::join!(writes, reads);
}
