//! The servers that a client believes: those that an authority vouches for, or the one with a known certificate.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};

use crate::error::ClientError;

/// The places where systems keep the authorities that they trust.
const SYSTEM: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// The servers that a client believes to be the right ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Trust {
    /// Those that the authorities of the system vouch for.
    #[default]
    System,
    /// Those that the authorities in this file vouch for.
    Authorities(PathBuf),
    /// The one whose own certificate has this SHA-256 in hex, under whatever name and for however long.
    Certificate(String),
}

impl Trust {
    pub(super) fn config(self) -> Result<ClientConfig, ClientError> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone());
        let builder = builder.with_safe_default_protocol_versions().map_err(ClientError::tls)?;
        let mut config = match self {
            Self::Certificate(fingerprint) => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(Pinned { fingerprint, provider }))
                .with_no_client_auth(),
            Self::System => {
                let found = SYSTEM.iter().map(Path::new).find(|path| path.is_file());
                let found = found.ok_or(ClientError::NoAuthorities)?;
                builder.with_root_certificates(authorities(found)?).with_no_client_auth()
            }
            Self::Authorities(path) => {
                builder.with_root_certificates(authorities(&path)?).with_no_client_auth()
            }
        };
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }
}

fn authorities(path: &Path) -> Result<RootCertStore, ClientError> {
    let unusable = |reason: String| ClientError::Authorities { path: path.to_owned(), reason };
    let found = CertificateDer::pem_file_iter(path).map_err(|error| unusable(error.to_string()))?;
    let mut store = RootCertStore::empty();
    // Systems have some that nobody understands any more.
    let (taken, _strange) = store.add_parsable_certificates(found.filter_map(Result::ok));
    match taken {
        0 => Err(unusable("there is no certificate in it".into())),
        _ => Ok(store),
    }
}

#[derive(Debug)]
struct Pinned {
    fingerprint: String,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        _others: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let shown: String = Sha256::digest(shown).iter().map(|byte| format!("{byte:02x}")).collect();
        if shown == self.fingerprint {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(CertificateError::ApplicationVerificationFailure.into())
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
