//! Who serves: for each server its class, and how it is set up for it. A new server is a row here and a function in
//! `setups`.
//!
//! What a server does for a small file decides what it costs, so servers are only compared within a class. A row that
//! cannot be had in the same way elsewhere is still shown, since what it costs is of interest: its class says what to
//! compare it with. Everybody gets one worker, no log, and limits that the load does not reach.

use super::setups;
use crate::programs;
use anyhow::{Context, Result, ensure};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Where administrators' programs lie, which is not on everybody's path.
const ADMINISTRATION: &[&str] = &["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// What a server does for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// The least that is possible: the same bytes for whatever is asked.
    Floor,
    /// The answer is in the program or in its configuration.
    Embedded,
    /// The file's contents are kept in memory.
    Memory,
    /// The file is read for each answer, through a descriptor that stays open or a memory of what stat said.
    OpenFile,
    /// The file is opened, read and closed for each answer.
    Uncached,
}

/// What is asked of a server about its memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// Nothing: another row of the same program is asked.
    No,
    /// How much it has after its start.
    Start,
    /// Also what ten thousand idle connections need.
    Idle,
}

/// One server, set up in one way.
pub struct Server {
    /// What it is called here.
    pub name: &'static str,
    /// What it does for an answer.
    pub class: Class,
    /// What it is asked for, unless a subject says so.
    pub path: &'static str,
    /// Whether it takes its answers from another server, and needs one.
    pub has_origin: bool,
    /// What is asked about its memory.
    pub memory: Memory,
    program: Program,
    setup: fn(&Place) -> Setup,
}

enum Program {
    /// Built here.
    Ours(&'static str),
    /// Its name on the machine, and the argument that makes it say its version.
    Installed(&'static str, &'static str),
}

/// Where a server runs and what it finds there.
pub struct Place {
    /// A folder of its own, for its configuration and what it writes.
    pub folder: PathBuf,
    /// What it serves.
    pub site: PathBuf,
    /// The port of 127.0.0.1 that it is to listen at.
    pub port: u16,
    /// Workers that it is to have.
    pub workers: u32,
    /// Whether clients will ask for the connection to be closed.
    pub close: bool,
    /// Where answers come from, for whom needs to know.
    pub origin: Option<SocketAddr>,
}

/// What is needed to start a server.
pub struct Setup {
    /// Files in its folder: name and text.
    pub files: Vec<(&'static str, String)>,
    /// What it is called with.
    pub arguments: Vec<String>,
}

const FILE: &str = "/file.html";
const BUILT_IN: &str = "/100.html";

const fn ours(
    name: &'static str,
    class: Class,
    path: &'static str,
    setup: fn(&Place) -> Setup,
) -> Server {
    Server {
        name,
        class,
        path,
        has_origin: false,
        memory: Memory::No,
        program: Program::Ours("weigh"),
        setup,
    }
}

const fn other(
    name: &'static str,
    class: Class,
    program: Program,
    setup: fn(&Place) -> Setup,
) -> Server {
    Server {
        name,
        class,
        path: FILE,
        has_origin: false,
        memory: Memory::No,
        program,
        setup,
    }
}

impl Server {
    const fn asked_for_memory(self, memory: Memory) -> Server {
        Server { memory, ..self }
    }

    const fn with_origin(self) -> Server {
        Server {
            has_origin: true,
            ..self
        }
    }
}

const NGINX: Program = Program::Installed("nginx", "-v");
const LIGHTTPD: Program = Program::Installed("lighttpd", "-v");
const H2O: Program = Program::Installed("h2o", "--version");

/// All of them, by class.
#[rustfmt::skip]
pub static SERVERS: [Server; 15] = [
    other("floor", Class::Floor, Program::Ours("bare_responder"), setups::floor),

    ours("weigh", Class::Embedded, BUILT_IN, setups::weigh),
    other("nginx-return", Class::Embedded, NGINX, setups::nginx_return),

    ours("weigh-cache", Class::Memory, FILE, setups::weigh_cache),
    other("haproxy", Class::Memory, Program::Installed("haproxy", "-v"), setups::haproxy).asked_for_memory(Memory::Start),
    other("varnish", Class::Memory, Program::Installed("varnishd", "-V"), setups::varnish).with_origin()
        .asked_for_memory(Memory::Start),

    ours("weigh-file", Class::OpenFile, FILE, setups::weigh_file).asked_for_memory(Memory::Idle),
    other("nginx", Class::OpenFile, NGINX, setups::nginx).asked_for_memory(Memory::Idle),
    other("nginx-pread", Class::OpenFile, NGINX, setups::nginx_pread),
    other("lighttpd", Class::OpenFile, LIGHTTPD, setups::lighttpd).asked_for_memory(Memory::Idle),
    other("h2o", Class::OpenFile, H2O, setups::h2o).asked_for_memory(Memory::Idle),

    other("nginx-cold", Class::Uncached, NGINX, setups::nginx_cold),
    other("nginx-cold-pread", Class::Uncached, NGINX, setups::nginx_cold_pread),
    other("lighttpd-cold", Class::Uncached, LIGHTTPD, setups::lighttpd_cold),
    other("apache", Class::Uncached, Program::Installed("apache2", "-v"), setups::apache).asked_for_memory(Memory::Start),
];

/// The least that is possible.
pub fn floor() -> &'static Server {
    &SERVERS[0]
}

/// The row of that name, which there must be.
pub fn named(name: &str) -> &'static Server {
    let row = SERVERS.iter().find(|server| server.name == name);
    row.expect("subjects and goals name servers of the table")
}

/// What `--servers` may name.
pub fn names() -> Vec<&'static str> {
    SERVERS[1..].iter().map(|server| server.name).collect()
}

/// The servers that are installed, of those in `only` (of all, if it is empty), and the names of the others.
///
/// # Errors
/// One that was asked for by name is not installed.
pub fn present(only: &[String]) -> Result<(Vec<&'static Server>, Vec<&'static str>)> {
    let wanted = |server: &&'static Server| {
        let is_named = only.iter().any(|name| name == server.name);
        only.is_empty() || is_named || server.class == Class::Floor
    };
    let (present, missing): (Vec<_>, Vec<_>) = SERVERS
        .iter()
        .filter(wanted)
        .partition(|server| server.is_installed());
    let missing: Vec<&'static str> = missing.iter().map(|server| server.name).collect();
    ensure!(
        only.is_empty() || missing.is_empty(),
        "{} is not installed",
        missing.join(", ")
    );
    Ok((present, missing))
}

impl Server {
    /// What it says of itself; nothing if it is built here.
    pub fn version(&self) -> Option<(&'static str, String)> {
        match self.program {
            Program::Ours(_) => None,
            Program::Installed(name, ask) => {
                Some((name, programs::version(find(name)?.as_os_str(), ask)?))
            }
        }
    }

    fn is_installed(&self) -> bool {
        match self.program {
            Program::Ours(_) => true,
            Program::Installed(name, _) => find(name).is_some(),
        }
    }

    /// Writes its files, and says how it is called.
    ///
    /// # Errors
    /// They cannot be written, or the program is not there.
    pub fn command(&self, place: &Place) -> Result<Vec<OsString>> {
        let setup = (self.setup)(place);
        for (name, text) in &setup.files {
            let path = place.folder.join(name);
            std::fs::write(&path, text)
                .with_context(|| format!("{} could not be written", path.display()))?;
        }
        let program = match self.program {
            Program::Ours(name) => programs::path(name)?,
            Program::Installed(name, _) => {
                find(name).with_context(|| format!("{name} is not installed"))?
            }
        };
        let arguments = setup.arguments.into_iter().map(OsString::from);
        Ok(std::iter::once(program.into_os_string())
            .chain(arguments)
            .collect())
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Class::Floor => "floor",
            Class::Embedded => "embedded",
            Class::Memory => "memory",
            Class::OpenFile => "open-file reuse",
            Class::Uncached => "uncached",
        })
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Server {
    fn eq(&self, other: &Server) -> bool {
        self.name == other.name
    }
}

/// Where a program lies.
fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(ADMINISTRATION.iter().map(PathBuf::from));
    find_in(folders, OsStr::new(name))
}

fn find_in(folders: impl Iterator<Item = PathBuf>, name: &OsStr) -> Option<PathBuf> {
    let mut paths = folders.map(|folder| folder.join(name));
    paths.find(|path: &PathBuf| Path::is_file(path))
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_program_is_found_in_the_first_folder_that_has_it() {
        let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
        for folder in &folders[1..] {
            std::fs::write(folder.path().join("server"), "").unwrap();
        }
        std::fs::create_dir(folders[0].path().join("server")).unwrap();
        let places = || folders.iter().map(|folder| folder.path().to_owned());
        let found = find_in(places(), OsStr::new("server"));
        assert_eq!(found, Some(folders[1].path().join("server")));
        assert_eq!(find_in(places(), OsStr::new("another")), None);
    }

    #[test]
    fn whoever_is_named_is_taken_with_the_floor() {
        let only = ["weigh".to_owned()];
        let (present, missing) = present(&only).unwrap();
        assert_eq!(present, [floor(), named("weigh")]);
        assert!(missing.is_empty());
    }
}
