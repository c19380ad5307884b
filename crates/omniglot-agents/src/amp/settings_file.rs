//! The settings file of one process: the user's own, with the rule that makes Amp start our delegate before each
//! tool.
//!
//! The first rule that fits a tool decides. Amp puts the rules of the project before those of this file, and loads the
//! plugins of the project, which may answer in the place of any rule; so a session is refused whose project has such
//! rules or plugins. The user's own rules to reject something stay before ours.

use std::path::{Path, PathBuf};

use jsonc_parser::ParseOptions;
use serde_json::{Map, Value, json};

use super::delegate::PROGRAM;
use crate::contract::{Refusal, RefusalKind};
use crate::prepare::{LaunchFile, Machine, Preparation};

pub(crate) const NAME: &str = "settings.json";
const RULES: &str = "amp.permissions";
/// Directories with skills, separated by colons.
const SKILLS: &str = "amp.skills.path";
const ALLOW_ALL: &str = "amp.dangerouslyAllowAll";

type Settings = Map<String, Value>;

pub(crate) fn write(start: &Preparation<'_>) -> Result<LaunchFile, Refusal> {
    let asks = start.open.requested.permission_mode.as_deref() != Some("bypass");
    if asks {
        check_project(start)?;
    }
    let mut settings = users_own(start.machine)?;
    settings.insert("amp.updates.mode".to_owned(), "disabled".into());
    if let Some(skills) = &start.open.skills {
        let own = settings.get(SKILLS).and_then(Value::as_str).filter(|own| !own.is_empty());
        let ours = skills.folder().to_string_lossy().into_owned();
        let all = own.map_or_else(|| ours.clone(), |own| format!("{ours}:{own}"));
        settings.insert(SKILLS.to_owned(), all.into());
    }
    if asks {
        let mut rules = rejections(&settings);
        rules.push(json!({"tool": "*", "action": "delegate", "to": start.dir.join(PROGRAM)}));
        settings.insert(RULES.to_owned(), rules.into());
        // Amp would ask at a screen of its own for some files, and ends where it has none; our delegate asks for all.
        settings.insert("amp.guardedFiles.allowlist".to_owned(), json!(["/**"]));
        settings.remove(ALLOW_ALL);
    }
    Ok(LaunchFile::text(NAME, Value::Object(settings).to_string()))
}

/// Refuses a session whose project lets tools run without asking.
fn check_project(start: &Preparation<'_>) -> Result<(), Refusal> {
    for dir in project_directories(&start.open.cwd, start.machine) {
        let plugins = dir.join("plugins");
        if start.machine.exists(&plugins) {
            let message =
                format!("the plugins in {} would run unasked, and may answer for you", plugins.display());
            let hint = "remove them, or use the permission mode bypass".to_owned();
            return Err(Refusal { kind: RefusalKind::Unavailable, message, hint: Some(hint) });
        }
        check_settings(&dir.join("settings.json"), start)?;
        check_settings(&dir.join("settings.jsonc"), start)?;
    }
    Ok(())
}

fn check_settings(path: &Path, start: &Preparation<'_>) -> Result<(), Refusal> {
    if let Some(settings) = read(path, start.machine)? {
        let rules = settings.get(RULES).and_then(Value::as_array);
        let decides = rules.is_some_and(|rules| !rules.iter().all(rejects));
        if decides || settings.get(ALLOW_ALL) == Some(&Value::Bool(true)) {
            let message = format!(
                "{} decides by rules of its own which tools run, and nobody would be asked",
                path.display()
            );
            let hint = format!("take {RULES} and {ALLOW_ALL} out of it, or use the permission mode bypass");
            return Err(Refusal { kind: RefusalKind::Unavailable, message, hint: Some(hint) });
        }
    }
    Ok(())
}

/// Returns where Amp looks for settings and plugins of a project: from the directory up to the root of its repository.
fn project_directories(cwd: &Path, machine: &dyn Machine) -> Vec<PathBuf> {
    let root = cwd.ancestors().position(|dir| machine.exists(&dir.join(".git")));
    cwd.ancestors().take(root.unwrap_or(0) + 1).map(|dir| dir.join(".amp")).collect()
}

fn users_own(machine: &dyn Machine) -> Result<Settings, Refusal> {
    let set = |name: &str| machine.variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let config = || set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")));
    let Some(path) = set("AMP_SETTINGS_FILE").or_else(|| Some(config()?.join("amp/settings.json"))) else {
        return Ok(Settings::new());
    };
    match read(&path, machine)? {
        Some(settings) => Ok(settings),
        None => Ok(read(&path.with_extension("jsonc"), machine)?.unwrap_or_default()),
    }
}

fn read(path: &Path, machine: &dyn Machine) -> Result<Option<Settings>, Refusal> {
    let bad = |why: String| Refusal {
        kind: RefusalKind::Unavailable,
        message: format!("the settings of Amp in {} cannot be read: {why}", path.display()),
        hint: Some("correct the file, or remove it".to_owned()),
    };
    let Some(text) = machine.read(path).map_err(bad)? else { return Ok(None) };
    let settings = jsonc_parser::parse_to_serde_value::<Option<Settings>>(&text, &ParseOptions::default());
    settings.map(|settings| Some(settings.unwrap_or_default())).map_err(|error| bad(error.to_string()))
}

fn rejections(settings: &Settings) -> Vec<Value> {
    let rules = settings.get(RULES).and_then(Value::as_array);
    rules.into_iter().flatten().filter(|rule| rejects(rule)).cloned().collect()
}

fn rejects(rule: &Value) -> bool {
    rule.get("action").and_then(Value::as_str) == Some("reject")
}
