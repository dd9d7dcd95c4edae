//! TLS 1.2 and 1.3 as a [`Filter`], on both sides: what both do with records, here, and each side's own in its file. Nothing else
//! names the library.
//!
//! In scope: trust, names, certificates, sessions that are resumed, and what a failed handshake means. Out of scope, and the
//! library's: the handshake itself, records, ciphers. The library asks the wall clock whether a certificate is valid, and
//! [`Trust::System`] reads the system's certificates; nothing else here knows of clocks or files.

// What a client trusts and shows,
mod client;
// what its failures mean,
mod complaint;
// which keys can be used,
mod keys;
// and what a server shows.
mod server;

use crate::{Filter, Handshake, RECORD, Violation};
pub use client::{Client, Security, Settings, Trust};
pub use complaint::Progress;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncodeTlsData, EncryptError, UnbufferedConnectionCommon,
    UnbufferedStatus,
};
use rustls::{
    CipherSuite, Error, HandshakeKind, InvalidMessage, ProtocolVersion, SideData,
    SupportedCipherSuite,
};
pub use server::{Credentials, Server};
use std::cell::RefCell;
use std::fmt;
use std::ops::DerefMut;

/// What a record is longer than what it holds, at most (RFC 5246 §6.2.3: 2048; the ciphers that are spoken here take less than this).
const OVERHEAD: usize = 64;

/// What is different for the two sides of a connection. It is constant for all connections of a thread.
pub trait Side: Clone + fmt::Debug {
    /// What the library calls the side.
    type Data: SideData;
    /// The library's connection.
    type Connection: DerefMut<Target = UnbufferedConnectionCommon<Self::Data>>;
    /// The most of what came that is kept because more must come.
    const PARTIAL_MOST: usize;

    /// Returns a connection before its handshake.
    ///
    /// # Errors
    /// What the library says.
    fn connection(&self) -> Result<Self::Connection, Error>;

    /// Has the library look at what came.
    fn process<'c, 'i>(
        connection: &'c mut Self::Connection,
        input: &'i mut [u8],
    ) -> UnbufferedStatus<'c, 'i, Self::Data>;

    /// What is wrong and what may help, as the end of a sentence about the peer; none where the error's kind says as much.
    fn complaint(&self, error: &Error, progress: Progress) -> Option<String>;
}

/// What the connections of one thread share.
#[derive(Debug, Clone)]
pub struct Shared<S>(S);

thread_local! {
    /// What was opened last, for its reader to write over; of one connection at a time.
    static PLAIN: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// TLS on one connection.
pub struct Tls<S: Side> {
    shared: Shared<S>,
    connection: Option<Box<S::Connection>>,
    /// Bytes that have come and of which more must come.
    partial: Vec<u8>,
    is_ready: bool,
    /// The library has met an error, or its reader has: it is not to be asked for anything any more.
    is_dead: bool,
    /// It has said its last word: what comes now is thrown away, and an error in it must not have the library speak again.
    is_closed: bool,
    /// The peer has said that nothing more comes.
    is_ended: bool,
    /// Whether any byte of the peer's was understood.
    is_answered: bool,
    /// Records that were sealed.
    sealed: u64,
    complaint: Option<String>,
    /// The same would happen again, however long one waits.
    is_final: bool,
}

impl<S: Side> fmt::Debug for Tls<S> {
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

impl<S: Side> Tls<S> {
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
            let UnbufferedStatus { discard, state } = S::process(connection, &mut input[done..]);
            self.is_answered |= discard > 0;
            let stop = match state {
                Err(error) => Some(Err(Stop::Broken(error))),
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    let mut stop = None;
                    while let Some(record) = traffic.next_record() {
                        match record {
                            Err(error) => stop = Some(Err(Stop::Broken(error))),
                            Ok(record) => {
                                let read = PLAIN.with_borrow_mut(|plain| {
                                    plain.clear();
                                    plain.extend_from_slice(record.payload);
                                    read(plain)
                                });
                                if let Err(violation) = read {
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
        let is_kept = input.len() - done <= S::PARTIAL_MOST;
        self.is_dead = opened.is_err() || !is_kept;
        let violation = match opened {
            Ok(()) if is_kept => return (done, Ok(())),
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
            match S::process(connection, rest).state {
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
        let progress = match (self.is_ready, self.is_answered) {
            (true, _) => Progress::Ready,
            (false, true) => Progress::Handshake,
            (false, false) => Progress::Nothing,
        };
        self.complaint = self.shared.0.complaint(error, progress);
        self.is_final = complaint::is_final(error);
        match error {
            Error::InvalidMessage(InvalidMessage::InvalidContentType) if !self.is_answered => {
                Violation::NoHandshake
            }
            Error::AlertReceived(_) => Violation::Alert,
            _ if self.is_ready => Violation::BadRecord,
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

impl<S: Side> Filter for Tls<S> {
    type Shared = Shared<S>;

    fn new(shared: &Shared<S>) -> Self {
        Tls {
            shared: shared.clone(),
            connection: None,
            partial: Vec::new(),
            is_ready: false,
            is_dead: false,
            is_closed: false,
            is_ended: false,
            is_answered: false,
            sealed: 0,
            complaint: None,
            is_final: false,
        }
    }

    fn begin(&mut self, out: &mut Vec<u8>) -> Result<(), Violation> {
        let connection = self.shared.0.connection();
        self.partial.clear();
        (self.is_ready, self.is_ended, self.is_answered) = (false, false, false);
        (self.is_dead, self.is_closed) = (false, false);
        (self.complaint, self.is_final) = (None, false);
        self.sealed = 0;
        match connection {
            Ok(connection) => self.connection = Some(Box::new(connection)),
            Err(error) => return Err(self.broken(&error)),
        }
        match self.open(&mut [], out, &mut |_| Ok(())).1 {
            Err(Stop::Broken(error)) => {
                self.is_dead = true;
                Err(self.broken(&error))
            }
            _ => Ok(()),
        }
    }

    fn is_ready(&self) -> bool {
        self.is_ready
    }

    fn is_amid(&self) -> bool {
        !self.is_ready || !self.partial.is_empty()
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

    fn certificate_key(&self) -> Option<String> {
        let connection = self.connection.as_ref().filter(|_| self.is_ready)?;
        keys::name(connection.peer_certificates()?.first()?)
    }

    fn complaint(&self) -> Option<String> {
        self.complaint.clone()
    }

    fn is_final(&self) -> bool {
        self.is_final
    }

    fn receive(
        &mut self,
        input: &mut [u8],
        out: &mut Vec<u8>,
        read: &mut dyn FnMut(&mut [u8]) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        if self.is_dead {
            return Err(Violation::BadRecord);
        }
        if self.is_closed {
            return Ok(());
        }
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
            self.partial = partial[done..].to_vec(); // with no more room than it needs
        }
        opened
    }

    fn seal(&mut self, plain: &[u8], out: &mut Vec<u8>) -> Result<(), Violation> {
        debug_assert!(plain.len() <= RECORD, "it is sealed record by record");
        self.sealed += 1;
        let Some(connection) = self.connection.as_mut().filter(|_| !self.is_dead) else {
            return Err(Violation::BadRecord);
        };
        loop {
            // What is incomplete is shown again: the library remembers how much of it there was.
            match S::process(connection, &mut self.partial).state {
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

    /// Half of what may be sealed with one key is (RFC 8446 §5.5; with AES-GCM that is 2^23 of 2^24 records), and TLS 1.2 cannot change its
    /// keys. In TLS 1.3 the library does.
    fn is_spent(&self) -> bool {
        let connection = self.connection.as_ref();
        match connection.and_then(|connection| connection.negotiated_cipher_suite()) {
            Some(SupportedCipherSuite::Tls12(suite)) => {
                self.sealed >= suite.common.confidentiality_limit / 2
            }
            _ => false,
        }
    }

    fn close(&mut self, out: &mut Vec<u8>) {
        let Some(connection) = self.connection.as_mut().filter(|_| !self.is_dead) else {
            return;
        };
        if std::mem::replace(&mut self.is_closed, true) {
            return;
        }
        let status = S::process(connection, &mut self.partial);
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

/// The certificates of a PEM file, at least one.
fn certificates(pem: &[u8], option: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let read = read.map_err(|error| malformed(option, &error))?;
    match read.is_empty() {
        true => Err(format!(
            "{option} holds no certificate; it must be in PEM (-----BEGIN CERTIFICATE-----)"
        )),
        false => Ok(read),
    }
}

/// A certificate, those up to its issuer behind it, and its private key, which may be in the same file; `options` name both.
fn identity(
    chain: &[u8],
    private: Option<&[u8]>,
    options: [&str; 2],
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), String> {
    let [cert, key] = options;
    let certificates = certificates(chain, cert)?;
    if let Some(kind) = keys::unable_to_sign(&certificates[0]) {
        return Err(format!(
            "{cert} has a key that weigh cannot use ({kind}); make a certificate with another key: {}",
            keys::USABLE
        ));
    }
    let (pem, option) = match private {
        Some(private) => (private, key),
        None => (chain, cert),
    };
    let read = PrivateKeyDer::from_pem_slice(pem);
    let private = read.map_err(|error| match error {
        _ if is_encrypted_key(pem) => format!(
            "the private key in {option} is encrypted; decrypt it with `openssl pkey -in KEY -out PLAIN` and name PLAIN with {key}"
        ),
        pem::Error::NoItemsFound if private.is_none() => {
            format!("{cert} holds no private key; name its file with {key}")
        }
        pem::Error::NoItemsFound => format!(
            "{key} holds no private key; it must be in PEM (-----BEGIN PRIVATE KEY-----)"
        ),
        error => malformed(option, &error),
    })?;
    Ok((certificates, private))
}

/// Whether a PEM file has a private key that only a password opens, in the form of today or the one before.
fn is_encrypted_key(pem: &[u8]) -> bool {
    const SIGNS: [&[u8]; 2] = [b"BEGIN ENCRYPTED PRIVATE KEY", b"Proc-Type: 4,ENCRYPTED"];
    let mut signs = SIGNS.iter();
    signs.any(|sign| pem.windows(sign.len()).any(|part| part == *sign))
}

/// What is wrong with a file that should be PEM.
fn malformed(option: &str, error: &pem::Error) -> String {
    let what = match error {
        pem::Error::MissingSectionEnd { .. } => "it is cut off, as an END line is missing",
        pem::Error::IllegalSectionStart { .. } => "a BEGIN line is malformed",
        pem::Error::Base64Decode(_) => "what is between BEGIN and END is not base64",
        _ => "it cannot be read",
    };
    format!("{option} is no file in PEM: {what}; copy it again from its source")
}

/// Why a certificate and its private key cannot be used together; `options` name both.
fn unfit(error: &Error, options: [&str; 2]) -> String {
    let [cert, key] = options;
    match error {
        Error::InconsistentKeys(_) => format!(
            "{cert} and {key} do not belong together: the private key is not that of the first certificate; name the key \
             that the certificate was made with"
        ),
        Error::InvalidCertificate(_) => {
            format!(
                "the first certificate in {cert} is malformed, or not of X.509 version 3; make another"
            )
        }
        _ => format!(
            "the private key in {key} cannot be used; make a certificate with another key: {}",
            keys::USABLE
        ),
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

#[cfg(test)]
mod tests;
