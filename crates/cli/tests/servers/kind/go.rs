//! Go's net/http, with a server of a few lines that counts for itself. The standard library suffices, so nothing is downloaded.

use super::{Bytes, Kind};
use crate::servers::log;
use crate::servers::site::{Listen, Site};
use std::process::Command;
use std::sync::OnceLock;

pub const GO: Kind = Kind {
    program: "go",
    is_demanded: false,
    config: |_| include_str!("go.go").to_owned(),
    command: |site, compiler| {
        let (port, only) = match site.listen() {
            Listen::Port(port) => (port, "plain"),
            Listen::Tls { port, only } => (port, only.unwrap_or("tls")),
            Listen::Unix(_) => unreachable!("Go listens on ports here"),
        };
        let (folder, port) = (site.folder(), port.to_string());
        vec![built(site, compiler), folder, port, only.to_owned()]
    },
    farewell: "TERM",
    requests_per_connection: u64::MAX,
    log: |text| log::with_connections(text, "1", "true"),
    bytes: [Bytes::WHOLE, Bytes::WHOLE],
    chunked: ("", ""),
    takes: &[],
};

/// The program, built once for all tests of a run.
fn built(site: &Site, compiler: &str) -> String {
    static BUILT: OnceLock<String> = OnceLock::new();
    let build = || {
        let source = site.path("main.go");
        std::fs::copy(site.path("config"), &source).expect("a file");
        let program = format!("{}/go-server", env!("CARGO_TARGET_TMPDIR"));
        let output = Command::new("timeout")
            .args(["300", compiler, "build", "-o", &program])
            .arg(&source)
            .env("GOPROXY", "off")
            .env("GOFLAGS", "-mod=mod")
            .env("GOTOOLCHAIN", "local")
            .env("CGO_ENABLED", "0")
            .current_dir(site.folder())
            .output()
            .expect("go starts");
        assert!(output.status.success(), "{output:?}");
        program
    };
    BUILT.get_or_init(build).clone()
}
