//! https: which certificate is shown, to whom, and what becomes of clients that do it badly.

use super::*;
use crate::bench::Reference;
use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{
    ClientConfig, ClientConnection, HandshakeKind, RootCertStore, StreamOwned,
    SupportedProtocolVersion, version,
};
use std::sync::Arc;

type Stream = StreamOwned<ClientConnection, TcpStream>;

const FILES: &str = "--tls-cert cert.pem --tls-key key.pem -w 1";

/// A certificate in the bench's folder, and its key.
fn certificate(bench: &Bench) -> CertificateDer<'static> {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let certificate = params.self_signed(&key).unwrap();
    bench.file("cert.pem", certificate.pem());
    bench.file("key.pem", key.serialize_pem());
    certificate.der().clone()
}

/// A client that trusts this certificate, and speaks this version.
fn trusting(
    certificate: &CertificateDer<'static>,
    version: &'static SupportedProtocolVersion,
) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder.with_protocol_versions(&[version]).unwrap();
    Arc::new(builder.with_root_certificates(roots).with_no_client_auth())
}

fn opened(server: &Serving, config: &Arc<ClientConfig>) -> Stream {
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let client = ClientConnection::new(config.clone(), name).unwrap();
    StreamOwned::new(client, server.connect())
}

/// Asks, and reads to the end; the end must be one that the server has said.
fn asked(stream: &mut Stream, says: &str) -> String {
    stream.write_all(says.as_bytes()).unwrap();
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    String::from_utf8_lossy(&all).into_owned()
}

const LAST: &str = "GET /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

#[test]
fn files_and_resources_come_whole_over_both_versions_and_sessions_are_resumed() {
    let bench = site();
    let certificate = certificate(&bench);
    let server = Serving::start(&bench, &format!("site {FILES}"));
    for version in [&version::TLS12, &version::TLS13] {
        let client = trusting(&certificate, version);
        for kind in [HandshakeKind::Full, HandshakeKind::Resumed] {
            let mut stream = opened(&server, &client);
            let says = "GET /large.bin HTTP/1.1\r\nHost: a\r\n\r\n";
            stream.write_all(says.repeat(2).as_bytes()).unwrap();
            for _ in 0..2 {
                assert!(one_answer(&mut stream) == large());
            }
            let answer = asked(&mut stream, LAST);
            assert!(
                answer.ends_with("\r\n\r\nnot the built-in one\n"),
                "{answer}"
            );
            assert_eq!(stream.conn.handshake_kind(), Some(kind));
            assert_eq!(stream.conn.alpn_protocol(), None);
        }
    }
    assert_eq!(server.stop().requests(), 12);
}

#[test]
fn a_request_with_the_clients_last_word_behind_it_gets_all_of_its_response() {
    let bench = site();
    let certificate = certificate(&bench);
    let server = Serving::start(&bench, &format!("site {FILES}"));
    let mut stream = opened(&server, &trusting(&certificate, &version::TLS13));
    let says = "GET /large.bin HTTP/1.0\r\n\r\n";
    stream.conn.writer().write_all(says.as_bytes()).unwrap();
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock).unwrap();
    }
    stream.conn.send_close_notify();
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    assert!(all.ends_with(&large()), "{}", all.len());
}

/// The certificate that is shown.
fn shown(server: &Serving, client: &Arc<ClientConfig>) -> Result<(), std::io::Error> {
    let mut stream = opened(server, client);
    stream.write_all(LAST.as_bytes())?;
    stream.read_to_end(&mut Vec::new()).map(drop)
}

#[test]
fn sighup_has_the_certificate_read_again_and_a_broken_one_is_not_taken() {
    let bench = site();
    let first = trusting(&certificate(&bench), &version::TLS13);
    let mut child = bench.weigh(&Serving::words(FILES)).spawn().unwrap();
    let mut err = BufReader::new(child.stderr.take().unwrap());
    let server = Serving::of(child);
    shown(&server, &first).unwrap();
    let second = trusting(&certificate(&bench), &version::TLS13);
    let mut old = opened(&server, &first);
    old.write_all(b"GET /hello HTTP/1.1\r\nHost: a\r\n\r\n")
        .unwrap();
    assert_eq!(one_answer(&mut old), b"Hello, world!\n");
    signal("HUP", server.id());
    wait_until("the new certificate is shown", || {
        shown(&server, &second).is_ok()
    });
    shown(&server, &first).unwrap_err();
    // A connection of before goes on.
    assert!(asked(&mut old, LAST).ends_with("\r\n\r\nHello, world!\n"));
    bench.file("cert.pem", "nothing");
    signal("HUP", server.id());
    let mut said = String::new();
    while !said.contains("--tls-cert") {
        said.clear();
        assert!(err.read_line(&mut said).unwrap() > 0);
    }
    let wanted = "--tls-cert holds no certificate; it must be in PEM (-----BEGIN CERTIFICATE-----); the certificate of before is shown on";
    assert!(said.contains(wanted), "{said}");
    shown(&server, &second).unwrap();
}

#[test]
fn wrong_certificates_are_refused_by_option() {
    let bench = site();
    certificate(&bench);
    let key = KeyPair::generate().unwrap();
    bench.file("other.pem", key.serialize_pem());
    bench.file("empty.pem", "");
    let cases: &[(&str, &[&str])] = &[
        (
            "--tls-cert none.pem --tls-key key.pem",
            &["--tls-cert none.pem cannot be read", "No such file"],
        ),
        (
            "--tls-cert empty.pem --tls-key key.pem",
            &["--tls-cert holds no certificate"],
        ),
        (
            "--tls-cert cert.pem --tls-key cert.pem",
            &["--tls-key holds no private key"],
        ),
        (
            "--tls-cert cert.pem --tls-key other.pem",
            &["--tls-cert and --tls-key do not belong together"],
        ),
        ("--tls-cert cert.pem", &["--tls-key"]),
        ("--tls-key key.pem", &["--tls-cert"]),
        (
            "--tls self-signed --tls-cert cert.pem --tls-key key.pem",
            &["--tls", "--tls-cert"],
        ),
        ("--tls something", &["something", "self-signed"]),
        (
            "--truth --tls-cert cert.pem --tls-key other.pem",
            &["--tls-cert and --tls-key do not belong together"],
        ),
    ];
    for (line, words) in cases {
        let said = bench.say(&format!("serve --listen 127.0.0.1:0 {line}"));
        said.refused(words);
    }
}

#[test]
fn strangers_are_cut_off_and_others_served_on() {
    let bench = site();
    let certificate = certificate(&bench);
    let limit = "--first-request-timeout 500ms --head-timeout 500ms";
    let server = Serving::start(&bench, &format!("{FILES} {limit}"));
    let client = trusting(&certificate, &version::TLS13);
    // Without TLS, and with half a handshake.
    let hello = {
        let mut hello = Vec::new();
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let mut client = ClientConnection::new(client.clone(), name).unwrap();
        client.write_tls(&mut hello).unwrap();
        hello
    };
    let mut turned = hello.clone();
    turned[40] ^= 1;
    turned[9] ^= 0xff;
    let half = &hello[..hello.len() / 2];
    let cases: [&[u8]; 6] = [
        b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        half,
        &hello,
        &turned,
        &[22, 3, 1, 0x40, 0, 1, 0xff, 0xff, 0xff],
        b"",
    ];
    for says in cases {
        let mut stream = server.connect();
        stream.write_all(says).unwrap();
        let mut all = Vec::new();
        let _ = stream.read_to_end(&mut all); // it may be reset
        assert!(!all.starts_with(b"HTTP"), "{says:?}");
    }
    // Byte by byte, and a request that does not end.
    let mut stream = opened(&server, &client);
    stream.write_all(b"GET /hello HTTP/1.1\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    let mut stream = server.connect();
    stream.set_nodelay(true).unwrap();
    for byte in &hello {
        stream.write_all(&[*byte]).unwrap();
    }
    let mut first = [0];
    stream.read_exact(&mut first).unwrap();
    assert_eq!(first, [22], "the server's handshake");
    shown(&server, &client).unwrap();
    let counted = server.stop();
    assert!(counted.of("cut_first_request") >= 3, "{counted:?}");
}

#[test]
fn a_client_that_does_not_accept_the_certificate_is_counted_as_a_failed_handshake() {
    let bench = site();
    let replaced = trusting(&certificate(&bench), &version::TLS13);
    let shows = trusting(&certificate(&bench), &version::TLS13);
    let server = Serving::start(&bench, FILES);
    shown(&server, &shows).unwrap();
    assert!(shown(&server, &replaced).is_err());
    let counted = server.stop();
    assert_eq!(counted.of("connections"), 2, "{counted:?}");
    assert_eq!(counted.of("handshakes_failed"), 1, "{counted:?}");
}

#[test]
fn weigh_counts_over_https_what_its_server_counts() {
    let bench = site();
    for how in [
        &["--tls", "self-signed"][..],
        &["--tls", "self-signed", "--truth"],
    ] {
        let server = Reference::with(&bench, &["127.0.0.1:0"], how);
        let line = "--insecure -c 4 -n 2000 --rounds 1";
        let (_, record) = bench.run(&format!("https://{}/hello {line}", server.at()));
        // One more is the probe's.
        assert_eq!(server.stop().requests(), 2001, "{how:?}");
        assert_eq!(record.count("/summary/ok"), 2000, "{how:?}");
    }
}
