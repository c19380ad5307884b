//! Archives whose headers were changed, with checksums that fit.

use std::io::Write as _;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use omniglot_testkit::fuzz;
use omniglot_testkit::session_driver::SessionDriver;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestRunner;
use tar::{EntryType, Header};
use tokio::runtime::Runtime;

use crate::{answer, daemon, is_internal};

const BLOCK: usize = 512;

/// The places of the headers in the archive that is changed.
const HEADERS: [usize; 4] = [0, 3 * BLOCK, 5 * BLOCK, 6 * BLOCK];

fn header(name: &str, kind: EntryType, size: u64) -> Vec<u8> {
    let mut header = Header::new_gnu();
    header.set_path(name).unwrap();
    header.set_entry_type(kind);
    header.set_mode(0o755);
    header.set_size(size);
    header.as_bytes().to_vec()
}

/// A file of two blocks, a long name for a directory, and a file in it. The checksums are missing.
fn archive() -> Vec<u8> {
    let mut bytes = header("a.txt", EntryType::Regular, 600);
    bytes.resize(3 * BLOCK, b'x');
    bytes.extend(header("long", EntryType::GNULongName, 3));
    bytes.extend(b"b/c");
    bytes.resize(5 * BLOCK, 0);
    bytes.extend(header("b", EntryType::Directory, 0));
    bytes.extend(header("b/c/d.txt", EntryType::Regular, 5));
    bytes.extend(b"hello");
    bytes.resize(10 * BLOCK, 0);
    bytes
}

/// A field of a header: its place and some bytes for it.
fn change() -> impl Strategy<Value = (usize, usize, Vec<u8>)> {
    let fields = select(vec![0, 100, 124, 156, 157, 257, 345, 386, 482, 483]);
    let odd: Vec<&[u8]> = vec![
        b"../x",
        b"/x",
        b"..",
        b".",
        b"",
        b"\0",
        b"00000001000\0",
        b"77777777777\0",
        b"\x80\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
    ];
    let bytes = prop_oneof![
        3 => select(odd).prop_map(<[u8]>::to_vec),
        3 => select(b"0123456LKSxgDMNV\0\xff".to_vec()).prop_map(|kind| vec![kind]),
        1 => proptest::collection::vec(any::<u8>(), 1..30),
    ];
    (select(HEADERS.to_vec()), fields, bytes)
}

fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    for at in HEADERS {
        bytes[at + 148..at + 156].fill(b' ');
        let sum: u32 = bytes[at..at + BLOCK].iter().map(|byte| u32::from(*byte)).sum();
        bytes[at + 148..at + 156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    }
    bytes
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(vec![], Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_changed_archive_is_refused_or_unpacked_within() {
    let (runtime, daemon, client) = (Runtime::new().unwrap(), daemon(), reqwest::Client::new());
    runtime.block_on(SessionDriver::create(&daemon.client, "s"));
    let around = names(daemon.home());
    let send = |bytes: Vec<u8>| {
        let url = format!("{}/v1/fs/upload-batch?session_id=s&path=in", daemon.url);
        let request = client.post(url).bearer_auth(&daemon.token).header("content-type", "application/x-tar");
        runtime.block_on(answer(request.body(bytes)))
    };
    let whole = send(sealed(archive())).unwrap();
    assert!(whole.contains("b/c/d.txt"), "{whole}");
    let cases = (proptest::collection::vec(change(), 1..4), any::<bool>(), 1..=10 * BLOCK);
    let tried = TestRunner::new(fuzz::config(150)).run(&cases, |(changes, compress, end)| {
        let mut bytes = archive();
        for (header, field, new) in changes {
            let end = (field + new.len()).min(BLOCK);
            bytes[header + field..header + end].copy_from_slice(&new[..end - field]);
        }
        let mut bytes = sealed(bytes);
        // Most are whole.
        if end % 4 == 0 {
            bytes.truncate(end);
        }
        let answer = send(if compress { gzip(&bytes) } else { bytes });
        prop_assert!(answer.as_ref().is_ok_and(|text| !is_internal(text)), "{answer:?}");
        prop_assert_eq!(names(daemon.home()), around.clone());
        prop_assert_eq!(names(&daemon.work()), vec!["in".to_owned()]);
        prop_assert_eq!(names(&daemon.data().join("private/temporary")), Vec::<String>::new());
        Ok(())
    });
    tried.unwrap();
}
