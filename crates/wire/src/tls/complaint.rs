//! What a failed TLS connection means, in sentences about the server. The library's own texts are for its programmers.

use super::keys;
use rustls::pki_types::UnixTime;
use rustls::{
    AlertDescription, CertificateError, Error, InvalidMessage, OtherError, PeerIncompatible,
};
use std::fmt;
use std::sync::Arc;

/// Names of a certificate that are shown.
const NAMES: usize = 3;

/// How far a connection had come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Nothing that the peer sent was understood.
    Nothing,
    /// It was in its handshake.
    Handshake,
    /// The handshake was complete.
    Ready,
}

/// What a sentence depends on, besides the error.
#[derive(Debug, Clone, Copy)]
pub(super) struct Context<'a> {
    /// The name that the server must have.
    pub(super) name: &'a str,
    /// Any certificate is accepted.
    pub(super) is_insecure: bool,
    /// A certificate of our own can be shown.
    pub(super) has_identity: bool,
    pub(super) progress: Progress,
}

/// Why a certificate is not accepted, where the library does not know as much.
#[derive(Debug)]
pub(super) enum Refused {
    /// Signatures by its key, of this kind, cannot be checked.
    Key(String),
    /// The signature by which the server proves that it has the key is wrong.
    Proof,
    /// Not the certificate, but one of its issuers' is out of date.
    Issuer(CertificateError),
    /// It came alone and is signed by an issuer that is not trusted.
    Alone,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the certificate is not accepted")
    }
}

impl std::error::Error for Refused {}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Error {
        Error::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(refused))))
    }
}

/// Whether the same happens however long one waits.
pub(super) fn is_final(error: &Error) -> bool {
    match error {
        Error::InvalidCertificate(_)
        | Error::NoCertificatesPresented
        | Error::UnsupportedNameType
        | Error::PeerIncompatible(_)
        | Error::InvalidMessage(
            InvalidMessage::InvalidContentType | InvalidMessage::UnknownProtocolVersion,
        ) => true,
        // Some servers send other alerts until they have their certificate.
        Error::AlertReceived(alert) => matches!(
            alert,
            AlertDescription::ProtocolVersion
                | AlertDescription::HandshakeFailure
                | AlertDescription::CertificateRequired
        ),
        _ => false,
    }
}

/// Returns what is wrong and what may help, as the end of a sentence about the server.
pub(super) fn complaint(error: &Error, context: &Context<'_>) -> String {
    const VERSIONS: &str = "it offers neither TLS 1.2 nor TLS 1.3";
    let what = match error {
        Error::InvalidCertificate(error) => return refused(error, context),
        Error::NoCertificatesPresented => return "it showed no certificate".to_owned(),
        Error::AlertReceived(alert) => return alerted(*alert, context),
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => match context.progress {
            Progress::Nothing => {
                return "it does not speak TLS; try http:// instead of https://".to_owned();
            }
            _ => "it sent bytes that are not TLS",
        },
        Error::PeerIncompatible(
            PeerIncompatible::ServerDoesNotSupportTls12Or13
            | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig,
        ) => return VERSIONS.to_owned(),
        Error::InvalidMessage(InvalidMessage::UnknownProtocolVersion) => match context.progress {
            Progress::Ready => "it sent a record of an unknown version of TLS",
            _ => return VERSIONS.to_owned(),
        },
        Error::PeerIncompatible(_) => {
            "it has no cipher, key exchange or signature algorithm in common with weigh"
        }
        Error::PeerSentOversizedRecord => "it sent a record that is too long",
        Error::DecryptError => "it sent a record that cannot be decrypted",
        Error::InvalidMessage(_) => "it sent a malformed TLS message",
        Error::InappropriateMessage { .. } | Error::InappropriateHandshakeMessage { .. } => {
            "it sent a TLS message out of turn"
        }
        Error::PeerMisbehaved(_) => "it broke the rules of TLS",
        _ => "TLS could not go on",
    };
    match context.progress {
        Progress::Ready => format!("after the handshake {what}"),
        _ => format!("the handshake failed: {what}"),
    }
}

/// The same of an alert.
fn alerted(alert: AlertDescription, context: &Context<'_>) -> String {
    let is_ready = context.progress == Progress::Ready;
    match alert {
        AlertDescription::ProtocolVersion if !is_ready => {
            "it accepts neither TLS 1.2 nor TLS 1.3".to_owned()
        }
        AlertDescription::HandshakeFailure if !is_ready && context.has_identity => {
            "it refused the handshake: it has no cipher, key exchange or signature algorithm in common with weigh (its \
             certificate may have a P-521 or Ed448 key, which weigh cannot check), or does not accept the certificate of \
             --cert"
                .to_owned()
        }
        AlertDescription::HandshakeFailure if !is_ready => {
            "it refused the handshake: it has no cipher, key exchange or signature algorithm in common with weigh (its \
             certificate may have a P-521 or Ed448 key, which weigh cannot check), or wants a client certificate (--cert \
             and --key)"
                .to_owned()
        }
        AlertDescription::CertificateRequired if !context.has_identity => {
            "it wants a client certificate; give one with --cert and --key".to_owned()
        }
        AlertDescription::UnrecognisedName => format!("it knows no site called {}", context.name),
        AlertDescription::NoApplicationProtocol => "it does not offer HTTP/1.1".to_owned(),
        AlertDescription::CertificateRequired
        | AlertDescription::NoCertificate
        | AlertDescription::BadCertificate
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::CertificateRevoked
        | AlertDescription::CertificateExpired
        | AlertDescription::CertificateUnknown
        | AlertDescription::UnknownCA
        | AlertDescription::AccessDenied => {
            let name = alert_name(alert);
            match context.has_identity {
                true => format!(
                    "it does not accept the certificate of --cert (alert {name}); give one that it trusts"
                ),
                false => format!(
                    "it wants a client certificate (alert {name}); give one with --cert and --key"
                ),
            }
        }
        alert if is_ready => format!(
            "it ended TLS after the handshake with the alert {}",
            alert_name(alert)
        ),
        alert => format!(
            "it ended the handshake with the alert {}; its log may say why",
            alert_name(alert)
        ),
    }
}

/// Returns the name of an alert as RFC 8446 §6 writes it.
fn alert_name(alert: AlertDescription) -> String {
    let Some(name) = alert.as_str() else {
        return format!("number {}", u8::from(alert));
    };
    let mut written = String::new();
    let mut was_lower = false;
    for letter in name.chars() {
        if letter.is_uppercase() && was_lower {
            written.push('_');
        }
        was_lower = letter.is_lowercase();
        written.extend(letter.to_lowercase());
    }
    written
}

/// What helps against a certificate that is not accepted.
const UNSAFELY: &str = "--insecure measures it all the same";

/// The same of a certificate that is not accepted.
fn refused(error: &CertificateError, context: &Context<'_>) -> String {
    if let CertificateError::Other(OtherError(other)) = error
        && let Some(refused) = other.downcast_ref::<Refused>()
    {
        match refused {
            Refused::Key(kind) => {
                return format!(
                    "its certificate has a key that weigh cannot check ({kind}); give the server a certificate with another key: {}",
                    keys::USABLE
                );
            }
            Refused::Proof => {
                return "the signature in its handshake is not by the key of its certificate; check that the server's \
                        certificate and private key belong together"
                    .to_owned();
            }
            Refused::Issuer(error) => return with_advice(&of_issuer(error), context),
            Refused::Alone => {
                return with_advice(
                    "its certificate is signed by an unknown issuer, and came without the issuer's: the server may have \
                     left out an intermediate certificate, which belongs behind its own; or trust the issuer with --cacert \
                     FILE",
                    context,
                );
            }
        }
    }
    let what = untrusted(error, context.name);
    match is_readable(error) {
        true => with_advice(&what, context),
        false => what,
    }
}

/// Whether the certificate could be read; if not, weigh cannot use its key either, whether it trusts it or not.
fn is_readable(error: &CertificateError) -> bool {
    match error {
        CertificateError::BadEncoding => false,
        CertificateError::Other(other) => !format!("{other:?}").contains(VERSION),
        _ => true,
    }
}

/// The library's name for a certificate that is not of version 3.
const VERSION: &str = "UnsupportedCertVersion";

/// A sentence with the advice to accept any certificate, unless that is so already.
fn with_advice(what: &str, context: &Context<'_>) -> String {
    match context.is_insecure {
        true => what.to_owned(),
        false => format!("{what}; {UNSAFELY}"),
    }
}

/// What an issuer's certificate that is out of date is called.
fn of_issuer(error: &CertificateError) -> String {
    let what = match error {
        CertificateError::ExpiredContext { time, not_after } => {
            format!("expired {} ago", span(*not_after, *time))
        }
        CertificateError::NotValidYetContext { time, not_before } => {
            format!("is not valid yet, but in {}", span(*time, *not_before))
        }
        _ => "is not valid".to_owned(),
    };
    format!(
        "an issuer's certificate in its chain {what}; give the server the issuer's current certificate"
    )
}

fn span(from: UnixTime, to: UnixTime) -> String {
    let hours = to.as_secs().saturating_sub(from.as_secs()) / 3600;
    match hours {
        0 => "less than an hour".to_owned(),
        1..48 => format!("{hours} h"),
        _ => format!("{} days", hours / 24),
    }
}

/// Why a certificate is not accepted for `name`.
fn untrusted(error: &CertificateError, name: &str) -> String {
    let what = match error {
        CertificateError::ExpiredContext { time, not_after } => {
            return format!("its certificate expired {} ago", span(*not_after, *time));
        }
        CertificateError::NotValidYetContext { time, not_before } => {
            let span = span(*time, *not_before);
            return format!("its certificate is not valid yet, but in {span}");
        }
        CertificateError::NotValidForNameContext { presented, .. } => {
            return format!(
                "its certificate is for {}, not for {name}; write that name in the URL (--resolve says where it leads)",
                names(presented)
            );
        }
        CertificateError::UnknownIssuer => {
            "its certificate is signed by an unknown issuer, or by itself; trust it with --cacert FILE"
        }
        CertificateError::BadSignature => {
            "its certificate is signed by an unknown issuer that has the name of a trusted one, by itself, or by an RSA \
             key below 2048 bits, which weigh cannot check; trust it with --cacert FILE"
        }
        CertificateError::UnsupportedSignatureAlgorithmContext { .. }
        | CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => {
            "its certificate, or one of its chain, has a signature that weigh cannot check, such as SHA-1 or P-521"
        }
        CertificateError::InvalidPurposeContext { .. } | CertificateError::InvalidPurpose => {
            "its certificate is not for servers (extended key usage)"
        }
        CertificateError::BadEncoding => "its certificate is malformed",
        CertificateError::Revoked => "its certificate was revoked",
        CertificateError::Other(other) => unusual(&format!("{other:?}")),
        _ => "its certificate is not accepted",
    };
    what.to_owned()
}

/// The same of what the library has no words for but the name of its error.
fn unusual(name: &str) -> &'static str {
    const KNOWN: [(&str, &str); 6] = [
        (
            VERSION,
            "its certificate is of X.509 version 1; give the server one of version 3",
        ),
        (
            "CaUsedAsEndEntity",
            "its certificate is an issuer's (CA:TRUE) and signed by itself; trust it with --cacert FILE",
        ),
        (
            "EndEntityUsedAsCa",
            "its certificate is signed by one that is no issuer's (CA:FALSE)",
        ),
        (
            "NameConstraint",
            "its issuer may not sign certificates for this name (name constraints)",
        ),
        (
            "PathLen",
            "its certificate chain is longer than an issuer allows",
        ),
        (
            "UnsupportedCriticalExtension",
            "its certificate has a critical extension that weigh does not know",
        ),
    ];
    let known = KNOWN.iter().find(|(known, _)| name.contains(known));
    known.map_or("its certificate is not accepted", |(_, what)| what)
}

/// Returns the first of the names of a certificate, and how many there are beyond.
fn names(presented: &[String]) -> String {
    let each = presented.iter().take(NAMES);
    let shown: Vec<&str> = each.map(|each| known_name(each)).collect();
    match presented.len() {
        0 => "no name".to_owned(),
        all if all > NAMES => format!("{} and {} more", shown.join(", "), all - NAMES),
        _ => shown.join(", "),
    }
}

/// A name of a certificate without what the library writes around it, as `DnsName("a")` or `IpAddress(::1)`.
fn known_name(presented: &str) -> &str {
    let inner = presented.split_once('(').map(|(_, rest)| rest);
    let inner = inner.and_then(|rest| rest.strip_suffix(')'));
    inner.unwrap_or(presented).trim_matches('"')
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::{ContentType, PeerMisbehaved};

    /// Errors that occur, and what is said of them during the handshake and after it.
    fn errors() -> Vec<(Error, &'static str, &'static str)> {
        use AlertDescription::{
            CertificateRequired, HandshakeFailure, InternalError, ProtocolVersion, UnknownCA,
        };
        let text = Error::InvalidMessage(InvalidMessage::InvalidContentType);
        vec![
            (text, "bytes that are not TLS", "bytes that are not TLS"),
            (
                Error::AlertReceived(ProtocolVersion),
                "accepts neither TLS 1.2",
                "after the handshake with the alert protocol_version",
            ),
            (
                Error::AlertReceived(HandshakeFailure),
                "P-521",
                "after the handshake with the alert handshake_failure",
            ),
            (
                Error::AlertReceived(InternalError),
                "the handshake with the alert internal_error",
                "after the handshake with the alert internal_error",
            ),
            (
                Error::AlertReceived(CertificateRequired),
                "--cert and --key",
                "--cert and --key",
            ),
            (
                Error::AlertReceived(UnknownCA),
                "(alert unknown_ca)",
                "(alert unknown_ca)",
            ),
            (Error::DecryptError, "cannot be decrypted", "decrypted"),
            (Error::PeerSentOversizedRecord, "too long", "too long"),
            (
                Error::PeerMisbehaved(PeerMisbehaved::TooManyEmptyFragments),
                "broke the rules",
                "broke the rules",
            ),
            (
                Error::InappropriateMessage {
                    expect_types: Vec::new(),
                    got_type: ContentType::Handshake,
                },
                "out of turn",
                "out of turn",
            ),
            (
                Error::General("the library".into()),
                "TLS could not go on",
                "TLS could not go on",
            ),
        ]
    }

    #[test]
    fn an_error_after_the_handshake_is_not_called_a_failed_handshake() {
        for (error, during, after) in errors() {
            let said = |progress| {
                let context = Context {
                    name: "localhost",
                    is_insecure: false,
                    has_identity: false,
                    progress,
                };
                complaint(&error, &context)
            };
            let (handshake, ready) = (said(Progress::Handshake), said(Progress::Ready));
            assert!(handshake.contains(during), "{handshake}");
            assert!(ready.contains(after), "{ready}");
            assert!(!ready.contains("handshake failed"), "{ready}");
            for sentence in [handshake, ready] {
                assert!(!sentence.contains(&error.to_string()), "{sentence}");
            }
        }
    }

    #[test]
    fn insecure_is_advised_where_it_would_help_and_is_not_given() {
        use CertificateError::{BadEncoding, BadSignature, Revoked, UnknownIssuer};
        let key = || Refused::Key("P-521".into());
        let cases: [(Error, bool); 7] = [
            (UnknownIssuer.into(), true),
            (BadSignature.into(), true),
            (Revoked.into(), true),
            (Refused::Alone.into(), true),
            (BadEncoding.into(), false),
            (Refused::Proof.into(), false),
            (key().into(), false),
        ];
        for (error, helps) in cases {
            for is_insecure in [false, true] {
                let context = Context {
                    name: "localhost",
                    is_insecure,
                    has_identity: false,
                    progress: Progress::Handshake,
                };
                let said = complaint(&error, &context);
                assert_eq!(said.contains("--insecure"), helps && !is_insecure, "{said}");
            }
        }
    }

    #[test]
    fn three_names_of_a_certificate_are_shown() {
        let presented = |many: usize| -> Vec<String> {
            (0..many)
                .map(|number| format!("DnsName(\"{number}.a\")"))
                .collect()
        };
        assert_eq!(names(&presented(0)), "no name");
        assert_eq!(names(&presented(3)), "0.a, 1.a, 2.a");
        assert_eq!(names(&presented(12)), "0.a, 1.a, 2.a and 9 more");
    }
}
