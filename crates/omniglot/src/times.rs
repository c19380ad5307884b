//! Times in readable form.

use std::str::FromStr;

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

/// Reads a duration such as `30m`, `12h` or `7d`, in seconds.
pub(crate) fn parse_seconds(text: &str) -> Result<u64, String> {
    let wrong = || "give a number and s, m, h, d or w, such as 30m, 12h or 7d".to_owned();
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(wrong)?;
    let unit = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 60 * 60,
        "d" => 24 * 60 * 60,
        "w" => 7 * 24 * 60 * 60,
        _ => return Err(wrong()),
    };
    let seconds = number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    seconds.filter(|seconds| *seconds > 0).ok_or_else(wrong)
}

/// A time in the past, by itself or by how long ago it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Since {
    Seconds(u64),
    Moment(Timestamp),
}

impl Since {
    /// Returns the time in milliseconds since 1970.
    pub(crate) fn moment(self, now: Timestamp) -> i64 {
        match self {
            Self::Moment(moment) => moment.as_millisecond(),
            Self::Seconds(seconds) => {
                let ago = i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(1000);
                now.as_millisecond().saturating_sub(ago)
            }
        }
    }
}

impl FromStr for Since {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(moment) = text.parse() {
            return Ok(Self::Moment(moment));
        }
        let wrong = "give a duration such as 24h, or a time such as 2026-11-17T08:00:00Z";
        parse_seconds(text).map(Self::Seconds).map_err(|_| wrong.to_owned())
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
    fn a_duration_is_a_number_and_a_unit() {
        assert_eq!(
            [parse_seconds("90s"), parse_seconds("12h"), parse_seconds("1w")],
            [Ok(90), Ok(43_200), Ok(604_800)]
        );
        for bad in ["", "h", "5", "5y", "-5m", "0s", "1.5h", "5ä", "99999999999999999w"] {
            assert!(parse_seconds(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_past_time_is_a_duration_or_a_moment() {
        let now = Timestamp::from_second(1_000).unwrap();
        assert_eq!("10m".parse::<Since>().unwrap().moment(now), 400_000);
        assert_eq!("1970-01-01T00:00:02Z".parse::<Since>().unwrap().moment(now), 2_000);
        assert!("yesterday".parse::<Since>().is_err());
    }

    #[test]
    fn a_moment_is_told_in_utc() {
        assert_eq!(moment(1_700_000_000_123), "2023-11-14T22:13:20Z");
    }
}
