//! The authorities that receivers of calls are believed by: those of the system, or of `SSL_CERT_FILE`.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// The places where systems keep the authorities that they trust.
const SYSTEM: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];
const VARIABLE: &str = "SSL_CERT_FILE";

/// Returns the maker of secure connections; the file is read once.
pub(super) fn connector() -> Result<TlsConnector, String> {
    static CONNECTOR: OnceLock<TlsConnector> = OnceLock::new();
    if let Some(connector) = CONNECTOR.get() {
        return Ok(connector.clone());
    }
    let named = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
    let found = named.or_else(|| SYSTEM.iter().map(PathBuf::from).find(|path| path.is_file()));
    let found = found.ok_or_else(|| format!("install ca-certificates, or name a file by {VARIABLE}"))?;
    let connector = TlsConnector::from(Arc::new(config(&found)?));
    Ok(CONNECTOR.get_or_init(|| connector).clone())
}

fn config(path: &Path) -> Result<ClientConfig, String> {
    let found =
        CertificateDer::pem_file_iter(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut store = RootCertStore::empty();
    // Systems have some that nobody understands any more.
    let (taken, _strange) = store.add_parsable_certificates(found.filter_map(Result::ok));
    if taken == 0 {
        return Err(format!("there is no certificate in {}", path.display()));
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().map_err(|error| error.to_string())?;
    let mut config = builder.with_root_certificates(store).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}
