//! The text format of Prometheus, version 0.0.4. `docs/OBSERVE.md` describes every name.

use std::fmt::Write as _;

use omniglot_runtime::Observation;
use omniglot_store::Histogram;

use crate::http::metrics::HttpMetrics;

/// Writes all metrics as text.
pub(crate) fn render(seen: &Observation<'_>, http: &HttpMetrics) -> String {
    let mut page = Page::default();
    let version = [("version", env!("CARGO_PKG_VERSION"))];
    page.head("omniglot_build_info", "gauge", "The version of the daemon.").line(
        "omniglot_build_info",
        &version,
        1,
    );
    page.gauge("omniglot_ready", "Whether the daemon is ready, as /readyz tells.", u64::from(seen.ready));
    sessions(&mut page, seen);
    agents(&mut page, seen);
    log(&mut page, seen);
    of_http(&mut page, http);
    page.text
}

fn sessions(page: &mut Page, seen: &Observation<'_>) {
    page.head("omniglot_sessions", "gauge", "Sessions by agent and status.");
    for of in &seen.census.sessions {
        page.line("omniglot_sessions", &[("agent", &of.agent), ("status", of.status.as_str())], of.count);
    }
    page.gauge("omniglot_sessions_live", "Sessions with a process of their agent.", seen.load.live as u64);
    page.gauge(
        "omniglot_sessions_busy",
        "Sessions with a turn that runs or a message that waits.",
        seen.load.busy as u64,
    );
    page.gauge("omniglot_queued_messages", "Messages that wait for their turn.", seen.census.queued);
}

fn agents(page: &mut Page, seen: &Observation<'_>) {
    page.head("omniglot_turns_ended_total", "counter", "Turns that have ended, by agent and stop reason.");
    for (agent, counters) in seen.agents.agents() {
        let turns = counters.turns().filter(|(_, count)| *count > 0);
        turns.for_each(|(reason, count)| {
            page.line("omniglot_turns_ended_total", &[("agent", agent), ("stop_reason", reason)], count);
        });
    }
    page.head(
        "omniglot_frames_dropped_total",
        "counter",
        "Native messages without news, by agent and reason.",
    );
    for (agent, counters) in seen.agents.agents() {
        let drops = counters.drops().filter(|(_, count)| *count > 0);
        drops.for_each(|(reason, count)| {
            page.line("omniglot_frames_dropped_total", &[("agent", agent), ("reason", reason)], count);
        });
    }
    page.head(
        "omniglot_frames_unparsed_total",
        "counter",
        "Native messages that were not understood, by agent.",
    );
    for (agent, counters) in seen.agents.agents() {
        page.line("omniglot_frames_unparsed_total", &[("agent", agent)], counters.unparsed());
    }
    page.head(
        "omniglot_agent_starts_total",
        "counter",
        "Processes that were started, by agent: the first of a session or server, or another one.",
    );
    for (agent, counters) in seen.agents.agents() {
        for (start, count) in counters.starts() {
            page.line("omniglot_agent_starts_total", &[("agent", agent), ("start", start)], count);
        }
    }
}

fn log(page: &mut Page, seen: &Observation<'_>) {
    page.counter("omniglot_events_total", "Events that were committed.", seen.log.events.get());
    let what = "How long a commit took, without its flush.";
    page.histogram("omniglot_commit_seconds", what, &seen.log.commits);
    let what = "How long it took until the disk had everything.";
    page.histogram("omniglot_flush_seconds", what, &seen.log.flushes);
    page.head("omniglot_writer_step_seconds", "gauge", "For how long the log has been at one write.");
    page.line("omniglot_writer_step_seconds", &[], seen.writer_step.as_secs_f64());
    let subscribers = seen.log.subscribers() as u64;
    page.gauge("omniglot_subscribers", "Readers that follow a session's events.", subscribers);
}

fn of_http(page: &mut Page, http: &HttpMetrics) {
    page.head("omniglot_http_requests_total", "counter", "Requests that were answered, by class of status.");
    for (class, count) in http.answers() {
        page.line("omniglot_http_requests_total", &[("status", class)], count);
    }
}

#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    fn head(&mut self, name: &str, kind: &str, what: &str) -> &mut Self {
        self.push(format_args!("# HELP {name} {what}\n# TYPE {name} {kind}\n"));
        self
    }

    fn gauge(&mut self, name: &str, what: &str, value: u64) {
        self.head(name, "gauge", what).line(name, &[], value);
    }

    fn counter(&mut self, name: &str, what: &str, value: u64) {
        self.head(name, "counter", what).line(name, &[], value);
    }

    fn histogram(&mut self, name: &str, what: &str, histogram: &Histogram) {
        self.head(name, "histogram", what);
        // Counted while it is read: the whole may not be less than its parts.
        let classes = histogram.cumulative();
        let count = classes.last().map_or(0, |(_, count)| *count).max(histogram.count());
        let bucket = format!("{name}_bucket");
        for (bound, count) in classes {
            self.line(&bucket, &[("le", &bound.to_string())], count);
        }
        self.line(&bucket, &[("le", "+Inf")], count);
        self.line(&format!("{name}_sum"), &[], histogram.sum().as_secs_f64());
        self.line(&format!("{name}_count"), &[], count);
    }

    fn line(&mut self, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        self.text.push_str(name);
        for (place, (label, text)) in labels.iter().enumerate() {
            let open = if place == 0 { '{' } else { ',' };
            self.push(format_args!("{open}{label}=\"{}\"", escaped(text)));
        }
        self.push(format_args!("{} {value}\n", if labels.is_empty() { "" } else { "}" }));
    }

    fn push(&mut self, text: std::fmt::Arguments<'_>) {
        // A String takes everything.
        self.text.write_fmt(text).unwrap_or_default();
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_line_has_its_labels_in_quotes() {
        let mut page = Page::default();
        page.line("a", &[("b", "x\"y\\z\n"), ("c", "d")], 1);
        page.line("e", &[], 0.5);
        assert_eq!(page.text, "a{b=\"x\\\"y\\\\z\\n\",c=\"d\"} 1\ne 0.5\n");
    }

    #[test]
    fn a_histogram_ends_with_all_that_was_counted() {
        let (mut page, histogram) = (Page::default(), Histogram::default());
        histogram.observe(Duration::from_millis(2));
        histogram.observe(Duration::from_secs(60));
        page.histogram("h", "Help.", &histogram);
        let lines: Vec<_> = page.text.lines().collect();
        assert_eq!(lines[..3], ["# HELP h Help.", "# TYPE h histogram", "h_bucket{le=\"0.00025\"} 0"]);
        let end = ["h_bucket{le=\"5\"} 1", "h_bucket{le=\"+Inf\"} 2", "h_sum 60.002", "h_count 2"];
        assert_eq!(lines[lines.len() - 4..], end);
    }
}
