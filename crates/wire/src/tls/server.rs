//! The server's side: the certificate that it shows, which can be replaced while it serves.

use super::complaint::Progress;
use super::{Shared, Side, identity, unfit};
use rustls::crypto::{CryptoProvider, ring};
use rustls::server::{NoServerSessionStorage, ServerConnectionData, UnbufferedServerConnection};
use rustls::unbuffered::UnbufferedStatus;
use rustls::{Error, ServerConfig};
use std::sync::{Arc, PoisonError, RwLock};

/// What a server shows to its clients: a certificate, with those up to its issuer, whose private key it has. All threads have the same.
///
/// It speaks TLS 1.2 and 1.3 and offers HTTP/1.1. Clients may resume sessions: what that takes is in tickets that they keep, so that it
/// costs no memory here and it does not matter which thread they come back to.
#[derive(Debug)]
pub struct Credentials(RwLock<Arc<ServerConfig>>);

impl Credentials {
    /// Makes them of two texts in PEM: the certificate, those up to its issuer behind it; and its private key.
    ///
    /// # Errors
    /// The sentence that names the option and what is wrong with it.
    pub fn new(chain: &[u8], private: &[u8]) -> Result<Credentials, String> {
        Credentials::with(chain, private, ring::default_provider())
    }

    /// The same, with the ciphers of `provider`.
    pub(super) fn with(
        chain: &[u8],
        private: &[u8],
        provider: CryptoProvider,
    ) -> Result<Credentials, String> {
        let config = config(chain, private, provider)?;
        Ok(Credentials(RwLock::new(config)))
    }

    /// Shows another certificate from the next connection on. Sessions of before are not resumed any more.
    ///
    /// # Errors
    /// As for [`Credentials::new`]; those of before are shown on.
    pub fn replace(&self, chain: &[u8], private: &[u8]) -> Result<(), String> {
        let config = config(chain, private, ring::default_provider())?;
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = config;
        Ok(())
    }

    /// What the connections of one thread share.
    pub fn of_thread(self: &Arc<Credentials>) -> Shared<Server> {
        Shared(Server(Arc::clone(self)))
    }
}

fn config(
    chain: &[u8],
    private: &[u8],
    provider: CryptoProvider,
) -> Result<Arc<ServerConfig>, String> {
    const OPTIONS: [&str; 2] = ["--tls-cert", "--tls-key"];
    let (chain, key) = identity(chain, Some(private), OPTIONS)?;
    let builder = ServerConfig::builder_with_provider(Arc::new(provider));
    let builder = builder
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let mut config = builder
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| unfit(&error, OPTIONS))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.ticketer = ring::Ticketer::new().map_err(|error| error.to_string())?;
    Ok(Arc::new(config))
}

/// The server's side.
#[derive(Debug, Clone)]
pub struct Server(Arc<Credentials>);

impl Side for Server {
    type Data = ServerConnectionData;
    type Connection = UnbufferedServerConnection;
    /// One record (RFC 8446 §5.2): clients' handshake messages are shorter, and strangers get no more memory for half a message.
    const PARTIAL_MOST: usize = 5 + 16 * 1024 + 256;

    fn connection(&self) -> Result<UnbufferedServerConnection, Error> {
        let config = self.0.0.read().unwrap_or_else(PoisonError::into_inner);
        UnbufferedServerConnection::new(Arc::clone(&config))
    }

    fn process<'c, 'i>(
        connection: &'c mut UnbufferedServerConnection,
        input: &'i mut [u8],
    ) -> UnbufferedStatus<'c, 'i, ServerConnectionData> {
        connection.process_tls_records(input)
    }

    /// Of a client that does not get as far as asking for something nothing is said.
    fn complaint(&self, _: &Error, _: Progress) -> Option<String> {
        None
    }
}
