//! TLS 1.2 and 1.3 on the client's side, as a [`Filter`]: the one file that names the library.
//!
//! In scope: trust, names, our own certificate, sessions that are resumed, and what a failed handshake means. Out of scope, and the
//! library's: the handshake itself, records, ciphers. The library asks the wall clock whether a certificate is valid, and
//! [`Trust::System`] reads the system's certificates; nothing else here knows of clocks or files.

use crate::{Filter, Handshake, RECORD, Violation};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, UnbufferedClientConnection, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncodeTlsData, EncryptError, UnbufferedStatus,
};
use rustls::{
    AlertDescription, CertificateError, CipherSuite, ClientConfig, DigitallySignedStruct, Error,
    HandshakeKind, InvalidMessage, PeerIncompatible, ProtocolVersion, RootCertStore,
    SignatureScheme,
};
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

/// Servers whose sessions one thread remembers: there is one, and its number is rounded up.
const SERVERS: usize = 8;

/// The most of what came that is kept because more must come: a handshake message of the most that the library takes, in records.
const PARTIAL_MOST: usize = 256 * 1024;

/// Records after which a connection is to be replaced: half of what the library seals with AES-GCM in TLS 1.2, where it cannot change its
/// keys (RFC 8446 §5.5 has the limit).
const SEALED_MOST: u32 = 1 << 23;

/// What a record is longer than what it holds, at most (RFC 5246 §6.2.3: 2048; the ciphers that are spoken here take less than this).
const OVERHEAD: usize = 64;

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
        let name = ServerName::try_from(settings.name.clone()).map_err(|_| {
            format!(
                "`{}` is no name that a certificate can be valid for; write the host's name in the URL",
                settings.name
            )
        })?;
        let provider = Arc::new(ring::default_provider());
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
            Some((chain, key)) => {
                let chain = certificates(chain, "--cert")?;
                let key = PrivateKeyDer::from_pem_slice(key)
                    .map_err(|error| format!("--key holds no private key in PEM: {error}"))?;
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
    pub(crate) fn of_thread(&self) -> Shared {
        let mut config = self.config.clone();
        if self.resume {
            config.resumption = Resumption::in_memory_sessions(SERVERS);
        }
        Shared {
            config: Arc::new(config),
            name: self.name.clone(),
            plain: Rc::default(),
        }
    }
}

/// The certificates of a PEM file, at least one.
fn certificates(pem: &[u8], option: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let read =
        read.map_err(|error| format!("{option} is no file of certificates in PEM: {error}"))?;
    match read.is_empty() {
        true => Err(format!(
            "{option} holds no certificate; it must be in PEM (-----BEGIN CERTIFICATE-----)"
        )),
        false => Ok(read),
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

/// What the connections of one thread share.
#[derive(Debug, Clone)]
pub struct Shared {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    /// What was opened last, for its reader to write over; of one connection at a time.
    plain: Rc<RefCell<Vec<u8>>>,
}

/// TLS on one connection.
pub struct Tls {
    shared: Shared,
    connection: Option<Box<UnbufferedClientConnection>>,
    /// Bytes that have come and of which more must come.
    partial: Vec<u8>,
    is_ready: bool,
    /// The peer has said that nothing more comes.
    is_ended: bool,
    /// Whether any byte of the peer's was understood.
    is_answered: bool,
    /// Records that were sealed.
    sealed: u32,
    complaint: Option<String>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls")
            .field("is_ready", &self.is_ready)
            .field("is_ended", &self.is_ended)
            .finish_non_exhaustive()
    }
}

/// Why nothing more can be opened.
enum Stop {
    /// The library says so.
    Broken(Error),
    /// The reader says so.
    Reader(Violation),
}

impl Tls {
    /// Opens what is in `input`, as far as it is whole; returns how many bytes of it are done with.
    fn open(
        &mut self,
        input: &mut [u8],
        out: &mut Vec<u8>,
        read: &mut dyn FnMut(&mut [u8]) -> Result<(), Violation>,
    ) -> (usize, Result<(), Stop>) {
        let mut done = 0;
        let Some(connection) = &mut self.connection else {
            return (input.len(), Ok(()));
        };
        loop {
            let UnbufferedStatus { discard, state } =
                connection.process_tls_records(&mut input[done..]);
            self.is_answered |= discard > 0;
            let stop = match state {
                Err(error) => Some(Err(Stop::Broken(error))),
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    let mut stop = None;
                    while let Some(record) = traffic.next_record() {
                        match record {
                            Err(error) => stop = Some(Err(Stop::Broken(error))),
                            Ok(record) => {
                                let mut plain = self.shared.plain.borrow_mut();
                                plain.clear();
                                plain.extend_from_slice(record.payload);
                                if let Err(violation) = read(&mut plain) {
                                    stop = Some(Err(Stop::Reader(violation)));
                                }
                            }
                        }
                        if stop.is_some() {
                            break;
                        }
                    }
                    stop
                }
                Ok(ConnectionState::EncodeTlsData(data)) => {
                    encode(data, out);
                    None
                }
                Ok(ConnectionState::TransmitTlsData(data)) => {
                    data.done();
                    None
                }
                Ok(ConnectionState::PeerClosed) => {
                    self.is_ended = true;
                    None
                }
                Ok(ConnectionState::WriteTraffic(_)) => {
                    self.is_ready = true;
                    Some(Ok(()))
                }
                // No early data is sent, so that there is nothing else to do.
                Ok(_) => Some(Ok(())),
            };
            done += discard;
            if let Some(stop) = stop {
                return (done, stop);
            }
        }
    }

    /// As [`Tls::open`]; where that fails, what there is to be said to the peer is appended to `out`, and nothing is left over.
    fn open_or_fail(
        &mut self,
        input: &mut [u8],
        out: &mut Vec<u8>,
        read: &mut dyn FnMut(&mut [u8]) -> Result<(), Violation>,
    ) -> (usize, Result<(), Violation>) {
        let (done, opened) = self.open(input, out, read);
        let violation = match opened {
            Ok(()) if input.len() - done <= PARTIAL_MOST => return (done, Ok(())),
            Ok(()) if self.is_ready => Violation::BadRecord,
            Ok(()) => Violation::BadHandshake,
            Err(Stop::Reader(violation)) => violation,
            Err(Stop::Broken(error)) => {
                self.alert(&mut input[done..], out);
                self.broken(&error)
            }
        };
        (input.len(), Err(violation))
    }

    /// Appends the alert that the library has made, if it has. Nothing else may be asked of it any more: it would meet the same error
    /// again, and does not expect to. `rest` is what of the input is not done with, in which it holds places.
    fn alert(&mut self, rest: &mut [u8], out: &mut Vec<u8>) {
        let Some(connection) = &mut self.connection else {
            return;
        };
        while connection.wants_write() {
            match connection.process_tls_records(rest).state {
                Ok(ConnectionState::EncodeTlsData(data)) => encode(data, out),
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    while traffic.next_record().is_some() {}
                }
                _ => return,
            }
        }
    }

    /// Notes why nothing more can be opened.
    fn broken(&mut self, error: &Error) -> Violation {
        self.complaint = complaint(error, &self.shared.name);
        match error {
            Error::InvalidMessage(InvalidMessage::InvalidContentType) if !self.is_answered => {
                Violation::NoHandshake
            }
            _ if self.is_ready => Violation::BadRecord,
            Error::AlertReceived(_) => Violation::Alert,
            Error::InvalidCertificate(_)
            | Error::NoCertificatesPresented
            | Error::UnsupportedNameType => Violation::Certificate,
            _ => Violation::BadHandshake,
        }
    }
}

/// Appends what the library has made to be sent.
fn encode<Data>(mut data: EncodeTlsData<'_, Data>, out: &mut Vec<u8>) {
    append(out, 0, |place| match data.encode(place) {
        Ok(length) => Ok(length),
        Err(EncodeError::InsufficientSize(size)) => Err(size.required_size),
        Err(EncodeError::AlreadyEncoded) => Ok(0),
    });
}

/// Appends to `out` what `write` writes into the room it is given: at first `room` bytes, and as many as it asks for if those do not
/// suffice.
fn append(
    out: &mut Vec<u8>,
    mut room: usize,
    mut write: impl FnMut(&mut [u8]) -> Result<usize, usize>,
) {
    let from = out.len();
    let written = loop {
        out.resize(from + room, 0);
        match write(&mut out[from..]) {
            Ok(written) => break written,
            Err(needed) => room = needed,
        }
    };
    out.truncate(from + written);
}

impl Filter for Tls {
    type Shared = Shared;

    fn new(shared: &Shared) -> Self {
        Tls {
            shared: shared.clone(),
            connection: None,
            partial: Vec::new(),
            is_ready: false,
            is_ended: false,
            is_answered: false,
            sealed: 0,
            complaint: None,
        }
    }

    fn begin(&mut self, out: &mut Vec<u8>) -> Result<(), Violation> {
        let Shared { config, name, .. } = &self.shared;
        let connection = UnbufferedClientConnection::new(Arc::clone(config), name.clone());
        self.partial.clear();
        (self.is_ready, self.is_ended, self.is_answered) = (false, false, false);
        self.complaint = None;
        self.sealed = 0;
        match connection {
            Ok(connection) => self.connection = Some(Box::new(connection)),
            Err(error) => return Err(self.broken(&error)),
        }
        match self.open(&mut [], out, &mut |_| Ok(())).1 {
            Err(Stop::Broken(error)) => Err(self.broken(&error)),
            _ => Ok(()),
        }
    }

    fn is_ready(&self) -> bool {
        self.is_ready
    }

    fn handshake(&self) -> Option<Handshake> {
        let connection = self.connection.as_ref().filter(|_| self.is_ready)?;
        let group = connection.negotiated_key_exchange_group();
        Some(Handshake {
            version: match connection.protocol_version()? {
                ProtocolVersion::TLSv1_2 => "TLSv1.2",
                ProtocolVersion::TLSv1_3 => "TLSv1.3",
                _ => "another",
            },
            cipher: cipher(connection.negotiated_cipher_suite()?.suite()),
            key_exchange: group.and_then(|group| group.name().as_str()),
            is_resumed: connection.handshake_kind() == Some(HandshakeKind::Resumed),
        })
    }

    fn complaint(&self) -> Option<String> {
        self.complaint.clone()
    }

    fn receive(
        &mut self,
        input: &mut [u8],
        out: &mut Vec<u8>,
        read: &mut dyn FnMut(&mut [u8]) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        if self.partial.is_empty() {
            let (done, opened) = self.open_or_fail(input, out, read);
            self.partial.extend_from_slice(&input[done..]);
            return opened;
        }
        let mut partial = std::mem::take(&mut self.partial);
        partial.extend_from_slice(input);
        let (done, opened) = self.open_or_fail(&mut partial, out, read);
        // Of most connections nothing is left over, and so nothing is kept.
        if done < partial.len() {
            partial.drain(..done);
            self.partial = partial;
        }
        opened
    }

    fn seal(&mut self, plain: &[u8], out: &mut Vec<u8>) -> Result<(), Violation> {
        debug_assert!(plain.len() <= RECORD, "it is sealed record by record");
        self.sealed = self.sealed.saturating_add(1);
        let Some(connection) = &mut self.connection else {
            return Err(Violation::BadRecord);
        };
        loop {
            // What is incomplete is shown again: the library remembers how much of it there was.
            match connection.process_tls_records(&mut self.partial).state {
                Ok(ConnectionState::WriteTraffic(mut traffic)) => {
                    let mut sealed = Ok(());
                    append(out, plain.len() + OVERHEAD, |place| {
                        match traffic.encrypt(plain, place) {
                            Ok(length) => Ok(length),
                            Err(EncryptError::InsufficientSize(size)) => Err(size.required_size),
                            Err(_) => {
                                sealed = Err(Violation::BadRecord);
                                Ok(0)
                            }
                        }
                    });
                    return sealed;
                }
                Ok(ConnectionState::EncodeTlsData(data)) => encode(data, out),
                Ok(ConnectionState::TransmitTlsData(data)) => data.done(),
                _ => return Err(Violation::BadRecord),
            }
        }
    }

    fn is_ended(&self) -> bool {
        self.is_ended
    }

    fn is_spent(&self) -> bool {
        self.sealed >= SEALED_MOST
    }

    fn close(&mut self, out: &mut Vec<u8>) {
        let Some(connection) = &mut self.connection else {
            return;
        };
        let status = connection.process_tls_records(&mut self.partial);
        if let Ok(ConnectionState::WriteTraffic(mut traffic)) = status.state {
            append(out, OVERHEAD, |place| {
                Ok(traffic.queue_close_notify(place).unwrap_or(0))
            });
        }
    }

    fn end(&mut self) -> Result<(), Violation> {
        match (self.is_ready, self.is_ended) {
            (false, _) => Err(Violation::ClosedInHandshake),
            (true, false) => Err(Violation::CutOff),
            (true, true) => Ok(()),
        }
    }
}

/// The IANA name of a cipher suite.
fn cipher(suite: CipherSuite) -> &'static str {
    match suite {
        CipherSuite::TLS13_AES_128_GCM_SHA256 => "TLS_AES_128_GCM_SHA256",
        CipherSuite::TLS13_AES_256_GCM_SHA384 => "TLS_AES_256_GCM_SHA384",
        CipherSuite::TLS13_CHACHA20_POLY1305_SHA256 => "TLS_CHACHA20_POLY1305_SHA256",
        other => other.as_str().unwrap_or("another"),
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
                "it refused the handshake with the alert {}",
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
