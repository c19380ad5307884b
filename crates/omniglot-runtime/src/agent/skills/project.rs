//! Links to skills in the project, for agents that read them nowhere else.
//!
//! A link leads to the skills of one session. Sessions of the same directory share it as long as their skills are the
//! same; when one of them is removed, the link leads to another, and goes with the last.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};

use super::Manifest;

/// Puts a link for each skill below `rel` of the project, or none at all. Returns the folders that were made.
pub(super) fn place(
    project: &Path,
    rel: &str,
    manifest: &Manifest,
    own: &Path,
    others: &[(PathBuf, Manifest)],
) -> Result<Vec<PathBuf>, String> {
    let mut done = Placing { made: Vec::new(), links: Vec::new() };
    match done.place(project, rel, manifest, own, others) {
        Ok(()) => Ok(done.made),
        Err(why) => {
            done.undo();
            Err(why)
        }
    }
}

struct Placing {
    made: Vec<PathBuf>,
    links: Vec<PathBuf>,
}

impl Placing {
    fn place(
        &mut self,
        project: &Path,
        rel: &str,
        manifest: &Manifest,
        own: &Path,
        others: &[(PathBuf, Manifest)],
    ) -> Result<(), String> {
        let folder = self.make(project, rel)?;
        for skill in &manifest.skills {
            let link = folder.join(&skill.name);
            let target = super::folder_of(own, &skill.name);
            match fs::symlink_metadata(&link) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    symlink(&target, &link).map_err(|error| format!("{}: {error}", link.display()))?;
                    self.links.push(link);
                }
                _ if is_shared(&link, &skill.name, &skill.digest, others) => {}
                _ => {
                    return Err(format!(
                        "{} exists already; the agent has no other place for the skill {}",
                        link.display(),
                        skill.name
                    ));
                }
            }
        }
        Ok(())
    }

    /// A link on the way could lead anywhere.
    fn make(&mut self, project: &Path, rel: &str) -> Result<PathBuf, String> {
        let mut folder = project.to_owned();
        for part in Path::new(rel).components() {
            let Component::Normal(name) = part else { continue };
            folder.push(name);
            match fs::symlink_metadata(&folder) {
                Ok(about) if about.is_dir() => {}
                Ok(_) => return Err(format!("{} is not a folder", folder.display())),
                Err(_) => {
                    fs::create_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
                    self.made.push(folder.clone());
                }
            }
        }
        Ok(folder)
    }

    fn undo(self) {
        self.links.iter().for_each(|link| drop(fs::remove_file(link)));
        remove_empty(&self.made);
    }
}

fn is_shared(link: &Path, name: &str, digest: &str, others: &[(PathBuf, Manifest)]) -> bool {
    let Ok(target) = fs::read_link(link) else { return false };
    let is_same = |(own, manifest): &(PathBuf, Manifest)| {
        let has = manifest.skills.iter().any(|skill| skill.name == name && skill.digest == digest);
        has && super::folder_of(own, name) == target
    };
    others.iter().any(is_same)
}

/// Takes the links of a session away, or gives them to another session of the same project.
pub(super) fn remove(own: &Path, manifest: &Manifest, others: &[(PathBuf, Manifest)]) {
    let Some(folder) = &manifest.placed else { return };
    for skill in &manifest.skills {
        let link = folder.join(&skill.name);
        if fs::read_link(&link).ok() != Some(super::folder_of(own, &skill.name)) {
            continue;
        }
        let has = |other: &Manifest| other.skills.iter().any(|has| has.name == skill.name);
        let next_user = others.iter().find(|(_, other)| other.placed.as_ref() == Some(folder) && has(other));
        let removed = fs::remove_file(&link);
        let renewed = next_user.map(|(own, _)| symlink(super::folder_of(own, &skill.name), &link));
        if let Err(error) = removed.and(renewed.unwrap_or(Ok(()))) {
            tracing::warn!(link = %link.display(), %error, "the link of a skill is left");
        }
    }
    remove_empty(&manifest.made);
}

fn remove_empty(folders: &[PathBuf]) {
    // One that is not empty stays, and so do those above it.
    folders.iter().rev().for_each(|folder| drop(fs::remove_dir(folder)));
}
