//! nginx in front of it, as servers of files often stand: three parties, and one count.

use super::{Served, count, with_program};
use crate::servers::{signal, wait_until};
use std::fs;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command};

/// The most connections that the proxy keeps to the server.
const KEPT: u64 = 16;

/// A proxy on a Unix socket in the server's folder.
struct Proxy(Child);

impl Proxy {
    fn start(nginx: &str, server: &Served) -> Proxy {
        let folder = server.path("proxy");
        fs::create_dir(&folder).expect("a folder");
        let path = folder.display();
        let config = format!(
            "daemon off; worker_processes 1; user root; pid {path}/pid; error_log stderr error;
events {{ worker_connections 256; }}
http {{
    log_format short '$request_method $uri $status $body_bytes_sent';
    access_log {path}/access.log short;
    client_body_temp_path {path}; proxy_temp_path {path}; fastcgi_temp_path {path};
    uwsgi_temp_path {path}; scgi_temp_path {path};
    keepalive_requests 1000000;
    upstream weigh {{ server {at}; keepalive {KEPT}; keepalive_requests 1000000; }}
    server {{
        listen unix:{path}/socket;
        location / {{ proxy_pass http://weigh; proxy_http_version 1.1; proxy_set_header Connection \"\"; }}
    }}
}}
",
            at = server.at
        );
        fs::write(folder.join("config"), config).expect("a file");
        let child = Command::new(nginx)
            .args(["-e", "stderr", "-p"])
            .arg(&folder)
            .arg("-c")
            .arg(folder.join("config"))
            .spawn()
            .expect("nginx starts");
        let socket = folder.join("socket");
        wait_until("nginx listens", || UnixStream::connect(&socket).is_ok());
        Proxy(child)
    }

    fn stop(&mut self) {
        signal("QUIT", &[self.0.id()]);
        assert!(self.0.wait().expect("its end").success());
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.0.kill(); // it may have ended already
        let _ = self.0.wait();
    }
}

#[test]
fn behind_a_proxy_that_keeps_its_connections_client_proxy_and_server_count_the_same() {
    with_program("nginx", |nginx| {
        let large: Vec<u8> = (0..300_000u32).map(|at| (at % 251) as u8).collect();
        let files: [(&str, &[u8]); 2] = [("small.html", b"small\n"), ("large.bin", &large)];
        let mut server = Served::start(2, &files);
        let mut proxy = Proxy::start(nginx, &server);
        let said = Command::new("timeout")
            .args(["90", env!("CARGO_BIN_EXE_weigh"), "run", "--quiet"])
            .args(["http://localhost/small.html", "http://localhost/large.bin"])
            .args("-n 3000 -c 8 -t 2 --rounds 2 --expect 200".split(' '))
            .arg("--unix")
            .arg(server.path("proxy/socket"))
            .arg("--output")
            .arg(server.path("record.json"))
            .output()
            .expect("weigh runs");
        let printed = String::from_utf8_lossy(&said.stdout);
        assert_eq!(said.status.code(), Some(0), "{printed}{said:?}");
        let run = record::load(&server.path("record.json")).expect("a record");
        let summary = run.summary.as_ref().expect("a summary");
        assert_eq!((summary.ok, summary.errors.total), (6000, 0), "{printed}");
        proxy.stop();
        let (log, counts) = server.stop();
        let asked = run.sent_total.sum();
        assert_eq!(log.len() as u64, asked);
        assert_eq!(count(&counts, "requests"), asked);
        assert_eq!(
            (count(&counts, "responses_2xx"), count(&counts, "cut")),
            (asked, 0)
        );
        assert!(
            count(&counts, "connections") <= KEPT,
            "they are kept: {counts}"
        );
        // The proxy's log says the same of each answer as the server's.
        let mut ours: Vec<String> = log
            .iter()
            .map(|(method, path, status, bytes)| format!("{method} {path} {status} {bytes}"))
            .collect();
        let text = fs::read_to_string(server.path("proxy/access.log")).expect("a log");
        let mut theirs: Vec<&str> = text.lines().collect();
        ours.sort_unstable();
        theirs.sort_unstable();
        assert!(ours == theirs, "{} lines and {}", ours.len(), theirs.len());
    });
}
