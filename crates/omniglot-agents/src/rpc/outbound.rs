//! Our requests to an agent: their ids, and the purpose of each that waits for its answer.
//!
//! A request is recorded when it was really sent, so that a recording fills the table as a real run does.

use std::collections::HashMap;

use serde::Serialize;

use super::{RpcId, request, send};
use crate::contract::Output;

#[derive(Debug)]
pub(crate) struct Calls<T> {
    /// The prefix of the numbers on a shared connection.
    prefix: Option<String>,
    last: u64,
    open: HashMap<RpcId, T>,
}

impl<T> Default for Calls<T> {
    fn default() -> Self {
        Self { prefix: None, last: 0, open: HashMap::new() }
    }
}

impl<T> Calls<T> {
    /// Renumbers from now on for a shared connection: `prefix` is unique on it.
    pub(crate) fn number_anew(&mut self, prefix: &str) {
        self.prefix = Some(prefix.to_owned());
        self.last = 0;
    }

    pub(crate) fn next_id(&mut self) -> RpcId {
        self.last += 1;
        match &self.prefix {
            Some(prefix) => RpcId::Text(format!("{prefix}.{}", self.last)),
            None => RpcId::from(self.last),
        }
    }

    pub(crate) fn request<P: Serialize>(&mut self, method: &str, params: &P) -> (RpcId, Output) {
        let id = self.next_id();
        let output = send(request(&id, method, params));
        (id, output)
    }

    pub(crate) fn sent(&mut self, id: RpcId, about: T) {
        self.open.insert(id, about);
    }

    /// Returns the purpose of the answered request; `None` for an unknown id.
    pub(crate) fn answered(&mut self, id: &RpcId) -> Option<T> {
        self.open.remove(id)
    }
}
