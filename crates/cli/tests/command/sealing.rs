//! Records that rustls does not send: TLS 1.2 with sealed records of any type, for what servers of other libraries do.

use rustls::crypto::cipher::{
    AeadKey, KeyBlockShape, MessageDecrypter, MessageEncrypter, OutboundChunks,
    OutboundOpaqueMessage, OutboundPlainMessage, Tls12AeadAlgorithm, UnsupportedOperationError,
};
use rustls::crypto::{CryptoProvider, ring};
use rustls::{
    CipherSuiteCommon, ConnectionTrafficSecrets, ContentType, Error, SupportedCipherSuite,
    Tls12CipherSuite,
};
use std::sync::LazyLock;

/// In front of what is sealed as a record of the type that follows. No text has this byte.
const TYPED: u8 = 0xff;
/// Written as application data: the message by which a server asks for renegotiation (RFC 5246 §7.4.1.1).
pub const HELLO_REQUEST: &[u8] = &[TYPED, 22, 0, 0, 0, 0];
/// Written as application data: the fatal alert `handshake_failure`.
pub const HANDSHAKE_FAILURE: &[u8] = &[TYPED, 21, 2, 40];

/// A cipher suite of TLS 1.2 as the library has it, but for the type of records that begin with [`TYPED`].
static SUITE: LazyLock<Tls12CipherSuite> = LazyLock::new(|| {
    let Tls12CipherSuite {
        common,
        prf_provider,
        kx,
        sign,
        ..
    } = original();
    Tls12CipherSuite {
        common: CipherSuiteCommon { ..*common },
        prf_provider: *prf_provider,
        kx: *kx,
        sign,
        aead_alg: &Typed,
    }
});

/// A provider that speaks TLS 1.2 alone, with a suite for ECDSA.
pub fn provider() -> CryptoProvider {
    CryptoProvider {
        cipher_suites: vec![SupportedCipherSuite::Tls12(&SUITE)],
        ..ring::default_provider()
    }
}

fn original() -> &'static Tls12CipherSuite {
    match ring::cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 {
        SupportedCipherSuite::Tls12(suite) => suite,
        SupportedCipherSuite::Tls13(_) => unreachable!("it is of TLS 1.2 by its name"),
    }
}

struct Typed;

impl Tls12AeadAlgorithm for Typed {
    fn encrypter(&self, key: AeadKey, iv: &[u8], extra: &[u8]) -> Box<dyn MessageEncrypter> {
        Box::new(Retyping(original().aead_alg.encrypter(key, iv, extra)))
    }

    fn decrypter(&self, key: AeadKey, iv: &[u8]) -> Box<dyn MessageDecrypter> {
        original().aead_alg.decrypter(key, iv)
    }

    fn key_block_shape(&self) -> KeyBlockShape {
        original().aead_alg.key_block_shape()
    }

    fn extract_keys(
        &self,
        key: AeadKey,
        iv: &[u8],
        explicit: &[u8],
    ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
        original().aead_alg.extract_keys(key, iv, explicit)
    }
}

struct Retyping(Box<dyn MessageEncrypter>);

impl MessageEncrypter for Retyping {
    fn encrypt(
        &mut self,
        message: OutboundPlainMessage<'_>,
        seq: u64,
    ) -> Result<OutboundOpaqueMessage, Error> {
        let bytes = message.payload.to_vec();
        match &bytes[..] {
            [TYPED, typ, payload @ ..] if message.typ == ContentType::ApplicationData => {
                let message = OutboundPlainMessage {
                    typ: ContentType::from(*typ),
                    version: message.version,
                    payload: OutboundChunks::Single(payload),
                };
                self.0.encrypt(message, seq)
            }
            _ => self.0.encrypt(message, seq),
        }
    }

    fn encrypted_payload_len(&self, payload_len: usize) -> usize {
        self.0.encrypted_payload_len(payload_len)
    }
}
