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
const CURVES: [&[u8]; 2] = [
    &[0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7],
    &[0x2b, 0x81, 4, 0, 0x22],
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
    kind(&parsed.subject_public_key_info(), bits)
}

/// Returns the kind of a `SubjectPublicKeyInfo` (RFC 5280 §4.1.2.7) if it is none that is supported, `bits` for RSA.
fn kind(info: &[u8], bits: &RangeInclusive<usize>) -> Option<String> {
    let (info, _) = element(info)?;
    let (algorithm, key) = element(info)?;
    let (identifier, parameters) = element(algorithm)?;
    let identifier = match identifier {
        RSA => {
            let length = modulus_bits(key)?;
            return (!bits.contains(&length)).then(|| format!("RSA with {length} bits"));
        }
        ED25519 => return None,
        CURVE => element(parameters)?.0,
        other => other,
    };
    if CURVES.contains(&identifier) {
        return None;
    }
    let mut known = UNSUPPORTED.iter();
    let name = known.find(|(known, _)| *known == identifier);
    Some(name.map_or("an unusual kind", |(_, name)| name).to_owned())
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
