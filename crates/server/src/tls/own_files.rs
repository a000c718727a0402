//! A certificate and its issuer, made where an operator has none.
//!
//! Each file that is missing is made from those before it: the issuer's key, its certificate, the server's key, its
//! certificate. So a start that was interrupted is finished by the next one, and what an operator deletes is made anew.

use std::error::Error;
use std::path::Path;

use cohort_io::{FileSystem, read_whole, replace_whole};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    date_time_ymd,
};
use rustix::fs::Mode;

/// The server's certificate.
pub const CERT: &str = "server-cert.pem";
/// Its key.
pub const KEY: &str = "server-key.pem";
/// The certificate of its issuer, which clients may check it with.
pub const CA: &str = "ca.pem";
/// The issuer's key, with which an operator may make certificates for clients.
const CA_KEY: &str = "ca-key.pem";

/// Longer than any key in PEM.
const KEY_BYTES_MAX: u64 = 64 << 10;

/// Makes the files that are not there. Called before the server has threads that create others.
pub fn make_missing(fs: &dyn FileSystem, dir: &Path) -> Result<(), Box<dyn Error>> {
    if fs.exists(&dir.join(CERT))? && fs.exists(&dir.join(KEY))? && fs.exists(&dir.join(CA))? {
        return Ok(());
    }
    let ca_key = key(fs, &dir.join(CA_KEY))?;
    let ca = issuer_params();
    if !fs.exists(&dir.join(CA))? {
        replace_whole(fs, &dir.join(CA), ca.self_signed(&ca_key)?.pem().as_bytes(), None)?;
    }
    let server_key = key(fs, &dir.join(KEY))?;
    if !fs.exists(&dir.join(CERT))? {
        let certificate = server_params()?.signed_by(&server_key, &Issuer::new(ca, ca_key))?;
        replace_whole(fs, &dir.join(CERT), certificate.pem().as_bytes(), None)?;
    }
    Ok(())
}

/// The key in a file, which is made for nobody else to read if it is not there.
fn key(fs: &dyn FileSystem, path: &Path) -> Result<KeyPair, Box<dyn Error>> {
    if fs.exists(path)? {
        let pem = read_whole(fs, path, KEY_BYTES_MAX)?;
        let pair = KeyPair::from_pem(std::str::from_utf8(&pem)?);
        return pair.map_err(|error| format!("{}: {error}", path.display()).into());
    }
    let pair = KeyPair::generate()?;
    let others = rustix::process::umask(Mode::from_raw_mode(0o077));
    let written = replace_whole(fs, path, pair.serialize_pem().as_bytes(), None);
    rustix::process::umask(others);
    written?;
    Ok(pair)
}

fn params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    // A clock that is wrong at the first start makes no certificate that is not valid yet.
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(2049, 12, 31);
    params
}

fn issuer_params() -> CertificateParams {
    let mut params = params("Cohort auto-generated CA certificate");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

fn server_params() -> Result<CertificateParams, rcgen::Error> {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    if !host.is_empty() && !names.contains(&host) {
        names.push(host);
    }
    let mut params = params("Cohort auto-generated server certificate");
    params.subject_alt_names = CertificateParams::new(names)?.subject_alt_names;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    Ok(params)
}
