//! The client's side: whom it trusts, what it shows of itself, and what a failed handshake means.

use super::complaint::{self, Context, Progress, Refused};
use super::{Shared, Side, certificates, identity, keys};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{
    ClientConnectionData, Resumption, UnbufferedClientConnection, WebPkiServerVerifier,
};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::unbuffered::UnbufferedStatus;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
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
    /// Our own certificate with those up to its issuer, and its private key, if that is in a file of its own; PEM.
    pub identity: Option<(Vec<u8>, Option<Vec<u8>>)>,
    /// Whether a connection goes on from an earlier one's handshake.
    pub resume: bool,
}

/// What the connections to one server have in common, in all threads.
#[derive(Debug, Clone)]
pub struct Security {
    config: ClientConfig,
    name: ServerName<'static>,
    is_insecure: bool,
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
                let (chain, key) = identity(chain, private.as_deref(), ["--cert", "--key"])?;
                builder
                    .with_client_auth_cert(chain, key)
                    .map_err(|error| super::unfit(&error, ["--cert", "--key"]))?
            }
        };
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        config.resumption = Resumption::disabled();
        Ok(Security {
            config,
            name,
            is_insecure: matches!(settings.trust, Trust::Anyone),
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
            is_insecure: self.is_insecure,
        })
    }
}

fn verifier(trust: &Trust, provider: Arc<CryptoProvider>) -> Result<Arc<Verifier>, String> {
    let known = provider.signature_verification_algorithms;
    let trusted = match trust {
        Trust::Anyone => None,
        Trust::System => {
            let found = rustls_native_certs::load_native_certs();
            if found.certs.is_empty() {
                return Err(
                    "this system has no certificates of issuers (Debian: ca-certificates); name \
                     some with --cacert FILE, or use --insecure"
                        .to_owned(),
                );
            }
            let unread =
                "no certificate of this system's issuers can be read; name some with --cacert FILE";
            Some(Trusted {
                given: Vec::new(),
                verifier: trusting(found.certs, provider).ok_or(unread)?,
            })
        }
        Trust::Issuers(pem) => {
            let given = certificates(pem, "--cacert")?;
            let unread =
                "--cacert holds no certificate that can be read; it must be of X.509 version 3";
            Some(Trusted {
                given: given.clone(),
                verifier: trusting(given, provider).ok_or(unread)?,
            })
        }
    };
    Ok(Arc::new(Verifier { trusted, known }))
}

/// What trusts these issuers; none if no certificate of theirs can be read.
fn trusting(
    roots: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
) -> Option<Arc<WebPkiServerVerifier>> {
    let mut store = RootCertStore::empty();
    // Some may be too old to be read.
    store.add_parsable_certificates(roots);
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider);
    verifier.build().ok()
}

/// Judges the server's certificate, and its proof that it has the certificate's key.
#[derive(Debug)]
struct Verifier {
    /// Issuers and certificates that are trusted; none: any server that has the key of the certificate that is shown.
    trusted: Option<Trusted>,
    /// Signatures that can be checked.
    known: WebPkiSupportedAlgorithms,
}

/// Trusts what is signed by one of those given, or by the system's issuers, and those given themselves: `openssl req -x509` makes
/// certificates of issuers, which no server may have by the rules (RFC 5280 §4.2.1.9), and many a test server has.
#[derive(Debug)]
struct Trusted {
    given: Vec<CertificateDer<'static>>,
    verifier: Arc<WebPkiServerVerifier>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if let Some(kind) = keys::unchecked(end_entity) {
            return Err(Refused::Key(kind).into());
        }
        let Some(Trusted { given, verifier }) = &self.trusted else {
            return Ok(ServerCertVerified::assertion());
        };
        if given.iter().any(|given| given == end_entity) {
            let parsed = rustls::server::ParsedCertificate::try_from(end_entity)?;
            rustls::client::verify_server_name(&parsed, name)?;
            return Ok(ServerCertVerified::assertion());
        }
        let verified = verifier.verify_server_cert(end_entity, intermediates, name, ocsp, now);
        let without_chain = |verifier: &WebPkiServerVerifier| {
            verifier.verify_server_cert(end_entity, &[], name, ocsp, now)
        };
        verified.map_err(|error| match error {
            // A certificate's own dates are checked before its issuer is looked for.
            Error::InvalidCertificate(dates)
                if is_of_dates(&dates)
                    && !matches!(without_chain(verifier), Err(Error::InvalidCertificate(own)) if own == dates) =>
            {
                Refused::Issuer(dates).into()
            }
            Error::InvalidCertificate(CertificateError::UnknownIssuer)
                if intermediates.is_empty() && !self.is_self_signed(end_entity, name, now) =>
            {
                Refused::Alone.into()
            }
            error => error,
        })
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.known).map_err(unproved)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.known).map_err(unproved)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.known.supported_schemes()
    }
}

impl Verifier {
    /// Whether a certificate is signed by its own key: then it is its own issuer.
    fn is_self_signed(
        &self,
        certificate: &CertificateDer<'_>,
        name: &ServerName<'_>,
        now: UnixTime,
    ) -> bool {
        let provider = Arc::new(ring::default_provider());
        let itself = trusting(vec![certificate.clone().into_owned()], provider);
        let verified = itself.map(|it| it.verify_server_cert(certificate, &[], name, &[], now));
        !matches!(
            verified,
            Some(Err(Error::InvalidCertificate(
                CertificateError::UnknownIssuer
            )))
        )
    }
}

fn is_of_dates(error: &CertificateError) -> bool {
    matches!(
        error,
        CertificateError::ExpiredContext { .. } | CertificateError::NotValidYetContext { .. }
    )
}

/// A wrong signature of the handshake, apart from one of the certificate.
fn unproved(error: Error) -> Error {
    match error {
        Error::InvalidCertificate(CertificateError::BadSignature) => Refused::Proof.into(),
        error => error,
    }
}

/// The client's side.
#[derive(Debug, Clone)]
pub struct Client {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    is_insecure: bool,
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

    fn complaint(&self, error: &Error, progress: Progress) -> Option<String> {
        let context = Context {
            name: &self.name.to_str(),
            is_insecure: self.is_insecure,
            has_identity: self.config.client_auth_cert_resolver.has_certs(),
            progress,
        };
        Some(complaint::complaint(error, &context))
    }
}
