//! Makes a fresh small project for an agent to work in.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

const FILES: &[(&str, &str)] = &[
    (
        "README.md",
        "# Hello, agent\n\
         \n\
         A small project to try an agent on. Nothing here is precious.\n\
         \n\
         Run it with `python3 src/main.py`.\n",
    ),
    (
        "src/main.py",
        "def greet(name: str) -> str:\n    \
             return f\"Hello, {name}!\"\n\
         \n\
         \n\
         if __name__ == \"__main__\":\n    \
             print(greet(\"world\"))\n",
    ),
];

const PREFIX: &str = "omniglot-scratch-";

/// Makes the project in a new temporary directory, which is its user's alone and stays for the user to inspect: until
/// its session is deleted.
pub(crate) fn make() -> io::Result<PathBuf> {
    let private = Permissions::from_mode(0o700);
    let dir = tempfile::Builder::new().prefix(PREFIX).permissions(private).tempdir()?;
    fill(dir.path())?;
    Ok(dir.keep())
}

/// Removes the directory if it is such a project; returns whether it was.
pub(crate) fn remove(dir: &Path) -> io::Result<bool> {
    let named = dir.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX));
    let temporary = std::env::temp_dir().canonicalize()?;
    if !named || dir.parent() != Some(&*temporary) || !dir.is_dir() {
        return Ok(false);
    }
    std::fs::remove_dir_all(dir).map(|()| true)
}

fn fill(dir: &Path) -> io::Result<()> {
    for (name, text) in FILES {
        let path = dir.join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(path, text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_else_can_look_into_the_project() {
        let dir = make().unwrap().canonicalize().unwrap();
        let mode = dir.metadata().unwrap().permissions().mode();
        assert!(remove(&dir).unwrap());
        assert_eq!(mode & 0o777, 0o700);
    }

    #[test]
    fn the_project_has_its_files() {
        let dir = tempfile::tempdir().unwrap();
        fill(dir.path()).unwrap();
        let program = std::fs::read_to_string(dir.path().join("src/main.py")).unwrap();
        assert!(program.contains("\n    print(greet(\"world\"))\n"), "{program}");
        assert!(dir.path().join("README.md").is_file());
    }
}
