//! lighttpd.

use super::{Bytes, Kind};
use crate::servers::log;
use crate::servers::site::{Listen, SMALL, Site};

pub const LIGHTTPD: Kind = Kind {
    program: "lighttpd",
    is_demanded: true,
    config,
    command: |site, program| {
        let config = format!("{}/config", site.folder());
        [program, "-D", "-f", &config].map(str::to_owned).into()
    },
    farewell: "INT",
    requests_per_connection: 1000,
    log: log::requests,
    // What it counts of encrypted responses comes from where files are read.
    bytes: [Bytes::WHOLE, Bytes::NOTHING],
    chunked: ("/script.sh", "Accept-Encoding:identity"),
    takes: &[(SMALL, 200)],
};

fn config(site: &Site) -> String {
    let folder = site.folder();
    let at = |port| format!("server.bind = \"127.0.0.1\"\nserver.port = {port}");
    let (listen, tls) = match site.listen() {
        Listen::Port(port) => (at(port), ""),
        Listen::Unix(path) => (format!("server.bind = \"{}\"", path.display()), ""),
        Listen::Tls { port, only } => {
            let only = only.map_or(String::new(), |only| {
                format!(
                    "ssl.openssl.ssl-conf-cmd = (\"MinProtocol\" => \"{only}\", \"MaxProtocol\" => \"{only}\")"
                )
            });
            let tls = format!("ssl.engine = \"enable\"\nssl.pemfile = \"{folder}/site.pem\"");
            (format!("{}\n{tls}\n{only}", at(port)), ", \"mod_openssl\"")
        }
    };
    format!(
        r#"{listen}
server.document-root = "{folder}/www"
server.max-worker = 2
server.errorlog = "/dev/stderr"
server.upload-dirs = ( "{folder}/state" )
server.modules = ( "mod_accesslog", "mod_cgi"{tls} )
server.stream-response-body = 2
accesslog.filename = "{folder}/access.log"
accesslog.format = "%m %U%q %s %O %I"
mimetype.assign = ( ".html" => "text/html", ".txt" => "text/plain" )
cgi.assign = ( ".sh" => "/bin/sh" )
"#
    )
}
