//! The bounds within which clients may change the limits of processes.

use omniglot_schema::ProcessConfig;

use crate::error::ProcessError;

const MIB: u64 = 1024 * 1024;
const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// Returns the limits to use: the default time of a run is never over the longest one.
pub(super) fn checked(limits: ProcessConfig) -> Result<ProcessConfig, ProcessError> {
    let bounds = [
        ("maxConcurrentProcesses", limits.max_concurrent_processes, 1024),
        ("defaultRunTimeoutMs", limits.default_run_timeout_ms, DAY_MS),
        ("maxRunTimeoutMs", limits.max_run_timeout_ms, DAY_MS),
        ("maxOutputBytes", limits.max_output_bytes, 64 * MIB),
        ("maxLogBytesPerProcess", limits.max_log_bytes_per_process, 256 * MIB),
        ("maxInputBytesPerRequest", limits.max_input_bytes_per_request, MIB),
    ];
    if let Some((name, _, most)) = bounds.into_iter().find(|(_, value, most)| *value == 0 || value > most) {
        return Err(ProcessError::Invalid(format!("`{name}` must be from 1 to {most}")));
    }
    let default_run_timeout_ms = limits.default_run_timeout_ms.min(limits.max_run_timeout_ms);
    Ok(ProcessConfig { default_run_timeout_ms, ..limits })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_stay_within_bounds_and_the_default_time_below_the_longest() {
        let wanted = ProcessConfig { max_run_timeout_ms: 1000, ..ProcessConfig::default() };
        assert_eq!(checked(wanted).unwrap().default_run_timeout_ms, 1000);
        let none = ProcessConfig { max_output_bytes: 0, ..ProcessConfig::default() };
        assert_eq!(
            checked(none),
            Err(ProcessError::Invalid("`maxOutputBytes` must be from 1 to 67108864".into()))
        );
        let many = ProcessConfig { max_concurrent_processes: 1025, ..ProcessConfig::default() };
        assert!(checked(many).is_err());
    }
}
