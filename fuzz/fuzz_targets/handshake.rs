//! A client of TLS survives whatever a server sends: every exchange that was opened is done once, and what is kept stays small. A server
//! survives whatever a client sends, and reads nothing that no client has sealed.
//!
//! Input: a byte for what is done with the rest, a byte for the length of pieces; then either what the other side sends, or what becomes
//! of the bytes of one that means well: each time an offset in two bytes, and what is turned there.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::{PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection};
use std::io::{IoSlice, Read, Write};
use std::sync::{Arc, LazyLock};
use wire::tls::{Credentials, Security, Server, Settings, Tls, Trust};
use wire::{
    Connection, Ending, ExchangeId, Filter, Head, Method, Opening, Sink, Source, Stack, Violation,
    Visitor,
};

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n";
const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

static SERVER: LazyLock<Arc<ServerConfig>> = LazyLock::new(|| {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["h".to_owned()]).unwrap();
    let cert = params.self_signed(&key).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = builder.with_no_client_auth();
    Arc::new(
        config
            .with_single_cert(vec![cert.der().clone()], key)
            .unwrap(),
    )
});

static STACK: LazyLock<Stack> = LazyLock::new(|| {
    let settings = Settings {
        name: "h".into(),
        trust: Trust::Anyone,
        identity: None,
        resume: true,
    };
    Stack {
        security: Some(Security::new(&settings).unwrap()),
        ..Stack::default()
    }
});

#[derive(Default)]
struct Seen(usize);

impl Sink for Seen {
    fn first(&mut self, _: ExchangeId) {}
    fn head(&mut self, _: ExchangeId, _: &Head<'_>) {}
    fn body(&mut self, _: ExchangeId, _: &[u8]) {}
    fn done(&mut self, _: ExchangeId, _: Ending) {
        self.0 += 1;
    }
    fn unanswered(&mut self, _: ExchangeId, _: Ending) {}
}

struct Play<'a>(&'a [u8]);

impl<'p> Visitor<'p> for Play<'_> {
    type Output = ();

    fn visit<C: Connection<'p> + 'p>(self, shared: C::Shared) {
        let [kind, piece, rest @ ..] = self.0 else {
            return;
        };
        let mut client = C::sharing(1, &shared);
        let piece = usize::from(*piece) + 1;
        // The second time sessions are resumed.
        for _ in 0..1 + usize::from(kind % 2) {
            client.reset();
            match kind & 2 {
                0 => stranger(&mut client, rest, piece),
                _ => turned(&mut client, rest, piece),
            }
        }
    }
}

/// Takes what the client has to send.
fn taken<'p, C: Connection<'p>>(client: &mut C) -> Vec<u8> {
    let mut all = Vec::new();
    while client.has_outgoing() {
        let mut slices = [IoSlice::new(&[]); 2];
        let filled = client.outgoing(&mut slices);
        if filled == 0 {
            break;
        }
        let length = slices[0].len();
        all.extend_from_slice(&slices[0]);
        client.sent(length, |_| {});
        assert!(all.len() < 1 << 20, "it sends without end");
    }
    all
}

/// A server that sends these bytes.
fn stranger<'p, C: Connection<'p>>(client: &mut C, bytes: &[u8], piece: usize) {
    let mut seen = Seen::default();
    client.begin().unwrap();
    taken(client);
    for piece in bytes.to_vec().chunks_mut(piece) {
        let received = client.receive(piece, &mut seen);
        taken(client);
        if received.is_err() {
            break;
        }
    }
    let _ = client.end(&mut seen);
    assert_eq!(seen.0, 0, "nothing was asked");
}

/// A server that means well, of whose bytes some are turned.
fn turned<'p, C: Connection<'p>>(client: &mut C, turns: &[u8], piece: usize) {
    let mut server = ServerConnection::new(SERVER.clone()).unwrap();
    let (mut seen, mut asked, mut sent) = (Seen::default(), 0, 0);
    client.begin().unwrap();
    for _ in 0..64 {
        let out = taken(client);
        let mut out = &out[..];
        while !out.is_empty() {
            server.read_tls(&mut out).unwrap();
            let _ = server.process_new_packets();
        }
        let mut request = [0; 1024];
        if matches!(server.reader().read(&mut request), Ok(1..)) {
            server.writer().write_all(RESPONSE).unwrap();
        }
        let mut bytes = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut bytes).unwrap();
        }
        for turn in turns.chunks_exact(3) {
            let place = usize::from(u16::from_le_bytes([turn[0], turn[1]]));
            if let Some(byte) = place.checked_sub(sent).and_then(|at| bytes.get_mut(at)) {
                *byte ^= turn[2];
            }
        }
        sent += bytes.len();
        let mut is_over = bytes.is_empty();
        for piece in bytes.chunks_mut(piece) {
            is_over |= client.receive(piece, &mut seen).is_err();
        }
        if !is_over && client.capacity() > 0 && asked < 3 {
            let (head, body) = (Source::Shared(REQUEST), Source::EMPTY);
            client.open(
                ExchangeId(asked),
                Opening {
                    head,
                    body,
                    method: Method::Other,
                },
            );
            asked += 1;
            is_over = false;
        }
        if is_over && !client.has_outgoing() {
            break;
        }
    }
    client.close();
    let _ = client.end(&mut seen);
    client.abandon(&mut seen, Violation::Abandoned);
    assert_eq!(seen.0, asked as usize, "each is done once");
}

/// What our server shows, and a client that trusts it.
static SHOWN: LazyLock<(Arc<Credentials>, Arc<ClientConfig>)> = LazyLock::new(|| {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["h".to_owned()]).unwrap();
    let cert = params.self_signed(&key).unwrap();
    let shown = Credentials::new(cert.pem().as_bytes(), key.serialize_pem().as_bytes());
    let mut roots = RootCertStore::empty();
    roots.add(cert.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    let config = builder.with_root_certificates(roots).with_no_client_auth();
    (Arc::new(shown.unwrap()), Arc::new(config))
});

/// A server that has accepted somebody, and what it has read.
struct Accepted {
    filter: Tls<Server>,
    out: Vec<u8>,
    read: Vec<u8>,
}

impl Accepted {
    fn new() -> Accepted {
        let mut accepted = Accepted {
            filter: Tls::new(&SHOWN.0.of_thread()),
            out: Vec::new(),
            read: Vec::new(),
        };
        accepted.filter.begin(&mut accepted.out).unwrap();
        accepted
    }

    /// Takes what comes in pieces; says whether the connection is still alive.
    fn take(&mut self, bytes: &mut [u8], piece: usize) -> bool {
        let (filter, out, read) = (&mut self.filter, &mut self.out, &mut self.read);
        bytes.chunks_mut(piece).all(|piece| {
            let mut keep = |plain: &mut [u8]| {
                read.extend_from_slice(plain);
                Ok(())
            };
            let taken = filter.receive(piece, out, &mut keep);
            assert!(out.len() < 1 << 20, "it sends without end");
            taken.is_ok()
        })
    }
}

/// A client that sends these bytes.
fn caller(bytes: &[u8], piece: usize) {
    let mut accepted = Accepted::new();
    accepted.take(&mut bytes.to_vec(), piece);
    assert!(accepted.read.is_empty(), "nothing was sealed");
    let _ = accepted.filter.end();
}

/// A client that means well, of whose bytes some are turned.
fn turned_caller(turns: &[u8], piece: usize) {
    let name = ServerName::try_from("h").unwrap();
    let mut client = ClientConnection::new(SHOWN.1.clone(), name).unwrap();
    let (mut accepted, mut sent, mut said) = (Accepted::new(), 0, Vec::new());
    for _ in 0..16 {
        if !client.is_handshaking() && said.len() < 3 * REQUEST.len() {
            client.writer().write_all(REQUEST).unwrap();
            said.extend_from_slice(REQUEST);
        }
        let mut bytes = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut bytes).unwrap();
        }
        for turn in turns.chunks_exact(3) {
            let place = usize::from(u16::from_le_bytes([turn[0], turn[1]]));
            if let Some(byte) = place.checked_sub(sent).and_then(|at| bytes.get_mut(at)) {
                *byte ^= turn[2];
            }
        }
        sent += bytes.len();
        let is_alive = accepted.take(&mut bytes, piece);
        assert!(
            said.starts_with(&accepted.read),
            "no client has sealed that"
        );
        if is_alive && accepted.filter.is_ready() {
            accepted.filter.seal(RESPONSE, &mut accepted.out).unwrap();
        }
        let out = std::mem::take(&mut accepted.out);
        let mut out = &out[..];
        while !out.is_empty() {
            client.read_tls(&mut out).unwrap();
            let _ = client.process_new_packets();
        }
        if !is_alive {
            break;
        }
    }
    accepted.filter.close(&mut accepted.out);
    let _ = accepted.filter.end();
}

fuzz_target!(|data: &[u8]| {
    let [kind, piece, rest @ ..] = data else {
        return;
    };
    let length = usize::from(*piece) + 1;
    match kind & 6 {
        4 => caller(rest, length),
        6 => turned_caller(rest, length),
        _ => STACK.choose(Play(data)),
    }
});
