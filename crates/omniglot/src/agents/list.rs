//! `omniglot agents list`.

use std::process::ExitCode;

use omniglot_schema::{AgentInfo, AgentSource, AuthStatus};

use crate::cli::TalkArgs;
use crate::print;
use crate::table::{Give, Sheet, Table};
use crate::with_daemon::with_daemon;

pub(crate) async fn list(args: &TalkArgs) -> anyhow::Result<ExitCode> {
    let agents =
        with_daemon(&args.data, async |client| Ok(client.agents_with_versions().await?)).await?.agents;
    if args.json {
        agents.iter().try_for_each(print::json)?;
    } else {
        print::text(&table(&agents).render(Sheet::of_stdout()))?;
        print::note("`omniglot agents doctor ID` tries one");
    }
    Ok(ExitCode::SUCCESS)
}

fn table(agents: &[AgentInfo]) -> Table {
    let mut table = Table::new(&[
        ("ID", Give::Whole),
        ("INSTALLED", Give::Whole),
        ("VERSION", Give::Whole),
        ("LOGIN", Give::Whole),
        ("FROM", Give::Whole),
        ("PATH", Give::Shrinks),
    ]);
    for agent in agents {
        table.row([
            agent.id.clone(),
            if agent.installed { "yes" } else { "no" }.to_owned(),
            agent.version.clone().unwrap_or_else(|| "–".to_owned()),
            login(agent).to_owned(),
            source(agent.source).to_owned(),
            agent.path.clone().unwrap_or_else(|| "–".to_owned()),
        ]);
    }
    table
}

fn login(agent: &AgentInfo) -> &'static str {
    match agent.login {
        None => "–",
        Some(AuthStatus::Ready) => "yes",
        Some(AuthStatus::Required) => "needed",
        Some(AuthStatus::Unknown) => "unknown",
    }
}

pub(super) fn source(source: Option<AgentSource>) -> &'static str {
    match source {
        Some(AgentSource::BuiltIn) => "built-in",
        Some(AgentSource::Configured) => "configured",
        None => "–",
    }
}
