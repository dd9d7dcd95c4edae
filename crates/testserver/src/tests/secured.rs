//! What is beneath TLS: handshakes byte for byte, records as a client of TLS sees them, and the log compared with both.

use crate::misbehaviour::{Misbehaviour as M, *};
use crate::{Certificate, Config, MisbehavingServer, TruthServer};
use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{
    AlertDescription, CertificateError, ClientConfig, ClientConnection, Error, InvalidMessage,
    RootCertStore, StreamOwned,
};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Duration;

const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const LAST: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
const RIGHT: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 14\r\n\
    Connection: keep-alive\r\n\r\nHello, world!\n";
/// As long as nothing should come.
const QUIET: Duration = Duration::from_millis(30);
/// The same where something is done by the server before.
const SILENCE: Duration = Duration::from_millis(500);
/// As long as something may take that comes.
const SOON: Duration = Duration::from_secs(20);

/// A server that does this to one connection or request, and a client's trust in its certificate.
fn start(misbehaviour: M, only: u64) -> (MisbehavingServer, Arc<ClientConfig>) {
    let home = tempfile::tempdir().unwrap();
    let [chain, key] = ["cert.pem", "key.pem"].map(|name| home.path().join(name));
    let certificate = certificate(&chain, &key);
    let certificate_files = Certificate::Files { chain, key };
    let script = Script::of(misbehaviour, When::Only(only));
    let at = "127.0.0.1:0".parse().unwrap();
    let server = MisbehavingServer::start_secured(&at, script, certificate_files).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(certificate).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    let config = builder.with_root_certificates(roots).with_no_client_auth();
    (server, Arc::new(config))
}

/// A certificate for 127.0.0.1, written down with its key.
fn certificate(chain: &std::path::Path, key: &std::path::Path) -> CertificateDer<'static> {
    let pair = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let certificate = params.self_signed(&pair).unwrap();
    std::fs::write(chain, certificate.pem()).unwrap();
    std::fs::write(key, pair.serialize_pem()).unwrap();
    certificate.der().clone()
}

fn connect(server: &MisbehavingServer) -> TcpStream {
    let stream = TcpStream::connect(server.address().to_string()).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream
}

/// Says this over TLS: all that comes as text, and how it ends.
fn asked(
    stream: TcpStream,
    config: &Arc<ClientConfig>,
    request: &[u8],
) -> (String, io::Result<usize>) {
    asked_for(stream, config, request, SOON)
}

/// The same, waiting for more of the response for at most `patience`.
fn asked_for(
    stream: TcpStream,
    config: &Arc<ClientConfig>,
    request: &[u8],
    patience: Duration,
) -> (String, io::Result<usize>) {
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let client = ClientConnection::new(Arc::clone(config), name).unwrap();
    let mut stream = StreamOwned::new(client, stream);
    let mut bytes = Vec::new();
    let end = stream
        .write_all(request)
        .and_then(|()| stream.sock.set_read_timeout(Some(patience)))
        .and_then(|()| stream.read_to_end(&mut bytes));
    (String::from_utf8(bytes).unwrap(), end)
}

/// What of TLS the client's library found wrong.
#[track_caller]
fn wrong(end: io::Result<usize>) -> Error {
    let error = end.expect_err("an end of TLS");
    let wrong = error.get_ref().and_then(|inner| inner.downcast_ref());
    wrong.cloned().unwrap_or_else(|| panic!("{error}"))
}

/// What follows the bytes of a handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    Closed,
    Reset,
    /// Nothing, until the client ends its side.
    Silent,
}

#[test]
fn each_handshake_is_seen_byte_for_byte_and_counted_once() {
    use Then::*;
    let alert: &[u8] = &[21, 3, 3, 0, 2, 2, 40];
    let hello = [
        &[22, 3, 3, 0, 42, 2, 0, 0, 38, 3, 3][..],
        b"thirty-two bytes, hardly random.",
        &[0, 0xc0, 0x2f, 0],
    ]
    .concat();
    let plain = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let cases: &[(M, &[u8], Then)] = &[
        (M::HandshakeSilence, b"", Silent),
        (M::HandshakeClose, b"", Closed),
        (M::HandshakeReset, b"", Reset),
        (M::HandshakeAlert, alert, Closed),
        (M::HandshakePlain, plain, Closed),
        (M::HandshakeGarbage, b"\x16\x03\x03\0\x08meaning?", Silent),
        (
            M::HandshakeTooLong,
            &[&[22, 3, 3, 255, 255][..], &FILL].concat(),
            Silent,
        ),
        (M::SilenceInHandshake, &hello[..20], Silent),
        (M::CloseInHandshake, &hello[..20], Closed),
        (M::ResetInHandshake, &hello[..20], Reset),
        (M::AlertInHandshake, &[&hello, alert].concat(), Closed),
    ];
    for (misbehaviour, wanted, then) in cases {
        let (server, config) = start(*misbehaviour, 1);
        let mut client = connect(&server);
        client.write_all(b"anything").unwrap();
        let mut bytes = vec![0; wanted.len()];
        client.read_exact(&mut bytes).unwrap();
        assert!(bytes == *wanted, "{misbehaviour:?}");
        let mut next = || client.read(&mut [0; 16]);
        match then {
            Closed => assert_eq!(next().unwrap(), 0),
            Reset => assert_eq!(next().unwrap_err().kind(), ErrorKind::ConnectionReset),
            Silent => {
                client.set_read_timeout(Some(QUIET)).unwrap();
                let quiet = client.read(&mut [0; 16]).unwrap_err();
                assert_eq!(quiet.kind(), ErrorKind::WouldBlock, "{misbehaviour:?}");
                client.set_read_timeout(Some(SOON)).unwrap();
                client.shutdown(Shutdown::Write).unwrap();
                assert_eq!(client.read(&mut [0; 16]).unwrap(), 0);
            }
        }
        // The next connection is served as it should be.
        let (served, end) = asked(connect(&server), &config, LAST);
        assert_eq!(served.len(), end.unwrap());
        assert!(served.ends_with("\r\n\r\nHello, world!\n"), "{served}");
        let log = server.stop();
        assert_eq!((log.count(*misbehaviour), log.misbehaved()), (1, 1));
        let counts = [log.connections, log.requests, log.answered, log.refused];
        assert_eq!(counts, [2, 1, 1, 0], "{misbehaviour:?}");
        assert_eq!(log.bytes_received, LAST.len() as u64, "{misbehaviour:?}");
    }
}

#[test]
fn each_end_of_records_is_what_the_table_says_and_counted_once() {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n";
    let until_close = format!("{head}\r\nHello, world!\n");
    let half = format!("{head}Content-Length: 14\r\n\r\nHello, ");
    let come = |misbehaviour: M| {
        let (server, config) = start(misbehaviour, 1);
        let (text, end) = asked(connect(&server), &config, GET);
        let log = server.stop();
        assert_eq!((log.count(misbehaviour), log.misbehaved()), (1, 1));
        let counts = [log.connections, log.requests, log.answered, log.refused];
        assert_eq!(counts, [1, 1, 0, 0], "{misbehaviour:?}");
        assert_eq!(log.bytes_received, GET.len() as u64, "{misbehaviour:?}");
        (text, end)
    };
    // With and without a word that nothing more comes.
    for (misbehaviour, wanted) in [(M::CloseKept, RIGHT), (M::UntilClose, &*until_close)] {
        let (text, end) = come(misbehaviour);
        assert_eq!((&*text, end.unwrap()), (wanted, wanted.len()));
    }
    for (misbehaviour, wanted) in [
        (M::CloseUnsaid, RIGHT),
        (M::UntilCloseUnsaid, &*until_close),
        (M::CloseInBodyUnsaid, &*half),
        (M::CloseInRecord, &*until_close),
    ] {
        let (text, end) = come(misbehaviour);
        assert_eq!(text, wanted);
        assert_eq!(end.unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }
    for (misbehaviour, wanted) in [
        (
            M::Alert,
            Error::AlertReceived(AlertDescription::BadRecordMac),
        ),
        (
            M::PlainResponse,
            Error::InvalidMessage(InvalidMessage::InvalidContentType),
        ),
        (M::BrokenRecord, Error::DecryptError),
        (
            M::RecordTooLong,
            Error::InvalidMessage(InvalidMessage::MessageTooLarge),
        ),
    ] {
        let (text, end) = come(misbehaviour);
        assert_eq!((&*text, wrong(end)), ("", wanted));
    }
}

#[test]
fn half_a_record_is_followed_by_nothing() {
    let (server, config) = start(M::SilenceInRecord, 1);
    let stream = connect(&server);
    let (text, end) = asked_for(stream, &config, GET, SILENCE);
    assert_eq!(
        (&*text, end.unwrap_err().kind()),
        ("", ErrorKind::WouldBlock)
    );
    let log = server.stop();
    assert_eq!((log.count(M::SilenceInRecord), log.answered), (1, 0));
}

#[test]
fn a_new_certificate_is_shown_to_those_that_come_later() {
    let (server, config) = start(M::NewCertificate, 2);
    for _ in 0..2 {
        assert!(asked(connect(&server), &config, LAST).1.unwrap() > 0);
    }
    for _ in 0..2 {
        let error = wrong(asked(connect(&server), &config, LAST).1);
        let Error::InvalidCertificate(why) = &error else {
            panic!("{error}");
        };
        let is_unknown = [
            CertificateError::UnknownIssuer,
            CertificateError::BadSignature,
        ]
        .contains(why);
        assert!(is_unknown, "{why}");
    }
    let log = server.stop();
    assert_eq!((log.connections, log.answered), (4, 2));
    assert_eq!(log.count(M::NewCertificate), 1);
}

#[test]
fn a_server_without_tls_refuses_what_is_beneath_it() {
    let at = "127.0.0.1:0".parse().unwrap();
    let script = Script::of(M::BrokenRecord, When::Every(1));
    let sentence = "`broken-record` is about TLS, which this server does not speak; start it with --tls self-signed";
    let refused = MisbehavingServer::start(&at, script.clone()).unwrap_err();
    assert_eq!(refused.to_string(), sentence);
    let config = Config {
        listen: vec![at],
        script,
        ..Config::default()
    };
    let refused = TruthServer::bind(&config).err().unwrap();
    assert_eq!(refused.to_string(), sentence);
}
