//! Finds the skills of a source: folders with a `SKILL.md` that says their name and what they are for.

use std::collections::VecDeque;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

const FILE: &str = "SKILL.md";
/// A longer one is no instruction for a model.
const MAX_FILE: u64 = 1024 * 1024;
const MAX_FOLDERS: usize = 5_000;
const MAX_DEPTH: usize = 8;
const LONGEST_NAME: usize = 64;
const LONGEST_DESCRIPTION: usize = 1024;

/// A folder with a skill.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Skill {
    pub(super) name: String,
    pub(super) folder: PathBuf,
}

struct Candidate {
    /// The name by which it can be chosen.
    name: String,
    folder: PathBuf,
    fault: Option<String>,
}

/// Returns the wanted skills below a folder, or all of them. Of several with the same name the first counts: the one
/// nearest to the top.
pub(super) fn skills(base: &Path, wanted: Option<&[String]>) -> Result<Vec<Skill>, String> {
    let mut found = candidates(base);
    let mut names = Vec::new();
    found.retain(|candidate| {
        let is_first = !names.contains(&candidate.name);
        if is_first {
            names.push(candidate.name.clone());
        }
        is_first
    });
    if let Some(missing) = wanted.and_then(|wanted| wanted.iter().find(|name| !names.contains(name))) {
        return Err(match names.as_slice() {
            [] => format!("there is no skill (no folder with a {FILE})"),
            names => format!("there is no skill {missing:?}; there are {}", names.join(", ")),
        });
    }
    found.retain(|candidate| wanted.is_none_or(|wanted| wanted.contains(&candidate.name)));
    if found.is_empty() {
        return Err(format!("there is no skill (no folder with a {FILE})"));
    }
    let skill = |Candidate { name, folder, fault }| match fault {
        Some(fault) => Err(format!("the skill {name:?}: {fault}")),
        None => Ok(Skill { name, folder }),
    };
    found.into_iter().map(skill).collect()
}

/// Breadth first, and in the order of names. Links are not followed: what they lead to is found itself.
fn candidates(base: &Path) -> Vec<Candidate> {
    let mut found = Vec::new();
    let mut folders = VecDeque::from([(base.to_owned(), 0)]);
    let mut seen = 0;
    while let Some((folder, depth)) = folders.pop_front() {
        seen += 1;
        if seen > MAX_FOLDERS {
            break;
        }
        if fs::symlink_metadata(folder.join(FILE)).is_ok_and(|about| about.is_file()) {
            found.push(candidate(folder));
            continue;
        }
        if depth < MAX_DEPTH {
            folders.extend(below(&folder).into_iter().map(|folder| (folder, depth + 1)));
        }
    }
    found
}

fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    let is_other = |entry: &fs::DirEntry| entry.file_name() == ".git" || entry.file_name() == "node_modules";
    let mut folders: Vec<PathBuf> =
        entries.filter(|entry| is_folder(entry) && !is_other(entry)).map(|entry| entry.path()).collect();
    folders.sort();
    folders
}

fn candidate(folder: PathBuf) -> Candidate {
    let called = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    match read(&folder.join(FILE)) {
        Err(fault) => Candidate { name: called, folder, fault: Some(fault) },
        Ok(head) => {
            let name = head.name.unwrap_or(called);
            let fault = (!is_name(&name)).then(|| {
                format!("its name has 1 to {LONGEST_NAME} characters of A-Z a-z 0-9 . _ - and begins with a letter or digit")
            });
            Candidate { name, folder, fault }
        }
    }
}

fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    name.len() <= LONGEST_NAME
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(plain)
}

/// The beginning of the file between two lines of dashes.
#[derive(Debug, Default, PartialEq, Eq)]
struct Head {
    name: Option<String>,
}

fn read(path: &Path) -> Result<Head, String> {
    let file = fs::File::open(path).map_err(|error| format!("its {FILE}: {error}"))?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(|error| format!("its {FILE}: {error}"))?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(format!("its {FILE} is larger than {MAX_FILE} bytes"));
    }
    let text = String::from_utf8(bytes).map_err(|_| format!("its {FILE} is not UTF-8"))?;
    head(&text)
}

/// Reads the two members that every agent needs; agents read the rest themselves.
fn head(text: &str) -> Result<Head, String> {
    let missing = || format!("its {FILE} does not begin with `---`, a name and a description, and `---`");
    let mut lines = text.trim_start_matches('\u{feff}').lines();
    if lines.next().map(str::trim_end) != Some("---") {
        return Err(missing());
    }
    let mut inside = Vec::new();
    loop {
        match lines.next().map(str::trim_end) {
            None => return Err(missing()),
            Some("---") => break,
            Some(line) => inside.push(line),
        }
    }
    let name = member(&inside, "name");
    let description = member(&inside, "description").filter(|text| !text.is_empty());
    match description {
        None => Err(format!("its {FILE} has no `description`")),
        Some(text) if text.chars().count() > LONGEST_DESCRIPTION => {
            Err(format!("its description is longer than {LONGEST_DESCRIPTION} characters"))
        }
        Some(_) => Ok(Head { name }),
    }
}

/// Returns a member of the outermost level: on its line, or indented on the lines below it.
fn member(lines: &[&str], name: &str) -> Option<String> {
    let value = |line: &&str| line.strip_prefix(name)?.strip_prefix(':').map(|value| value.trim().to_owned());
    let (at, first) = lines.iter().enumerate().find_map(|(at, line)| Some((at, value(line)?)))?;
    if !first.is_empty() && !first.starts_with(['>', '|']) {
        return Some(first.trim_matches(['"', '\'']).to_owned());
    }
    let rest = lines.iter().skip(at + 1).take_while(|line| line.is_empty() || line.starts_with([' ', '\t']));
    Some(rest.map(|line| line.trim()).collect::<Vec<_>>().join(" ").trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(dir: &Path, name: &str, text: &str) {
        fs::create_dir_all(dir.join(name)).unwrap();
        fs::write(dir.join(name).join(FILE), text).unwrap();
    }

    const GOOD: &str = "---\nname: NAME\ndescription: Does it.\n---\nDo it.\n";

    #[test]
    fn a_skill_is_a_folder_that_says_what_it_is_for() {
        assert!(head("---\nname: a\ndescription: b\n---\n").is_ok());
        assert!(head("---\r\nname: a\r\ndescription: >\r\n  b\r\n  c\r\n---\r\n").is_ok());
        assert_eq!(head("---\nname: \"a\"\ndescription: b\n---").unwrap().name.as_deref(), Some("a"));
        for text in ["", "# A", "---\nname: a\n---\n", "---\ndescription: b\n", "---\ndescription:\n---\n"] {
            assert!(head(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn the_wanted_ones_are_found_wherever_they_are() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "skills/one", &GOOD.replace("NAME", "one"));
        write(dir.path(), ".claude/skills/two", &GOOD.replace("NAME", "two"));
        write(dir.path(), ".git/three", &GOOD.replace("NAME", "three"));
        write(dir.path(), "skills/one/inner", &GOOD.replace("NAME", "inner"));
        let names = |wanted: Option<&[String]>| {
            let found = skills(dir.path(), wanted)?;
            Ok::<_, String>(found.into_iter().map(|skill| skill.name).collect::<Vec<_>>())
        };
        assert_eq!(names(None).unwrap(), ["one", "two"]);
        assert_eq!(names(Some(&["one".to_owned()])).unwrap(), ["one"]);
        let missing = names(Some(&["six".to_owned()])).unwrap_err();
        assert_eq!(missing, "there is no skill \"six\"; there are one, two");
        write(dir.path(), "bad", "no head");
        assert!(names(None).unwrap_err().starts_with("the skill \"bad\":"));
        assert_eq!(names(Some(&["one".to_owned()])).unwrap(), ["one"]);
        write(dir.path(), "evil", &GOOD.replace("NAME", "../evil"));
        assert!(names(Some(&["../evil".to_owned()])).unwrap_err().contains("its name has"));
    }

    #[test]
    fn a_source_may_be_one_skill_or_none() {
        let dir = tempfile::tempdir().unwrap();
        assert!(skills(dir.path(), None).unwrap_err().contains("no skill"));
        write(dir.path(), "", &GOOD.replace("NAME", "whole"));
        assert_eq!(skills(dir.path(), None).unwrap()[0].name, "whole");
    }
}
