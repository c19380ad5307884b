//! The forms of this face beside the schema's types: query parameters and cursors.

pub(super) mod cursor;
pub(super) mod files;
pub(super) mod metrics;
pub(super) mod process;
pub(super) mod query;
