//! Times in readable form.

use jiff::Timestamp;

/// Returns the time since then: `3 min ago`. A future time is `now`: clocks differ a little.
pub(crate) fn ago(now: Timestamp, ms: i64) -> String {
    match u64::try_from(now.as_millisecond().saturating_sub(ms) / 1000).unwrap_or(0) {
        0..10 => "now".to_owned(),
        seconds => format!("{} ago", span(seconds)),
    }
}

/// Returns a duration, the coarser the longer it is.
pub(crate) fn span(seconds: u64) -> String {
    const MINUTE: u64 = 60;
    const HOUR: u64 = 60 * MINUTE;
    const DAY: u64 = 24 * HOUR;
    match seconds {
        0..MINUTE => format!("{seconds} s"),
        MINUTE..HOUR => format!("{} min", seconds / MINUTE),
        HOUR..DAY => format!("{} h {} min", seconds / HOUR, seconds % HOUR / MINUTE),
        _ => format!("{} d {} h", seconds / DAY, seconds % DAY / HOUR),
    }
}

/// Returns the time itself, to the second.
pub(crate) fn moment(ms: i64) -> String {
    match Timestamp::from_second(ms.div_euclid(1000)) {
        Ok(time) => time.to_string(),
        Err(_) => "?".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_told_as_coarsely_as_it_is_long_ago() {
        let now = Timestamp::from_second(1_000_000).unwrap();
        let told = |seconds: i64| ago(now, (1_000_000 - seconds) * 1000);
        assert_eq!([told(-5), told(3), told(42)], ["now", "now", "42 s ago"]);
        assert_eq!([told(60), told(3_599)], ["1 min ago", "59 min ago"]);
        assert_eq!([told(3_600), told(90_000)], ["1 h 0 min ago", "1 d 1 h ago"]);
    }

    #[test]
    fn a_moment_is_told_in_utc() {
        assert_eq!(moment(1_700_000_000_123), "2023-11-14T22:13:20Z");
    }
}
