//! https that cannot be measured: the sentence names what is wrong and what helps, and comes at once.

use crate::bench::{Bench, Said};
use crate::scripted::Scripted;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

const WEIGH: &str = env!("CARGO_BIN_EXE_weigh");

/// `openssl s_server` with a key of a kind, as it makes one.
struct Openssl {
    child: Child,
    address: String,
}

impl Openssl {
    /// The arguments are those of `openssl req` for the key; none where there is no openssl.
    fn start(bench: &Bench, key: &[&str]) -> Option<Openssl> {
        let subject = [
            "-subj",
            "/CN=localhost",
            "-keyout",
            "key.pem",
            "-out",
            "cert.pem",
        ];
        let made = Command::new("openssl")
            .args(["req", "-x509", "-nodes", "-newkey"])
            .args(key)
            .args(subject)
            .current_dir(bench.path(""))
            .stderr(Stdio::null())
            .status();
        if !made.is_ok_and(|status| status.success()) {
            println!("skipped: there is no openssl that makes such a key");
            return None;
        }
        let mut child = Command::new("openssl")
            .args(["s_server", "-www", "-accept", "127.0.0.1:0"])
            .args(["-cert", "cert.pem", "-key", "key.pem"])
            .args(["-cipher", "DEFAULT@SECLEVEL=0"])
            .current_dir(bench.path(""))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut said = lines.map_while(Result::ok);
        let address = said.find_map(|line| line.strip_prefix("ACCEPT ").map(str::to_owned));
        Some(Openssl {
            child,
            address: address.expect("s_server says where it listens"),
        })
    }
}

impl Drop for Openssl {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it may have ended
        let _ = self.child.wait();
    }
}

#[test]
fn a_key_that_cannot_be_checked_is_named_and_insecure_is_not_advised() {
    let curve = ["ec", "-pkeyopt", "ec_paramgen_curve:P-521"];
    let cases: [(&[&str], &[&str]); 2] = [
        (
            &["rsa:1024"],
            &["a key that weigh cannot check (RSA with 1024 bits)"],
        ),
        (&curve, &["P-521", "which weigh cannot check"]),
    ];
    for (key, words) in cases {
        let bench = Bench::new();
        let Some(server) = Openssl::start(&bench, key) else {
            return;
        };
        for trust in ["--insecure", "--cacert cert.pem"] {
            let said = bench.say(&format!("run -n 1 https://{}/ {trust}", server.address));
            said.refused(words);
            assert!(!said.err.contains("; --insecure"), "{said:#?}");
        }
        let own = format!("run -n 1 https://{}/ --cert cert.pem", server.address);
        let said = bench.say(&format!("{own} --key key.pem"));
        said.refused(&["--cert has a key that weigh cannot use", "P-256"]);
        let said = bench.say("serve --listen 127.0.0.1:0 --tls-cert cert.pem --tls-key key.pem");
        said.refused(&["--tls-cert has a key that weigh cannot use", "P-256"]);
    }
}

#[test]
fn files_that_are_no_certificates_are_refused_by_their_flag() {
    let bench = Bench::new();
    let run = |flags: &str| bench.say(&format!("run -n 1 https://127.0.0.1:9/ {flags}"));
    let fifo = Command::new("mkfifo").arg(bench.path("fifo")).status();
    assert!(fifo.unwrap().success());
    bench.file("large.pem", vec![b'x'; (1 << 20) + 1]);
    let key = rcgen::KeyPair::generate().unwrap();
    let params = rcgen::CertificateParams::new(vec!["a".to_owned()]).unwrap();
    bench.file("cert.pem", params.self_signed(&key).unwrap().pem());
    let encrypted =
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
    bench.file("encrypted.pem", encrypted);
    let regular = "is not a regular file";
    run("--cacert /dev/zero").refused(&["--cacert `/dev/zero`", regular]);
    run("--cacert fifo").refused(&["--cacert `fifo`", regular]);
    run("--insecure --cert large.pem").refused(&["--cert `large.pem`", "larger than 1 MiB"]);
    run("--insecure --cert absent").refused(&["--cert `absent`", "cannot be read"]);
    run("--insecure --cert cert.pem").refused(&["--cert holds no private key", "--key"]);
    let words = ["--key is encrypted", "openssl pkey -in KEY -out PLAIN"];
    run("--insecure --cert cert.pem --key encrypted.pem").refused(&words);
    let serve = |cert: &str, key: &str| {
        bench.say(&format!(
            "serve --listen 127.0.0.1:0 --tls-cert {cert} --tls-key {key}"
        ))
    };
    serve("/dev/zero", "x").refused(&["--tls-cert /dev/zero", regular]);
    let words = ["--tls-key is encrypted", "openssl pkey -in KEY -out PLAIN"];
    serve("cert.pem", "encrypted.pem").refused(&words);
}

#[test]
fn a_comparison_of_commands_without_https_is_told_of_that_flag() {
    let command = format!("exec {WEIGH} serve --listen 127.0.0.1:{{port}}");
    let (a, b) = (format!("a={command}"), format!("b={command}"));
    let said = Bench::new().say_words(&["compare", &a, &b, "--insecure"]);
    said.refused(&["--insecure has no effect", "add --https"]);
}

#[test]
fn a_server_that_takes_only_https_is_told_by_how_it_answers() {
    let answers: [&[u8]; 3] = [
        b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n",
        b"HTTP/1.1 400 Bad Request\r\n\r\nThe plain HTTP request was sent to HTTPS port\n",
        b"", // HAProxy and lighttpd close
    ];
    for answer in answers {
        let server = Scripted::start(move |line| {
            line.request();
            line.say(answer);
        });
        let said = Bench::new().say(&format!("run -n 1 {}", server.at()));
        said.refused(&["write https://"]);
    }
}

/// What a server started by weigh comes to that is asked over https and has `serve` in its command line.
fn started(serve: &str, flags: &str) -> Said {
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let load = format!("run -n 1 https://127.0.0.1:{port}/ {flags} --ready-within 5m");
    let server = format!("{WEIGH} serve --listen 127.0.0.1:{port} {serve}");
    Bench::new().say(&format!("{load} -- {server}"))
}

#[test]
fn an_error_of_tls_that_does_not_pass_ends_the_wait_for_the_server() {
    // The tests' patience is shorter than --ready-within.
    let said = started("--tls self-signed", "");
    said.refused(&["cannot be asked", "--cacert"]);
    let said = started("", "--insecure");
    said.refused(&["does not speak TLS"]);
}
