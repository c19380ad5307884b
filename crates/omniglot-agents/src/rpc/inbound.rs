//! An agent's requests that wait for our answer, by their key in the stream.

use indexmap::IndexMap;

use super::RpcId;
use crate::contract::RequestKey;

#[derive(Debug)]
pub(crate) struct InboundRequests<T> {
    open: IndexMap<RequestKey, T>,
    /// The number of requests so far: keys stay unique when an agent repeats its ids.
    made: u64,
}

/// The stored facts of a request.
pub(crate) trait InboundRequest {
    /// The prefix of the keys of this kind of request, where an agent has several.
    const PREFIX: &'static str = "";

    fn id(&self) -> &RpcId;
}

impl<T> Default for InboundRequests<T> {
    fn default() -> Self {
        Self { open: IndexMap::new(), made: 0 }
    }
}

impl<T: InboundRequest> InboundRequests<T> {
    pub(crate) fn add(&mut self, ask: T) -> RequestKey {
        self.made += 1;
        let key = RequestKey(format!("{}{}:{}", T::PREFIX, self.made, ask.id()));
        self.open.insert(key.clone(), ask);
        key
    }

    pub(crate) fn get(&self, key: &RequestKey) -> Option<&T> {
        self.open.get(key)
    }

    pub(crate) fn get_mut(&mut self, key: &RequestKey) -> Option<&mut T> {
        self.open.get_mut(key)
    }

    pub(crate) fn is_open(&self, id: &RpcId) -> bool {
        self.open.values().any(|ask| ask.id() == id)
    }

    /// Removes a request that was answered, or needs no answer any more.
    pub(crate) fn take(&mut self, id: &RpcId) -> Option<(RequestKey, T)> {
        let key = self.open.iter().find(|(_, ask)| ask.id() == id).map(|(key, _)| key.clone())?;
        self.open.shift_remove_entry(&key)
    }
}
