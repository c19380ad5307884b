//! Both ways to resolve a path: what lies within is reached, nothing outside and nothing private.

mod changes;

use std::io::{Read, Write};
use std::os::unix::fs::symlink;

use super::*;

/// A directory `in` with files and links, a secret beside it, and both ways to look at it.
struct Scene {
    dir: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::create_dir_all(path("in/sub")).unwrap();
        std::fs::write(path("in/a.txt"), "inside").unwrap();
        std::fs::write(path("secret"), "outside").unwrap();
        symlink(path("secret"), path("in/out")).unwrap();
        symlink("../secret", path("in/out-relative")).unwrap();
        symlink(dir.path(), path("in/up")).unwrap();
        symlink("../a.txt", path("in/sub/within")).unwrap();
        Self { dir }
    }

    fn inside(&self) -> PathBuf {
        self.dir.path().join("in")
    }

    fn roots(&self) -> [Root; 2] {
        let open = || Root::open(&self.inside(), Private::of(&self.dir.path().join("data"))).unwrap();
        [open(), open().by_walking()]
    }
}

#[test]
fn what_lies_within_is_opened_by_absolute_and_relative_paths() {
    let scene = Scene::new();
    for root in scene.roots() {
        for path in [scene.inside().join("a.txt"), PathBuf::from("a.txt"), PathBuf::from("./a.txt")] {
            let mut text = String::new();
            root.read(&path).unwrap().read_to_string(&mut text).unwrap();
            assert_eq!(text, "inside");
        }
    }
}

#[test]
fn nothing_leads_out() {
    let scene = Scene::new();
    let inside = scene.inside();
    let ways = [
        scene.dir.path().join("secret"),
        inside.join("../secret"),
        PathBuf::from("../secret"),
        PathBuf::from("sub/../../secret"),
        inside.join("out"),
        inside.join("out-relative"),
        inside.join("up/secret"),
        PathBuf::from("/proc/self/root/etc/hostname"),
    ];
    for root in scene.roots() {
        for way in &ways {
            assert!(matches!(root.read(way), Err(OpenError::Outside { .. })), "{root:?} {way:?}");
            assert!(matches!(root.write(way), Err(OpenError::Outside { .. })), "{root:?} {way:?}");
        }
    }
    assert_eq!(std::fs::read_to_string(scene.dir.path().join("secret")).unwrap(), "outside");
}

#[test]
fn a_link_that_stays_within_is_followed_where_the_kernel_can_tell() {
    let scene = Scene::new();
    let [kernel, walk] = scene.roots();
    assert!(kernel.read(Path::new("sub/within")).is_ok());
    assert!(matches!(walk.read(Path::new("sub/within")), Err(OpenError::Outside { .. })));
}

#[test]
fn a_new_file_gets_its_directories() {
    let scene = Scene::new();
    for (number, root) in scene.roots().into_iter().enumerate() {
        let path = scene.inside().join(format!("new{number}/deeper/file.txt"));
        root.write(&path).unwrap().write_all(b"x").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "x");
        let way = PathBuf::from("up/made/file.txt");
        assert!(matches!(root.write(&way), Err(OpenError::Outside { .. })), "{root:?}");
        assert!(!scene.dir.path().join("made").exists());
    }
}

#[test]
fn what_is_no_file_is_told_and_never_waited_for() {
    let scene = Scene::new();
    let pipe = scene.inside().join("pipe");
    rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    for root in scene.roots() {
        for path in [&pipe, &scene.inside().join("sub"), &scene.inside()] {
            assert!(matches!(root.read(path), Err(OpenError::NotAFile(_))), "{root:?} {path:?}");
            assert!(matches!(root.write(path), Err(OpenError::NotAFile(_))), "{root:?} {path:?}");
        }
        assert!(matches!(root.read(Path::new("nothing")), Err(OpenError::NotFound(_))));
    }
}

/// A session's directory that holds the data directory, with links to it.
struct Inner {
    dir: tempfile::TempDir,
    private: Private,
}

impl Inner {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::create_dir_all(path("data/private/run")).unwrap();
        std::fs::create_dir_all(path("data/shared")).unwrap();
        std::fs::write(path("data/private/token"), "secret").unwrap();
        std::fs::write(path("data/omniglot.toml"), "").unwrap();
        std::fs::write(path("data/shared/upload"), "text").unwrap();
        symlink("data/private", path("link")).unwrap();
        symlink("data/private/token", path("file")).unwrap();
        symlink("data/private/new", path("dangling")).unwrap();
        let private = Private::of(&path("data"));
        Self { dir, private }
    }

    fn roots(&self) -> [Root; 2] {
        let open = || Root::open(self.dir.path(), self.private.clone()).unwrap();
        [open(), open().by_walking()]
    }
}

#[test]
fn private_files_are_neither_read_nor_written_nor_made_nor_listed() {
    let scene = Inner::new();
    let files = ["token", "new", "deep/new", "../private/token", "run/../token"];
    let mut ways: Vec<String> = files.iter().map(|file| format!("data/private/{file}")).collect();
    ways.extend(files.iter().map(|file| format!("link/{file}")));
    ways.extend(
        ["file", "dangling", "data/shared/../private/token", "data/omniglot.toml"].map(str::to_owned),
    );
    for root in scene.roots() {
        for way in &ways {
            for path in [PathBuf::from(way), scene.dir.path().join(way)] {
                assert!(root.read(&path).is_err(), "read {path:?} {root:?}");
                // The walk follows no link and no `..` at all, and a link that leads nowhere leads out.
                let refused = root.write(&path).unwrap_err();
                let right = matches!(refused, OpenError::Private(_) | OpenError::Outside { .. });
                assert!(right, "write {path:?} {root:?}: {refused}");
            }
        }
        for path in ["data/private", "link", "data/private/run", "data/shared/../private"] {
            assert!(root.list(Path::new(path)).is_err(), "list {path}");
        }
    }
    let made = std::fs::read_dir(scene.dir.path().join("data/private")).unwrap().count();
    assert_eq!(made, 2, "nothing was made");
    assert_eq!(std::fs::read_to_string(scene.dir.path().join("data/private/token")).unwrap(), "secret");
}

#[test]
fn directories_are_made_and_files_renamed_and_removed_within() {
    let scene = Scene::new();
    for root in scene.roots() {
        let [old, new] = ["./made/deep", "made/new"].map(Path::new);
        root.make_directory(old).unwrap();
        root.make_directory(old).unwrap();
        root.rename(old, &root, new, true).unwrap();
        assert!(scene.inside().join("made/new").is_dir());
        // A link itself is moved and removed, never the file that it leads to.
        root.rename(Path::new("out"), &root, Path::new("made/link"), true).unwrap();
        root.remove(Path::new("made/link")).unwrap();
        symlink(scene.dir.path().join("secret"), scene.inside().join("out")).unwrap();
        assert!(matches!(root.remove(Path::new("made")), Err(OpenError::NotEmpty(_))));
        root.remove(new).unwrap();
        root.remove(Path::new("made")).unwrap();
        assert!(matches!(root.remove(new), Err(OpenError::NotFound(_))));
        assert!(matches!(root.rename(old, &root, new, true), Err(OpenError::NotFound(_))));
    }
    assert_eq!(std::fs::read_to_string(scene.dir.path().join("secret")).unwrap(), "outside");
}

#[test]
fn nothing_is_made_renamed_or_removed_outside() {
    let scene = Scene::new();
    let file = Path::new("a.txt");
    let ways = ["../secret", "sub/../../secret", "up/secret", "up/in/a.txt", "sub/..", "/etc/hostname"];
    for root in scene.roots() {
        for way in ways.map(PathBuf::from).into_iter().chain([scene.dir.path().join("secret")]) {
            for done in [
                root.make_directory(&way),
                root.remove(&way),
                root.rename(&way, &root, Path::new("stolen"), true),
                root.rename(file, &root, &way, true),
            ] {
                assert!(matches!(done, Err(OpenError::Outside { .. })), "{way:?} {root:?} {done:?}");
            }
        }
    }
    assert_eq!(std::fs::read_to_string(scene.dir.path().join("secret")).unwrap(), "outside");
    assert_eq!(std::fs::read_to_string(scene.inside().join(file)).unwrap(), "inside");
}

#[test]
fn nothing_private_is_made_renamed_or_removed_nor_moved_with_its_directory() {
    let scene = Inner::new();
    std::fs::remove_file(scene.dir.path().join("data/omniglot.toml")).unwrap();
    let upload = Path::new("data/shared/upload");
    for root in scene.roots() {
        for way in
            ["data/private/token", "link/token", "data/private/new", "data/private", "data/omniglot.toml"]
        {
            let way = Path::new(way);
            // The walk follows no link at all.
            let refused = |done: Result<(), OpenError>| {
                let right = matches!(done, Err(OpenError::Private(_) | OpenError::Outside { .. }));
                assert!(right, "{way:?} {root:?} {done:?}");
            };
            refused(root.make_directory(way));
            refused(root.remove(way));
            refused(root.rename(way, &root, Path::new("stolen"), true));
            refused(root.rename(upload, &root, way, true));
            let written = root.write(way).map(drop);
            // A directory is refused as such.
            refused(written.map_err(|error| match error {
                OpenError::NotAFile(path) => OpenError::Private(path),
                error => error,
            }));
        }
        for (from, to) in [("data", "moved"), ("data/shared", "data")] {
            let moved = root.rename(Path::new(from), &root, Path::new(to), true);
            assert!(matches!(moved, Err(OpenError::Private(_))), "{from} {moved:?}");
        }
        root.make_directory(Path::new("data/shared/new/deep")).unwrap();
    }
    assert!(!scene.dir.path().join("data/omniglot.toml").exists());
    assert!(scene.dir.path().join("data/private/token").exists());
}

#[test]
fn other_programs_are_sent_nowhere_else() {
    let scene = Inner::new();
    let dir = scene.dir.path();
    symlink("/etc", dir.join("etc")).unwrap();
    for root in scene.roots() {
        for way in ["b.rs", "new/b.rs", "data/shared"] {
            let path = dir.join(way);
            assert_eq!(root.absolute(Path::new(way)).unwrap(), path);
            assert_eq!(root.absolute(&path).unwrap(), path);
        }
        for way in ["/etc/passwd", "../b", "a/../../b", "etc", "etc/new.txt", "data/private/x", "link/x"] {
            assert!(root.absolute(Path::new(way)).is_err(), "{way} {root:?}");
            assert!(root.directory(Path::new(way)).is_err(), "{way} {root:?}");
        }
        let shared = dir.canonicalize().unwrap().join("data/shared");
        assert_eq!(root.directory(Path::new("data/shared")).unwrap(), shared);
        assert_eq!(root.directory(dir).unwrap(), dir.canonicalize().unwrap());
        assert!(root.directory(Path::new("data/shared/upload")).is_err());
    }
}

#[test]
fn a_private_directory_is_no_root_and_no_private_file_is_opened_from_anywhere() {
    let scene = Inner::new();
    for way in ["data/private", "link", "data/private/run", "data/shared/../private"] {
        let opened = Root::open(&scene.dir.path().join(way), scene.private.clone());
        assert!(matches!(opened, Err(OpenError::Private(_))), "{way}: {opened:?}");
    }
    for way in ["data/private/token", "link/token", "file", "data/shared/../private/token"] {
        let path = scene.dir.path().join(way);
        assert!(matches!(open_file(&path, &scene.private), Err(OpenError::Private(_))), "{way}");
        assert!(scene.private.holds(&path), "{way}");
    }
    let upload = scene.dir.path().join("data/shared/upload");
    assert!(open_file(&upload, &scene.private).is_ok() && !scene.private.holds(&upload));
    let [root, _] = scene.roots();
    assert!(root.read(Path::new("data/shared/upload")).is_ok());
}

#[test]
fn a_list_has_files_and_folders_and_no_links() {
    let scene = Scene::new();
    for root in scene.roots() {
        let mut found = root.list(Path::new("")).unwrap();
        found.sort();
        let entry = |name: &str, is_dir| Entry { name: name.into(), is_dir };
        assert_eq!(found, [entry("a.txt", false), entry("sub", true)]);
        assert!(matches!(root.list(Path::new("up")), Err(OpenError::Outside { .. })));
        assert!(matches!(root.list(Path::new("..")), Err(OpenError::Outside { .. })));
    }
}

#[test]
fn a_pipe_named_by_a_client_is_not_waited_for() {
    let scene = Scene::new();
    let pipe = scene.inside().join("pipe");
    rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let opened = open_file(&pipe, &Private::of(scene.dir.path()));
    assert!(matches!(opened, Err(OpenError::NotAFile(_))), "{opened:?}");
}
