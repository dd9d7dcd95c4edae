//! https: what it takes, what its record answers, and what becomes of servers that do it badly.

use crate::bench::{Bench, Record, Said};
use crate::scripted::{OK, Scripted};
use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

type Stream = StreamOwned<ServerConnection, TcpStream>;

/// What becomes of one connection.
enum Act {
    /// It is served as it should be.
    Serve,
    /// The same, with another certificate.
    ServeAs(Arc<ServerConfig>),
    /// Nothing is said to the client's first message.
    Stall,
    /// It is closed after the client's first message.
    Close,
    /// The handshake is refused with an alert.
    Alert,
    /// The client is answered without encryption.
    Plain,
    /// Every byte is sent by itself.
    Bytewise,
    /// The response ends with the connection, without a word that it does.
    CutOff,
    /// The first request is answered by a record that was not encrypted by anyone.
    Garbage,
    /// The first request is answered by a broken record with an alert's look.
    Half,
}

/// A server on a free port of 127.0.0.1, a thread a connection.
struct Encrypted {
    address: SocketAddr,
    /// Its certificate.
    pem: String,
    requests: Arc<AtomicU64>,
}

/// A certificate for 127.0.0.1 by itself, and a server that has it.
fn identity() -> (String, Arc<ServerConfig>) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let cert = params.self_signed(&key).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
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
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (pem, config) = identity();
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
    mut stream: TcpStream,
    config: Arc<ServerConfig>,
    requests: &AtomicU64,
) -> std::io::Result<()> {
    let mut hello = [0; 4096];
    match act {
        Act::Stall => {
            while stream.read(&mut hello)? > 0 {}
            return Ok(());
        }
        Act::Close => return stream.read(&mut hello).map(drop),
        Act::Alert => {
            let _ = stream.read(&mut hello)?;
            return stream.write_all(&[21, 3, 3, 0, 2, 2, 40]);
        }
        Act::Plain => {
            let _ = stream.read(&mut hello)?;
            return stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        }
        _ => {}
    }
    let config = match &act {
        Act::ServeAs(other) => other.clone(),
        _ => config,
    };
    let connection = ServerConnection::new(config).unwrap();
    if matches!(act, Act::Bytewise) {
        return bytewise(connection, stream, requests);
    }
    let mut stream = StreamOwned::new(connection, stream);
    while next_request(&mut stream)? {
        requests.fetch_add(1, Ordering::SeqCst);
        match act {
            Act::CutOff => {
                stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello")?;
                stream.flush()?;
                return stream.sock.shutdown(std::net::Shutdown::Write);
            }
            Act::Garbage => {
                stream.sock.write_all(&[23, 3, 3, 0, 32])?;
                return stream.sock.write_all(&[7; 32]);
            }
            Act::Half => return stream.sock.write_all(&[99, 9, 9, 255, 255, 1]),
            _ => stream.write_all(OK)?,
        }
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

/// A measurement whose first connection is served as it should be, and the others as `act` says.
fn measure(flags: &str, act: impl Fn(u64) -> Act + Send + Sync + 'static) -> (Said, Record, u64) {
    let server = Encrypted::start(move |number| match number {
        0 => Act::Serve,
        number => act(number),
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
    let (said, record, requests) = measure(flags, |_| Act::Serve);
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
    bench.file("other.pem", identity().0);
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
    run(&url, "--insecure --cert ca.pem").refused(&["--key holds no private key"]);
}

/// Counts faults of a kind in the handshake, all of them the server's.
fn in_handshake(record: &Record, kind: &str) -> u64 {
    let faults = record.rounds().iter().flat_map(|round| {
        let faults = round["tally"]["faults"].as_array().cloned();
        faults.unwrap_or_default()
    });
    let of_kind = faults.filter(|fault| {
        fault["kind"] == kind && fault["step"] == "handshake" && fault["blame"] == "server"
    });
    of_kind.map(|fault| fault["count"].as_u64().unwrap()).sum()
}

/// Every fifth connection of a load without keep-alive fails so.
fn fails(kind: &str, act: fn() -> Act) {
    let flags = "-n 50 -c 2 --rounds 1 --no-keepalive --connect lazy --tls-resume off \
                 --connect-timeout 2s --max-errors 50%";
    let (said, record, requests) = measure(flags, move |number| match number % 5 {
        0 => act(),
        _ => Act::Serve,
    });
    said.ended(0);
    let bad = in_handshake(&record, kind);
    assert_eq!(bad, 10, "{kind}: {}", said.out);
    assert_eq!(record.count("/summary/errors/total"), 10, "{kind}");
    assert_eq!(requests, 41, "{kind}");
}

#[test]
fn handshakes_that_fail_during_the_load_are_counted_with_their_step() {
    fails("alert", || Act::Alert);
    fails("closed_in_handshake", || Act::Close);
    fails("no_handshake", || Act::Plain);
    fails("handshake_timeout", || Act::Stall);
    fails("certificate", || Act::ServeAs(identity().1));
}

#[test]
fn records_of_single_bytes_are_read_as_whole_ones() {
    let flags = "-n 40 -c 2 --rounds 1";
    let (said, record, requests) = measure(flags, |_| Act::Bytewise);
    said.ended(0);
    assert_eq!((record.count("/summary/ok"), requests), (40, 41));
}

#[test]
fn what_breaks_after_the_handshake_is_counted_by_what_it_was() {
    let faults = |act: fn() -> Act, kind: &str| {
        let flags = "-n 12 -c 2 --rounds 1 --timeout 5s --max-errors 100%";
        let (said, record, requests) = measure(flags, move |_| act());
        let faults = &record.rounds()[0]["tally"]["faults"];
        let counts = faults.as_array().unwrap().iter();
        let found = counts.map(|fault| (fault["kind"].as_str(), fault["count"].as_u64()));
        let found: Vec<_> = found.collect();
        assert_eq!(found, [(Some(kind), Some(12))], "{}", said.out);
        assert_eq!(requests, 13, "{kind}");
    };
    faults(|| Act::CutOff, "cut_off");
    faults(|| Act::Garbage, "bad_record");
    faults(|| Act::Half, "bad_record");
}

#[test]
fn servers_are_compared_over_https() {
    let [a, b] = [
        Encrypted::start(|_| Act::Serve),
        Encrypted::start(|_| Act::Serve),
    ];
    let bench = Bench::new();
    let line = format!(
        "compare {} {} --insecure --server none --time 4s -o c.json",
        a.url(),
        b.url()
    );
    let said = bench.say(&line);
    assert!(matches!(said.status, Some(0 | 3)), "{said:#?}");
    let record = bench.record("c.json");
    let conditions = &record.0["servers"][0]["conditions"];
    let protocol = conditions["protocol"].as_str().unwrap();
    assert!(
        protocol.starts_with("HTTP/1.1 over TLSv1.3 TLS_AES_"),
        "{protocol}"
    );
}
