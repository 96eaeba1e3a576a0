//! Certificates for the servers of a test, made by openssl.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// An authority that makes certificates. Its files are in a folder of the test.
pub(crate) struct Authority {
    folder: PathBuf,
    name: &'static str,
}

/// A certificate and its key.
pub(crate) struct Certificate {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

impl Authority {
    /// A new authority, of a name that no other one in the folder has.
    pub(crate) fn new(folder: &Path, name: &'static str) -> Self {
        // Without it, openssl would add what its own configuration says.
        std::fs::write(folder.join("openssl.cnf"), "[req]\ndistinguished_name = none\n[none]\n").unwrap();
        let authority = Self { folder: folder.to_owned(), name };
        authority.make(name, &["-addext", "basicConstraints=critical,CA:TRUE"]);
        authority
    }

    /// The certificate that has to be trusted.
    pub(crate) fn certificate(&self) -> PathBuf {
        self.folder.join(format!("{}.pem", self.name))
    }

    /// A certificate with these alternative names, like `IP:127.0.0.1` or `DNS:localhost`.
    pub(crate) fn certifies(&self, name: &str, alternative_names: &str) -> Certificate {
        let (certificate, key) = (self.certificate(), self.folder.join(format!("{}.key", self.name)));
        let names = format!("subjectAltName={alternative_names}");
        let by_us = ["-CA", certificate.to_str().unwrap(), "-CAkey", key.to_str().unwrap()];
        self.make(name, &[&by_us[..], &["-addext", "basicConstraints=CA:FALSE", "-addext", &names]].concat())
    }

    /// What a redis-server with that certificate is started with. By default it asks clients for a certificate of this authority.
    pub(crate) fn server_options(&self, Certificate { certificate, key }: &Certificate) -> Vec<String> {
        let files = [certificate, key, &self.certificate()].map(|path| path.display().to_string());
        let names = ["--tls-cert-file", "--tls-key-file", "--tls-ca-cert-file"];
        names.into_iter().zip(files).flat_map(|(name, file)| [name.to_owned(), file]).collect()
    }

    fn make(&self, name: &str, options: &[&str]) -> Certificate {
        let path = |end: &str| self.folder.join(format!("{name}.{end}"));
        let made = Certificate { certificate: path("pem"), key: path("key") };
        let mut openssl = Command::new("openssl");
        openssl.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc"]);
        openssl.args(["-days", "2", "-subj", &format!("/CN={name}"), "-config"]).arg(self.folder.join("openssl.cnf"));
        openssl.arg("-out").arg(&made.certificate).arg("-keyout").arg(&made.key).args(options).stdin(Stdio::null());
        let output = openssl.output().expect("openssl is installed (scripts/install-test-deps --only cargo)");
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        made
    }
}
