//! Every source file opens with `//!` and its duty, no test is switched off, words that were retired stay so, and
//! readers know no agent.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use super::literals;
use super::words::Words;

pub(super) fn check() -> anyhow::Result<()> {
    let mut files = vec![];
    for folder in ["crates", "xtask"] {
        rust_files(Path::new(folder), &mut files)?;
    }
    let mut complaints = vec![];
    let mut words = Words::new();
    for file in files {
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        let faults = fault(&text).map(str::to_owned).into_iter();
        let faults = faults.chain(words.faults(&file, &text)).chain(literals::faults(&file, &text));
        complaints.extend(faults.map(|fault| format!("{}: {fault}", file.display())));
    }
    complaints.extend(words.over_budget());
    if complaints.is_empty() {
        return Ok(());
    }
    complaints.sort();
    bail!("{}", complaints.join("\n"))
}

fn fault(text: &str) -> Option<&'static str> {
    let first = text.lines().next().unwrap_or_default();
    if first.strip_prefix("//!").is_none_or(|duty| duty.trim().is_empty()) {
        return Some("does not open with `//!` and its duty");
    }
    let ignored = text.lines().any(|line| line.trim_start().starts_with("#[ignore"));
    ignored.then_some("has an ignored test: assert what happens today and say why it is wrong")
}

pub(super) fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() && !path.ends_with("target") {
            rust_files(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::fault;

    #[test]
    fn a_file_needs_a_duty_and_running_tests() {
        assert_eq!(fault("//! Does this.\nfn f() {}"), None);
        for wrong in ["", "//!\n", "fn f() {}", "//! Does.\n    #[ignore]\n"] {
            assert!(fault(wrong).is_some(), "{wrong:?}");
        }
    }
}
