//! The kind of a certificate's key, and whether the library can check and make signatures with it. Its own messages do not say: an RSA key
//! that is too short looks like a wrong signature.

use rustls::pki_types::CertificateDer;
use rustls::server::ParsedCertificate;
use std::ops::RangeInclusive;

/// Keys that a certificate may have, for sentences of advice.
pub(super) const USABLE: &str = "RSA with 2048 to 4096 bits, P-256, P-384 or Ed25519";

/// Bits of RSA keys whose signatures can be checked.
const CHECKED: RangeInclusive<usize> = 2048..=8192;

/// Bits of RSA keys that can sign.
const SIGNING: RangeInclusive<usize> = 2048..=4096;

/// Identifiers of kinds of keys, as they stand in a certificate.
const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1];
const CURVE: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1];
const ED25519: &[u8] = &[0x2b, 0x65, 0x70];

/// Curves that are supported.
const CURVES: [(&[u8], &str); 2] = [
    (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7], "P-256"),
    (&[0x2b, 0x81, 4, 0, 0x22], "P-384"),
];

/// Names of kinds and curves that are not.
const UNSUPPORTED: [(&[u8], &str); 6] = [
    (&[0x2b, 0x81, 4, 0, 0x23], "P-521"),
    (&[0x2b, 0x81, 4, 0, 0x21], "P-224"),
    (&[0x2b, 0x81, 4, 0, 0x0a], "secp256k1"),
    (&[0x2b, 0x65, 0x71], "Ed448"),
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 10], "RSA-PSS"),
    (&[0x2a, 0x86, 0x48, 0xce, 0x38, 4, 1], "DSA"),
];

/// Returns the kind of the key of `certificate` if signatures by it cannot be checked; none also where it cannot be told.
pub(super) fn unchecked(certificate: &CertificateDer<'_>) -> Option<String> {
    unusable(certificate, &CHECKED)
}

/// The same if weigh could not sign with such a key.
pub(super) fn unable_to_sign(certificate: &CertificateDer<'_>) -> Option<String> {
    unusable(certificate, &SIGNING)
}

fn unusable(certificate: &CertificateDer<'_>, bits: &RangeInclusive<usize>) -> Option<String> {
    let parsed = ParsedCertificate::try_from(certificate).ok()?;
    match Key::of(&parsed.subject_public_key_info())? {
        Key::Rsa(length) if bits.contains(&length) => None,
        Key::Rsa(length) => Some(format!("RSA with {length} bits")),
        Key::Supported(_) => None,
        Key::Other(name) => Some(name.to_owned()),
    }
}

/// Returns what the key of `certificate` is called: `RSA 2048`, `P-256`; none where it cannot be told.
pub(super) fn name(certificate: &CertificateDer<'_>) -> Option<String> {
    let parsed = ParsedCertificate::try_from(certificate).ok()?;
    Some(match Key::of(&parsed.subject_public_key_info())? {
        Key::Rsa(length) => format!("RSA {length}"),
        Key::Supported(name) | Key::Other(name) => name.to_owned(),
    })
}

/// A kind of key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    /// RSA with so many bits.
    Rsa(usize),
    /// One that is supported, whatever its length.
    Supported(&'static str),
    /// One that is not.
    Other(&'static str),
}

impl Key {
    /// The kind of a `SubjectPublicKeyInfo` (RFC 5280 §4.1.2.7).
    fn of(info: &[u8]) -> Option<Key> {
        let (info, _) = element(info)?;
        let (algorithm, key) = element(info)?;
        let (identifier, parameters) = element(algorithm)?;
        let identifier = match identifier {
            RSA => return modulus_bits(key).map(Key::Rsa),
            ED25519 => return Some(Key::Supported("Ed25519")),
            CURVE => element(parameters)?.0,
            other => other,
        };
        let name = |known: &[(&[u8], &'static str)]| {
            let mut known = known.iter();
            known.find(|(known, _)| *known == identifier).map(|it| it.1)
        };
        Some(match name(&CURVES) {
            Some(curve) => Key::Supported(curve),
            None => Key::Other(name(&UNSUPPORTED).unwrap_or("an unusual kind")),
        })
    }
}

/// Returns the length of an RSA key: a string of bits, in which a sequence begins with the modulus (RFC 8017 §A.1.1).
fn modulus_bits(key: &[u8]) -> Option<usize> {
    let (string, _) = element(key)?;
    let (sequence, _) = element(string.get(1..)?)?;
    let (modulus, _) = element(sequence)?;
    let zeros = modulus.iter().take_while(|byte| **byte == 0).count();
    let first = modulus.get(zeros)?;
    Some((modulus.len() - zeros) * 8 - first.leading_zeros() as usize)
}

/// Returns the contents of the first element of what is in DER, and what is behind it.
fn element(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&first, rest) = der.get(1..)?.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x83 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            let add = |length: usize, byte: &u8| length << 8 | usize::from(*byte);
            (bytes.iter().fold(0, add), rest)
        }
        _ => return None,
    };
    rest.split_at_checked(length)
}
