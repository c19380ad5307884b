//! OTLP: spans as JSON over HTTP.

use std::time::Duration;

use reqwest::{StatusCode, Url};
use serde_json::{Value as Json, json};

use super::spans::{Span, SpanKind, Value};

/// The time in which a collector answers.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The longest words of a collector that an error repeats.
const SHOWN: usize = 200;

/// A collector of traces.
#[derive(Debug, Clone)]
pub(crate) struct Collector {
    url: Url,
    /// The same without what may be secret.
    shown: String,
    http: reqwest::Client,
}

/// Why a collector did not take spans.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SendError {
    #[error("the collector at {url} is not there: {source}")]
    Absent { url: String, source: reqwest::Error },
    #[error("the collector at {url} answered {status}: {words}")]
    Refused { url: String, status: StatusCode, words: String },
}

impl SendError {
    /// Whether the same spans may be taken later.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::Absent { .. } => true,
            // The codes after which OTLP has a client try again.
            Self::Refused { status, .. } => matches!(status.as_u16(), 429 | 502 | 503 | 504),
        }
    }
}

/// Reads the address of a collector.
pub(crate) fn endpoint(text: &str) -> Result<Url, &'static str> {
    let url = Url::parse(text).ok().filter(|url| url.has_host());
    match url {
        Some(url) if url.scheme() == "http" => Ok(url),
        Some(url) if url.scheme() == "https" => {
            Err("expected http; send to a collector on this machine, which may send on by https")
        }
        _ => Err("expected the address of a collector, such as \"http://127.0.0.1:4318\""),
    }
}

impl Collector {
    /// `endpoint` is the address of the collector, without the path for traces.
    pub(crate) fn new(endpoint: &Url) -> reqwest::Result<Self> {
        let mut url = endpoint.clone();
        let path = format!("{}/v1/traces", endpoint.path().trim_end_matches('/'));
        url.set_path(&path);
        let shown =
            format!("{}://{}{path}", url.scheme(), url.authority().rsplit('@').next().unwrap_or_default());
        Ok(Self { url, shown, http: reqwest::Client::builder().timeout(TIMEOUT).no_proxy().build()? })
    }

    pub(crate) async fn send(&self, spans: &[Span]) -> Result<(), SendError> {
        let url = || self.shown.clone();
        let absent = |source| SendError::Absent { url: url(), source };
        let answer = self.http.post(self.url.clone()).json(&request(spans)).send().await.map_err(absent)?;
        let status = answer.status();
        if status.is_success() {
            return Ok(());
        }
        let words = answer.text().await.unwrap_or_default();
        let words = words.chars().take(SHOWN).collect();
        Err(SendError::Refused { url: url(), status, words })
    }
}

/// Returns the request that exports these spans.
pub(crate) fn request(spans: &[Span]) -> Json {
    let resource = json!({ "attributes": [
        attribute("service.name", &Value::Text("omniglot".to_owned())),
        attribute("service.version", &Value::Text(env!("CARGO_PKG_VERSION").to_owned())),
    ] });
    let scope = json!({ "name": "omniglot", "version": env!("CARGO_PKG_VERSION") });
    let spans: Vec<Json> = spans.iter().map(span).collect();
    json!({ "resourceSpans": [{ "resource": resource, "scopeSpans": [{ "scope": scope, "spans": spans }] }] })
}

fn span(span: &Span) -> Json {
    let Span { trace, id, parent, name, kind, start, end, attributes, error } = span;
    let mut json = json!({
        "traceId": hex(trace),
        "spanId": hex(id),
        "name": name,
        "kind": match kind { SpanKind::Internal => 1, SpanKind::Client => 3 },
        "startTimeUnixNano": start.as_nanosecond().to_string(),
        "endTimeUnixNano": end.as_nanosecond().to_string(),
        "attributes": attributes.iter().map(|(key, value)| attribute(key, value)).collect::<Vec<_>>(),
        "status": match error {
            Some(message) => json!({ "code": 2, "message": message }),
            None => json!({}),
        },
    });
    if let (Some(parent), Json::Object(members)) = (parent, &mut json) {
        members.insert("parentSpanId".to_owned(), hex(parent).into());
    }
    json
}

fn attribute(key: &str, value: &Value) -> Json {
    let text = |text: &String| json!({ "stringValue": text });
    let value = match value {
        Value::Text(words) => text(words),
        Value::Texts(list) => {
            json!({ "arrayValue": { "values": list.iter().map(text).collect::<Vec<_>>() } })
        }
        // 64-bit numbers are texts in the JSON of protocol buffers.
        Value::Number(number) => json!({ "intValue": number.to_string() }),
        Value::Fraction(number) => json!({ "doubleValue": number }),
    };
    json!({ "key": key, "value": value })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
