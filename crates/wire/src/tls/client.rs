//! The client's side: whom it trusts, what it shows of itself, and what a failed handshake means.

use super::{Shared, Side, certificates, key};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{
    ClientConnectionData, Resumption, UnbufferedClientConnection, WebPkiServerVerifier,
};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::unbuffered::UnbufferedStatus;
use rustls::{
    AlertDescription, CertificateError, ClientConfig, DigitallySignedStruct, Error, InvalidMessage,
    PeerIncompatible, RootCertStore, SignatureScheme,
};
use std::sync::Arc;

/// Servers whose sessions one thread remembers: there is one, and its number is rounded up.
const SERVERS: usize = 8;

/// Whose certificates are accepted.
#[derive(Debug, Clone)]
pub enum Trust {
    /// Those signed by an issuer that the system trusts.
    System,
    /// Those signed by one of these, or that are among these; PEM.
    Issuers(Vec<u8>),
    /// Any.
    Anyone,
}

/// How connections are to be secured.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The host that the certificate must be valid for.
    pub name: String,
    /// Whose certificates are accepted.
    pub trust: Trust,
    /// Our own certificate with those up to its issuer, and its private key; PEM.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
    /// Whether a connection goes on from an earlier one's handshake.
    pub resume: bool,
}

/// What the connections to one server have in common, in all threads.
#[derive(Debug, Clone)]
pub struct Security {
    config: ClientConfig,
    name: ServerName<'static>,
    resume: bool,
}

impl Security {
    /// Makes it of the settings.
    ///
    /// # Errors
    /// The sentence that names the option and what is wrong with it.
    pub fn new(settings: &Settings) -> Result<Security, String> {
        Security::with(settings, ring::default_provider())
    }

    /// The same, with the ciphers of `provider`.
    pub(super) fn with(settings: &Settings, provider: CryptoProvider) -> Result<Security, String> {
        let name = ServerName::try_from(settings.name.clone()).map_err(|_| {
            format!(
                "`{}` is no name that a certificate can be valid for; write the host's name in the URL",
                settings.name
            )
        })?;
        let provider = Arc::new(provider);
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let verifier = verifier(&settings.trust, provider)?;
        let builder = builder
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let mut config = match &settings.identity {
            None => builder.with_no_client_auth(),
            Some((chain, private)) => {
                let chain = certificates(chain, "--cert")?;
                let key = key(private, "--key")?;
                builder
                    .with_client_auth_cert(chain, key)
                    .map_err(|error| format!("--cert and --key do not belong together: {error}"))?
            }
        };
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        config.resumption = Resumption::disabled();
        Ok(Security {
            config,
            name,
            resume: settings.resume,
        })
    }

    /// What the connections of one thread share: it remembers sessions for itself.
    pub(crate) fn of_thread(&self) -> Shared<Client> {
        let mut config = self.config.clone();
        if self.resume {
            config.resumption = Resumption::in_memory_sessions(SERVERS);
        }
        Shared(Client {
            config: Arc::new(config),
            name: self.name.clone(),
        })
    }
}

fn verifier(
    trust: &Trust,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, String> {
    let (roots, given) = match trust {
        Trust::Anyone => return Ok(Arc::new(Anyone(provider))),
        Trust::System => {
            let found = rustls_native_certs::load_native_certs();
            if found.certs.is_empty() {
                return Err(
                    "this system has no certificates of issuers (Debian: ca-certificates); name \
                     some with --cacert FILE, or use --insecure"
                        .to_owned(),
                );
            }
            (found.certs, Vec::new())
        }
        Trust::Issuers(pem) => {
            let given = certificates(pem, "--cacert")?;
            (given.clone(), given)
        }
    };
    let mut store = RootCertStore::empty();
    // Some may be too old to be read.
    let (added, _) = store.add_parsable_certificates(roots);
    if added == 0 {
        let whose = match given.is_empty() {
            true => {
                "no certificate of this system's issuers can be read; name some with --cacert FILE"
            }
            false => "--cacert holds no certificate that can be read",
        };
        return Err(whose.to_owned());
    }
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider);
    let verifier = verifier.build().map_err(|error| error.to_string())?;
    Ok(match given.is_empty() {
        true => verifier,
        false => Arc::new(Given { given, verifier }),
    })
}

/// Trusts what is signed by one of those given, and those themselves: `openssl req -x509` makes certificates of issuers, which no
/// server may have by the rules (RFC 5280 §4.2.1.9), and many a test server has.
#[derive(Debug)]
struct Given {
    given: Vec<CertificateDer<'static>>,
    verifier: Arc<WebPkiServerVerifier>,
}

impl ServerCertVerifier for Given {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.given.iter().any(|given| given == end_entity) {
            let parsed = rustls::server::ParsedCertificate::try_from(end_entity)?;
            rustls::client::verify_server_name(&parsed, name)?;
            return Ok(ServerCertVerified::assertion());
        }
        let verifier = &self.verifier;
        verifier.verify_server_cert(end_entity, intermediates, name, ocsp, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }
}

/// Trusts any server that has the key of the certificate that is shown.
#[derive(Debug)]
struct Anyone(Arc<CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, cert, dss, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, cert, dss, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// The client's side.
#[derive(Debug, Clone)]
pub struct Client {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl Side for Client {
    type Data = ClientConnectionData;
    type Connection = UnbufferedClientConnection;
    /// The most of what came that is kept because more must come: a handshake message of the most that the library takes, in records.
    const PARTIAL_MOST: usize = 256 * 1024;

    fn connection(&self) -> Result<UnbufferedClientConnection, Error> {
        UnbufferedClientConnection::new(Arc::clone(&self.config), self.name.clone())
    }

    fn process<'c, 'i>(
        connection: &'c mut UnbufferedClientConnection,
        input: &'i mut [u8],
    ) -> UnbufferedStatus<'c, 'i, ClientConnectionData> {
        connection.process_tls_records(input)
    }

    fn complaint(&self, error: &Error) -> Option<String> {
        complaint(error, &self.name)
    }
}

/// What is wrong and what may help, as the end of a sentence about the server; none where the error's kind says as much.
fn complaint(error: &Error, name: &ServerName<'_>) -> Option<String> {
    let name = name.to_str();
    Some(match error {
        Error::InvalidCertificate(error) => refused(error, &name),
        Error::AlertReceived(alert) => match alert {
            AlertDescription::ProtocolVersion => {
                "it accepts neither TLS 1.2 nor TLS 1.3".to_owned()
            }
            AlertDescription::HandshakeFailure => {
                "it refused the handshake: it has no cipher or key exchange in common with weigh, or wants a client \
                 certificate (--cert)"
                    .to_owned()
            }
            AlertDescription::CertificateRequired => {
                "it wants a client certificate; give one with --cert and --key".to_owned()
            }
            AlertDescription::UnrecognisedName => format!("it knows no site called {name}"),
            alert => format!(
                "it ended TLS with the alert {}",
                alert.as_str().unwrap_or("of an unknown number")
            ),
        },
        Error::PeerIncompatible(
            PeerIncompatible::ServerDoesNotSupportTls12Or13
            | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig,
        ) => "it offers neither TLS 1.2 nor TLS 1.3".to_owned(),
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            "it does not speak TLS; try http:// instead of https://".to_owned()
        }
        Error::InvalidMessage(InvalidMessage::UnknownProtocolVersion) => {
            "it offers neither TLS 1.2 nor TLS 1.3".to_owned()
        }
        other => format!("the handshake failed ({other})"),
    })
}

/// The same of a certificate that is not accepted for `name`.
fn refused(error: &CertificateError, name: &str) -> String {
    let span = |from: UnixTime, to: UnixTime| {
        let hours = to.as_secs().saturating_sub(from.as_secs()) / 3600;
        match hours {
            0 => "less than an hour".to_owned(),
            1..48 => format!("{hours} h"),
            _ => format!("{} days", hours / 24),
        }
    };
    let unsafely = "--insecure measures it all the same";
    match error {
        CertificateError::ExpiredContext { time, not_after } => format!(
            "its certificate expired {} ago; {unsafely}",
            span(*not_after, *time)
        ),
        CertificateError::NotValidYetContext { time, not_before } => format!(
            "its certificate is not valid yet, but in {}; {unsafely}",
            span(*time, *not_before)
        ),
        CertificateError::NotValidForNameContext { presented, .. } => {
            let names: Vec<&str> = presented.iter().map(|each| known_name(each)).collect();
            let names = match &names[..] {
                [] => "no name".to_owned(),
                names => names.join(", "),
            };
            format!(
                "its certificate is for {names}, not for {name}; write that name in the URL (--resolve says where \
                     it leads), or {unsafely}"
            )
        }
        CertificateError::UnknownIssuer | CertificateError::BadSignature => format!(
            "its certificate is signed by an unknown issuer, or by itself; trust it with --cacert FILE, or {unsafely}"
        ),
        CertificateError::Revoked => "its certificate was revoked".to_owned(),
        error if format!("{error:?}").contains("CaUsedAsEndEntity") => format!(
            "its certificate is an issuer's (CA:TRUE) and signed by itself; trust it with --cacert FILE, or {unsafely}"
        ),
        error => format!("its certificate is not accepted ({error}); {unsafely}"),
    }
}

/// A name of a certificate without what the library writes around it, as `DnsName("a")` or `IpAddress(::1)`.
fn known_name(presented: &str) -> &str {
    let inner = presented.split_once('(').map(|(_, rest)| rest);
    let inner = inner.and_then(|rest| rest.strip_suffix(')'));
    inner.unwrap_or(presented).trim_matches('"')
}
