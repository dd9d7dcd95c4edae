//! What becomes of a connection when its keys have sealed as much as they may: both sides of this crate, in memory, with ciphers whose keys
//! last for a few records.

use super::*;
use rustls::crypto::{CipherSuiteCommon, CryptoProvider, ring};
use rustls::{SupportedCipherSuite, Tls12CipherSuite, Tls13CipherSuite};
use std::sync::Arc;

/// Records that a key lasts for.
const LIMIT: u64 = 64;

/// Ciphers of one version whose keys last for [`LIMIT`] records.
fn provider(version: &str) -> CryptoProvider {
    let mut provider = ring::default_provider();
    let common = |common: &CipherSuiteCommon| CipherSuiteCommon {
        confidentiality_limit: LIMIT,
        ..*common
    };
    provider.cipher_suites.retain_mut(|suite| {
        let (name, limited) = match *suite {
            SupportedCipherSuite::Tls12(suite) => {
                let common = common(&suite.common);
                let suite = Tls12CipherSuite { common, ..*suite };
                let suite = Box::leak(Box::new(suite));
                ("TLSv1.2", SupportedCipherSuite::Tls12(suite))
            }
            SupportedCipherSuite::Tls13(suite) => {
                let common = common(&suite.common);
                let suite = Tls13CipherSuite { common, ..*suite };
                let suite = Box::leak(Box::new(suite));
                ("TLSv1.3", SupportedCipherSuite::Tls13(suite))
            }
        };
        *suite = limited;
        name == version
    });
    provider
}

/// Both sides of a connection.
struct Pair {
    client: Tls<Client>,
    server: Tls<Server>,
}

/// Gives `to` what `from` has for it; returns what was inside.
fn pass(bytes: &mut Vec<u8>, to: &mut impl Filter, back: &mut Vec<u8>) -> Vec<u8> {
    let mut inside = Vec::new();
    let mut read = |plain: &mut [u8]| {
        inside.extend_from_slice(plain);
        Ok(())
    };
    to.receive(bytes, back, &mut read).expect("well received");
    bytes.clear();
    inside
}

/// Seals `plain` on one side and opens it on the other; returns how many records that took.
fn send(plain: &[u8], from: &mut impl Filter, to: &mut impl Filter) -> Result<usize, Violation> {
    let (mut there, mut back) = (Vec::new(), Vec::new());
    from.seal(plain, &mut there)?;
    let mut records = 0;
    let mut rest = &there[..];
    while let [_, _, _, high, low, behind @ ..] = rest {
        rest = &behind[usize::from(u16::from_be_bytes([*high, *low]))..];
        records += 1;
    }
    assert_eq!(pass(&mut there, to, &mut back), plain);
    // Where new keys were asked for, that they are used is said in turn.
    assert!(pass(&mut back, from, &mut there).is_empty());
    assert!(there.is_empty());
    Ok(records)
}

impl Pair {
    /// A connection of `version` after its handshake.
    fn new(version: &str) -> Pair {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let (chain, key) = (made.cert.pem(), made.signing_key.serialize_pem());
        let credentials =
            Credentials::with(chain.as_bytes(), key.as_bytes(), provider(version)).unwrap();
        let settings = Settings {
            name: "localhost".into(),
            trust: Trust::Anyone,
            identity: None,
            resume: false,
        };
        let security = Security::with(&settings, provider(version)).unwrap();
        let mut pair = Pair {
            client: Tls::new(&security.of_thread()),
            server: Tls::new(&Arc::new(credentials).of_thread()),
        };
        let (mut there, mut back) = (Vec::new(), Vec::new());
        pair.client.begin(&mut there).unwrap();
        pair.server.begin(&mut back).unwrap();
        while !there.is_empty() || !back.is_empty() {
            assert!(pass(&mut there, &mut pair.server, &mut back).is_empty());
            assert!(pass(&mut back, &mut pair.client, &mut there).is_empty());
        }
        assert_eq!(pair.server.handshake().unwrap().version, version);
        assert!(pair.client.is_ready());
        pair
    }
}

#[test]
fn a_connection_that_cannot_change_its_keys_is_spent_when_half_of_them_is_left() {
    let Pair { client, server } = &mut Pair::new("TLSv1.2");
    let half = LIMIT / 2;
    for sealed in 0..half {
        assert!(!server.is_spent() && !client.is_spent(), "{sealed}");
        assert_eq!(send(b"response", server, client), Ok(1));
    }
    assert!(server.is_spent());
    // Each side has keys of its own for what it seals.
    assert!(!client.is_spent());
    // The end of its handshake was sealed as well.
    for _ in half..LIMIT - 1 {
        assert_eq!(send(b"response", server, client), Ok(1));
    }
    let after = send(b"response", server, client);
    assert_eq!(after, Err(Violation::BadRecord));
    for sealed in 0..half {
        assert!(!client.is_spent(), "{sealed}");
        assert_eq!(send(b"request", client, server), Ok(1));
    }
    assert!(client.is_spent());
}

#[test]
fn a_connection_that_can_change_its_keys_goes_on_and_on() {
    let Pair { client, server } = &mut Pair::new("TLSv1.3");
    let number = 10 * LIMIT;
    let mut records = [0; 2];
    for _ in 0..number {
        records[0] += send(b"request", client, server).unwrap() as u64;
        records[1] += send(b"response", server, client).unwrap() as u64;
        assert!(!client.is_spent() && !server.is_spent());
    }
    // What is more than the requests and responses are new keys.
    for records in records {
        assert!((number + 9..number + 30).contains(&records), "{records}");
    }
}
