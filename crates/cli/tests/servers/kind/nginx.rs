//! nginx.

use super::{Bytes, Kind};
use crate::servers::log;
use crate::servers::site::{Listen, Site};

pub const NGINX: Kind = Kind {
    program: "nginx",
    is_demanded: true,
    config,
    command: |site, program| {
        let folder = site.folder();
        let config = format!("{folder}/config");
        [program, "-e", "stderr", "-p", &folder, "-c", &config]
            .map(str::to_owned)
            .into()
    },
    farewell: "QUIT",
    requests_per_connection: 1000,
    log: |text| log::with_connections(text, "1", "r"),
    bytes: [Bytes::WHOLE, Bytes::WHOLE],
    chunked: ("/numbers.txt", "Accept-Encoding:gzip"),
    takes: &[("/sink", 200), (super::super::SMALL, 405)],
};

/// As root the workers stay root, because the folder may be readable for no other user.
fn config(site: &Site) -> String {
    let folder = site.folder();
    let listen = match site.listen() {
        Listen::Port(port) => format!("127.0.0.1:{port}"),
        Listen::Unix(path) => format!("unix:{}", path.display()),
        Listen::Tls { port, only } => {
            let only = only.map_or(String::new(), |only| format!("; ssl_protocols {only}"));
            format!(
                "127.0.0.1:{port} ssl; ssl_session_cache shared:all:1m; ssl_certificate {folder}/site.pem; \
                 ssl_certificate_key {folder}/site.pem{only}"
            )
        }
    };
    format!(
        r#"daemon off; worker_processes 2; user root; pid {folder}/pid; error_log stderr error;
events {{ worker_connections 1024; }}
http {{
    log_format short '$request_method $request_uri $status $bytes_sent $request_length '
        '$connection_requests $ssl_protocol $ssl_session_reused';
    access_log {folder}/access.log short;
    client_body_temp_path {folder}/state; proxy_temp_path {folder}/state; fastcgi_temp_path {folder}/state;
    uwsgi_temp_path {folder}/state; scgi_temp_path {folder}/state;
    types {{ text/html html; text/plain txt; }}
    gzip on; gzip_types text/plain; gzip_http_version 1.0;
    server {{ listen {listen}; root {folder}/www; location = /sink {{ return 200 "taken"; }} }}
}}
"#
    )
}
