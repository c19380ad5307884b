//! The kernel's figures of a process: time, memory, write calls.

use std::fs::read_to_string;
use std::time::Duration;

use anyhow::Context as _;

/// Returns the CPU time that a process has used so far, user and system.
pub(crate) fn cpu_time(pid: u32) -> anyhow::Result<Duration> {
    let stat = read_to_string(format!("/proc/{pid}/stat"))?;
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let ticks: u64 = fields.split_whitespace().skip(11).take(2).filter_map(|n| n.parse::<u64>().ok()).sum();
    // The kernel reports to user space in hundredths of a second, whatever its own tick is.
    Ok(Duration::from_millis(ticks * 10))
}

/// Returns the resident memory in bytes.
pub(crate) fn rss(pid: u32) -> anyhow::Result<u64> {
    Ok(number(&format!("/proc/{pid}/status"), "VmRSS:")? * 1024)
}

/// Returns how many write calls a process has made, to sockets and files alike.
pub(crate) fn writes(pid: u32) -> anyhow::Result<u64> {
    number(&format!("/proc/{pid}/io"), "syscw:")
}

fn number(file: &str, field: &str) -> anyhow::Result<u64> {
    let text = read_to_string(file).context(file.to_owned())?;
    let line = text.lines().find_map(|line| line.strip_prefix(field)).context(field.to_owned())?;
    Ok(line.split_whitespace().next().context(field.to_owned())?.parse()?)
}

/// Describes the machine in one line, without its name.
pub(crate) fn machine() -> anyhow::Result<String> {
    let cores = std::thread::available_parallelism()?;
    let memory = number("/proc/meminfo", "MemTotal:")? / 1_000_000;
    let kernel = read_to_string("/proc/sys/kernel/osrelease")?;
    let rustc = std::process::Command::new("rustc").arg("--version").output()?;
    let rustc = String::from_utf8_lossy(&rustc.stdout).trim().to_owned();
    Ok(format!("{cores} cores, {memory} GB of memory, Linux {}, {rustc}", kernel.trim()))
}
