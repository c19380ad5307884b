//! Programs of the machine that tests drive clients with: a terminal multiplexer and a browser.
//!
//! They are no packages of npm, so they are found on the PATH, or installed where that is one command without
//! a question. Elsewhere the missing package is printed; no test is skipped without them.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::shell::Line;

struct Program {
    /// Any of these names is accepted.
    names: &'static [&'static str],
    what_for: &'static str,
    /// Debian's name of the package.
    package: &'static str,
}

/// The names are those that `omniglot_testkit` looks for.
const PROGRAMS: &[Program] = &[
    Program { names: &["tmux"], what_for: "tests of terminal clients", package: "tmux" },
    Program {
        names: &["chromium", "chromium-browser", "google-chrome"],
        what_for: "tests of web pages",
        package: "chromium",
    },
];

pub(crate) fn run() -> anyhow::Result<()> {
    let missing: Vec<_> = PROGRAMS.iter().filter(|program| program.found().is_none()).collect();
    if !missing.is_empty() {
        install(&missing)?;
    }
    for program in PROGRAMS {
        let path = program.found().with_context(|| format!("{} after its install", program.package))?;
        println!("{:<10} {}", program.package, path.display());
    }
    Ok(())
}

impl Program {
    fn found(&self) -> Option<PathBuf> {
        self.names.iter().find_map(|name| on_path(name))
    }
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

fn install(missing: &[&Program]) -> anyhow::Result<()> {
    if on_path("apt-get").is_none() || !is_root() {
        let list = missing.iter().map(|p| format!("{} ({})", p.names.join(" or "), p.what_for));
        let list = list.collect::<Vec<_>>().join(", ");
        let packages = missing.iter().map(|p| p.package).collect::<Vec<_>>().join(" ");
        bail!("not on the PATH: {list}; install them, on Debian with `sudo apt-get install {packages}`");
    }
    apt("update")?;
    let packages = missing.iter().map(|program| program.package).collect::<Vec<_>>().join(" ");
    apt(&format!("install --yes --no-install-recommends {packages}"))
}

fn apt(words: &str) -> anyhow::Result<()> {
    let line = Line::new(&format!("apt-get -qq {words}")).env("DEBIAN_FRONTEND", "noninteractive");
    let (success, output) = line.capture()?;
    if !success {
        bail!("{}\n{output}", line.typed());
    }
    Ok(())
}

/// Whether packages can be installed without a password.
fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    // The owner of our own folder in /proc is our user.
    Path::new("/proc/self").metadata().is_ok_and(|own| own.uid() == 0)
}
