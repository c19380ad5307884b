//! `omniglot agents doctor`: the result of checking an agent, in the order of the checks.

use std::process::ExitCode;

use omniglot_schema::{AgentCheck, AuthState, AuthStatus, Finding, FindingKind};

use super::list;
use crate::cli::DoctorArgs;
use crate::print;
use crate::run::render::style::{Ink, Style, clean, cut, duration};
use crate::table::Sheet;
use crate::with_daemon::with_daemon;

/// A longer command line is a script, which is not worth reading here.
const LONGEST: usize = 160;
/// The number of stderr lines of an agent that are printed.
const STDERR_LINES: usize = 20;

pub(crate) async fn doctor(args: &DoctorArgs) -> anyhow::Result<ExitCode> {
    let check =
        with_daemon(&args.talk.data, async |client| Ok(client.check_agent(&args.agent).await?)).await?;
    if args.talk.json {
        print::json(&check)?;
    } else {
        print::text(&Report { style: Sheet::of_stdout().style }.of(&check))?;
        if check.healthy {
            print::note(&format!("`omniglot run --agent {} \"…\"` gives it a task", check.agent.id));
        }
    }
    Ok(if check.healthy { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

struct Report {
    style: Style,
}

impl Report {
    fn of(&self, check: &AgentCheck) -> String {
        let agent = &check.agent;
        let mut out =
            format!("{} · {} · {}\n\n", agent.id, list::source(agent.source), shown(&check.command));
        if let Some(path) = &agent.path {
            out.push_str(&self.good("installed", path));
        }
        if check.healthy {
            let version = agent.version.as_deref().unwrap_or("of an unknown version");
            out.push_str(&self.good("answers", &format!("{version}, after {}", duration(check.duration_ms))));
        }
        for finding in &check.findings {
            out.push_str(&self.finding(finding, check.auth.as_ref()));
        }
        if check.healthy {
            out.push_str(&offers(check));
        }
        let verdict = match (check.healthy, check.findings.len()) {
            (true, 0) => self.style.paint(Ink::Green, "it works"),
            (true, _) => self.style.paint(Ink::Green, "it works, but see above"),
            (false, _) => self.style.paint(Ink::Red, "it does not work yet"),
        };
        out + "\n" + &verdict + "\n"
    }

    fn good(&self, what: &str, detail: &str) -> String {
        format!("{} {what:<11} {}\n", self.style.paint(Ink::Green, "✓"), clean(detail))
    }

    fn finding(&self, finding: &Finding, auth: Option<&AuthState>) -> String {
        let mark = if finding.problem {
            self.style.paint(Ink::Red, "✗")
        } else {
            self.style.paint(Ink::Yellow, "!")
        };
        let mut out = format!("{mark} {:<11} {}\n", name(finding.kind), clean(&finding.message));
        if finding.kind == FindingKind::LoggedOut {
            for method in auth.iter().flat_map(|auth| &auth.methods) {
                let description =
                    method.description.as_ref().map(|text| format!(": {text}")).unwrap_or_default();
                out.push_str(&format!("{INDENT}way in: {}{}\n", clean(&method.name), clean(&description)));
            }
        }
        if let Some(hint) = &finding.hint {
            out.push_str(&format!("{INDENT}→ {}\n", clean(hint)));
        }
        let stderr = finding.stderr.as_ref().and_then(|stderr| stderr.tail.as_ref().or(stderr.head.as_ref()));
        for line in stderr.iter().flat_map(|text| last_lines(text)) {
            out.push_str(&format!("{INDENT}{} {}\n", self.style.paint(Ink::Dim, "│"), clean(line)));
        }
        out
    }
}

/// The indentation of a finding's text.
const INDENT: &str = "              ";

fn last_lines(text: &str) -> impl Iterator<Item = &str> {
    let surplus = text.lines().count().saturating_sub(STDERR_LINES);
    text.lines().skip(surplus)
}

fn name(kind: FindingKind) -> &'static str {
    match kind {
        FindingKind::NotInstalled => "missing",
        FindingKind::NotStarted => "not started",
        FindingKind::LoggedOut => "logged out",
        FindingKind::Exited => "broken",
        FindingKind::Silent => "silent",
        FindingKind::Refused => "refuses",
        FindingKind::NotUnderstood => "strange",
    }
}

fn offers(check: &AgentCheck) -> String {
    let models = check.models.iter().map(|model| match &check.default_model {
        Some(default) if *default == model.id => format!("{} (default)", model.id),
        _ => model.id.clone(),
    });
    let lines = [
        ("models", list_of(models)),
        ("modes", list_of(check.modes.iter().map(|mode| mode.id.clone()))),
        ("can", list_of(capabilities(check).into_iter().map(str::to_owned))),
        ("login", check.auth.as_ref().and_then(login)),
    ];
    let line = |(name, value): (&str, Option<String>)| {
        value.map(|value| format!("  {name:<11} {}\n", clean(&value))).unwrap_or_default()
    };
    lines.into_iter().map(line).collect()
}

fn list_of(words: impl Iterator<Item = String>) -> Option<String> {
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| words.join(", "))
}

fn login(auth: &AuthState) -> Option<String> {
    let ways = list_of(auth.methods.iter().map(|method| method.name.clone()))?;
    Some(match auth.state {
        AuthStatus::Ready => format!("done; it offers {ways}"),
        AuthStatus::Required => format!("needed; it offers {ways}"),
        AuthStatus::Unknown => format!("not reported by the agent, but it opens sessions; it offers {ways}"),
    })
}

/// Lists notable capabilities; those that every agent has are omitted.
fn capabilities(check: &AgentCheck) -> Vec<&'static str> {
    let can = &check.agent.capabilities;
    let table = [
        (can.permissions, "ask for permissions"),
        (can.questions, "ask questions"),
        (can.plan_mode, "plan first"),
        (can.reasoning, "show its reasoning"),
        (can.images, "see images"),
        (can.file_attachments, "take files"),
        (can.mcp_tools, "use MCP servers"),
    ];
    table.into_iter().filter_map(|(able, words)| able.then_some(words)).collect()
}

/// Returns the command nearly as it could be typed: enough to run it by hand.
fn shown(command: &[String]) -> String {
    let word = |word: &String| match word.contains([' ', '\n', '"', '\'']) || word.is_empty() {
        true => format!("'{}'", clean(word).replace('\n', " ").replace('\'', "'\\''")),
        false => clean(word),
    };
    cut(&command.iter().map(word).collect::<Vec<_>>().join(" "), LONGEST)
}
