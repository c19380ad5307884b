//! The entry of the audit for a call, written when the call is over.

use std::sync::Arc;

use axum::extract::Request;
use omniglot_schema::AuditCall;

use super::NamedTokens;

/// The outcome of a call whose client has not waited for the answer; the call itself is carried out.
pub(super) const DISCONNECTED: &str = "disconnected";

pub(super) fn what(request: &Request) -> String {
    format!("{} {}", request.method(), request.uri().path())
}

/// An entry of the audit that is written when the call is over, also when its client hangs up.
pub(super) struct Record {
    tokens: Arc<dyn NamedTokens>,
    call: Option<AuditCall>,
}

impl Record {
    pub(super) fn of(call: AuditCall, tokens: Arc<dyn NamedTokens>) -> Self {
        Self { tokens, call: Some(call) }
    }

    pub(super) fn answered(mut self, status: u16) {
        if let Some(call) = &mut self.call {
            call.outcome = status.to_string();
        }
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        if let Some(call) = self.call.take() {
            self.tokens.record_call(call);
        }
    }
}
