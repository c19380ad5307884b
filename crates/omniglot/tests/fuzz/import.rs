//! Exported sessions that were changed on the way, with a checksum that fits.

use std::process::Command;

use omniglot_testkit::fuzz::{self, Edit};
use omniglot_testkit::session_driver::SessionDriver;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::runtime::Runtime;

use crate::{answer, daemon, is_internal};

#[derive(Debug, Clone)]
enum Change {
    Edit(Edit),
    Repeat,
    Remove,
    Swap(u16),
}

fn change() -> impl Strategy<Value = (u16, Change)> {
    let what = prop_oneof![
        8 => fuzz::edit().prop_map(Change::Edit),
        1 => Just(Change::Repeat),
        1 => Just(Change::Remove),
        1 => any::<u16>().prop_map(Change::Swap),
    ];
    (any::<u16>(), what)
}

fn apply(lines: &mut Vec<Value>, (line, change): &(u16, Change)) {
    if lines.is_empty() {
        return;
    }
    let at = usize::from(*line) % lines.len();
    match change {
        Change::Edit(edit) => edit.apply(&mut lines[at]),
        Change::Repeat => lines.insert(at, lines[at].clone()),
        Change::Remove => drop(lines.remove(at)),
        Change::Swap(other) => {
            let other = usize::from(*other) % lines.len();
            lines.swap(at, other);
        }
    }
}

/// Returns the lines as a file whose last line says that it is whole.
fn sealed(lines: &[Value]) -> String {
    let count = |name: &str| lines.iter().filter(|line| line.get(name).is_some()).count();
    let mut text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let sum: String = Sha256::digest(&text).iter().map(|byte| format!("{byte:02x}")).collect();
    let end = json!({"end": {"events": count("event"), "blobs": count("blob"), "sha256": sum}});
    text += &format!("{end}\n");
    text
}

#[test]
fn a_changed_export_is_refused_or_a_lawful_session() {
    let (runtime, daemon) = (Runtime::new().unwrap(), daemon());
    runtime.block_on(async {
        let session = SessionDriver::create(&daemon.client, "s").await;
        session.turn("[[reasoning]] [[edit]] [[permission]]", omniglot_schema::PermissionReply::Once).await;
    });
    let exported = Command::new(daemon.program())
        .args(["sessions", "export", "s", "--raw"])
        .env("OMNIGLOT_HOME", daemon.data())
        .output()
        .unwrap();
    assert!(exported.status.success(), "{exported:?}");
    let text = String::from_utf8(exported.stdout).unwrap();
    let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    lines.pop();
    let (client, imported) = (reqwest::Client::new(), std::cell::Cell::new(0));
    let import = |lines: &[Value]| {
        let url = format!("{}/v1/sessions/i-{}/import", daemon.url, imported.get());
        imported.set(imported.get() + 1);
        let request =
            client.post(url).bearer_auth(&daemon.token).header("content-type", "application/x-ndjson");
        runtime.block_on(answer(request.body(sealed(lines))))
    };
    let whole = import(&lines).unwrap();
    assert!(whole.contains("eventCount"), "{whole}");
    let cases = proptest::collection::vec(change(), 1..3);
    let tried = TestRunner::new(fuzz::config(60)).run(&cases, |changes| {
        let mut lines = lines.clone();
        changes.iter().for_each(|change| apply(&mut lines, change));
        let answer = import(&lines);
        prop_assert!(answer.as_ref().is_ok_and(|text| !is_internal(text)), "{answer:?}");
        Ok(())
    });
    tried.unwrap();
}
