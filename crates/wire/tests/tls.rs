//! TLS on the client's side against the library's server side, in memory: whatever the bytes' split, the versions, the certificate.

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, SupportedProtocolVersion, version};
use std::io::{IoSlice, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use wire::tls::{Credentials, Security, Settings, Trust};
use wire::{
    Connection, Ending, ExchangeId, Handshake, Head, Method, Opening, Sink, Source, Stack,
    Violation, Visitor,
};

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
const BODY: &[u8] = b"hello over there";

/// Who signs, and what is signed.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: Vec<u8>,
}

struct Signed {
    pem: String,
    der: CertificateDer<'static>,
    key: KeyPair,
}

impl Authority {
    fn new() -> Authority {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("issuer {number}");
        params.distinguished_name.push(DnType::CommonName, name);
        let pem = params.self_signed(&key).unwrap().pem();
        Authority {
            issuer: Issuer::new(params, key),
            pem: pem.into_bytes(),
        }
    }

    fn sign(&self, name: &str, change: impl FnOnce(&mut CertificateParams)) -> Signed {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        change(&mut params);
        let cert = params.signed_by(&key, &self.issuer).unwrap();
        Signed {
            pem: cert.pem(),
            der: cert.der().clone(),
            key,
        }
    }

    fn trust(&self) -> Settings {
        Settings {
            name: "localhost".into(),
            trust: Trust::Issuers(self.pem.clone()),
            identity: None,
            resume: true,
        }
    }
}

/// HTTP/1.1 secured so.
fn secured(security: Security) -> Stack {
    Stack {
        security: Some(security),
        ..Stack::default()
    }
}

static BOTH: &[&SupportedProtocolVersion] = &[&version::TLS12, &version::TLS13];

fn server(signed: &Signed, versions: &[&'static SupportedProtocolVersion]) -> ServerConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider);
    let builder = builder.with_protocol_versions(versions).unwrap();
    let key = PrivateKeyDer::try_from(signed.key.serialize_der()).unwrap();
    let config = builder.with_no_client_auth();
    config
        .with_single_cert(vec![signed.der.clone()], key)
        .unwrap()
}

#[derive(Debug, Default)]
struct Seen {
    status: u16,
    body: Vec<u8>,
    endings: Vec<Result<(), Violation>>,
}

impl Sink for Seen {
    fn first(&mut self, _: ExchangeId) {}
    fn head(&mut self, _: ExchangeId, head: &Head<'_>) {
        self.status = head.status;
    }
    fn body(&mut self, _: ExchangeId, bytes: &[u8]) {
        self.body.extend_from_slice(bytes);
    }
    fn done(&mut self, _: ExchangeId, ending: Ending) {
        self.endings.push(ending.result);
    }
    fn unanswered(&mut self, _: ExchangeId, _: Ending) {}
}

/// Connections to one server in memory, one after the other, with bytes moved `piece` at a time.
struct Meeting {
    server: Arc<ServerConfig>,
    piece: usize,
    connections: usize,
    requests: usize,
    body: &'static [u8],
}

/// What came of one connection.
#[derive(Debug)]
struct Met {
    handshake: Option<Handshake>,
    failed: Option<Violation>,
    complaint: Option<String>,
    seen: Seen,
    begun: usize,
    /// Whether the server was told that nothing more comes.
    is_closed: bool,
}

impl Meeting {
    fn with(server: ServerConfig) -> Meeting {
        Meeting {
            server: Arc::new(server),
            piece: usize::MAX,
            connections: 1,
            requests: 1,
            body: BODY,
        }
    }

    fn hold(self, settings: &Settings) -> Vec<Met> {
        secured(Security::new(settings).unwrap()).choose(self)
    }

    fn met(self, settings: &Settings) -> Met {
        self.hold(settings).pop().unwrap()
    }
}

impl<'p> Visitor<'p> for Meeting {
    type Output = Vec<Met>;

    fn visit<C: Connection<'p> + 'p>(self, shared: C::Shared) -> Vec<Met> {
        let mut client = C::sharing(1, &shared);
        let meet = |_| {
            client.reset();
            self.meet(&mut client)
        };
        (0..self.connections).map(meet).collect()
    }
}

impl Meeting {
    fn meet<'p, C: Connection<'p>>(&self, client: &mut C) -> Met {
        let mut server = ServerConnection::new(Arc::clone(&self.server)).unwrap();
        server.set_buffer_limit(None);
        let mut met = Met {
            handshake: None,
            failed: None,
            complaint: None,
            seen: Seen::default(),
            begun: 0,
            is_closed: false,
        };
        let (mut asked, mut read) = (0, Vec::new());
        met.failed = client.begin().err();
        loop {
            let mut moved = self.to_server(client, &mut server, &mut met);
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = server.reader().read(&mut buffer) {
                read.extend_from_slice(&buffer[..length]);
            }
            while let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") {
                read.drain(..end + 4);
                let head = format!(
                    "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n",
                    self.body.len()
                );
                server.writer().write_all(head.as_bytes()).unwrap();
                server.writer().write_all(self.body).unwrap();
            }
            moved |= self.to_client(client, &mut server, &mut met);
            if client.is_ready() && met.failed.is_none() {
                met.handshake = client.handshake();
                if asked == met.seen.endings.len() && asked < self.requests {
                    client.open(ExchangeId(7), opening());
                    asked += 1;
                    moved = true;
                }
            }
            if !moved || met.failed.is_some() {
                break;
            }
        }
        met.complaint = client.complaint();
        if met.failed.is_none() {
            client.close();
            self.to_server(client, &mut server, &mut met);
        } else {
            client.abandon(&mut met.seen, Violation::Abandoned);
        }
        met
    }

    /// Moves what the client has to send; says whether there was anything.
    fn to_server<'p, C: Connection<'p>>(
        &self,
        client: &mut C,
        server: &mut ServerConnection,
        met: &mut Met,
    ) -> bool {
        let mut moved = false;
        while client.has_outgoing() {
            let mut slices = [IoSlice::new(&[]); 2];
            let filled = client.outgoing(&mut slices);
            assert_eq!(filled, 1, "what is to be sent is offered");
            let mut bytes = &slices[0][..slices[0].len().min(self.piece)];
            let length = bytes.len();
            while !bytes.is_empty() {
                server.read_tls(&mut bytes).unwrap();
                // What the server has to complain about it tells the client.
                if let Ok(state) = server.process_new_packets() {
                    met.is_closed |= state.peer_has_closed();
                }
            }
            let begun = &mut met.begun;
            client.sent(length, |_| *begun += 1);
            moved = true;
        }
        moved
    }

    /// Moves what the server has to send, unless the client has failed by it.
    fn to_client<'p, C: Connection<'p>>(
        &self,
        client: &mut C,
        server: &mut ServerConnection,
        met: &mut Met,
    ) -> bool {
        let mut bytes = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut bytes).unwrap();
        }
        for piece in bytes.chunks_mut(self.piece.min(1 << 20)) {
            if met.failed.is_none() {
                met.failed = client.receive(piece, &mut met.seen).err();
            }
        }
        !bytes.is_empty()
    }
}

fn opening() -> Opening<'static> {
    Opening {
        head: Source::Shared(REQUEST),
        body: Source::EMPTY,
        method: Method::Other,
    }
}

#[test]
fn both_versions_speak_whatever_the_split() {
    let authority = Authority::new();
    let signed = authority.sign("localhost", |_| {});
    for (versions, name) in [
        (&BOTH[..1], "TLSv1.2"),
        (&BOTH[1..], "TLSv1.3"),
        (BOTH, "TLSv1.3"),
    ] {
        for piece in [1, 7, 100, usize::MAX] {
            let meeting = Meeting {
                piece,
                requests: 3,
                ..Meeting::with(server(&signed, versions))
            };
            let met = meeting.met(&authority.trust());
            assert_eq!(
                (met.failed, met.seen.status, met.begun),
                (None, 200, 3),
                "{piece}"
            );
            assert_eq!(met.seen.body, BODY.repeat(3));
            assert_eq!(met.seen.endings, [Ok(()); 3]);
            let handshake = met.handshake.unwrap();
            assert_eq!((handshake.version, handshake.is_resumed), (name, false));
            assert!(handshake.cipher.starts_with("TLS_"), "{handshake:?}");
            assert_eq!(handshake.key_exchange, Some("X25519"));
            assert!(met.is_closed, "the server is told the end");
        }
    }
}

#[test]
fn large_bodies_come_whole() {
    static LARGE: [u8; 300_000] = [b'x'; 300_000];
    let authority = Authority::new();
    let signed = authority.sign("localhost", |_| {});
    for piece in [1000, usize::MAX] {
        let meeting = Meeting {
            piece,
            body: &LARGE,
            ..Meeting::with(server(&signed, BOTH))
        };
        let met = meeting.met(&authority.trust());
        assert_eq!((met.failed, met.seen.body.len()), (None, LARGE.len()));
    }
}

#[test]
fn sessions_are_resumed_unless_they_may_not_be() {
    let authority = Authority::new();
    let signed = authority.sign("localhost", |_| {});
    for versions in [&BOTH[..1], &BOTH[1..]] {
        for resume in [true, false] {
            let mut config = server(&signed, versions);
            config.ticketer = rustls::crypto::ring::Ticketer::new().unwrap();
            let meeting = Meeting {
                connections: 4,
                ..Meeting::with(config)
            };
            let settings = Settings {
                resume,
                ..authority.trust()
            };
            let met = meeting.hold(&settings);
            let resumed = met.iter().map(|met| met.handshake.unwrap().is_resumed);
            let resumed: Vec<bool> = resumed.collect();
            assert_eq!(resumed, [false, resume, resume, resume], "{versions:?}");
        }
    }
}

/// The handshake fails so, and says so.
fn fails(met: &Met, violation: Violation, words: &str) {
    assert_eq!(met.failed, Some(violation), "{met:?}");
    let complaint = met.complaint.as_deref().unwrap_or_default();
    assert!(complaint.contains(words), "{complaint}");
    assert_eq!(met.handshake, None);
}

#[test]
fn a_certificate_that_is_not_accepted_is_said_why() {
    let authority = Authority::new();
    let met =
        |signed: &Signed, settings: &Settings| Meeting::with(server(signed, BOTH)).met(settings);
    let trust = authority.trust();
    let good = authority.sign("localhost", |_| {});
    fails(
        &met(&good, &Authority::new().trust()),
        Violation::Certificate,
        "may have left out an intermediate certificate",
    );
    let other = authority.sign("example.org", |_| {});
    let words = "its certificate is for example.org, not for localhost";
    fails(&met(&other, &trust), Violation::Certificate, words);
    let old = authority.sign("localhost", |params| {
        params.not_after = date_time_ymd(2020, 2, 1)
    });
    let words = "its certificate expired 2";
    fails(&met(&old, &trust), Violation::Certificate, words);
    let early = authority.sign("localhost", |params| {
        params.not_before = date_time_ymd(4000, 1, 1)
    });
    fails(
        &met(&early, &trust),
        Violation::Certificate,
        "not valid yet, but in",
    );
    // A client that accepts any accepts all of these.
    let anyone = Settings {
        trust: Trust::Anyone,
        ..authority.trust()
    };
    for signed in [&good, &other, &old, &early] {
        assert_eq!(met(signed, &anyone).failed, None);
    }
}

#[test]
fn a_certificate_that_is_itself_given_is_accepted_for_its_name_though_it_is_an_issuers() {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let cert = params.self_signed(&key).unwrap();
    let signed = Signed {
        pem: cert.pem(),
        der: cert.der().clone(),
        key,
    };
    let settings = |name: &str| Settings {
        name: name.into(),
        trust: Trust::Issuers(signed.pem.clone().into_bytes()),
        identity: None,
        resume: true,
    };
    let met = |settings| Meeting::with(server(&signed, BOTH)).met(&settings);
    assert_eq!(met(settings("localhost")).failed, None);
    fails(
        &met(settings("example.org")),
        Violation::Certificate,
        "not for example.org",
    );
    let alone = met(Authority::new().trust());
    fails(&alone, Violation::Certificate, "--cacert");
    let complaint = alone.complaint.unwrap();
    assert!(!complaint.contains("intermediate"), "{complaint}");
}

#[test]
fn who_must_show_a_certificate_and_has_none_is_told_so() {
    let authority = Authority::new();
    let signed = authority.sign("localhost", |_| {});
    let ours = authority.sign("client", |_| {});
    let config = |versions: &[&'static SupportedProtocolVersion]| {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut roots = RootCertStore::empty();
        for pem in rustls::pki_types::pem::PemObject::pem_slice_iter(&authority.pem) {
            let der: CertificateDer<'_> = pem.unwrap();
            roots.add(der).unwrap();
        }
        let roots = Arc::new(roots);
        let verifier = WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(&provider));
        let builder = ServerConfig::builder_with_provider(provider);
        let builder = builder.with_protocol_versions(versions).unwrap();
        let key = PrivateKeyDer::try_from(signed.key.serialize_der()).unwrap();
        let builder = builder.with_client_cert_verifier(verifier.build().unwrap());
        builder
            .with_single_cert(vec![signed.der.clone()], key)
            .unwrap()
    };
    // In TLS 1.3 the handshake is over for the client before the server has looked.
    let met = Meeting::with(config(&BOTH[1..])).met(&authority.trust());
    assert_eq!(met.failed, Some(Violation::Alert), "{met:?}");
    assert!(met.complaint.unwrap().contains("--cert"));
    let met = Meeting::with(config(&BOTH[..1])).met(&authority.trust());
    fails(&met, Violation::Alert, "--cert");
    let settings = Settings {
        identity: Some((
            ours.pem.into_bytes(),
            Some(ours.key.serialize_pem().into_bytes()),
        )),
        ..authority.trust()
    };
    for versions in [&BOTH[..1], &BOTH[1..]] {
        assert_eq!(Meeting::with(config(versions)).met(&settings).failed, None);
    }
}

/// What the peer says instead of a handshake.
struct Instead(&'static [u8]);

impl<'p> Visitor<'p> for Instead {
    type Output = (Violation, String);

    fn visit<C: Connection<'p> + 'p>(self, shared: C::Shared) -> (Violation, String) {
        let mut client = C::sharing(1, &shared);
        client.begin().unwrap();
        let mut bytes = self.0.to_vec();
        let said = client
            .receive(&mut bytes, &mut Seen::default())
            .unwrap_err();
        (said, client.complaint().unwrap())
    }
}

#[test]
fn who_speaks_no_tls_or_an_old_one_is_told_so() {
    let said = |instead| {
        let security = Security::new(&Authority::new().trust()).unwrap();
        secured(security).choose(Instead(instead))
    };
    let (violation, words) = said(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(violation, Violation::NoHandshake);
    assert!(words.contains("does not speak TLS; try http://"), "{words}");
    // A fatal alert `protocol_version`, and a ServerHello of TLS 1.0.
    let (violation, words) = said(&[21, 3, 1, 0, 2, 2, 70]);
    assert_eq!(violation, Violation::Alert);
    assert!(words.contains("neither TLS 1.2 nor TLS 1.3"), "{words}");
    let mut hello = vec![22, 3, 1, 0, 42, 2, 0, 0, 38, 3, 1];
    hello.extend([7; 32]);
    hello.extend([0, 0, 0x2f, 0]);
    let (violation, words) = said(hello.leak());
    assert_eq!(violation, Violation::BadHandshake);
    assert!(words.contains("neither TLS 1.2 nor TLS 1.3"), "{words}");
}

/// Certificates with keys that the library does not take, and what they are called.
const UNUSABLE: [(&[u8], &str); 2] = [
    (
        include_bytes!("certificates/rsa-1024.pem"),
        "RSA with 1024 bits",
    ),
    (include_bytes!("certificates/p-521.pem"), "P-521"),
];

#[test]
fn a_certificate_whose_key_cannot_be_used_is_refused_by_that_name() {
    let key = KeyPair::generate().unwrap().serialize_pem().into_bytes();
    for (pem, kind) in UNUSABLE {
        let settings = Settings {
            identity: Some((pem.to_vec(), Some(key.clone()))),
            ..Authority::new().trust()
        };
        let client = Security::new(&settings).unwrap_err();
        let server = Credentials::new(pem, &key).unwrap_err();
        for (said, option) in [(client, "--cert"), (server, "--tls-cert")] {
            let wanted = format!("{option} has a key that weigh cannot use ({kind}); make");
            assert!(said.starts_with(&wanted), "{said}");
        }
    }
}

#[test]
fn a_private_key_that_is_encrypted_or_missing_is_refused_with_the_remedy() {
    let ours = Authority::new().sign("client", |_| {});
    let said = |key: Option<&str>| {
        let key = key.map(|key| key.as_bytes().to_vec());
        let settings = Settings {
            identity: Some((ours.pem.clone().into_bytes(), key)),
            ..Authority::new().trust()
        };
        Security::new(&settings).unwrap_err()
    };
    let encrypted = [
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n-----END RSA PRIVATE KEY-----\n",
    ];
    for key in encrypted {
        let said = said(Some(key));
        assert!(said.contains("--key is encrypted"), "{said}");
        assert!(said.contains("`openssl pkey -in KEY -out PLAIN`"), "{said}");
    }
    let none = said(None);
    assert_eq!(
        none,
        "--cert holds no private key; name its file with --key"
    );
    let unusual = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    let unusual = said(Some(unusual));
    assert!(unusual.contains("--key cannot be used"), "{unusual}");
}

#[test]
fn an_issuer_that_has_expired_is_told_from_a_certificate_that_has() {
    let root = Authority::new();
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec![]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params
        .distinguished_name
        .push(DnType::CommonName, "between");
    params.not_after = date_time_ymd(2020, 2, 1);
    let between = params.signed_by(&key, &root.issuer).unwrap();
    let authority = Authority {
        pem: root.pem.clone(),
        issuer: Issuer::new(params, key),
    };
    let signed = authority.sign("localhost", |_| {});
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider);
    let builder = builder.with_protocol_versions(BOTH).unwrap();
    let key = PrivateKeyDer::try_from(signed.key.serialize_der()).unwrap();
    let chain = vec![signed.der.clone(), between.der().clone()];
    let config = builder.with_no_client_auth().with_single_cert(chain, key);
    let met = Meeting::with(config.unwrap()).met(&root.trust());
    let words = "an issuer's certificate in its chain expired 2";
    fails(&met, Violation::Certificate, words);
}

#[test]
fn settings_that_cannot_be_are_refused_by_their_names() {
    let refused = |settings| Security::new(&settings).unwrap_err();
    let authority = Authority::new();
    let trust = |pem: &[u8]| Settings {
        trust: Trust::Issuers(pem.to_vec()),
        ..authority.trust()
    };
    assert!(refused(trust(b"")).starts_with("--cacert holds no certificate"));
    let broken = b"-----BEGIN CERTIFICATE-----\nx";
    assert!(refused(trust(broken)).starts_with("--cacert is no file"));
    let ours = authority.sign("client", |_| {});
    let other = KeyPair::generate().unwrap();
    let identity = |cert: &str, key: &str| Settings {
        identity: Some((cert.as_bytes().to_vec(), Some(key.as_bytes().to_vec()))),
        ..authority.trust()
    };
    let no_key = refused(identity(&ours.pem, &ours.pem));
    assert!(no_key.starts_with("--key holds no private key"), "{no_key}");
    let foreign = refused(identity(&ours.pem, &other.serialize_pem()));
    assert!(
        foreign.starts_with("--cert and --key do not belong together"),
        "{foreign}"
    );
}

#[test]
fn a_server_that_met_an_error_in_the_middle_of_a_record_can_still_be_asked_to_close() {
    use wire::Filter;
    use wire::tls::{Credentials, Server, Tls};
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["h".to_owned()]).unwrap();
    let cert = params.self_signed(&key).unwrap();
    let shown = Credentials::new(cert.pem().as_bytes(), key.serialize_pem().as_bytes());
    let shown = Arc::new(shown.unwrap());
    // Half a record first; then what makes it none.
    for length in 1..6 {
        let mut server: Tls<Server> = Tls::new(&shown.of_thread());
        let mut out = Vec::new();
        server.begin(&mut out).unwrap();
        let mut read = |_: &mut [u8]| panic!("nothing was sealed");
        let mut half = [22, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3][..length].to_vec();
        server.receive(&mut half, &mut out, &mut read).unwrap();
        let mut rest = [0xff; 300];
        assert!(server.receive(&mut rest, &mut out, &mut read).is_err());
        assert!(server.receive(&mut rest, &mut out, &mut read).is_err());
        assert!(server.seal(b"hello", &mut out).is_err());
        let before = out.len();
        server.close(&mut out);
        assert_eq!(out.len(), before);
        assert!(server.end().is_err());
    }
}
