//! docs/openapi.json: the REST face as the code describes it, kept in the repository so that a change
//! of the contract shows in review.

use std::fs;

use anyhow::{Context as _, bail};

use crate::shell::Line;

const FILE: &str = "docs/openapi.json";

pub(crate) fn write() -> anyhow::Result<()> {
    let text = generated()?;
    fs::create_dir_all("docs")?;
    fs::write(FILE, &text).context(FILE)?;
    println!("{FILE}: {} bytes", text.len());
    Ok(())
}

pub(crate) fn check() -> anyhow::Result<()> {
    let wanted = generated()?;
    let found = fs::read_to_string(FILE).unwrap_or_default();
    match first_difference(&wanted, &found) {
        None => Ok(()),
        Some((line, wanted, found)) => bail!(
            "{FILE} is not what the code generates; `cargo xtask openapi` writes it anew\n\
             line {line}\n  file: {found}\n  code: {wanted}"
        ),
    }
}

fn generated() -> anyhow::Result<String> {
    let text = Line::new("cargo run --quiet -p omniglot -- openapi").stdout()?;
    let document: serde_json::Value =
        serde_json::from_str(&text).context("`omniglot openapi` prints JSON")?;
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

fn first_difference<'a>(wanted: &'a str, found: &'a str) -> Option<(usize, &'a str, &'a str)> {
    let (mut wanted, mut found) = (wanted.lines(), found.lines());
    for line in 1.. {
        match (wanted.next(), found.next()) {
            (None, None) => return None,
            (a, b) if a != b => return Some((line, a.unwrap_or("(end)"), b.unwrap_or("(end)"))),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::first_difference;

    #[test]
    fn the_first_line_that_differs_is_named() {
        assert_eq!(first_difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(first_difference("a\nb\n", "a\nc\n"), Some((2, "b", "c")));
        assert_eq!(first_difference("a\nb\n", "a\n"), Some((2, "b", "(end)")));
    }
}
