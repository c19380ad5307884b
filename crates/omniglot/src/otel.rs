//! Sessions as traces of OpenTelemetry: made from the log, turn by turn, and sent to a collector.

mod exporter;
mod otlp;
mod spans;

pub(crate) use exporter::Exporter;
pub(crate) use otlp::{Collector, endpoint, request};
pub(crate) use spans::{EVENT_TYPES, SessionSpans, Span};
