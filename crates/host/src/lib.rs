//! What Linux says about machines and processes.
//!
//! In scope: the [`Machine`](record::Machine) as disclosed in a record, the [`Watch`] that takes a server's
//! [`Footprint`](record::Footprint), what else runs ([`activity`]) and the [`path`] to a target. Out of scope: system calls (`kernel`), what the facts mean for a measurement (`audit`, `doctor`), load.
//! It knows nothing of HTTP.
//!
//! ```
//! let machine = host::machine();
//! assert!(machine.cpus_online > 0);
//! println!("{}", machine.cpu_model.unwrap_or("an unnamed CPU".into()));
//! ```
#![forbid(unsafe_code)]

// In reading order; the comments keep it.
mod files;
// What the machine is,
mod cpus;
mod machine;
mod setup;
// and what was counted on it;
mod activity;
mod counters;
mod path;
// which processes are a server,
mod cgroup;
mod found;
mod sockets;
// and what it costs.
mod ledger;
mod memory;
mod observer;
mod quotas;
mod spans;
mod written;

pub use activity::activity;
pub use counters::{between, cpu_time};
pub use cpus::{allowed, core, move_to};
pub use found::Found;
pub use machine::machine;
pub use observer::{Costs, Server, Watch};
pub use path::{link, path};
pub use spans::{CpuSpan, Team, WrittenFiles};

#[cfg(test)]
mod tests {
    use crate::files::Root;
    use std::fs;

    /// A tree of files that goes when it is dropped.
    pub(crate) struct Fixture {
        pub(crate) root: Root,
        folder: tempfile::TempDir,
    }

    impl Fixture {
        /// Where the file at `path` lies.
        pub(crate) fn path(&self, path: &str) -> std::path::PathBuf {
            self.folder.path().join(path)
        }
    }

    /// A tree with these files, by path and text.
    pub(crate) fn fixture(files: &[(&str, &str)]) -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Fixture {
            root: Root::at(folder.path()),
            folder,
        }
    }
}
