//! Servers, as `catalogue/servers.toml` describes them: programs, and the ways in which each is set up.

use super::{Values, text, write};
use crate::programs;
use anyhow::{Context, Result};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The configuration file in the folder of a server.
const CONFIG: &str = "config";

/// What a server does for a response. Servers are compared within a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// The same bytes for whatever is requested: the least that is possible.
    Floor,
    /// The response is in the program or in its configuration.
    Embedded,
    /// The file's contents are kept in memory.
    Memory,
    /// The file is read for each response, through a descriptor that stays open or a memory of what stat said.
    OpenFile,
    /// The file is opened, read and closed for each response.
    Uncached,
}

/// What is measured of a server's memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Memory {
    /// Nothing: another row of the same program is measured.
    #[default]
    No,
    /// Memory after the start.
    Start,
    /// Also what ten thousand idle connections need.
    Idle,
}

/// A server, set up in one way.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// Its name in tables and flags.
    #[serde(deserialize_with = "text")]
    pub name: &'static str,
    program: String,
    /// What it does for a response.
    pub class: Class,
    /// What is requested, unless a subject says so.
    #[serde(default = "file", deserialize_with = "text")]
    pub path: &'static str,
    /// Whether it takes its responses from another server, and needs one.
    #[serde(default)]
    pub origin: bool,
    /// What is measured of its memory.
    #[serde(default)]
    pub memory: Memory,
    #[serde(default)]
    with: BTreeMap<String, String>,
}

/// The file that servers have.
fn file() -> &'static str {
    "/file.html"
}

/// How a program is called and configured, whatever it is set up for.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Program {
    ours: bool,
    version: Option<String>,
    tls: bool,
    arguments: String,
    config: Option<String>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'static"))]
struct Servers {
    #[serde(rename = "server")]
    rows: Vec<Server>,
    #[serde(rename = "program")]
    programs: BTreeMap<String, Program>,
}

static CATALOGUE: LazyLock<Servers> = LazyLock::new(|| {
    toml::from_str(include_str!("../../catalogue/servers.toml"))
        .expect("the catalogue of servers is read by tests")
});

/// All of them, by class.
pub static SERVERS: LazyLock<&'static [Server]> = LazyLock::new(|| &CATALOGUE.rows);

/// The least that is possible.
pub fn floor() -> &'static Server {
    &SERVERS[0]
}

/// Returns the row of that name, which there must be.
pub fn named(name: &str) -> &'static Server {
    let row = SERVERS.iter().find(|server| server.name == name);
    row.expect("subjects and goals name servers of the catalogue")
}

impl Server {
    fn program(&self) -> &'static Program {
        &CATALOGUE.programs[&self.program]
    }

    fn found(&self) -> Option<PathBuf> {
        programs::found(&self.program, self.program().ours)
    }

    /// Whether it can be run here.
    pub fn is_installed(&self) -> bool {
        self.found().is_some()
    }

    /// Whether it can be set up for TLS.
    pub fn speaks_tls(&self) -> bool {
        self.program().tls
    }

    /// The name of its program and what that prints about its version; none if it is built here.
    pub fn version(&'static self) -> Option<(&'static str, String)> {
        let ask = self.program().version.as_deref()?;
        Some((&self.program, programs::version(&self.program, ask)))
    }

    /// Writes its configuration to `folder`, and returns its command.
    ///
    /// # Errors
    /// The file cannot be written, or the program is not there.
    pub fn command(&'static self, values: &Values, folder: &Path) -> Result<Vec<OsString>> {
        let (config, arguments) = self.setup(values, folder)?;
        if let Some(text) = config {
            write(&folder.join(CONFIG), &text)?;
        }
        let found = self.found();
        let found = found.with_context(|| format!("{} is not installed", self.program))?;
        let arguments = arguments.into_iter().map(OsString::from);
        Ok(std::iter::once(found.into()).chain(arguments).collect())
    }

    /// Its configuration, if it has one, and its arguments.
    fn setup(
        &'static self,
        values: &Values,
        folder: &Path,
    ) -> Result<(Option<String>, Vec<String>)> {
        let program = self.program();
        let mut values = values.clone().with("folder", folder.display());
        values = values.with("config", folder.join(CONFIG).display());
        for (name, text) in &self.with {
            let text = values.fill(text)?;
            values = values.with(name, text);
        }
        let config = program.config.as_ref();
        let config = config.map(|text| values.lines(text)).transpose()?;
        Ok((config, values.words(&program.arguments)?))
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Class::OpenFile => "open-file reuse",
            _ => &format!("{self:?}").to_lowercase(),
        };
        f.write_str(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set_up(name: &str, workers: u32, keeps: bool) -> (String, String) {
        set_up_with(Values::default(), name, workers, keeps)
    }

    fn set_up_with(values: Values, name: &str, workers: u32, keeps: bool) -> (String, String) {
        let values = values
            .with("site", "/s")
            .with("port", 4711)
            .with("workers", workers)
            .with("spare_workers", if workers > 1 { workers } else { 0 })
            .with("threads", workers * 128)
            .with("origin", 4712)
            .with("body", "xxx")
            .keeping(keeps);
        let (config, arguments) = named(name).setup(&values, Path::new("/f")).unwrap();
        (config.unwrap_or_default(), arguments.join(" "))
    }

    #[test]
    fn names_are_unique_and_classes_stand_together() {
        let mut names: Vec<&str> = SERVERS.iter().map(|server| server.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), SERVERS.len());
        assert!(SERVERS.is_sorted_by_key(|server| server.class));
        assert_eq!(floor().class, Class::Floor);
    }

    #[test]
    fn ours_are_called_as_any_user_would() {
        let cases = [
            ("floor", "127.0.0.1:4711 --close"),
            ("weigh", "serve --listen 127.0.0.1:4711 --workers 1"),
            ("weigh-file", "serve --listen 127.0.0.1:4711 --workers 1 /s"),
            (
                "weigh-cache",
                "serve --listen 127.0.0.1:4711 --workers 1 /s --cache 16m",
            ),
        ];
        for (name, wanted) in cases {
            assert_eq!(set_up(name, 1, false), (String::new(), wanted.to_owned()));
        }
    }

    #[test]
    fn all_listen_at_the_port_and_log_nothing() {
        for server in SERVERS.iter() {
            let (config, arguments) = set_up(server.name, 1, true);
            assert!(format!("{config}{arguments}").contains("4711"), "{config}");
            assert!(
                !config.contains("access.log") && !config.contains("CustomLog"),
                "{config}"
            );
        }
        assert!(set_up("varnish", 1, true).0.contains("4712"));
    }

    #[test]
    fn what_speaks_tls_shows_the_certificate_and_what_does_not_is_as_it_was() {
        for server in SERVERS.iter() {
            let values = Values::default().with("tls", "/k");
            let (config, arguments) = set_up_with(values, server.name, 1, true);
            let text = format!("{config}{arguments}");
            let is_secure = text.contains("/k/cert.pem") && text.contains("/k/key.pem");
            assert_eq!(is_secure, server.speaks_tls(), "{text}");
            let (config, arguments) = set_up(server.name, 1, true);
            let text = format!("{config}{arguments}");
            assert!(
                !text.contains("cert.pem") && !text.contains("tls]"),
                "{text}"
            );
        }
    }

    #[test]
    fn each_class_is_what_it_is_called() {
        let cases = [
            ("nginx", "open_file_cache max", true),
            ("nginx-cold", "open_file_cache max", false),
            ("nginx-pread", "sendfile off", true),
            ("nginx-cold-pread", "sendfile off", true),
            ("nginx-return", "return 200 \"xxx\"", true),
            ("lighttpd", "stat-cache-engine", false),
            ("lighttpd-cold", "stat-cache-engine = \"disable\"", true),
        ];
        for (name, mark, wanted) in cases {
            let (config, _) = set_up(name, 1, true);
            assert_eq!(config.contains(mark), wanted, "{mark}: {config}");
        }
    }

    #[test]
    fn workers_are_as_many_as_asked_for() {
        let cases = [
            ("nginx", 1, "worker_processes 1;"),
            ("nginx", 2, "worker_processes 2;"),
            ("lighttpd", 1, "server.max-worker = 0"),
            ("lighttpd", 2, "server.max-worker = 2"),
            ("h2o", 2, "num-threads: 2"),
            ("haproxy", 2, "nbthread 2"),
            ("apache", 2, "StartServers 2\nServerLimit 2"),
            ("apache", 2, "MaxSpareThreads 256\n"),
        ];
        for (name, workers, wanted) in cases {
            let (config, _) = set_up(name, workers, true);
            assert!(config.contains(wanted), "{wanted}: {config}");
        }
    }
}
