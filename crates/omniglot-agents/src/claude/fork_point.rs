//! The place in Claude Code's transcript where a copy ends that does not have everything.
//!
//! The CLI wants the id of the last entry to keep, which it never prints for prompts; the transcript has it as the
//! parent of the message that is left out.

use std::path::PathBuf;

use serde::Deserialize;

use super::prompt::uuid;
use crate::contract::{ForkPoint, Refusal, RefusalKind};
use crate::launch::LaunchSpec;
use crate::prepare::{Machine, Preparation, Prepared};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    uuid: Option<String>,
    parent_uuid: Option<String>,
}

/// Names the last entry that a copy has.
pub(crate) fn prepare(spec: &mut LaunchSpec, start: &Preparation<'_>) -> Result<Prepared, Refusal> {
    let open = start.open;
    if let (Some(native), Some(point)) = (&open.resume, open.fork_before.as_ref().filter(|_| open.fork)) {
        let path = transcript(start.machine, &open.cwd.to_string_lossy(), native);
        let last = path.map(|path| entry_before(start.machine, &path, point)).transpose()?.flatten();
        let last = last.ok_or_else(|| Refusal::no_fork_point(&point.text))?;
        spec.args.extend(["--resume-session-at".to_owned(), last]);
    }
    Ok(Prepared::default())
}

/// Returns the path of the transcript of a session: its folder is named after the directory of the session.
fn transcript(machine: &dyn Machine, cwd: &str, native: &str) -> Option<PathBuf> {
    let home = || Some(PathBuf::from(machine.variable("HOME")?).join(".claude"));
    let config = machine.variable("CLAUDE_CONFIG_DIR").map(PathBuf::from).or_else(home)?;
    let folder: String = cwd.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    Some(config.join("projects").join(folder).join(format!("{native}.jsonl")))
}

fn entry_before(
    machine: &dyn Machine,
    path: &std::path::Path,
    point: &ForkPoint,
) -> Result<Option<String>, Refusal> {
    let Some(uuid) = point.message_id.as_ref().and_then(uuid) else { return Ok(None) };
    let is_message = |line: &str| {
        let entry = serde_json::from_str::<Entry>(line);
        entry.is_ok_and(|entry| entry.uuid.as_deref() == Some(&uuid))
    };
    let found = machine.find_line(path, &|line| line.contains(&uuid) && is_message(line));
    let line = found.map_err(|message| Refusal { kind: RefusalKind::Unavailable, message, hint: None })?;
    Ok(line.and_then(|line| serde_json::from_str::<Entry>(&line).ok()?.parent_uuid))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use omniglot_schema::MessageId;

    use super::*;
    use crate::contract::Open;

    const MESSAGE: &str = "msg_0123456789abcdef0123456789abcdef";
    const UUID: &str = "01234567-89ab-cdef-0123-456789abcdef";
    const TRANSCRIPT: &str = "/home/me/.claude/projects/-w-my-app/OLD.jsonl";

    struct Files(String);

    impl Machine for Files {
        fn variable(&self, name: &str) -> Option<String> {
            (name == "HOME").then(|| "/home/me".to_owned())
        }

        fn read(&self, _: &Path) -> Result<Option<String>, String> {
            Ok(None)
        }

        fn find_line(&self, path: &Path, wanted: &dyn Fn(&str) -> bool) -> Result<Option<String>, String> {
            let lines = if path == Path::new(TRANSCRIPT) { self.0.as_str() } else { "" };
            Ok(lines.lines().find(|line| wanted(line)).map(str::to_owned))
        }

        fn exists(&self, _: &Path) -> bool {
            false
        }
    }

    fn prepared(open: &Open, transcript: &str) -> Result<Vec<String>, Refusal> {
        let mut spec = LaunchSpec { program: "claude".into(), args: vec![], env: Default::default() };
        let start = Preparation {
            open,
            dir: Path::new("/run"),
            own_program: Path::new("/omniglot"),
            socket: Path::new("/run/socket"),
            machine: &Files(transcript.to_owned()),
        };
        assert_eq!(prepare(&mut spec, &start)?, Prepared::default());
        Ok(spec.args)
    }

    fn open(message: &str) -> Open {
        let point = ForkPoint {
            message_id: Some(MessageId(message.to_owned())),
            native_id: None,
            text: "Second".to_owned(),
            messages_before: 1,
            same_before: 0,
        };
        Open {
            cwd: "/w/my.app".into(),
            resume: Some("OLD".to_owned()),
            fork: true,
            fork_before: Some(point),
            ..Open::default()
        }
    }

    #[test]
    fn a_copy_ends_with_the_parent_of_the_message() {
        let lines = format!(
            "{{\"type\":\"queue\",\"content\":\"{UUID}\"}}\nno json {UUID}\n{{\"type\":\"user\",\"uuid\":\"{UUID}\",\"parentUuid\":\"LAST\"}}\n"
        );
        assert_eq!(prepared(&open(MESSAGE), &lines).unwrap(), ["--resume-session-at", "LAST"]);
        let whole = Open { fork_before: None, ..open(MESSAGE) };
        assert_eq!(prepared(&whole, &lines).unwrap(), [""; 0]);
    }

    #[test]
    fn a_message_that_the_transcript_lacks_is_refused() {
        for (message, lines) in [(MESSAGE, "{}"), ("msg_imported", "{}"), (MESSAGE, "")] {
            let refusal = prepared(&open(message), lines).unwrap_err();
            assert!(refusal.message.contains("\"Second\""), "{}", refusal.message);
        }
    }
}
