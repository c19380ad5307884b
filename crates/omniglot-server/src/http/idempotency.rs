//! The `Idempotency-Key` of a request: with the same key and body it is the same request.

use bytes::Bytes;
use http::HeaderMap;
use omniglot_runtime::IdempotencyKey;
use omniglot_runtime::digest::sha256;

use crate::http::problem::Problem;

pub(crate) fn idempotency_key(headers: &HeaderMap, body: &Bytes) -> Result<Option<IdempotencyKey>, Problem> {
    const MAX: usize = 255;
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let key = value.to_str().unwrap_or_default();
    if key.is_empty() || key.len() > MAX {
        return Err(Problem::invalid(format!("Idempotency-Key has 1 to {MAX} visible ASCII characters")));
    }
    Ok(Some(IdempotencyKey { key: key.to_owned(), body_hash: sha256(body) }))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn an_idempotency_key_comes_with_the_hash_of_the_body() {
        let mut headers = HeaderMap::new();
        assert!(idempotency_key(&headers, &Bytes::new()).unwrap().is_none());
        headers.insert("idempotency-key", HeaderValue::from_static("k1"));
        let key = idempotency_key(&headers, &Bytes::from_static(b"abc")).unwrap().unwrap();
        assert_eq!(key.key, "k1");
        assert_eq!(key.body_hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn a_bad_idempotency_key_is_refused() {
        for bad in ["", "ä", &"k".repeat(256)] {
            let mut headers = HeaderMap::new();
            headers.insert("idempotency-key", HeaderValue::from_bytes(bad.as_bytes()).unwrap());
            let problem = idempotency_key(&headers, &Bytes::new()).unwrap_err();
            assert_eq!(problem.details().status, 400, "{bad}");
        }
    }
}
