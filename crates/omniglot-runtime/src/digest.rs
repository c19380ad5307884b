//! Hashes as they stand in the log.

use sha2::{Digest as _, Sha256};

/// In lower-case hex.
pub fn sha256(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}
