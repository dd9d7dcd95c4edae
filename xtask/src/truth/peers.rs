//! Other load generators: how each is asked for a case, and how its report is read.

use super::case::{Ask, Percentiles};

/// A load generator that is not ours.
pub struct Peer {
    /// As the tables have it.
    pub name: &'static str,
    /// What is started.
    pub program: &'static str,
    /// Its arguments for a case; none where it cannot be asked for that.
    pub arguments: fn(&Ask<'_>) -> Option<Vec<String>>,
    /// What it says of latency, out of what it has printed. None where it has said nothing.
    pub parse: fn(&str) -> Option<Percentiles>,
}

/// Those that there are.
pub static PEERS: &[Peer] = &[];

impl Peer {
    /// Whether it can be started here.
    pub fn is_installed(&self) -> bool {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|folder| folder.join(self.program).is_file())
    }
}
