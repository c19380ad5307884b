//! One JSON object per line of the log: time, level, target, message, and the fields of the event and of what it
//! happened in, such as `session` and `turn`.

use std::error::Error;
use std::fmt;

use jiff::Timestamp;
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::span::Record;
use tracing::{Event, Subscriber};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields};
use tracing_subscriber::registry::{LookupSpan, Scope};

/// The format of lines, and of the fields that spans keep until then.
pub(super) struct Json;

impl<'w> FormatFields<'w> for Json {
    fn format_fields<R: RecordFields>(&self, mut writer: Writer<'w>, fields: R) -> fmt::Result {
        let mut values = Values::default();
        fields.record(&mut values);
        write!(writer, "{}", Value::Object(values.0))
    }

    /// A field that is recorded again has the new value.
    fn add_fields(&self, current: &'w mut FormattedFields<Self>, fields: &Record<'_>) -> fmt::Result {
        let mut values = Values(parsed(&current.fields));
        fields.record(&mut values);
        current.fields = Value::Object(values.0).to_string();
        Ok(())
    }
}

impl<S> FormatEvent<S, Json> for Json
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, Json>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut line = Values::default();
        line.add("time", Timestamp::now().to_string());
        line.add("level", event.metadata().level().as_str());
        line.add("target", event.metadata().target());
        for span in context.event_scope().into_iter().flat_map(Scope::from_root) {
            if let Some(fields) = span.extensions().get::<FormattedFields<Json>>() {
                line.0.extend(parsed(&fields.fields));
            }
        }
        event.record(&mut line);
        // A turn that has ended leaves its place empty.
        line.0.retain(|_, value| value.as_str() != Some(""));
        writeln!(writer, "{}", Value::Object(line.0))
    }
}

fn parsed(fields: &str) -> Map<String, Value> {
    serde_json::from_str(fields).unwrap_or_default()
}

#[derive(Default)]
struct Values(Map<String, Value>);

impl Values {
    fn add(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }
}

impl Visit for Values {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field.name(), value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field.name(), value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field.name(), value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field.name(), value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field.name(), value);
    }

    /// Writes the error and its causes.
    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        let (mut text, mut cause) = (value.to_string(), value.source());
        while let Some(error) = cause {
            text = format!("{text}: {error}");
            cause = error.source();
        }
        self.add(field.name(), text);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field.name(), format!("{value:?}"));
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn logged(act: impl FnOnce()) -> Vec<Value> {
        let lines = Lines::default();
        let writer = lines.clone();
        let log = tracing_subscriber::fmt().with_ansi(false).fmt_fields(Json).event_format(Json);
        tracing::subscriber::with_default(log.with_writer(move || writer.clone()).finish(), act);
        let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn a_line_tells_the_session_and_the_turn_that_it_is_about() {
        let lines = logged(|| {
            let span = tracing::info_span!("session", session = "s", turn = tracing::field::Empty);
            let _inside = span.enter();
            span.record("turn", "t1");
            tracing::warn!(pid = 7, "a \"quoted\" line\nof two");
            span.record("turn", "t2");
            tracing::info!("second");
            span.record("turn", "");
            tracing::info!("third");
        });
        assert_eq!(lines[0]["message"], "a \"quoted\" line\nof two");
        assert_eq!((&lines[0]["level"], &lines[0]["pid"]), (&"WARN".into(), &7.into()));
        assert_eq!((&lines[0]["session"], &lines[0]["turn"]), (&"s".into(), &"t1".into()));
        assert_eq!(lines[1]["turn"], "t2");
        assert_eq!((&lines[2]["session"], lines[2].get("turn")), (&"s".into(), None));
    }

    #[test]
    fn an_error_is_told_with_its_causes() {
        let cause = io::Error::other("no room");
        let error = anyhow::Error::new(cause).context("the log");
        let lines = logged(|| tracing::error!(error = &*error as &dyn Error, "failed"));
        assert_eq!(lines[0]["error"], "the log: no room");
    }
}
