//! Where the program is found, and how a folder takes its name.

use super::*;

fn write(path: &Path, content: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

#[test]
fn the_program_is_looked_for_where_npm_links_it_and_in_the_packages_for_the_machine() {
    let dir = tempfile::tempdir().unwrap();
    let modules = dir.path().join("node_modules");
    write(
        &modules.join("@a/agent/package.json"),
        r#"{"optionalDependencies":{"@a/agent-mac":"1","agent-linux":"1","@a/agent-linux-old":"1"}}"#,
    );
    assert!(candidates(dir.path(), "@a/agent", "agent").is_empty());
    for path in [".bin/agent", "agent-linux/bin/agent", "@a/agent-linux-old/agent"] {
        write(&modules.join(path), "");
    }
    let found = candidates(dir.path(), "@a/agent", "agent");
    let expected = [
        "node_modules/.bin/agent",
        "node_modules/agent-linux/bin/agent",
        "node_modules/@a/agent-linux-old/agent",
    ];
    assert_eq!(found, expected.map(PathBuf::from));
}

#[test]
fn a_part_takes_its_name_at_once_and_nothing_is_left_of_another() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("1.2.3");
    for content in ["first", "second"] {
        let part = Part::create(dir.path()).unwrap();
        write(&part.path.join("node_modules/.bin/agent"), content);
        part.complete(Path::new("node_modules/.bin/agent"), "agent", &target).unwrap();
        assert_eq!(fs::read_to_string(target.join("bin/agent")).unwrap(), content);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
    drop(Part::create(dir.path()).unwrap());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn parts_of_a_killed_daemon_are_removed() {
    let dir = tempfile::tempdir().unwrap();
    let agent = installed::root(dir.path()).join("pi");
    sweep(dir.path());
    write(&agent.join(".part-1/node_modules/x"), "");
    write(&agent.join("1.2.3/bin/pi"), "");
    sweep(dir.path());
    let left: Vec<_> = fs::read_dir(&agent).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["1.2.3"]);
}
