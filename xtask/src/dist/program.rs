//! The program of a machine: one static file, which asks nothing of the system that it is put on.
//!
//! musl is linked where Rust's standard library for it can be had; the C parts (SQLite, zstd, ring) are compiled by
//! zig, which brings musl for every machine and needs no package of the system. Else glibc is linked statically, for
//! this machine only; names of hosts are then resolved by the files and the DNS alone.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::agents;
use crate::shell::Line;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arch {
    X86_64,
    Aarch64,
}

impl Arch {
    /// Returns the name that `uname -m` and Rust have for it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        }
    }

    /// Returns the name that Node has for it.
    pub(super) fn node_name(self) -> &'static str {
        match self {
            Self::X86_64 => "x64",
            Self::Aarch64 => "arm64",
        }
    }

    /// Returns the number that an ELF file has for it.
    pub(super) fn machine(self) -> u16 {
        match self {
            Self::X86_64 => 62,
            Self::Aarch64 => 183,
        }
    }

    pub(super) fn target(self) -> String {
        format!("{}-unknown-linux-musl", self.name())
    }
}

/// Builds for release; returns the path of the program.
pub(super) fn build(arch: Arch) -> anyhow::Result<PathBuf> {
    let wanted = "--locked --release -p omniglot --bin omniglot --target";
    let target = arch.target();
    let line = if has_std(&target) {
        let (python, _) = agents::provided("zigbuild")?;
        let tools = fs::canonicalize(python.parent().context("a folder of programs")?)?;
        let path = std::env::var("PATH").unwrap_or_default();
        Line::new(&format!("cargo zigbuild {wanted} {target}"))
            .env("PATH", &format!("{}:{path}", tools.display()))
    } else if arch.name() == std::env::consts::ARCH {
        println!("note: Rust's standard library for {target} cannot be had; glibc is linked statically");
        return built_with_glibc(arch, wanted);
    } else {
        bail!("Rust's standard library for {target} cannot be had; try `rustup target add {target}`");
    };
    line.env("CARGO_PROFILE_RELEASE_STRIP", "symbols").run()?;
    Ok(output(&target))
}

fn built_with_glibc(arch: Arch, wanted: &str) -> anyhow::Result<PathBuf> {
    let target = format!("{}-unknown-linux-gnu", arch.name());
    Line::new(&format!("cargo build {wanted} {target}"))
        .env("RUSTFLAGS", "-C target-feature=+crt-static")
        .env("CARGO_PROFILE_RELEASE_STRIP", "symbols")
        .run()?;
    Ok(output(&target))
}

fn output(target: &str) -> PathBuf {
    let folder = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    folder.join(target).join("release/omniglot")
}

/// Whether Rust can build for the target, if need be after rustup has fetched the rest.
fn has_std(target: &str) -> bool {
    let is_there = || {
        let line = Line::new(&format!("rustc --print target-libdir --target {target}"));
        line.capture().is_ok_and(|(success, folder)| success && Path::new(folder.trim()).is_dir())
    };
    is_there()
        || (Line::new(&format!("rustup target add {target}")).capture().is_ok_and(|(done, _)| done)
            && is_there())
}

/// The facts of an ELF file that decide where it runs.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) machine: u16,
    /// Whether it needs no dynamic loader.
    pub(super) is_static: bool,
}

pub(super) fn inspect(program: &Path) -> anyhow::Result<Found> {
    let bytes = fs::read(program).with_context(|| program.display().to_string())?;
    elf(&bytes).with_context(|| format!("{} is no 64-bit ELF file", program.display()))
}

fn elf(bytes: &[u8]) -> Option<Found> {
    const INTERPRETER: [u8; 4] = [3, 0, 0, 0];
    let number = |at: usize| Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    bytes.strip_prefix(b"\x7fELF\x02\x01")?;
    let table = usize::try_from(u64::from_le_bytes(bytes.get(32..40)?.try_into().ok()?)).ok()?;
    let (size, count) = (usize::from(number(54)?), usize::from(number(56)?));
    let mut kinds = (0..count).map(|n| bytes.get(table + n * size..table + n * size + 4));
    Some(Found {
        machine: number(18)?,
        is_static: kinds.all(|kind| kind.is_some_and(|kind| kind != INTERPRETER)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(kinds: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (bytes[18], bytes[32], bytes[54], bytes[56]) = (62, 64, 56, u8::try_from(kinds.len()).unwrap());
        for kind in kinds {
            bytes.push(*kind);
            bytes.extend([0; 55]);
        }
        bytes
    }

    #[test]
    fn a_program_is_static_when_it_names_no_loader() {
        assert_eq!(elf(&file(&[1, 2, 6])), Some(Found { machine: 62, is_static: true }));
        assert_eq!(elf(&file(&[6, 3, 1])), Some(Found { machine: 62, is_static: false }));
        assert_eq!(elf(b"#!/bin/sh\n"), None);
        assert!(!elf(&file(&[1, 2])[..100]).unwrap().is_static, "a table that is cut proves nothing");
    }
}
