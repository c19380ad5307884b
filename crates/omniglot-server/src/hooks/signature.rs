//! The signature of a call, as Standard Webhooks has it: HMAC-SHA256 over id, time and body.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac as _};
use omniglot_runtime::config::HookSecret;
use sha2::Sha256;

/// The beginning of a secret that is written in base64.
const PREFIX: &str = "whsec_";
const SHORTEST: usize = 16;

/// The key of a hook. It is never printed.
#[derive(Clone)]
pub(crate) struct SigningKey(Vec<u8>);

impl SigningKey {
    /// Reads the secret of a hook; the error says what is wrong with it and never repeats it.
    pub(super) fn read(secret: &HookSecret) -> Result<Self, String> {
        let text = match secret {
            HookSecret::Text(text) => text.clone(),
            HookSecret::File(path) => std::fs::read_to_string(path)
                .map_err(|error| format!("secret_file {}: {error}", path.display()))?,
            HookSecret::Variable(name) => {
                std::env::var(name).map_err(|_| format!("the variable {name} of secret_env is not set"))?
            }
        };
        Self::parse(text.trim())
    }

    fn parse(text: &str) -> Result<Self, String> {
        let bytes = match text.strip_prefix(PREFIX) {
            Some(encoded) => {
                STANDARD.decode(encoded).map_err(|_| format!("what follows {PREFIX} is no base64"))?
            }
            None => text.as_bytes().to_vec(),
        };
        match bytes.len() {
            short if short < SHORTEST => Err(format!(
                "it has {short} bytes and needs {SHORTEST}; `openssl rand -base64 32` makes one, behind {PREFIX}"
            )),
            _ => Ok(Self(bytes)),
        }
    }

    /// Returns the value of the header `webhook-signature`.
    pub(super) fn sign(&self, id: &str, seconds: i64, body: &[u8]) -> Option<String> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).ok()?;
        mac.update(format!("{id}.{seconds}.").as_bytes());
        mac.update(body);
        Some(format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes())))
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the reference libraries of Standard Webhooks.
    #[test]
    fn the_signature_is_that_of_standard_webhooks() {
        let key = SigningKey::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signed = key.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, br#"{"test": 2432232314}"#);
        assert_eq!(signed.unwrap(), "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn a_secret_that_is_short_or_garbled_is_refused_and_not_repeated() {
        for bad in ["", "short-secret", "whsec_c2hvcnQ=", "whsec_!!!"] {
            let error = SigningKey::parse(bad).unwrap_err();
            assert!(!error.contains("short-secret") && !error.contains("c2hv"), "{error}");
        }
        assert!(SigningKey::parse("a-secret-of-16-b").is_ok());
        assert_eq!(format!("{:?}", SigningKey::parse("a-secret-of-16-b").unwrap()), "SigningKey(***)");
    }
}
