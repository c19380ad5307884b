//! Archives as clients send them, and archives that lie.

use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{Builder, EntryType, Header};

use super::*;
use crate::confined::{Private, Root};

struct Scene {
    dir: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("in/old")).unwrap();
        std::fs::write(dir.path().join("in/old/file"), "old").unwrap();
        std::fs::write(dir.path().join("secret"), "outside").unwrap();
        symlink(dir.path(), dir.path().join("in/up")).unwrap();
        Self { dir }
    }

    fn place(&self, path: &str) -> FilePlace {
        let root =
            Root::open(&self.dir.path().join("in"), Private::of(&self.dir.path().join("data"))).unwrap();
        FilePlace { root, path: path.into() }
    }

    fn unpack_within(
        &self,
        path: &str,
        archive: &[u8],
        limits: UnpackLimits,
    ) -> Result<Unpacked, UnpackError> {
        let temporaries = Temporaries::of(&self.dir.path().join("data"));
        let unpacked = self.place(path).unpack(&mut &*archive, limits, &temporaries);
        let temporary = |name: String| name.starts_with(".omniglot-");
        assert!(!self.tree().into_iter().any(temporary), "temporary files stay");
        unpacked
    }

    fn unpack(&self, path: &str, archive: &[u8]) -> Result<Unpacked, UnpackError> {
        self.unpack_within(path, archive, UnpackLimits::default())
    }

    /// Asserts that the archive is refused and that nothing has changed; returns the reason.
    #[track_caller]
    fn refused(&self, archive: &[u8]) -> String {
        let before = self.tree();
        let error = self.unpack("", archive).unwrap_err();
        assert!(matches!(error, UnpackError::Refused(_) | UnpackError::Open(_)), "{error:?}");
        assert_eq!(self.tree(), before);
        error.to_string()
    }

    /// Returns every path below the root, with the content of files.
    fn tree(&self) -> Vec<String> {
        let mut found = vec![];
        let mut todo = vec![self.dir.path().join("in"), self.dir.path().join("data/private/temporary")];
        while let Some(dir) = todo.pop() {
            for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
                let kind = entry.file_type().unwrap();
                let content = if kind.is_file() {
                    std::fs::read_to_string(entry.path()).unwrap_or_default()
                } else {
                    String::new()
                };
                found.push(format!("{} {content}", entry.file_name().to_string_lossy()));
                todo.extend(kind.is_dir().then(|| entry.path()));
            }
        }
        found.sort();
        found
    }
}

/// An entry with any name: `tar` itself would refuse to write some of them.
fn entry(name: &str, kind: EntryType, content: &[u8]) -> Vec<u8> {
    let mut header = Header::new_gnu();
    header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
    header.set_entry_type(kind);
    header.set_mode(0o644);
    header.set_size(content.len() as u64);
    header.set_cksum();
    let mut bytes = header.as_bytes().to_vec();
    bytes.extend_from_slice(content);
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes
}

fn file(name: &str, content: &str) -> Vec<u8> {
    entry(name, EntryType::Regular, content.as_bytes())
}

fn archive(entries: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = entries.concat();
    bytes.resize(bytes.len() + 1024, 0);
    bytes
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(vec![], Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn files_and_directories_are_unpacked_plain_and_compressed() {
    for compress in [|bytes: &[u8]| bytes.to_vec(), gzip] {
        let scene = Scene::new();
        let mut builder = Builder::new(vec![]);
        let mut header = Header::new_gnu();
        header.set_size(3);
        header.set_mode(0o4755);
        let long = format!("long/{}/run", "n".repeat(150));
        builder.append_data(&mut header.clone(), &long, &b"one"[..]).unwrap();
        header.set_mode(0o600);
        builder.append_data(&mut header, "old/file", &b"two"[..]).unwrap();
        let mut directory = Header::new_gnu();
        directory.set_entry_type(EntryType::Directory);
        directory.set_size(0);
        builder.append_data(&mut directory, "empty", &b""[..]).unwrap();
        let unpacked = scene.unpack("", &compress(&builder.into_inner().unwrap())).unwrap();
        assert_eq!(
            unpacked,
            Unpacked {
                paths: vec![long.clone().into(), "old/file".into(), "empty".into()],
                truncated: false
            }
        );
        let inside = scene.dir.path().join("in");
        let mode = inside.join(&long).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o7100, 0o100, "it can be run, and gives nobody the rights of its owner");
        assert_eq!(std::fs::read_to_string(inside.join("old/file")).unwrap(), "two");
        assert!(inside.join("empty").is_dir());
    }
}

#[test]
fn a_missing_destination_is_made_and_paths_are_told_from_the_root() {
    let scene = Scene::new();
    let bytes =
        archive(&[entry("./", EntryType::Directory, b""), file("./a", "1"), file("b/", ""), file("a", "2")]);
    let unpacked = scene.unpack("new/deep", &bytes).unwrap();
    assert_eq!(unpacked.paths, [PathBuf::from("new/deep/a"), "new/deep/b".into()]);
    assert_eq!(std::fs::read_to_string(scene.dir.path().join("in/new/deep/a")).unwrap(), "2");
    assert!(scene.dir.path().join("in/new/deep/b").is_dir());
    assert_eq!(scene.unpack("", &[0; 1024]).unwrap().paths, Vec::<PathBuf>::new());
}

#[test]
fn names_that_lead_out_and_other_kinds_are_refused() {
    let scene = Scene::new();
    let long = |name: &str| {
        let mut builder = Builder::new(vec![]);
        let (mut extension, mut header) = (Header::new_gnu(), Header::new_gnu());
        extension.set_entry_type(EntryType::GNULongName);
        extension.set_size(name.len() as u64);
        extension.set_cksum();
        builder.append(&extension, name.as_bytes()).unwrap();
        header.set_size(0);
        header.set_cksum();
        builder.append(&header, &b""[..]).unwrap();
        builder.into_inner().unwrap()
    };
    for name in ["../x", "a/../../x", "/etc/x", "..", "a/.."] {
        let good = file("good", "1");
        assert!(scene.refused(&archive(&[good.clone(), file(name, "x")])).contains(name), "{name}");
        scene.refused(&archive(&[good, entry(name, EntryType::Directory, b"")]));
        scene.refused(&long(name));
    }
    assert!(scene.refused(&long("a\0b")).contains("NUL"));
    assert!(scene.refused(&long(&"n".repeat(256))).contains("too long"));
    assert!(scene.refused(&long(&"d/".repeat(3000))).contains("too long"));
    use EntryType as T;
    for kind in [T::Symlink, T::Link, T::Char, T::Block, T::Fifo, T::new(b'Z')] {
        let reason = scene.refused(&archive(&[file("good", "1"), entry("bad", kind, b"")]));
        assert!(reason.contains("bad"), "{kind:?} {reason}");
    }
    scene.refused(&archive(&[file("good", "1"), entry("bad", T::GNUSparse, b"")]));
    assert!(scene.refused(&archive(&[file("a", "1"), file("a/b", "2")])).contains("a file and a directory"));
    let mut name = file("caf_", "1");
    name[3] = 0xe9;
    name[148..156].fill(b' ');
    let sum: u32 = name[..512].iter().map(|byte| u32::from(*byte)).sum();
    name[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    assert!(scene.refused(&archive(&[name])).contains("not UTF-8"));
}

#[test]
fn an_archive_that_is_not_whole_is_refused() {
    let scene = Scene::new();
    let whole = archive(&[file("a", "1"), file("b", &"x".repeat(2000))]);
    let mut wrong_sum = whole.clone();
    wrong_sum[1] = b'z';
    let mut wrong_size = Header::new_gnu();
    wrong_size.set_path("a").unwrap();
    wrong_size.set_size(1 << 20);
    wrong_size.set_cksum();
    let compressed = gzip(&whole);
    let mut wrong_check = compressed.clone();
    let end = wrong_check.len() - 6;
    wrong_check[end] ^= 1;
    for bytes in [
        b"".to_vec(),
        b"x".to_vec(),
        GZIP.to_vec(),
        b"PK\x03\x04 some other archive".repeat(40),
        whole[..1700].to_vec(),
        wrong_sum,
        wrong_size.as_bytes().to_vec(),
        compressed[..compressed.len() / 2].to_vec(),
        compressed[..compressed.len() - 4].to_vec(),
        wrong_check,
    ] {
        scene.refused(&bytes);
    }
}

#[test]
fn what_is_in_the_way_is_a_conflict_and_a_link_leads_nowhere() {
    let scene = Scene::new();
    assert!(scene.refused(&archive(&[file("good", "1"), file("old", "x")])).contains("old exists already"));
    scene.refused(&archive(&[file("good", "1"), entry("old/file", EntryType::Directory, b"")]));
    scene.refused(&archive(&[file("good", "1"), file("old/file/x", "x")]));
    scene.refused(&archive(&[file("good", "1"), file("up/secret", "x")]));
    scene.refused(&archive(&[file("good", "1"), file("up", "x")]));
    assert!(scene.unpack("up", &archive(&[file("secret", "x")])).is_err());
    assert!(scene.unpack("old/file", &archive(&[file("a", "x")])).is_err());
    assert_eq!(std::fs::read_to_string(scene.dir.path().join("secret")).unwrap(), "outside");
}

#[test]
fn entries_beyond_the_limit_are_left_out() {
    let scene = Scene::new();
    let limits = UnpackLimits { entries: 2, ..UnpackLimits::default() };
    let bytes = archive(&[file("a", "1"), file("b", "2"), file("../c", "3")]);
    let unpacked = scene.unpack_within("", &bytes, limits).unwrap();
    assert_eq!(unpacked, Unpacked { paths: vec!["a".into(), "b".into()], truncated: true });
    let unpacked = scene.unpack_within("", &archive(&[file("a", "1"), file("b", "2")]), limits).unwrap();
    assert!(!unpacked.truncated);
}

#[test]
fn more_bytes_than_the_limit_are_refused_wherever_they_are() {
    let scene = Scene::new();
    let before = scene.tree();
    let limits = UnpackLimits { bytes: 1 << 20, ..UnpackLimits::default() };
    let zeros = vec![0; 2 << 20];
    let mut lying = Header::new_gnu();
    lying.set_path("a").unwrap();
    lying.set_size(1 << 40);
    lying.set_cksum();
    let after_the_end = [archive(&[file("a", "1")]), zeros.clone()].concat();
    for bytes in [entry("a", EntryType::Regular, &zeros), lying.as_bytes().to_vec(), after_the_end] {
        for bytes in [gzip(&bytes), bytes] {
            let error = scene.unpack_within("", &bytes, limits).unwrap_err();
            assert!(matches!(error, UnpackError::TooLarge(_)), "{error:?}");
        }
    }
    // A name is held in memory, so it has a bound of its own.
    for kind in [EntryType::GNULongName, EntryType::XHeader] {
        let bytes = gzip(&[entry("a", kind, &zeros), file("a", "1")].concat());
        assert!(scene.unpack("", &bytes).is_err());
    }
    assert_eq!(scene.tree(), before);
}

#[test]
fn exactly_the_limit_is_unpacked() {
    let scene = Scene::new();
    let bytes = archive(&[file("a", "1")]);
    let limits = UnpackLimits { bytes: bytes.len() as u64, ..UnpackLimits::default() };
    assert_eq!(scene.unpack_within("", &gzip(&bytes), limits).unwrap().paths.len(), 1);
    let limits = UnpackLimits { bytes: bytes.len() as u64 - 1, ..limits };
    assert!(matches!(scene.unpack_within("", &bytes, limits), Err(UnpackError::TooLarge(_))));
}

#[test]
fn what_could_not_be_put_in_place_is_told_with_what_was() {
    let scene = Scene::new();
    let place = scene.place("");
    let temporaries = Temporaries::of(&scene.dir.path().join("data"));
    let temporary = place.root.temporary_directory(Path::new(""), &temporaries).unwrap();
    temporary.root.write(Path::new("a")).unwrap();
    let entries = vec![("a".into(), Kind::File), ("gone".into(), Kind::File)];
    let unpacking =
        Unpacking { temporary, depth: 0, meter: Rc::new(Meter::new(0)), entries, truncated: false };
    match place.put_in_place(&unpacking) {
        Err(UnpackError::Incomplete { written, cause: OpenError::NotFound(_) }) => {
            assert_eq!(written, [PathBuf::from("a")])
        }
        other => panic!("{other:?}"),
    }
}
