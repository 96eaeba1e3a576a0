//! TLS to servers: which certificates are trusted, and the one by which the servers know this cache.
//!
//! The certificate of a server is always verified, and has to name the host that is asked. There is no way around it: the other end of the
//! connection is trusted with pages, and gets the password.
//!
//! The files are read once. What is wrong with them is an error that names the file.

use crate::secret;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::crypto::ring;
use rustls::pki_types::pem::{Error as PemError, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// The longest file, in bytes. The certificates of a system have some 200 KiB.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// The files that TLS needs, all in PEM.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsFiles {
    /// Certificates that are trusted in place of those of the system.
    pub ca: Option<PathBuf>,
    /// What the servers are shown when they ask for a certificate.
    pub client: Option<ClientFiles>,
}

/// A certificate of this cache, and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientFiles {
    /// The certificate, and behind it those of the authorities that lead to the one that the servers trust.
    pub certificate: PathBuf,
    /// The private key. It is not encrypted, and other users can't open it.
    pub key: PathBuf,
}

/// The certificates that were read.
#[derive(Clone)]
pub struct Tls {
    config: Arc<ClientConfig>,
    trusted: Arc<[CertificateDer<'static>]>,
    client: Option<Arc<ClientPem>>,
}

/// The content of [`ClientFiles`].
pub(crate) struct ClientPem {
    pub(crate) certificate: Vec<u8>,
    pub(crate) key: Vec<u8>,
}

impl fmt::Debug for Tls {
    /// Without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (trusted, is_known) = (self.trusted.len(), self.client.is_some());
        f.debug_struct("Tls").field("trusted", &trusted).field("has_client_certificate", &is_known).finish()
    }
}

impl Tls {
    /// Reads the files, and the certificates of the system where none are named.
    ///
    /// # Errors
    /// A file can't be read or lacks what it should have; the key is not that of the certificate, or other users may open it; or the system
    /// has no certificate.
    pub fn read(files: &TlsFiles) -> io::Result<Self> {
        // The redis crate makes its connections to the nodes of a cluster with the provider of the process. If there is one, it is this one.
        let _ = ring::default_provider().install_default();
        let (roots, trusted) = match &files.ca {
            Some(path) => certificates_to_trust(path)?,
            None => certificates_of_the_system()?,
        };
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_root_certificates(roots);
        let Some(files) = &files.client else {
            let config = Arc::new(config.with_no_client_auth());
            return Ok(Self { config, trusted: trusted.into(), client: None });
        };
        let certificate = read(File::open(&files.certificate)).map_err(|error| of(&files.certificate, error))?;
        let key = read(secret::open(&files.key)).map_err(|error| of(&files.key, error))?;
        let chain = certificates(&certificate).map_err(|error| of(&files.certificate, error))?;
        let private = PrivateKeyDer::from_pem_slice(&key).map_err(|error| match error {
            PemError::NoItemsFound => invalid("there is no private key in PEM in it, or it is encrypted"),
            error => invalid(&error.to_string()),
        });
        let private = private.map_err(|error| of(&files.key, error))?;
        let config = config.with_client_auth_cert(chain, private).map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => {
                of(&files.key, invalid(&format!("it is not the key of {}", files.certificate.display())))
            }
            rustls::Error::InvalidCertificate(_) => of(&files.certificate, invalid(&error.to_string())),
            error => of(&files.key, invalid(&error.to_string())),
        })?;
        let client = Some(Arc::new(ClientPem { certificate, key }));
        Ok(Self { config: Arc::new(config), trusted: trusted.into(), client })
    }

    /// TLS to this host; none if no certificate can name it.
    pub(crate) fn to(&self, host: &str) -> Option<TlsToHost> {
        let name = ServerName::try_from(host.to_owned()).ok()?;
        Some(TlsToHost { config: self.config.clone(), name })
    }

    /// The trusted certificates, as the redis crate takes them.
    pub(crate) fn trusted_pem(&self) -> String {
        let pem = |certificate: &CertificateDer<'_>| {
            format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", STANDARD.encode(certificate))
        };
        self.trusted.iter().map(pem).collect()
    }

    pub(crate) fn client_pem(&self) -> Option<&ClientPem> {
        self.client.as_deref()
    }
}

/// TLS to one host.
#[derive(Clone, Debug)]
pub(crate) struct TlsToHost {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl TlsToHost {
    /// Shakes hands. An error says what is wrong with the certificate.
    pub(crate) async fn connect(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        TlsConnector::from(self.config.clone()).connect(self.name.clone(), stream).await
    }
}

type Trusted = (RootCertStore, Vec<CertificateDer<'static>>);

/// All certificates of a file. One that can't be used is an error, since its authority would be missing.
fn certificates_to_trust(path: &Path) -> io::Result<Trusted> {
    let trusted = read(File::open(path)).and_then(|pem| certificates(&pem)).map_err(|error| of(path, error))?;
    let mut roots = RootCertStore::empty();
    for (number, certificate) in (1..).zip(&trusted) {
        let added = roots.add(certificate.clone());
        added.map_err(|error| of(path, invalid(&format!("certificate {number} can't be used: {error}"))))?;
    }
    Ok((roots, trusted))
}

/// The certificates of the system that can be used. Some systems have others as well.
fn certificates_of_the_system() -> io::Result<Trusted> {
    let mut found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    found.certs.retain(|certificate| roots.add(certificate.clone()).is_ok());
    if !roots.is_empty() {
        return Ok((roots, found.certs));
    }
    let why = found.errors.first().map(|error| format!(": {error}")).unwrap_or_default();
    Err(io::Error::new(io::ErrorKind::NotFound, format!("the system has no trusted certificates{why}")))
}

fn certificates(pem: &[u8]) -> io::Result<Vec<CertificateDer<'static>>> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match found {
        Ok(found) if found.is_empty() => Err(invalid("there is no certificate in PEM in it")),
        Ok(found) => Ok(found),
        Err(error) => Err(invalid(&error.to_string())),
    }
}

fn read(file: io::Result<File>) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    file?.take(FILE_BYTES_MAX + 1).read_to_end(&mut content)?;
    if content.len() as u64 > FILE_BYTES_MAX {
        return Err(invalid(&format!("it has more than {FILE_BYTES_MAX} bytes")));
    }
    Ok(content)
}

/// An error of this file.
fn of(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
