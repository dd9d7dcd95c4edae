//! Caddy. Its log is lines of JSON.

use super::{Bytes, Counted, Kind};
use crate::servers::log::{Entry, Log, Opened};
use crate::servers::site::{Listen, Site};
use serde_json::Value;

pub const CADDY: Kind = Kind {
    program: "caddy",
    is_demanded: false,
    config,
    // It writes its configuration down where it thinks that its user's is.
    command: |site, program| {
        let folder = site.folder();
        let state = ["CONFIG", "DATA"].map(|what| format!("XDG_{what}_HOME={folder}/state"));
        let config = format!("{folder}/config");
        let words = ["run", "--config", &config, "--adapter", "caddyfile"];
        let words = words.map(str::to_owned);
        let program = program.to_owned();
        [["env".to_owned()].as_slice(), &state, &[program], &words].concat()
    },
    farewell: "INT",
    requests_per_connection: u64::MAX,
    log,
    bytes: [Bytes::new(Counted::Body, Counted::Nothing); 2],
    chunked: ("", ""),
    takes: &[],
};

/// HTTP/1.1 alone, so that it does not listen for HTTP/3 as well. A site with a name would have its settings of TLS only for clients
/// that say the name, which an address is not.
fn config(site: &Site) -> String {
    let folder = site.folder();
    let (at, tls) = match site.listen() {
        Listen::Port(port) => (format!("http://:{port}"), String::new()),
        Listen::Tls { port, only } => {
            let only = only.map_or(String::new(), |only| {
                let only = only.to_lowercase().replace('v', "");
                format!("{{\n        protocols {only} {only}\n    }}")
            });
            let pem = format!("{folder}/site.pem");
            (
                format!("https://:{port}"),
                format!("tls {pem} {pem} {only}"),
            )
        }
        Listen::Unix(_) => unreachable!("Caddy listens on ports here"),
    };
    format!(
        r#"{{
    admin off
    auto_https off
    storage file_system {folder}/state
    servers {{
        protocols h1
    }}
    log {{
        level ERROR
    }}
}}
{at} {{
    bind 127.0.0.1
    {tls}
    root * {folder}/www
    file_server
    log {{
        level INFO
        output file {folder}/access.log {{
            roll_disabled
        }}
        format json
    }}
}}
"#
    )
}

/// Which connection a request came on it does not say; where each is the last on its own, there are as many connections.
fn log(text: &str) -> Log {
    let lines = text.lines().map(|line| {
        let line: Value = serde_json::from_str(line).expect("JSON");
        let request = &line["request"];
        let word = |value: &Value| value.as_str().expect("a text").to_owned();
        let number = |value: &Value| value.as_u64().expect("a number");
        let entry = Entry {
            method: word(&request["method"]),
            path: word(&request["uri"]),
            status: number(&line["status"]) as u16,
            sent: number(&line["size"]),
            received: 0,
        };
        let version = match request["tls"]["version"].as_u64() {
            Some(0x304) => "TLSv1.3",
            Some(0x303) => "TLSv1.2",
            _ => "-",
        };
        let opened = Opened {
            version: version.to_owned(),
            is_resumed: request["tls"]["resumed"].as_bool() == Some(true),
        };
        let is_last = request["headers"]["Connection"][0] == "close";
        (entry, is_last.then_some(opened))
    });
    let (entries, opened): (_, Vec<_>) = lines.unzip();
    Log {
        entries,
        opened: opened.into_iter().collect(),
    }
}
