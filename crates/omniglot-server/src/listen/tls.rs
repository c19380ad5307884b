//! TLS of a server: its certificate and key, and the beginning of a connection.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject as _};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, ServerConfig, crypto};
use tokio_rustls::server::TlsStream;

use super::GRACE;
use crate::http::problem::Problem;
use crate::http::stall::StallGuard;

/// The first byte of every TLS connection; no HTTP request begins with it.
const HANDSHAKE: u8 = 22;

/// The most that is read of a client that does not speak TLS.
const LONGEST_PLAIN: u64 = 64 << 10;

/// The certificate of a server with its key. Cheap to clone.
#[derive(Clone)]
pub struct Tls {
    acceptor: TlsAcceptor,
    fingerprint: String,
}

impl Tls {
    /// Reads both files, in PEM. The first certificate is the server's own; those that follow lead to its authority.
    pub fn load(certificate: &Path, key: &Path) -> Result<Self, TlsError> {
        let chain = certificates(certificate)?;
        let own = chain.first().ok_or_else(|| TlsError::NoCertificate(certificate.to_owned()))?;
        let fingerprint = Sha256::digest(own).iter().map(|byte| format!("{byte:02x}")).collect();
        let key_der = private_key(key)?;
        let provider = Arc::new(crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map(|config| config.with_no_client_auth())
            .and_then(|config| config.with_single_cert(chain, key_der));
        let mut config = config.map_err(|cause| match cause {
            rustls::Error::InconsistentKeys(_) => {
                TlsError::OtherKey { certificate: certificate.to_owned(), key: key.to_owned() }
            }
            rustls::Error::General(_) => TlsError::UnknownKey { key: key.to_owned(), cause },
            cause => TlsError::Refused { certificate: certificate.to_owned(), cause },
        })?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { acceptor: Arc::new(config).into(), fingerprint })
    }

    /// Returns the SHA-256 of the server's own certificate, in hex.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Begins a connection; `None` for a client that does not speak TLS, which is told so.
    pub(super) async fn handshake(
        &self,
        mut stream: TcpStream,
        stall: std::time::Duration,
    ) -> io::Result<Option<TlsStream<StallGuard<TcpStream>>>> {
        let mut first = [0];
        let spoken = stream.peek(&mut first).await? > 0;
        if spoken && first != [HANDSHAKE] {
            refuse_plain(&mut stream).await?;
            return Ok(None);
        }
        self.acceptor.accept(StallGuard::new(stream, stall)).await.map(Some)
    }
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Tls").field(&self.fingerprint).finish()
    }
}

/// Answers a client that speaks plain HTTP, and reads what it has sent: a connection that is closed over unread bytes
/// takes the answer with it.
async fn refuse_plain(stream: &mut TcpStream) -> io::Result<()> {
    let problem = Problem::invalid("this port speaks TLS").hint("use https:// in the address");
    let body = serde_json::to_string(problem.details())?;
    let head = "HTTP/1.1 400 Bad Request\r\ncontent-type: application/problem+json\r\nconnection: close\r\n";
    stream.write_all(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes()).await?;
    stream.shutdown().await?;
    let mut rest = stream.take(LONGEST_PLAIN);
    match tokio::time::timeout(GRACE, tokio::io::copy(&mut rest, &mut tokio::io::sink())).await {
        Ok(read) => read.map(drop),
        Err(_elapsed) => Ok(()),
    }
}

#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("{}: cannot be read", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{}: there is no certificate in it", .0.display())]
    NoCertificate(PathBuf),
    #[error("{}: there is no key in it", .0.display())]
    NoKey(PathBuf),
    #[error("{}: everybody on this machine can read the key (mode {mode:o})", path.display())]
    OpenKey { path: PathBuf, mode: u32 },
    #[error("{}: the key is not that of the certificate {}", key.display(), certificate.display())]
    OtherKey { certificate: PathBuf, key: PathBuf },
    #[error("{}: the key cannot be used", key.display())]
    UnknownKey {
        key: PathBuf,
        #[source]
        cause: rustls::Error,
    },
    #[error("{}: the certificate cannot be used", certificate.display())]
    Refused {
        certificate: PathBuf,
        #[source]
        cause: rustls::Error,
    },
}

impl TlsError {
    /// Returns the advice for the user.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoCertificate(_) => Some("give the certificate in PEM: -----BEGIN CERTIFICATE-----"),
            Self::NoKey(_) => Some("give the key in PEM and without a password: -----BEGIN PRIVATE KEY-----"),
            Self::OpenKey { .. } => Some("`chmod 600` keeps them out; if it was so for long, make a new key"),
            Self::OtherKey { .. } => Some("give the two that were made together"),
            Self::UnknownKey { .. } => Some("RSA, ECDSA (P-256, P-384) and Ed25519 keys can be used"),
            Self::Unreadable { .. } | Self::Refused { .. } => None,
        }
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let text = read(path)?;
    let chain: Result<Vec<_>, pem::Error> = CertificateDer::pem_slice_iter(&text).collect();
    chain.map_err(|_damaged| TlsError::NoCertificate(path.to_owned()))
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    let text = read(path)?;
    let key = PrivateKeyDer::from_pem_slice(&text).map_err(|_damaged| TlsError::NoKey(path.to_owned()))?;
    let found =
        fs::metadata(path).map_err(|source| TlsError::Unreadable { path: path.to_owned(), source })?;
    // A group may be there for the programs that serve, such as `ssl-cert`.
    match found.permissions().mode() & 0o777 {
        mode if mode & 0o007 != 0 => Err(TlsError::OpenKey { path: path.to_owned(), mode }),
        _ => Ok(key),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    fs::read(path).map_err(|source| TlsError::Unreadable { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use omniglot_testkit::tls::{CERTIFICATE, OTHER_KEY, TlsFiles};

    use super::*;

    #[test]
    fn a_certificate_and_its_key_are_taken() {
        let files = TlsFiles::default();
        let tls = Tls::load(&files.path("cert.pem"), &files.path("key.pem")).unwrap();
        assert_eq!(tls.fingerprint().len(), 64);
        let group = files.write("group.pem", omniglot_testkit::tls::KEY, 0o640);
        assert!(Tls::load(&files.path("cert.pem"), &group).is_ok(), "a group may read it");
    }

    #[test]
    fn what_cannot_work_is_refused_by_its_file() {
        let files = TlsFiles::default();
        let garbled = CERTIFICATE.replacen("MII", "MIJ", 1);
        let files_and_words = [
            ("missing.pem", "key.pem", "missing.pem: cannot be read"),
            ("cert.pem", "missing.pem", "missing.pem: cannot be read"),
            ("key.pem", "key.pem", "key.pem: there is no certificate in it"),
            ("cert.pem", "cert.pem", "cert.pem: there is no key in it"),
            ("garbage.pem", "key.pem", "garbage.pem: there is no certificate in it"),
            ("garbled.pem", "key.pem", "garbled.pem: the certificate cannot be used"),
            ("cert.pem", "garbage.pem", "garbage.pem: there is no key in it"),
            ("cert.pem", "other.pem", "other.pem: the key is not that of the certificate"),
            ("cert.pem", "open.pem", "open.pem: everybody on this machine can read the key (mode 644)"),
        ];
        files.write("garbage.pem", "-----BEGIN CERTIFICATE-----\nwords\n", 0o600);
        files.write("garbled.pem", &garbled, 0o600);
        files.write("other.pem", OTHER_KEY, 0o600);
        files.write("open.pem", omniglot_testkit::tls::KEY, 0o644);
        for (certificate, key, words) in files_and_words {
            let refused = Tls::load(&files.path(certificate), &files.path(key)).unwrap_err().to_string();
            assert!(refused.contains(words), "{refused}");
        }
    }
}
