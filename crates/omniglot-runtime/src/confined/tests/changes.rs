//! Replacing, describing, moving without overwriting, and removing whole directories.

use std::io::{self, Read};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode};

use super::super::{OpenError, Private, ReplaceError, Root, Temporaries};
use super::{Inner, Scene};

fn temporaries(scene: &Scene) -> Temporaries {
    Temporaries::of(&scene.dir.path().join("data"))
}

/// Returns the names that start with a dot, which only temporary files have here, and the records of them.
fn temporary_names(scene: &Scene) -> Vec<PathBuf> {
    let records = scene.dir.path().join("data/private/temporary");
    let places = [scene.inside(), scene.inside().join("sub"), records];
    let names = places.iter().flat_map(|place| std::fs::read_dir(place).into_iter().flatten().flatten());
    names
        .map(|entry| entry.path())
        .filter(|path| path.file_name().unwrap().as_encoded_bytes().starts_with(b"."))
        .collect()
}

/// Some bytes, then an error.
struct Broken(&'static [u8]);

impl Read for Broken {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.0.is_empty() {
            return Err(io::Error::other("gone"));
        }
        self.0.read(buffer)
    }
}

#[test]
fn a_replaced_file_keeps_its_permissions_and_a_new_one_is_made() {
    let scene = Scene::new();
    let file = scene.inside().join("a.txt");
    for root in scene.roots() {
        for mode in [0o600, 0o754, 0o444] {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
            let length = root.replace(Path::new("a.txt"), &temporaries(&scene), &mut &b"other"[..]).unwrap();
            assert_eq!((length, std::fs::read_to_string(&file).unwrap().as_str()), (5, "other"));
            assert_eq!(file.metadata().unwrap().permissions().mode() & 0o7777, mode);
        }
        root.replace(Path::new("sub/new"), &temporaries(&scene), &mut io::empty()).unwrap();
        std::fs::remove_file(scene.inside().join("sub/new")).unwrap();
    }
    assert_eq!(temporary_names(&scene), Vec::<PathBuf>::new());
}

#[test]
fn content_that_breaks_off_changes_nothing() {
    let scene = Scene::new();
    for root in scene.roots() {
        for path in ["a.txt", "sub/new"] {
            let replaced = root.replace(Path::new(path), &temporaries(&scene), &mut Broken(b"half"));
            assert!(matches!(replaced, Err(ReplaceError::Content(_))), "{replaced:?}");
        }
    }
    assert_eq!(std::fs::read_to_string(scene.inside().join("a.txt")).unwrap(), "inside");
    assert!(!scene.inside().join("sub/new").exists());
    assert_eq!(temporary_names(&scene), Vec::<PathBuf>::new());
}

#[test]
fn what_a_dead_daemon_has_left_is_swept() {
    let scene = Scene::new();
    let records = scene.dir.path().join("data/private/temporary");
    std::fs::create_dir_all(&records).unwrap();
    let keep = scene.inside().join("a.txt");
    let leave = |name: &str| {
        std::fs::write(records.join(name), scene.inside().as_os_str().as_encoded_bytes()).unwrap();
        scene.inside().join(name)
    };
    std::fs::write(leave(".omniglot-1"), "half").unwrap();
    std::fs::create_dir(leave(".omniglot-2")).unwrap();
    symlink(scene.inside().join("sub"), scene.inside().join(".omniglot-2/link")).unwrap();
    leave(".omniglot-3");
    leave("a.txt");
    std::fs::write(records.join(".omniglot-4"), "/no/such/directory").unwrap();
    temporaries(&scene).sweep();
    assert_eq!(temporary_names(&scene), Vec::<PathBuf>::new());
    assert!(keep.exists() && scene.inside().join("sub/within").is_symlink());
}

#[test]
fn a_link_stays_and_the_file_that_it_leads_to_is_replaced() {
    let scene = Scene::new();
    let [kernel, walk] = scene.roots();
    let link = Path::new("sub/within");
    kernel.replace(link, &temporaries(&scene), &mut &b"new"[..]).unwrap();
    assert!(scene.inside().join(link).is_symlink());
    assert_eq!(std::fs::read_to_string(scene.inside().join("a.txt")).unwrap(), "new");
    assert!(walk.replace(link, &temporaries(&scene), &mut &b"x"[..]).is_err());
    symlink("nowhere", scene.inside().join("dangling")).unwrap();
    for root in scene.roots() {
        for way in ["out", "out-relative", "up/secret", "up/new", "../secret", "dangling", "/etc/hostname"] {
            let replaced = root.replace(Path::new(way), &temporaries(&scene), &mut &b"x"[..]);
            let refused = matches!(replaced, Err(ReplaceError::Open(OpenError::Outside { .. })));
            assert!(refused, "{way} {root:?} {replaced:?}");
        }
    }
    assert_eq!(std::fs::read_to_string(scene.dir.path().join("secret")).unwrap(), "outside");
    assert_eq!(temporary_names(&scene), Vec::<PathBuf>::new());
}

#[test]
fn only_a_file_whose_directory_exists_is_replaced() {
    let scene = Scene::new();
    let pipe = scene.inside().join("pipe");
    rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let replace =
        |root: &Root, path: &str| match root.replace(Path::new(path), &temporaries(&scene), &mut &b"x"[..]) {
            Err(ReplaceError::Open(error)) => error,
            other => panic!("{path}: {other:?}"),
        };
    for root in scene.roots() {
        assert!(matches!(replace(&root, "pipe"), OpenError::NotAFile(_)));
        assert!(matches!(replace(&root, "sub"), OpenError::NotAFile(_)));
        let missing = replace(&root, "no/deep/file");
        assert_eq!(missing.to_string(), "no/deep does not exist");
    }
    let [kernel, _] = scene.roots();
    assert_eq!(replace(&kernel, "a.txt/file").to_string(), "a.txt/file is not a directory");
}

#[test]
fn files_and_directories_are_described_and_nothing_else() {
    let scene = Scene::new();
    let pipe = scene.inside().join("pipe");
    rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    for root in scene.roots() {
        let info = root.info(Path::new("a.txt")).unwrap();
        assert_eq!((info.is_dir, info.size), (false, 6));
        let age = jiff::Timestamp::now().duration_since(info.modified.unwrap());
        assert!(age.as_secs().abs() < 3600, "{age:?}");
        assert!(
            root.info(Path::new("")).unwrap().is_dir
                && root.info(&scene.inside().join("sub")).unwrap().is_dir
        );
        assert!(matches!(root.info(Path::new("pipe")), Err(OpenError::NotAFile(_))));
        assert!(matches!(root.info(Path::new("out")), Err(OpenError::Outside { .. })));
        assert!(matches!(root.info(Path::new("none")), Err(OpenError::NotFound(_))));
        let names: Vec<_> = root.infos(Path::new("")).unwrap().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["a.txt", "sub"]);
    }
    let [kernel, walk] = scene.roots();
    assert_eq!(kernel.infos(Path::new("sub")).unwrap().len(), 1, "a link that stays within");
    assert_eq!(walk.infos(Path::new("sub")).unwrap().len(), 0);
    assert!(matches!(kernel.infos(Path::new("a.txt")), Err(OpenError::NotADirectory(_))));
}

#[test]
fn nothing_is_overwritten_unless_it_shall() {
    let scene = Scene::new();
    let other = tempfile::tempdir().unwrap();
    let target = Root::open(other.path(), Private::of(Path::new("/none"))).unwrap();
    std::fs::write(other.path().join("there"), "old").unwrap();
    for root in scene.roots() {
        let (a, there, sub) = (Path::new("a.txt"), Path::new("there"), Path::new("sub"));
        assert!(matches!(root.rename(a, &target, there, false), Err(OpenError::Exists(_))));
        assert!(matches!(root.rename(sub, &target, there, true), Err(OpenError::Exists(_))));
        assert!(matches!(root.rename(a, &root, sub, true), Err(OpenError::Exists(_))));
        assert!(matches!(root.rename(Path::new("none"), &target, there, false), Err(OpenError::NotFound(_))));
        let missing = root.rename(a, &target, Path::new("no/where"), false).unwrap_err();
        assert_eq!(missing.to_string(), "no does not exist");
        assert!(root.rename(sub, &root, Path::new("sub/deeper"), false).is_err());
        root.rename(a, &target, there, true).unwrap();
        assert_eq!(std::fs::read_to_string(other.path().join("there")).unwrap(), "inside");
        target.rename(there, &root, a, false).unwrap();
        std::fs::write(other.path().join("there"), "old").unwrap();
    }
}

#[test]
fn a_directory_goes_with_everything_in_it_and_links_are_not_followed() {
    let scene = Scene::new();
    for root in scene.roots() {
        std::fs::create_dir_all(scene.inside().join("tree/deep/er")).unwrap();
        std::fs::write(scene.inside().join("tree/deep/file"), "x").unwrap();
        symlink(scene.dir.path(), scene.inside().join("tree/deep/up")).unwrap();
        assert!(matches!(root.remove(Path::new("tree")), Err(OpenError::NotEmpty(_))));
        root.remove_all(Path::new("tree")).unwrap();
        assert!(!scene.inside().join("tree").exists());
        assert!(matches!(root.remove_all(Path::new("tree")), Err(OpenError::NotFound(_))));
        for way in ["up/in", "../in", "up/secret"] {
            assert!(matches!(root.remove_all(Path::new(way)), Err(OpenError::Outside { .. })), "{way}");
        }
        root.remove_all(Path::new("out")).unwrap();
        symlink(scene.dir.path().join("secret"), scene.inside().join("out")).unwrap();
    }
    assert_eq!(std::fs::read_to_string(scene.dir.path().join("secret")).unwrap(), "outside");
}

#[test]
fn private_files_are_neither_replaced_nor_removed_nor_described() {
    let scene = Inner::new();
    let temporaries = Temporaries::of(&scene.dir.path().join("data"));
    for root in scene.roots() {
        for way in
            ["data/private/token", "link/token", "file", "dangling", "data/private/new", "data/omniglot.toml"]
        {
            let path = Path::new(way);
            let replaced = root.replace(path, &temporaries, &mut &b"x"[..]);
            let is_refused =
                |error: &OpenError| matches!(error, OpenError::Private(_) | OpenError::Outside { .. });
            assert!(
                matches!(&replaced, Err(ReplaceError::Open(error)) if is_refused(error)),
                "{way} {replaced:?}"
            );
            assert!(root.info(path).is_err(), "{way}");
        }
        for way in ["data", "data/private", "link/run", "data/omniglot.toml"] {
            assert!(root.remove_all(Path::new(way)).is_err(), "{way}");
        }
        let names: Vec<_> =
            root.infos(Path::new("data")).unwrap().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["shared"]);
    }
    assert!(scene.dir.path().join("data/private/token").exists());
    assert!(scene.dir.path().join("data/omniglot.toml").exists());
}
