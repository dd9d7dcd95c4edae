//! https: what it takes, what its record answers, and what becomes of servers that ask for more.

use crate::bench::{Bench, Record, Said};
use crate::scripted::{OK, Scripted};
use crate::sealing::{self, HANDSHAKE_FAILURE, HELLO_REQUEST};
use rcgen::{CertificateParams, KeyPair};
use rustls::crypto::CryptoProvider;
use rustls::crypto::ring::{cipher_suite, default_provider};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const WEIGH: &str = env!("CARGO_BIN_EXE_weigh");

type Stream = StreamOwned<ServerConnection, TcpStream>;

/// What becomes of one connection.
enum Act {
    /// It is served as it should be.
    Serve,
    /// Every byte is sent by itself.
    Bytewise,
    /// Before each response renegotiation is requested, so many times.
    Renegotiate(usize),
    /// Instead of a response renegotiation is requested, and then the handshake is refused, as by a server that insists on it.
    Insist,
    /// The response is one to a client without a certificate, in nginx's words.
    WantCertificate,
}

/// nginx's response to a client without a certificate.
const NO_CERTIFICATE: &[u8] =
    b"HTTP/1.1 400 Bad Request\r\nContent-Length: 37\r\n\r\nNo required SSL certificate was sent\r\n";

/// A server on a free port of 127.0.0.1, a thread a connection.
struct Encrypted {
    address: SocketAddr,
    /// Its certificate.
    pem: String,
    requests: Arc<AtomicU64>,
}

/// A certificate for 127.0.0.1 by itself, and a server that has it and speaks by these ciphers.
fn identity(provider: Arc<CryptoProvider>) -> (String, Arc<ServerConfig>) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let cert = params.self_signed(&key).unwrap();
    let builder = ServerConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = builder.with_no_client_auth();
    let config = config.with_single_cert(vec![cert.der().clone()], key);
    (cert.pem(), Arc::new(config.unwrap()))
}

impl Encrypted {
    /// Connection by connection as `act` says; the first is the probe's.
    fn start(act: impl Fn(u64) -> Act + Send + Sync + 'static) -> Encrypted {
        Encrypted::start_with(Arc::new(default_provider()), act)
    }

    /// The same by these ciphers.
    fn start_with(
        provider: Arc<CryptoProvider>,
        act: impl Fn(u64) -> Act + Send + Sync + 'static,
    ) -> Encrypted {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (pem, config) = identity(provider);
        let requests = Arc::new(AtomicU64::new(0));
        let (counted, act) = (requests.clone(), Arc::new(act));
        std::thread::spawn(move || {
            for number in 0.. {
                let Ok((stream, _)) = listener.accept() else {
                    return;
                };
                stream.set_nodelay(true).unwrap();
                let (config, counted, act) = (config.clone(), counted.clone(), act.clone());
                std::thread::spawn(move || {
                    // A client that leaves is no fault of the server's.
                    let _ = play(act(number), stream, config, &counted);
                });
            }
        });
        Encrypted {
            address,
            pem,
            requests,
        }
    }

    fn url(&self) -> String {
        format!("https://{}/", self.address)
    }
}

fn play(
    act: Act,
    stream: TcpStream,
    config: Arc<ServerConfig>,
    requests: &AtomicU64,
) -> std::io::Result<()> {
    let connection = ServerConnection::new(config).unwrap();
    if matches!(act, Act::Bytewise) {
        return bytewise(connection, stream, requests);
    }
    let mut stream = StreamOwned::new(connection, stream);
    while next_request(&mut stream)? {
        requests.fetch_add(1, Ordering::SeqCst);
        match act {
            Act::Insist => {
                stream.write_all(HELLO_REQUEST)?;
                stream.write_all(HANDSHAKE_FAILURE)?;
                return stream.sock.shutdown(Shutdown::Write);
            }
            Act::Renegotiate(times) => {
                for _ in 0..times {
                    stream.write_all(HELLO_REQUEST)?;
                }
            }
            Act::WantCertificate => {
                stream.write_all(NO_CERTIFICATE)?;
                continue;
            }
            Act::Serve | Act::Bytewise => {}
        }
        stream.write_all(OK)?;
    }
    Ok(())
}

/// Reads a request; false at the end.
fn next_request(stream: &mut Stream) -> std::io::Result<bool> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte)? == 0 {
            return Ok(false);
        }
        head.push(byte[0]);
    }
    Ok(true)
}

fn bytewise(
    mut connection: ServerConnection,
    mut stream: TcpStream,
    requests: &AtomicU64,
) -> std::io::Result<()> {
    let mut head = Vec::new();
    loop {
        let mut out = Vec::new();
        while connection.wants_write() {
            connection.write_tls(&mut out)?;
        }
        for byte in out {
            stream.write_all(&[byte])?;
        }
        if connection.read_tls(&mut stream)? == 0 {
            return Ok(());
        }
        connection
            .process_new_packets()
            .map_err(std::io::Error::other)?;
        let mut bytes = [0; 4096];
        while let Ok(length @ 1..) = connection.reader().read(&mut bytes) {
            head.extend_from_slice(&bytes[..length]);
        }
        while head.ends_with(b"\r\n\r\n") {
            head.clear();
            requests.fetch_add(1, Ordering::SeqCst);
            connection.writer().write_all(OK)?;
        }
    }
}

/// A measurement of a server by these ciphers whose first connection is served as it should be, and the others as `act` says.
fn measure(provider: CryptoProvider, flags: &str, act: fn() -> Act) -> (Said, Record, u64) {
    let server = Encrypted::start_with(Arc::new(provider), move |number| match number {
        0 => Act::Serve,
        _ => act(),
    });
    let bench = Bench::new();
    bench.file("ca.pem", &server.pem);
    let url = server.url();
    let (said, record) = bench.run(&format!("{url} --cacert ca.pem --server none {flags}"));
    record.assert_conserved();
    let requests = server.requests.load(Ordering::SeqCst);
    (said, record, requests)
}

#[test]
fn a_record_answers_which_version_which_cipher_how_many_handshakes_and_how_many_resumed() {
    let flags = "-n 40 -c 2 --rounds 2 --no-keepalive";
    let (said, record, requests) = measure(default_provider(), flags, || Act::Serve);
    said.ended(0);
    assert_eq!(requests, 81, "with the probe's");
    assert_eq!(record.0["plan"]["security"]["name"], "127.0.0.1");
    assert_eq!(record.0["probe"]["encryption"]["version"], "TLSv1.3");
    for round in record.rounds() {
        let handshakes = &round["tally"]["connects"]["handshakes"];
        let agreed = &handshakes["agreed"][0];
        assert_eq!(agreed["version"], "TLSv1.3");
        assert_eq!(agreed["key_exchange"], "X25519");
        assert_eq!(agreed["count"], 40);
    }
    for words in ["handshakes", "resumed, p50", "TLSv1.3 TLS_AES_", "X25519"] {
        assert!(
            said.out.contains(words),
            "`{words}` is missing: {}",
            said.out
        );
    }
}

#[test]
fn figures_of_handshakes_can_be_had_by_name() {
    let server = Encrypted::start(|_| Act::Serve);
    let bench = Bench::new();
    let url = server.url();
    let line = "--insecure -n 40 -c 2 --rounds 1 --no-keepalive --tls-resume off --server none";
    let (said, record) = bench.run(&format!("{url} {line}"));
    said.ended(0);
    let brief = bench.say("report run.json").out;
    for out in [&said.out, &brief] {
        assert!(
            out.contains("certificate not checked (--insecure)"),
            "{out}"
        );
    }
    assert!(brief.contains("HTTP/1.1, TLSv1.3, 200"), "{brief}");
    assert_eq!(record.0["plan"]["security"]["insecure"], true);
    let get = |name: &str| {
        let said = bench.say(&format!("report run.json --get {name}"));
        said.ended(0).out.trim().parse::<f64>().unwrap()
    };
    assert_eq!(
        (get("handshakes.full"), get("handshakes.resumed")),
        (40.0, 0.0)
    );
    assert!(get("handshake_us.p50") > 0.0);
}

#[test]
fn a_server_that_cannot_be_asked_is_one_sentence() {
    let server = Encrypted::start(|_| Act::Serve);
    let bench = Bench::new();
    let run = |url: &str, flags: &str| bench.say(&format!("run -n 10 {url} {flags}"));
    let (url, port) = (server.url(), server.address.port());
    bench.file("other.pem", identity(Arc::new(default_provider())).0);
    run(&url, "--cacert other.pem").refused(&["cannot be asked", "unknown issuer"]);
    bench.file("ca.pem", &server.pem);
    let name = format!("https://localhost:{port}/ --cacert ca.pem");
    run(&name, "").refused(&["for 127.0.0.1, not for localhost", "--resolve"]);
    let plain = Scripted::start(|line| {
        line.say("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n".as_bytes());
    });
    let at = format!("https://{}", plain.at().trim_start_matches("http://"));
    run(&at, "--insecure").refused(&["does not speak TLS; try http://"]);
    let encrypted = url.replace("https://", "http://");
    run(&encrypted, "").refused(&["https://"]);
    run(&url, "--cacert absent.pem").refused(&["absent.pem", "cannot be read"]);
    run(&url, "--insecure --cert ca.pem").refused(&["--cert holds no private key", "--key"]);
}

#[test]
fn what_is_wrong_after_the_handshake_is_not_called_a_failed_handshake() {
    for (act, words) in [
        ((|_| Act::Insist) as fn(u64) -> Act, "after the handshake"),
        (|_| Act::Renegotiate(2), "after the handshake"),
        (|_| Act::WantCertificate, "give one with --cert and --key"),
    ] {
        let server = Encrypted::start_with(Arc::new(sealing::provider()), act);
        let said = Bench::new().say(&format!("run -n 1 {} --insecure", server.url()));
        said.refused(&[words]);
        assert!(!said.err.contains("handshake failed"), "{said:#?}");
    }
}

#[test]
fn a_handshake_and_records_that_come_byte_by_byte_are_read() {
    let flags = "-n 40 -c 2 --rounds 1";
    let (said, record, requests) = measure(default_provider(), flags, || Act::Bytewise);
    said.ended(0);
    assert_eq!((record.count("/summary/ok"), requests), (40, 41));
}

#[test]
fn renegotiation_is_refused_and_a_server_that_can_do_without_is_measured() {
    let flags = "-n 40 -c 2 --rounds 1 --no-keepalive";
    let (said, record, requests) = measure(sealing::provider(), flags, || Act::Renegotiate(1));
    said.ended(0);
    assert_eq!((record.count("/summary/ok"), requests), (40, 41));
    let handshakes = &record.rounds()[0]["tally"]["connects"]["handshakes"];
    let mut agreed = handshakes["agreed"].as_array().unwrap().iter();
    assert!(
        agreed.all(|agreed| agreed["version"] == "TLSv1.2"),
        "{handshakes}"
    );
}

#[test]
fn a_server_that_insists_on_renegotiation_is_the_cause_of_every_error() {
    let faults = |act: fn() -> Act, kind: &str| {
        let flags = "-n 12 -c 2 --rounds 1 --timeout 5s --max-errors 100%";
        let (said, record, requests) = measure(sealing::provider(), flags, act);
        let fault = serde_json::json!({
            "kind": kind, "step": "head", "blame": "server", "count": 12
        });
        assert_eq!(
            record.rounds()[0]["tally"]["faults"],
            serde_json::json!([fault]),
            "{}",
            said.out
        );
        assert_eq!(requests, 13, "{kind}");
    };
    faults(|| Act::Insist, "alert");
    // A second request for it on one connection ends that: it could go on so for ever.
    faults(|| Act::Renegotiate(2), "bad_record");
}

#[test]
fn servers_are_compared_over_https_beside_the_reference_server() {
    let server = |name: &str| {
        let serves = "serve --tls self-signed --listen 127.0.0.1:{port}";
        format!("{name}=exec {WEIGH} {serves}")
    };
    let bench = Bench::new();
    let words = "--https --insecure --path /bytes/5 --time 4s -c 2 -v -o c.json";
    let (a, b) = (server("a"), server("b"));
    let mut line = vec!["compare", &a, &b];
    line.extend(words.split(' '));
    let said = bench.say_words(&line);
    assert!(matches!(said.status, Some(0 | 3)), "{said:#?}");
    let record = bench.record("c.json");
    for start in record.0["starts"].as_array().unwrap() {
        let servers = start["servers"].as_array().unwrap().iter();
        for server in servers {
            let agreed = server["handshakes"]["agreed"].as_array().unwrap();
            let counts = agreed.iter().map(|it| it["count"].as_u64().unwrap());
            assert_eq!(counts.sum::<u64>(), 2, "as many as connections: {server}");
        }
    }
    let shown = said.out.split("handshakes").nth(1).unwrap_or_default();
    assert!(shown.contains(" full"), "{said:#?}");
    assert!(
        said.out.contains("reference    weigh serve: CPU"),
        "{said:#?}"
    );
}

#[test]
fn what_servers_agree_on_over_https_is_a_condition() {
    let of_one_cipher = CryptoProvider {
        cipher_suites: vec![cipher_suite::TLS13_CHACHA20_POLY1305_SHA256],
        ..default_provider()
    };
    let a = Encrypted::start(|_| Act::Serve);
    let b = Encrypted::start_with(Arc::new(of_one_cipher), |_| Act::Serve);
    let line = format!(
        "compare {} {} --insecure --server none --time 1s",
        a.url(),
        b.url()
    );
    let said = Bench::new().say(&line);
    assert_eq!(said.status, Some(2), "{said:#?}");
    let wanted = "HTTP/1.1 over TLSv1.3 TLS_CHACHA20_POLY1305_SHA256 X25519 P-256";
    assert!(said.err.contains(wanted), "{said:#?}");
    assert!(said.err.contains("--unequal"), "{said:#?}");
}
