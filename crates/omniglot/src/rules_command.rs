//! `omniglot rules`: tells how rules decide about a call, without a daemon.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use omniglot_rules::{Call, Decision, Layer, Policy, Ruling};
use omniglot_schema::{Labels, Rule, ToolKind};
use serde::Deserialize;
use serde_json::json;

use crate::cli::{RulesArgs, RulesCommand, RulesTestArgs};
use crate::usage::UsageError;
use crate::{data_dir, print};

pub(crate) fn run(args: &RulesArgs) -> anyhow::Result<ExitCode> {
    match &args.command {
        RulesCommand::Test(args) => test(args),
    }
}

fn test(args: &RulesTestArgs) -> anyhow::Result<ExitCode> {
    let data_dir = data_dir::place(args.data.data_dir.as_deref())?;
    let config = data_dir::config(&args.data, &data_dir)?;
    let mut warnings = omniglot_rules::check(&config.rules)?;
    let mut policy =
        Policy::new(omniglot_runtime::floor(&config, &data_dir)).with(Layer::Daemon, &config.rules);
    if let Some(file) = &args.rules {
        let rules = read(file)?;
        warnings.extend(omniglot_rules::check(&rules).map_err(UsageError::because)?);
        policy = policy.with(Layer::Session, &rules);
    }
    let directory = args.dir.clone().unwrap_or_else(|| ".".into());
    let directory = directory.canonicalize().with_context(|| format!("--dir {}", directory.display()))?;
    let labels: Labels = args.labels.iter().map(|label| (label.key.clone(), label.value.clone())).collect();
    let ruling = omniglot_runtime::evaluate_rules(&policy, &call(args, &labels), &directory);
    warnings.iter().for_each(|warning| print::note(warning));
    show(&ruling, args.json)?;
    Ok(ExitCode::SUCCESS)
}

fn call<'a>(args: &'a RulesTestArgs, labels: &'a Labels) -> Call<'a> {
    let usual = match (&args.run, &args.url) {
        (Some(_), _) => ToolKind::Execute,
        (None, Some(_)) => ToolKind::Fetch,
        (None, None) if args.server.is_some() => ToolKind::Mcp,
        (None, None) => ToolKind::Read,
    };
    Call {
        agent: &args.agent,
        kind: Some(args.kind.unwrap_or(usual)),
        tool: args.tool.as_deref(),
        server: args.server.as_deref(),
        command: args.run.as_deref(),
        cwd: None,
        paths: args.paths.iter().map(String::as_str).collect(),
        url: args.url.as_deref(),
        labels: Some(labels),
    }
}

fn show(ruling: &Ruling, as_json: bool) -> anyhow::Result<()> {
    let decision = match ruling.decision {
        Decision::Allow => "allow",
        Decision::Ask => "ask",
        Decision::Deny => "deny",
    };
    let (rule, layer) = match &ruling.rule {
        Some((layer, rule)) => (Some(rule.as_str()), Some(layer.as_str())),
        None => (None, None),
    };
    if as_json {
        let Ruling { reason, remember, .. } = ruling;
        return print::json(
            &json!({ "decision": decision, "rule": rule, "layer": layer, "reason": reason, "remember": remember }),
        );
    }
    let layer = layer.map(|layer| format!(" ({layer})")).unwrap_or_default();
    print::line(&format!("{decision}: {}{layer}", ruling.reason))
}

/// A file of rules alone.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RulesFile {
    #[serde(default)]
    rules: Vec<Rule>,
}

/// Reads a file of `[[rules]]`.
pub(crate) fn read(file: &Path) -> Result<Vec<Rule>, UsageError> {
    let refuse = |why: String| UsageError::new(format!("{}: {why}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| refuse(error.to_string()))?;
    let read: RulesFile = toml::from_str(&text).map_err(|error| refuse(error.to_string()))?;
    omniglot_rules::check(&read.rules).map_err(|error| refuse(error.to_string()))?;
    Ok(read.rules)
}
