//! What this process may open: files, and local ports.

use crate::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs;
use std::sync::OnceLock;

/// The limits on open files of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenFiles {
    /// What holds now.
    pub soft: u64,
    /// What it may be raised to.
    pub hard: u64,
}

/// What the limits were before they were raised.
static BEFORE: OnceLock<OpenFiles> = OnceLock::new();

/// The limits on open files now.
pub fn open_files() -> OpenFiles {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    OpenFiles {
        soft: current.unwrap_or(u64::MAX),
        hard: maximum.unwrap_or(u64::MAX),
    }
}

/// Bytes of a page of memory.
pub fn page_size() -> u64 {
    rustix::param::page_size() as u64
}

/// Raises the soft limit on open files to the hard one, and returns what it was before the first such call. What
/// [`process`](crate::process) starts gets the old limit again.
///
/// # Errors
/// What setrlimit said; the limit is as it was.
pub fn raise_open_files() -> Result<OpenFiles, Errno> {
    let before = *BEFORE.get_or_init(open_files);
    set_soft(before.hard)?;
    Ok(before)
}

/// What the limits were, if they were raised.
pub(crate) fn before_raising() -> Option<OpenFiles> {
    BEFORE.get().copied()
}

/// Sets the soft limit. Safe between fork and exec: one system call each, no memory.
pub(crate) fn set_soft(soft: u64) -> Result<(), Errno> {
    let limit = Rlimit {
        current: Some(soft),
        ..getrlimit(Resource::Nofile)
    };
    Ok(setrlimit(Resource::Nofile, limit)?)
}

/// The first and the last port that connects may use of their own accord.
pub fn local_port_range() -> (u16, u16) {
    let text = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range");
    // Where it cannot be read, the kernel's default holds most likely.
    text.ok()
        .as_deref()
        .and_then(port_range)
        .unwrap_or((32_768, 60_999))
}

fn port_range(text: &str) -> Option<(u16, u16)> {
    let mut numbers = text.split_ascii_whitespace().map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_becomes_the_hard_one() {
        let before = raise_open_files().unwrap();
        assert!(before.soft <= before.hard);
        let raised = OpenFiles {
            soft: before.hard,
            hard: before.hard,
        };
        assert_eq!(open_files(), raised);
        assert_eq!(raise_open_files(), Ok(before), "the first answer stands");
    }

    #[test]
    fn a_port_range_is_read() {
        assert_eq!(port_range("1024\t65535\n"), Some((1024, 65_535)));
        assert_eq!(port_range("1024"), None);
        let (first, last) = local_port_range();
        assert!(0 < first && first <= last);
    }
}
