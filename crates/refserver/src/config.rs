//! Settings of a server, and what is wrong with them.

use crate::encryption::Certificate;
use crate::errors::ServeError;
use crate::limits::Limits;
use crate::slots;
use crate::worker::{TOKENS, TURNED_AWAY};
use kernel::{Address, affinity, quota};
use std::path::PathBuf;
use units::Nanos;

/// More threads than this are a mistake.
const WORKERS_MAX: u32 = 1024;
/// Connections that a server may be told to have: a worker has a token for each, and it may happen to get all of them.
const CONNECTIONS_MAX: u32 = TOKENS - slots::FIRST - TURNED_AWAY - 1;
/// Descriptors beside those of connections and files: listeners, the ring, the log, standard streams.
const DESCRIPTORS: u64 = slots::FIRST as u64 + 32;
/// Files that a worker keeps open for the next request, where there are descriptors enough.
const OPEN_FILES: u64 = 512;

/// Settings of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Where it listens, at most 64 addresses; port 0 asks for any.
    pub listen: Vec<Address>,
    /// Permissions of the Unix sockets among them, such as 0o660; none for what the umask leaves.
    pub listen_mode: Option<u32>,
    /// The user that it runs as once everything is open; none for the one that has started it.
    pub user: Option<String>,
    /// Header lines, name and value, added to responses of status 200, 204, 206, 301 and 304.
    pub headers: Vec<(String, String)>,
    /// Threads, from 1 to 1024.
    pub workers: u32,
    /// The folder that is served; none for what is in the program alone.
    pub root: Option<PathBuf>,
    /// Files that each worker keeps open between requests.
    pub open_files: u64,
    /// Bytes of small files that each worker keeps in memory.
    pub cache: u64,
    /// Where requests are logged.
    pub log: Option<PathBuf>,
    /// What clients are shown: with a certificate the server speaks TLS at all addresses of `listen`.
    pub certificate: Option<Certificate>,
    /// Where the operator may ask for the counts, without TLS.
    pub admin: Option<Address>,
    /// Limits on what clients may take.
    pub limits: Limits,
}

impl Default for Config {
    /// See [`Config::within`], with 20,000 descriptors.
    fn default() -> Config {
        Config::within(20_000)
    }
}

impl Config {
    /// The defaults for a process that may have so many descriptors open: no address yet, a worker for each CPU that
    /// the process may use, as many connections as it can hold.
    pub fn within(descriptors: u64) -> Config {
        let open_files = OPEN_FILES.min(descriptors / 8);
        let others = open_files + DESCRIPTORS + u64::from(TURNED_AWAY);
        Config {
            listen: Vec::new(),
            listen_mode: None,
            user: None,
            headers: Vec::new(),
            workers: cpus(),
            root: None,
            open_files,
            cache: 0,
            log: None,
            certificate: None,
            admin: None,
            // Where there are few, listeners and refused clients will not need so many either.
            limits: Limits::within(descriptors.saturating_sub(others).max(descriptors / 2)),
        }
    }
}

/// CPUs that the process may use: those that it may run on, but no more than its control group has time for.
fn cpus() -> u32 {
    let allowed = affinity::allowed().len() as u32;
    let quota = quota::own().map_or(allowed, |quota| quota.ceil() as u32);
    allowed.min(quota).clamp(1, WORKERS_MAX)
}

/// Checks that every number is within its range.
///
/// # Errors
/// The first that is not.
pub(crate) fn check(config: &Config) -> Result<(), ServeError> {
    let limits = &config.limits;
    ServeError::check("the number of workers", config.workers, WORKERS_MAX)?;
    ServeError::check(
        "the number of connections",
        limits.connections,
        CONNECTIONS_MAX,
    )?;
    let spans = [
        ("the time to the first request", limits.first_request),
        ("the time for a request's head", limits.head),
        ("the patience with a request's body", limits.body.patience),
        ("the patience with an answer's taking", limits.send.patience),
        ("the time between two requests", limits.keepalive),
    ];
    match spans.into_iter().find(|(_, span)| *span == Nanos::ZERO) {
        Some((what, _)) => Err(ServeError::new(format!(
            "{what} must be longer than nothing"
        ))),
        None => Ok(()),
    }
}

/// Checks that a server can listen at these addresses: from 1 to 64, each of them once, none in use, and none that a
/// connection to the operator's address, `admin`, could have meant.
///
/// # Errors
/// Which of this is not so.
pub fn check_addresses(addresses: &[Address], admin: Option<&Address>) -> Result<(), ServeError> {
    ServeError::check(
        "the number of addresses",
        addresses.len() as u32,
        slots::FIRST,
    )?;
    for (place, address) in addresses.iter().enumerate() {
        let takes_any_port = matches!(address, Address::Ip(address) if address.port() == 0);
        if addresses[..place].contains(address) && !takes_any_port {
            return Err(shared(address, address));
        }
        if let Some(admin) = admin
            && overlaps(address, admin)
        {
            return Err(shared(address, admin));
        }
    }
    for address in addresses.iter().chain(admin) {
        // Where ports are shared among workers, they would be shared with another server of the same user too, and
        // each would count a part of what clients sent.
        kernel::is_free(address).map_err(|error| ServeError::listen(address, error))?;
    }
    Ok(())
}

/// Whether a connection to `admin` could have meant `address`.
fn overlaps(address: &Address, admin: &Address) -> bool {
    let (Address::Ip(address), Address::Ip(admin)) = (address, admin) else {
        return address == admin;
    };
    let is_any = address.ip().is_unspecified() || admin.ip().is_unspecified();
    let is_same = is_any || address.ip() == admin.ip();
    is_same && address.port() == admin.port() && admin.port() != 0
}

/// With a shared port the kernel would give each of both a part of the connections.
fn shared(address: &Address, other: &Address) -> ServeError {
    ServeError::new(format!(
        "cannot listen at both {address} and {other}; give one of them another port"
    ))
}
