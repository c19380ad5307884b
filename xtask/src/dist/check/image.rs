//! The image: its Dockerfile is followed line by line in a tree of Debian, and what it would start is started there by
//! chroot, in a process namespace of its own. `docker build` itself is not tried.
//!
//! The tree of the base image is made by debootstrap, with the Node that tests use.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

use super::Packages;
use super::home::{FIRST_PROMPT, expect, is_root, on_path, succeed};
use crate::agents;
use crate::dist::{copy, empty};

const BASE: &str = "target/dist-check/base";
const TREE: &str = "target/dist-check/image";
const FROM: &str = "node:24-bookworm-slim";
/// The user that the base image has beside root.
const USER: &str = "1000";
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const READY: Duration = Duration::from_secs(60);

/// The lines of a Dockerfile that we know.
#[derive(Debug, Default, PartialEq, Eq)]
struct Recipe {
    from: String,
    run: Vec<String>,
    env: Vec<(String, String)>,
    user: String,
    folder: String,
    health: Vec<String>,
    start: Vec<String>,
}

impl Recipe {
    fn read(text: &str) -> anyhow::Result<Self> {
        let text = text.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n");
        let mut recipe = Self::default();
        for line in text.replace("\\\n", " ").lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (instruction, rest) = line.split_once(' ').context("an instruction has a value")?;
            let rest = rest.trim();
            match instruction {
                "FROM" => rest.clone_into(&mut recipe.from),
                "RUN" => {
                    let mount = "--mount=type=bind,target=/dist ";
                    recipe.run.push(rest.strip_prefix(mount).unwrap_or(rest).to_owned());
                }
                "ENV" => {
                    let (name, value) = rest.split_once('=').context("ENV NAME=VALUE")?;
                    recipe.env.push((name.to_owned(), value.to_owned()));
                }
                "USER" => rest.clone_into(&mut recipe.user),
                "WORKDIR" => rest.clone_into(&mut recipe.folder),
                "HEALTHCHECK" => {
                    let (_, words) = rest.split_once("CMD ").context("HEALTHCHECK … CMD […]")?;
                    recipe.health = serde_json::from_str(words)?;
                }
                "ENTRYPOINT" | "CMD" => recipe.start.extend(serde_json::from_str::<Vec<String>>(rest)?),
                "VOLUME" | "EXPOSE" => {}
                other => bail!("the check does not know the instruction {other}"),
            }
        }
        Ok(recipe)
    }
}

fn why_not() -> Option<&'static str> {
    let missing = ["debootstrap", "unshare", "nsenter", "chroot"].iter().find(|name| on_path(name).is_none());
    match missing {
        _ if !is_root() => Some("only root may make its tree"),
        Some(&"debootstrap") => Some("debootstrap is not on this machine"),
        Some(_) => Some("unshare, nsenter and chroot are needed"),
        None => None,
    }
}

/// Makes the tree: the base image, and what the Dockerfile runs on it.
pub(super) fn fetch(packages: &Path) -> anyhow::Result<()> {
    if why_not().is_some() {
        return Ok(());
    }
    let recipe = recipe(packages)?;
    if recipe.from != FROM {
        bail!("the Dockerfile is based on {}, and its check on {FROM}", recipe.from);
    }
    base()?;
    empty(Path::new(TREE))?;
    succeed(Command::new("cp").args(["--archive", "--no-target-directory", BASE, TREE]))?;
    let dist = Path::new(TREE).join("dist");
    for entry in fs::read_dir(packages)? {
        let path = entry?.path();
        copy(&path, &dist.join(path.file_name().context("a file has a name")?), 0o644)?;
    }
    for line in &recipe.run {
        succeed(Command::new("chroot").args([TREE, "/bin/sh", "-c", line]).env("PATH", PATH))?;
    }
    Ok(fs::remove_dir_all(dist)?)
}

fn recipe(packages: &Path) -> anyhow::Result<Recipe> {
    Recipe::read(&fs::read_to_string(packages.join("Dockerfile"))?).context("Dockerfile")
}

fn base() -> anyhow::Result<()> {
    let marker = Path::new("target/dist-check/base.complete");
    if marker.exists() {
        return Ok(());
    }
    empty(Path::new(BASE))?;
    println!("making a tree of Debian below {BASE}; this happens once");
    succeed(Command::new("debootstrap").args(["--variant=minbase", "bookworm", BASE]))?;
    succeed(Command::new("chroot").args([BASE, "useradd", "--create-home", "--uid", USER, "node"]))?;
    let (node, _) = agents::provided("node")?;
    copy(&node, &Path::new(BASE).join("usr/local/bin/node"), 0o755)?;
    Ok(fs::write(marker, "")?)
}

pub(super) fn check(packages: &Packages) -> anyhow::Result<String> {
    if let Some(why) = why_not() {
        return Ok(format!("NOT CHECKED: {why}"));
    }
    let recipe = recipe(&packages.folder)?;
    let mut container = Container::start(&recipe)?;
    let began = Instant::now();
    // A health check is asked again and again, here as by Docker.
    while let Err(error) = succeed(&mut container.command(&recipe, &recipe.health)) {
        if began.elapsed() > READY {
            return Err(error.context("the image does not become healthy"));
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    let run = |words: &[&str]| {
        let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
        succeed(&mut container.command(&recipe, &words))
    };
    expect(&run(&["id", "--user"])?, &[USER])?;
    expect(&run(&["git", "--version"])?, &["git version"])?;
    expect(&run(&["node", "--version"])?, &["v24."])?;
    expect(&run(&["omniglot", "daemon", "status"])?, &["/data"])?;
    expect(&run(&["omniglot", "run", "--agent", "mock", "--scratch", FIRST_PROMPT])?, &["── end_turn"])?;
    expect(&run(&["stat", "--format=%a %U", "/data/private/token"])?, &["600 node"])?;
    container.stop()?;
    Ok("the Dockerfile's steps in a tree of Debian; `docker build` is untried".to_owned())
}

/// The processes of the image; they end with the value.
struct Container {
    outside: Child,
    /// The first process of the namespace.
    first: String,
}

impl Container {
    fn start(recipe: &Recipe) -> anyhow::Result<Self> {
        let tree = fs::canonicalize(TREE)?;
        let proc = format!("--mount-proc={}", tree.join("proc").display());
        let user = format!("--userspec={USER}:{USER}");
        let mut command = Command::new("unshare");
        command.args(["--mount", "--pid", "--fork", "--kill-child", &proc, "chroot", &user]).arg(&tree);
        command.args(["env", "-C", &recipe.folder]).args(&recipe.start);
        surroundings(&mut command, recipe);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let log = fs::File::create(PathBuf::from(TREE).with_extension("log"))?;
        let mut outside = command.stderr(log).spawn()?;
        let children = format!("/proc/{0}/task/{0}/children", outside.id());
        let began = Instant::now();
        loop {
            let first = fs::read_to_string(&children).unwrap_or_default().trim().to_owned();
            if !first.is_empty() {
                return Ok(Self { outside, first });
            }
            if began.elapsed() > READY || outside.try_wait()?.is_some() {
                outside.kill()?;
                bail!("the image's process does not start; {TREE}.log tells why");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Returns a command within, as `docker exec` runs it.
    fn command(&self, recipe: &Recipe, words: &[String]) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.first, "--mount", "--pid", "--root", "--wd"]);
        command.args(["--setuid", USER, "--setgid", USER]).args(words).stdin(Stdio::null());
        surroundings(&mut command, recipe);
        command
    }

    /// Asks the first process to stop, as `docker stop` does, and waits for its end.
    fn stop(&mut self) -> anyhow::Result<()> {
        succeed(Command::new("kill").args(["-TERM", &self.first]))?;
        let status = self.outside.wait()?;
        if status.success() {
            Ok(())
        } else {
            bail!("the image's process ended with {status}; {TREE}.log has its log")
        }
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        let _ = self.outside.kill();
        let _ = self.outside.wait();
    }
}

fn surroundings(command: &mut Command, recipe: &Recipe) {
    command.env_clear().env("PATH", PATH).env("HOME", "/home/node").envs(recipe.env.iter().cloned());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dockerfile_is_understood() {
        let text = fs::read_to_string("../packaging/Dockerfile").unwrap();
        let recipe = Recipe::read(&text).unwrap();
        assert_eq!((&*recipe.from, &*recipe.user, &*recipe.folder), (FROM, "node", "/work"));
        assert_eq!(recipe.start, ["tini", "--", "omniglot", "serve"]);
        assert_eq!(recipe.run.len(), 3);
        assert!(recipe.run[0].starts_with("apt-get update") && recipe.run[0].ends_with("/lists/*"));
        assert!(recipe.run[1].starts_with("sh /dist/install.sh"));
        assert!(Recipe::read("COPY a b\n").is_err());
    }
}
