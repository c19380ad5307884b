//! Certificates for daemons under test. They are valid until the year 2119, and only here.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// The authority that clients must trust.
pub const AUTHORITY: &str = include_str!("tls/ca.pem");
/// The certificate of `localhost`, `127.0.0.1` and `::1`.
pub const CERTIFICATE: &str = include_str!("tls/cert.pem");
pub const KEY: &str = include_str!("tls/key.pem");
/// A key of no certificate.
pub const OTHER_KEY: &str = include_str!("tls/other_key.pem");

/// The files of a daemon that speaks TLS.
pub struct TlsFiles {
    dir: tempfile::TempDir,
}

impl Default for TlsFiles {
    fn default() -> Self {
        let files = Self { dir: tempfile::TempDir::new().expect("a temporary directory") };
        files.write("ca.pem", AUTHORITY, 0o644);
        files.write("cert.pem", CERTIFICATE, 0o644);
        files.write("key.pem", KEY, 0o600);
        files
    }
}

impl TlsFiles {
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Makes another file, and returns its path.
    pub fn write(&self, name: &str, text: &str, mode: u32) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("its permissions");
        path
    }

    /// Returns the table of the configuration that names the files.
    pub fn table(&self) -> String {
        format!("[tls]\ncert = {:?}\nkey = {:?}\n", self.path("cert.pem"), self.path("key.pem"))
    }
}
