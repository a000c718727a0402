//! TLS: the server's certificate and key, and what clients are offered with them.
//!
//! `ssl_cert` and `ssl_key` name the certificate, with those that lead to its issuer, and its key; `ssl_ca` whose
//! certificates of clients are taken. Where none is named, [`own_files`] makes them in the data directory. They are
//! read at the start, where a bad one ends it, and by ALTER INSTANCE RELOAD TLS, where a bad one changes nothing.
//! Connections keep what they began with.
//!
//! Not here: the encrypted connection ([`crate::socket`]), what an account requires ([`crate::accounts`]).

mod own_files;
pub mod peer_name;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cohort_io::FileSystem;
use cohort_io::sync::RwLock;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::version::{TLS12, TLS13};
use rustls::{RootCertStore, ServerConfig, SupportedProtocolVersion};

use crate::sysvars::{Globals, Id, ids};

/// Why there is no TLS with these files.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read, or has something else in it.
    #[error("cannot use {path} as {variable}: {reason}")]
    File {
        /// The variable that names it.
        variable: &'static str,
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Certificate and key are named together.
    #[error("{0} is not set: ssl_cert and ssl_key are needed together")]
    Alone(&'static str),
    /// The certificate and the key cannot be used together.
    #[error("cannot use certificate {certificate} with key {key}: {reason}")]
    Pair {
        /// The file of the certificate.
        certificate: PathBuf,
        /// The file of the key.
        key: PathBuf,
        /// What is wrong with them.
        reason: rustls::Error,
    },
    /// No certificate could be made.
    #[error("cannot make a certificate in {path}: {reason}")]
    NotMade {
        /// The data directory.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

/// What connections are encrypted with from now on.
#[derive(Debug)]
pub struct Tls {
    /// Files are named from here.
    dir: PathBuf,
    /// None where `tls_version` is empty.
    config: RwLock<Option<Arc<ServerConfig>>>,
}

impl Tls {
    /// Reads the files that `globals` name, and makes them in `dir` if they name none.
    pub fn open(fs: &dyn FileSystem, dir: &Path, globals: &Globals) -> Result<Tls, TlsError> {
        let names_files = [ids::SSL_CERT, ids::SSL_KEY].iter().any(|id| !globals.get(*id).is_empty());
        if !globals.get(ids::TLS_VERSION).is_empty() && !names_files {
            own_files::make_missing(fs, dir)
                .map_err(|reason| TlsError::NotMade { path: dir.to_owned(), reason: reason.to_string() })?;
            globals.put(ids::SSL_CERT, own_files::CERT);
            globals.put(ids::SSL_KEY, own_files::KEY);
            if globals.get(ids::SSL_CA).is_empty() {
                globals.put(ids::SSL_CA, own_files::CA);
            }
        }
        let tls = Tls { dir: dir.to_owned(), config: RwLock::default() };
        tls.reload(globals)?;
        Ok(tls)
    }

    /// Reads the files that `globals` name now, for connections to come. After an error all is as before.
    pub fn reload(&self, globals: &Globals) -> Result<(), TlsError> {
        let config = read(&self.dir, globals)?.map(Arc::new);
        let have = if config.is_some() { "YES" } else { "DISABLED" };
        *self.config.write() = config;
        globals.put(ids::HAVE_SSL, have);
        globals.put(ids::HAVE_OPENSSL, have);
        Ok(())
    }

    /// What a connection that begins is encrypted with, if it may be.
    pub fn config(&self) -> Option<Arc<ServerConfig>> {
        self.config.read().clone()
    }
}

fn read(dir: &Path, globals: &Globals) -> Result<Option<ServerConfig>, TlsError> {
    let versions = versions(&globals.get(ids::TLS_VERSION));
    if versions.is_empty() {
        return Ok(None);
    }
    let named = |id: Id<String>, name| match globals.get(id) {
        file if file.is_empty() => Err(TlsError::Alone(name)),
        file => Ok(dir.join(file)),
    };
    let (certificate, key) = (named(ids::SSL_CERT, "ssl_cert")?, named(ids::SSL_KEY, "ssl_key")?);
    let chain = certificates("ssl_cert", &certificate)?;
    let private = PrivateKeyDer::from_pem_file(&key).map_err(|error| unusable("ssl_key", &key, &error))?;
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&versions)
        .expect("every version has its ciphers");
    let builder = match globals.get(ids::SSL_CA) {
        ca if ca.is_empty() => builder.with_no_client_auth(),
        ca => {
            let path = dir.join(ca);
            let mut roots = RootCertStore::empty();
            for root in certificates("ssl_ca", &path)? {
                roots.add(root).map_err(|error| unusable("ssl_ca", &path, &error))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            let verifier = verifier.allow_unauthenticated().build();
            builder.with_client_cert_verifier(verifier.map_err(|error| unusable("ssl_ca", &path, &error))?)
        }
    };
    let config = builder.with_single_cert(chain, private);
    config.map(Some).map_err(|reason| TlsError::Pair { certificate, key, reason })
}

/// The versions that a value of `tls_version` names.
fn versions(names: &str) -> Vec<&'static SupportedProtocolVersion> {
    let named = |name| match name {
        "TLSv1.2" => Some(&TLS12),
        "TLSv1.3" => Some(&TLS13),
        _ => None,
    };
    names.split(',').filter_map(named).collect()
}

/// At least one.
fn certificates(variable: &'static str, path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    let certificates: Vec<_> = read.map_err(|error| unusable(variable, path, &error))?;
    match certificates.is_empty() {
        true => Err(unusable(variable, path, &"there is no certificate in it")),
        false => Ok(certificates),
    }
}

fn unusable(variable: &'static str, path: &Path, reason: &dyn std::fmt::Display) -> TlsError {
    TlsError::File { variable, path: path.to_owned(), reason: reason.to_string() }
}
