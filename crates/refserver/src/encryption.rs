//! The certificate that clients are shown: read from files, and again when the operator says so; or made for this process.

use crate::errors::ServeError;
use kernel::Address;
use rcgen::{CertificateParams, DnType, KeyPair};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wire::tls::Credentials;

/// The names that a certificate is made for, besides the addresses at which the server listens.
const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// The longest file of a certificate or a key.
const MOST: u64 = 1 << 20;

/// Where a certificate and its private key come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Certificate {
    /// These files, in PEM: the certificate, those up to its issuer behind it; and its private key.
    Files {
        /// `--tls-cert`
        chain: PathBuf,
        /// `--tls-key`
        key: PathBuf,
    },
    /// Made when the server starts, signed by itself, for localhost and the addresses at which it listens.
    SelfSigned,
}

/// A server's certificate, as all of its threads have it.
#[derive(Debug, Clone)]
pub struct Encryption {
    certificate: Certificate,
    credentials: Arc<Credentials>,
}

impl Encryption {
    /// Reads or makes the certificate of a server that listens at these addresses.
    ///
    /// # Errors
    /// A file cannot be read, holds something else, or the two do not belong together.
    pub fn new(certificate: &Certificate, listen: &[Address]) -> Result<Encryption, ServeError> {
        let (chain, key) = match certificate {
            Certificate::Files { chain, key } => files(chain, key)?,
            Certificate::SelfSigned => made(listen)?,
        };
        let credentials = Credentials::new(&chain, &key).map_err(ServeError::new)?;
        Ok(Encryption {
            certificate: certificate.clone(),
            credentials: Arc::new(credentials),
        })
    }

    /// Reads the files again: connections from now on are shown what is in them. One that was made stays.
    ///
    /// # Errors
    /// As for [`Encryption::new`]; what was shown is shown on.
    pub fn renew(&self) -> Result<(), ServeError> {
        let Certificate::Files { chain, key } = &self.certificate else {
            return Ok(());
        };
        let (chain, key) = files(chain, key)?;
        let replaced = self.credentials.replace(&chain, &key);
        replaced.map_err(ServeError::new)
    }

    /// Shows another certificate from now on, made and signed by itself: what clients met before they do not know.
    ///
    /// # Errors
    /// None could be made; what was shown is shown on.
    pub fn change(&self) -> Result<(), ServeError> {
        let (chain, key) = made(&[])?;
        let replaced = self.credentials.replace(&chain, &key);
        replaced.map_err(ServeError::new)
    }

    /// What the threads' connections are secured with.
    pub fn credentials(&self) -> &Arc<Credentials> {
        &self.credentials
    }
}

fn files(chain: &Path, key: &Path) -> Result<(Vec<u8>, Vec<u8>), ServeError> {
    let read = |option: &str, path: &Path| {
        kernel::bounded::read(path, MOST)
            .map_err(|why| ServeError::new(format!("{option} {} {why}", path.display())))
    };
    Ok((read("--tls-cert", chain)?, read("--tls-key", key)?))
}

/// A certificate and its private key, in PEM.
fn made(listen: &[Address]) -> Result<(Vec<u8>, Vec<u8>), ServeError> {
    let made = self_signed(listen);
    made.map_err(|error| ServeError::new(format!("no certificate could be made: {error}")))
}

fn self_signed(listen: &[Address]) -> Result<(Vec<u8>, Vec<u8>), rcgen::Error> {
    let ip = |address: &Address| match address {
        Address::Ip(address) if !address.ip().is_unspecified() => Some(address.ip().to_string()),
        _ => None,
    };
    let mut names: Vec<String> = NAMES.map(str::to_owned).into();
    names.extend(listen.iter().filter_map(ip));
    names.sort_unstable();
    names.dedup();
    let mut params = CertificateParams::new(names)?;
    params
        .distinguished_name
        .push(DnType::CommonName, "weigh serve");
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?;
    Ok((
        certificate.pem().into_bytes(),
        key.serialize_pem().into_bytes(),
    ))
}
