//! HAProxy, which answers by itself.

use super::{Bytes, Kind};
use crate::servers::log;
use crate::servers::site::{BIG_LENGTH, Listen, Site};

pub const HAPROXY: Kind = Kind {
    program: "haproxy",
    is_demanded: false,
    config,
    // Its log goes to the standard output, which is a file that way although other programs may start it.
    command: |site, program| {
        let folder = site.folder();
        let line = format!("exec {program} -db -f {folder}/config >{folder}/access.log");
        ["sh".into(), "-c".into(), line].into()
    },
    farewell: "USR1",
    requests_per_connection: u64::MAX,
    // Between requests stand notices, and a line for the connection that only asked whether it listens.
    log: |text| {
        let lines = text.lines();
        let requests: Vec<&str> = lines
            .filter_map(|line| line.strip_prefix("request "))
            .collect();
        log::with_connections(&requests.join("\n"), "1", "1")
    },
    // It counts messages as it keeps them, not as it writes them: seven bytes more for each of these.
    bytes: [Bytes::NOTHING, Bytes::NOTHING],
    chunked: ("", ""),
    takes: &[],
};

/// What it answers with has to fit into one of its buffers. Several threads would lose lines of the log: rather than wait for one that
/// writes, another drops its own.
fn config(site: &Site) -> String {
    let folder = site.folder();
    let listen = match site.listen() {
        Listen::Port(port) => format!("127.0.0.1:{port}"),
        Listen::Tls { port, only } => {
            let only = only.map_or(String::new(), |only| {
                format!("ssl-min-ver {only} ssl-max-ver {only}")
            });
            format!("127.0.0.1:{port} ssl crt {folder}/site.pem {only}")
        }
        Listen::Unix(_) => unreachable!("HAProxy listens on ports here"),
    };
    let buffer = BIG_LENGTH + 64 * 1024;
    format!(
        r#"global
    log stdout format raw local0
    nbthread 1
    maxconn 1000
    tune.bufsize {buffer}
defaults
    mode http
    log global
    option dontlognull
    log-format "request %HM %HU %ST 0 0 %[http_first_req] %[ssl_fc_protocol] %[ssl_fc_is_resumed]"
    timeout client 60s
    timeout server 60s
    timeout connect 60s
frontend site
    bind {listen}
    http-request return status 200 content-type text/html file {folder}/www/100.html if {{ path /100.html }}
    http-request return status 200 content-type text/plain file {folder}/www/1m.bin if {{ path /1m.bin }}
    http-request return status 404 content-type text/plain string none
"#
    )
}
