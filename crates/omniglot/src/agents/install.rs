//! `omniglot agents install`: has the daemon install a version of an agent.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use omniglot_schema::{AgentInstallArtifact, AgentInstallRequest, AgentInstallResponse};

use crate::cli::InstallArgs;
use crate::print;
use crate::run::render::style::duration;
use crate::with_daemon::with_daemon;

/// How often a long installation says that it goes on.
const EVERY: Duration = Duration::from_secs(5);

pub(crate) async fn install(args: &InstallArgs) -> anyhow::Result<ExitCode> {
    let (agent, version) = match args.agent.split_once('@') {
        Some((agent, version)) => (agent, Some(version.to_owned())),
        None => (&*args.agent, None),
    };
    let request = AgentInstallRequest {
        newest: version.is_none().then_some(true),
        agent_version: version,
        reinstall: args.reinstall.then_some(true),
    };
    print::note(&format!("installing {} …", args.agent));
    let work = with_daemon(&args.talk.data, async |client| {
        let response = client.install_agent(agent, &request).await?;
        let used = client.agents().await?.agents.into_iter().find(|info| info.id == agent);
        Ok((response, used.and_then(|info| info.path)))
    });
    let (response, used) = with_progress(&args.agent, work).await?;
    if args.talk.json {
        print::json(&response)?;
    } else {
        tell(agent, &response, used.as_deref())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Says every few seconds that the work goes on.
async fn with_progress<T>(what: &str, work: impl Future<Output = T>) -> T {
    let began = Instant::now();
    let mut work = std::pin::pin!(work);
    loop {
        match tokio::time::timeout(EVERY, &mut work).await {
            Ok(done) => return done,
            Err(_) => {
                let passed = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
                print::note(&format!("installing {what} … {}", duration(passed)));
            }
        }
    }
}

/// Prints the programs, and a note if sessions that ask for no version use another one.
fn tell(agent: &str, response: &AgentInstallResponse, used: Option<&str>) -> anyhow::Result<()> {
    let done = if response.already_installed { "is installed already" } else { "is installed" };
    for AgentInstallArtifact { path, version, .. } in &response.artifacts {
        let version = version.as_deref().unwrap_or("of an unknown version");
        print::line(&format!("{agent} {version} {done}: {path}"))?;
        if used != Some(path) {
            let used = used.unwrap_or("the configured command, which was not found");
            print::note(&format!("a session uses it that asks for its version; the others use {used}"));
        }
    }
    Ok(())
}
