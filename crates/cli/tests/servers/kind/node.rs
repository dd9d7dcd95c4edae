//! Node, with a server of a few lines that counts for itself.

use super::{Bytes, Kind};
use crate::servers::log;
use crate::servers::site::{Listen, Site};

pub const NODE: Kind = Kind {
    program: "node",
    is_demanded: false,
    config,
    command: |site, program| vec![program.to_owned(), format!("{}/config", site.folder())],
    farewell: "TERM",
    requests_per_connection: u64::MAX,
    log: |text| log::with_connections(text, "1", "true"),
    bytes: [Bytes::WHOLE, Bytes::WHOLE],
    chunked: ("", ""),
    takes: &[],
};

fn config(site: &Site) -> String {
    let folder = site.folder();
    let (port, tls) = match site.listen() {
        Listen::Port(port) => (port, "null".to_owned()),
        Listen::Tls { port, only } => {
            let only = only.map_or(String::new(), |only| {
                format!("minVersion: '{only}', maxVersion: '{only}'")
            });
            (port, format!("{{ {only} }}"))
        }
        Listen::Unix(_) => unreachable!("Node listens on ports here"),
    };
    let script = include_str!("node.js");
    format!("const [folder, port, tls] = ['{folder}', {port}, {tls}];\n{script}")
}
