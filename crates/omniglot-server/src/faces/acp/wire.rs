//! The protocol's own names and forms, beside the schema's types: the JSON-RPC envelope, `_meta` keys, errors, and
//! clients' requests.

pub mod failure;
pub mod meta;
pub mod requests;
pub(crate) mod rpc;
