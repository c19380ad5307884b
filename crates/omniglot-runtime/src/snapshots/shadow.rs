//! The repository with the snapshots of one directory. Used by one task at a time.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::changes::{Changes, nul_separated};
use super::git::Git;
use super::project::Project;
use super::refs::{Tree, entries};
use super::{Known, SnapshotError};
use crate::process::Supervisor;

/// Many files at once become one pack instead of a file each.
const MANY: usize = 64;
/// A folder of loose objects has a 256th of them; with more than this many, or with this many packs, all are packed.
const LOOSE: usize = 16;
const PACKS: usize = 32;

/// No conversion of line ends, no filters: this file counts more than those of the project.
const ATTRIBUTES: &str = "* -text -eol -ident -filter -working-tree-encoding\n";

pub(super) struct Shadow {
    pub(super) project: Project,
    pub(super) git: Git,
}

impl Shadow {
    pub(super) fn new(repository: PathBuf, project: Project, supervisor: Supervisor) -> Self {
        let index = repository.join("index");
        Self { git: Git { supervisor, repository, index, top: project.top.clone() }, project }
    }

    pub(super) fn repository(&self) -> &Path {
        &self.git.repository
    }

    /// Takes a snapshot of the directory. An index that cannot be used is made anew.
    pub(super) async fn take(&self, known: &mut Known) -> Result<Tree, SnapshotError> {
        self.prepare().await?;
        match self.try_take(known).await {
            Err(SnapshotError::Failed(why)) => {
                tracing::info!(why, "a snapshot is taken anew");
                known.tree = None;
                remove_file(&self.git.index)?;
                self.try_take(known).await
            }
            other => other,
        }
    }

    async fn try_take(&self, known: &mut Known) -> Result<Tree, SnapshotError> {
        let listing = self.list().await?;
        let (top, kept) = (self.project.top.clone(), self.files_in_index());
        let changes = tokio::task::spawn_blocking(move || Changes::read(&listing, &top, kept)).await;
        let changes = changes.map_err(|error| SnapshotError::Failed(error.to_string()))??;
        if let (true, Some(tree)) = (changes.is_empty(), &known.tree) {
            return Ok(tree.clone());
        }
        known.tree = None;
        self.update(&changes).await?;
        let tree = self.write_tree(&self.git).await?;
        known.tree = Some(tree.clone());
        self.pack_if_many().await;
        Ok(tree)
    }

    async fn list(&self) -> Result<Vec<u8>, SnapshotError> {
        let exclude =
            self.project.exclude.as_ref().map(|path| format!("--exclude-from={}", path.to_string_lossy()));
        let mut words =
            vec!["ls-files", "-z", "-t", "--others", "--modified", "--deleted", "--exclude-standard"];
        words.extend(exclude.as_deref());
        let inner = format!(":(literal){}", self.project.inner);
        if !self.project.inner.is_empty() {
            words.extend(["--", &inner]);
        }
        self.git.run(&words, b"").await
    }

    async fn update(&self, changes: &Changes) -> Result<(), SnapshotError> {
        if !changes.remove.is_empty() {
            let paths = nul_separated(&changes.remove);
            self.git.run(&["update-index", "-z", "--force-remove", "--stdin"], &paths).await?;
        }
        if !changes.update.is_empty() {
            let mut words = vec!["update-index", "-z", "--add", "--replace", "--remove", "--stdin"];
            if changes.update.len() > MANY {
                words.splice(0..0, ["-c", "core.bigFileThreshold=1"]);
            }
            self.git.run(&words, &nul_separated(&changes.update)).await?;
        }
        Ok(())
    }

    pub(super) async fn write_tree(&self, git: &Git) -> Result<Tree, SnapshotError> {
        let said = git.run(&["write-tree"], b"").await?;
        let tree = std::str::from_utf8(&said).ok().and_then(Tree::parse);
        tree.ok_or_else(|| SnapshotError::Failed("git write-tree names no tree".into()))
    }

    /// Makes the repository if it is not there; removes the locks of a git that was killed.
    async fn prepare(&self) -> Result<(), SnapshotError> {
        let repository = self.repository();
        let attributes = repository.join("info/attributes");
        if !attributes.is_file() {
            fs::create_dir_all(repository)?;
            self.git.run(&["-c", "init.defaultBranch=main", "init", "--quiet", "--template="], b"").await?;
            fs::create_dir_all(repository.join("info"))?;
            self.borrow_objects()?;
            fs::write(&attributes, ATTRIBUTES)?;
        } else {
            self.borrow_objects()?;
        }
        for name in ["index.lock", "restore", "restore.lock"] {
            remove_file(&repository.join(name))?;
        }
        Ok(())
    }

    /// Names the objects of the project, so that what is committed there is not kept twice.
    fn borrow_objects(&self) -> io::Result<()> {
        let alternates = self.repository().join("objects/info/alternates");
        let objects = self.project.objects.as_ref();
        let wanted = objects.map(|path| format!("{}\n", path.display())).unwrap_or_default();
        if fs::read_to_string(&alternates).unwrap_or_default() != wanted {
            fs::create_dir_all(self.repository().join("objects/info"))?;
            fs::write(&alternates, wanted)?;
        }
        Ok(())
    }

    /// The number in the header of the index.
    fn files_in_index(&self) -> usize {
        let mut header = [0; 12];
        let read = fs::File::open(&self.git.index).and_then(|mut file| file.read_exact(&mut header));
        let [.., a, b, c, d] = header;
        read.map_or(0, |()| u32::from_be_bytes([a, b, c, d]) as usize)
    }

    async fn pack_if_many(&self) {
        let objects = self.repository().join("objects");
        let loose = entries(&objects.join("17")).count();
        let packs = entries(&objects.join("pack")).filter(|name| name.ends_with(".pack")).count();
        if loose > LOOSE || packs > PACKS {
            self.pack("1.day.ago").await;
        }
    }

    /// Drops the objects of snapshots that were removed.
    pub(super) async fn collect_garbage(&self) {
        self.pack("now").await;
    }

    async fn pack(&self, expire: &str) {
        let prune = format!("--expire={expire}");
        for words in [&["repack", "-a", "-d", "-l", "-q"][..], &["prune", &prune]] {
            if let Err(error) = self.git.run(words, b"").await {
                tracing::warn!(%error, "snapshots are not packed");
                return;
            }
        }
    }
}

fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
