//! THIRD-PARTY.txt: everything of others that is in the program, its licence, and the texts that the licences ask to
//! be handed on, each once.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use super::components::Component;
use crate::shell::Line;

const INTRODUCTION: &str =
    "Omniglot is licensed under the Apache License 2.0 (LICENSE). Its program contains the
following works of others, under the licences that stand behind them; the texts are below.\n";

pub(super) fn document(components: &[Component]) -> anyhow::Result<String> {
    let others: Vec<_> = components.iter().filter(|part| part.is_shipped && !part.is_ours).collect();
    let mut page = format!("{INTRODUCTION}\n");
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for part in &others {
        let name = format!("{} {}", part.name, part.version);
        let license = part.license.as_deref().unwrap_or("see its text");
        let found = part.folder.as_deref().map(texts_in).transpose()?.unwrap_or_default();
        let note = if found.is_empty() { "; its package has no text of it" } else { "" };
        writeln!(page, "{name}: {license}{note}")?;
        for text in found {
            texts.entry(text).or_default().push(name.clone());
        }
    }
    for (name, license, found) in systems() {
        writeln!(page, "{name}: {license}")?;
        for text in found {
            texts.entry(text).or_default().push(name.to_owned());
        }
    }
    let mut texts: Vec<_> = texts.into_iter().collect();
    texts.sort_by(|(_, a), (_, b)| a.cmp(b));
    for (text, names) in texts {
        write!(page, "\n{}\n{}\n\n{text}\n", "=".repeat(80), names.join(", "))?;
    }
    Ok(page)
}

/// Returns the texts of the licences in a package's folder.
fn texts_in(folder: &Path) -> anyhow::Result<Vec<String>> {
    let mut files = vec![];
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_file() && is_license(&path) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files.iter().filter_map(|file| text(file)).collect())
}

fn is_license(file: &Path) -> bool {
    let name = file.file_name().map(|name| name.to_string_lossy().to_uppercase()).unwrap_or_default();
    ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"].iter().any(|start| name.starts_with(start))
}

fn text(file: &Path) -> Option<String> {
    let text = String::from_utf8_lossy(&fs::read(file).ok()?).replace('\r', "");
    let lines: Vec<_> = text.lines().map(str::trim_end).collect();
    Some(lines.join("\n").trim_matches('\n').to_owned())
}

/// Returns the libraries that are linked beside the packages, and those of their texts that are on this machine.
fn systems() -> [(&'static str, &'static str, Vec<String>); 2] {
    let sysroot = Line::new("rustc --print sysroot").stdout().unwrap_or_default();
    let rust = Path::new(sysroot.trim()).join("share/doc/rust");
    let rust = ["LICENSE-APACHE", "LICENSE-MIT"].iter().filter_map(|name| text(&rust.join(name))).collect();
    let musl = musl().and_then(|file| text(&file)).into_iter().collect();
    [("Rust's standard library", "MIT OR Apache-2.0", rust), ("musl libc", "MIT", musl)]
}

fn musl() -> Option<PathBuf> {
    let versions = fs::read_dir(".agents/zigbuild/lib").ok()?.flatten();
    let file = "site-packages/ziglang/lib/libc/musl/COPYRIGHT";
    versions.map(|version| version.path().join(file)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_many_share_is_there_once() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("LICENSE-MIT"), "Permission is hereby granted\r\n").unwrap();
        fs::write(folder.path().join("lib.rs"), "not a licence").unwrap();
        let part = |name: &str| Component {
            name: name.into(),
            version: "1.0.0".into(),
            ecosystem: "cargo",
            license: Some("MIT".into()),
            description: None,
            repository: None,
            checksum: None,
            is_shipped: true,
            is_ours: false,
            folder: Some(folder.path().to_owned()),
            uses: vec![],
        };
        let tool = Component { is_shipped: false, ..part("tool") };
        let page = document(&[part("one"), part("two"), tool]).unwrap();
        assert!(page.contains("one 1.0.0: MIT\ntwo 1.0.0: MIT\n"), "{page}");
        assert!(page.contains("\none 1.0.0, two 1.0.0\n\nPermission is hereby granted\n"), "{page}");
        assert!(!page.contains("tool") && !page.contains("not a licence"), "{page}");
    }
}
