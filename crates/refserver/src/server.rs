//! The workers together: ready before anything runs, started, stopped, added up.
//!
//! Each worker lives on a thread of its own from the beginning, with a table of descriptors of its own, so that no
//! system call of one touches what another one needs. So what can fail fails there, and is reported to the thread that
//! waits for the server to be ready. The listening sockets alone are in the table of the thread that made the server
//! too, while it listens: `ss -p` and `lsof` look there for a socket's process.

use crate::admin::{CounterSlot, SharedCounters};
use crate::counts::Counts;
use crate::errors::ServeError;
use crate::files::{Library, LibraryOptions};
use crate::headers::Headers;
use crate::limiter::ConnectionLimiter;
use crate::limits::Limits;
use crate::log::{Log, LogFile};
use crate::responding::Site;
use crate::slots;
use crate::worker::{Setting, TOKENS, TURNED_AWAY, Worker};
use kernel::descriptors::{self, Showcase};
use kernel::user::User;
use kernel::{Address, Epoll, Errno, affinity, clock, quota};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};
use units::Nanos;

/// More threads than this are a mistake.
const WORKERS_MAX: u32 = 1024;
/// Connections that a server may be told to have: a worker has a token for each, and it may happen to get all of them.
const CONNECTIONS_MAX: u32 = TOKENS - slots::FIRST - TURNED_AWAY - 1;
/// Connections of operators at a time, to the admin listener.
const OPERATORS: u32 = 64;
/// Stacks of workers. The largest frame is that of a head's 256 header lines, 8 KiB; what is not touched costs nothing.
const STACK: usize = 512 * 1024;
/// How often the thread that has called [`Server::run`] looks whether it is to stop.
const WATCH: Nanos = Nanos::from_millis(25);
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
    /// Where the operator may ask for the counts.
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

/// How the caller controls a running server.
#[derive(Debug)]
pub struct Control<'a> {
    /// Set to have it stop.
    pub stop: &'a AtomicBool,
    /// Set to have it open its log anew; it clears it.
    pub reopen: &'a AtomicBool,
    /// Called with a sentence about what of that cannot be done.
    pub complain: fn(&str),
}

/// A server that listens, but does not serve before [`Server::run`]. Dropped before that, it is gone.
///
/// All workers listen at the same IP addresses (SO_REUSEPORT) and the kernel spreads connections over them by their
/// addresses and ports. A Unix socket cannot be shared that way; the first worker has it alone.
pub struct Server {
    handles: Vec<WorkerHandle>,
    addresses: Vec<Address>,
    admin: Option<Address>,
    log: Option<Arc<LogFile>>,
    stop: Arc<AtomicBool>,
    /// Copies of the workers' listening sockets, to be seen in this thread's table.
    listeners: Vec<OwnedFd>,
}

/// A thread that has its worker ready.
struct WorkerHandle {
    thread: JoinHandle<Counts>,
    /// Told to begin; dropped, it ends.
    go: Sender<()>,
    /// Its counts are the server's.
    is_counted: bool,
}

impl Server {
    /// Opens all that is needed, so that what can fail fails here; then becomes the user that it is to run as.
    ///
    /// # Errors
    /// The configuration is out of range, or something in it cannot be had.
    pub fn bind(config: &Config) -> Result<Server, ServeError> {
        check(config)?;
        refuse_twice(&config.listen)?;
        if let Some(admin) = &config.admin {
            refuse_among(&config.listen, admin)?;
        }
        for address in config.listen.iter().chain(&config.admin) {
            // Where ports are shared among workers, they would be shared with another server of the same user too, and
            // each would count a part of what clients sent.
            kernel::is_free(address).map_err(|error| ServeError::listen(address, error))?;
        }
        let user = config.user.as_deref().map(find_user).transpose()?;
        let mut workers = Workers::new(config)?;
        let (first, addresses) = workers.spawn(0, &config.listen)?;
        let shared = addresses.iter().filter(|address| can_share(address));
        let shared: Vec<Address> = shared.cloned().collect();
        let mut handles = vec![first];
        for worker in 1..workers.count {
            handles.push(workers.spawn(worker, &shared)?.0);
        }
        let mut admin = None;
        if let Some(address) = &config.admin {
            let (handle, mut found) = workers.spawn_admin(address)?;
            handles.push(handle);
            admin = found.pop();
        }
        if let Some(user) = &user {
            become_user(user, config, workers.log.as_deref())?;
        }
        Ok(Server {
            handles,
            addresses,
            admin,
            log: workers.log,
            stop: workers.stop,
            // Not before, as each thread begins with a copy of what is in this one's table by then.
            listeners: workers.showcase.collect(),
        })
    }

    /// Where it listens, in the configuration's order, with the ports that were found.
    pub fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    /// Where the operator may ask for the counts, if he may.
    pub fn admin(&self) -> Option<&Address> {
        self.admin.as_ref()
    }

    /// Serves until `stop` is set. See [`Server::run_by`].
    pub fn run(self, stop: &AtomicBool) -> Counts {
        self.run_by(&Control {
            stop,
            reopen: &AtomicBool::new(false),
            complain: |_| {},
        })
    }

    /// Serves until it is to stop, which is seen within 100 ms; then stops listening, answers what has come, gives what
    /// is under way its time, and closes. Says what was done.
    pub fn run_by(self, control: &Control<'_>) -> Counts {
        for handle in &self.handles {
            // Should it have died, joining it tells.
            let _ = handle.go.send(());
        }
        let is_over = || {
            self.handles
                .iter()
                .any(|handle| handle.thread.is_finished())
        };
        while !control.stop.load(Ordering::Relaxed) && !is_over() {
            if control.reopen.swap(false, Ordering::Relaxed) {
                self.renew_log(control);
            }
            // The flags are the caller's, and may be raised by a signal: there is nothing to wait for but time.
            thread::sleep(WATCH.to_std());
        }
        // A socket listens until its last copy is closed, which is to be the worker's.
        drop(self.listeners);
        // Also when one of them has died of a bug: a server with a part missing would answer some and not others.
        self.stop.store(true, Ordering::Relaxed);
        let mut counts = Counts::default();
        for handle in self.handles {
            match handle.thread.join() {
                Ok(done) if handle.is_counted => counts += done,
                Ok(_) => {}
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        counts
    }

    fn renew_log(&self, control: &Control<'_>) {
        if let Some(log) = &self.log
            && let Err(error) = log.renew()
        {
            let error = refused_log(log, error);
            (control.complain)(&format!("{error}; the file that is open is written on"));
        }
    }
}

fn find_user(name: &str) -> Result<User, ServeError> {
    match User::find(name) {
        Ok(Some(user)) if user.can_be_assumed() => Ok(user),
        Ok(Some(_)) => Err(refused_user(name, Errno::EPERM)),
        Ok(None) => Err(ServeError::new(format!("there is no user `{name}`"))),
        Err(error) => Err(refused_user(name, error)),
    }
}

fn refused_user(name: &str, error: Errno) -> ServeError {
    let hint = match error {
        Errno::EPERM => " (the server has to be started as root for that)",
        _ => "",
    };
    ServeError::new(format!("cannot run as the user `{name}`: {error}{hint}"))
}

/// Makes the process the user's, and what the user will open or remove later: sockets' files, and the log.
fn become_user(user: &User, config: &Config, log: Option<&LogFile>) -> Result<(), ServeError> {
    let refused = |path: &Path, error: Errno| {
        let path = path.display();
        ServeError::new(format!(
            "cannot give {path} to the user that the server runs as: {error}"
        ))
    };
    for address in config.listen.iter().chain(&config.admin) {
        if let Address::Unix(path) = address {
            user.own_socket(path)
                .map_err(|error| refused(path, error))?;
        }
    }
    if let Some(log) = log {
        let file = log.open().map_err(|error| refused_log(log, error))?;
        user.own_file(&file)
            .map_err(|error| refused(&log.path, error))?;
    }
    let name = config.user.as_deref().unwrap_or_default();
    user.assume().map_err(|error| refused_user(name, error))
}

/// What all workers have in common, until they are ready.
struct Workers<'a> {
    config: &'a Config,
    count: u32,
    limiter: Arc<ConnectionLimiter>,
    counters: Option<Arc<SharedCounters>>,
    log: Option<Arc<LogFile>>,
    headers: Headers,
    stop: Arc<AtomicBool>,
    showcase: Showcase,
}

impl<'a> Workers<'a> {
    fn new(config: &'a Config) -> Result<Workers<'a>, ServeError> {
        let limits = &config.limits;
        let per_address = limits.connections_per_address;
        let limiter = Arc::new(ConnectionLimiter::new(limits.connections, per_address));
        let count = match config.listen.iter().any(can_share) {
            true => config.workers,
            false => 1,
        };
        let counters = |_| Arc::new(SharedCounters::new(count as usize, Arc::clone(&limiter)));
        let log = |path| Arc::new(LogFile::new(path, config.user.is_some()));
        Ok(Workers {
            config,
            count,
            counters: config.admin.as_ref().map(counters),
            limiter,
            log: config.log.clone().map(log),
            headers: Headers::new(&config.headers)?,
            stop: Arc::default(),
            showcase: Showcase::new().map_err(ServeError::ring)?,
        })
    }

    fn spawn(
        &self,
        worker: u32,
        at: &[Address],
    ) -> Result<(WorkerHandle, Vec<Address>), ServeError> {
        let config = self.config;
        let (root, limits, limiter) = (
            config.root.clone(),
            config.limits.clone(),
            Arc::clone(&self.limiter),
        );
        let (log, headers) = (self.log.clone(), self.headers.clone());
        let counters = self.counters.as_ref();
        let counter_slot = counters.map(|counters| CounterSlot::new(counters, worker as usize));
        let options = LibraryOptions {
            open_files: usize::try_from(config.open_files).unwrap_or(usize::MAX),
            cache: config.cache,
            headers: headers.clone(),
        };
        let open_log =
            |file: Arc<LogFile>| Log::open(&file).map_err(|error| refused_log(&file, error));
        let setting = move || {
            Ok(Setting {
                site: match root {
                    Some(root) => Site::Files(Box::new(open_library(&root, &options)?)),
                    None => Site::BuiltIn,
                },
                headers,
                limits,
                limiter,
                log: log.map(open_log).transpose()?,
                counter_slot,
                wall: clock::realtime,
            })
        };
        self.start(format!("worker-{worker}"), at, config.listen_mode, setting)
    }

    fn spawn_admin(&self, at: &Address) -> Result<(WorkerHandle, Vec<Address>), ServeError> {
        let counters = self
            .counters
            .clone()
            .expect("there are counters where there is an admin address");
        let limits = Limits {
            connections: OPERATORS,
            connections_per_address: 0,
            ..self.config.limits.clone()
        };
        let setting = move || {
            Ok(Setting {
                site: Site::Admin(counters),
                headers: Headers::default(),
                limits,
                limiter: Arc::new(ConnectionLimiter::new(OPERATORS, 0)),
                log: None,
                counter_slot: None,
                wall: clock::realtime,
            })
        };
        let (handle, at) = self.start("admin".to_owned(), slice::from_ref(at), None, setting)?;
        let is_counted = false;
        Ok((
            WorkerHandle {
                is_counted,
                ..handle
            },
            at,
        ))
    }

    /// Has a thread get ready, and says where it listens. The files of Unix sockets get the permissions `mode`.
    fn start(
        &self,
        name: String,
        at: &[Address],
        mode: Option<u32>,
        setting: impl FnOnce() -> Result<Setting, ServeError> + Send + 'static,
    ) -> Result<(WorkerHandle, Vec<Address>), ServeError> {
        let (ready, is_ready) = mpsc::channel();
        let (go, wait) = mpsc::channel();
        let (stop, at) = (Arc::clone(&self.stop), at.to_vec());
        let entrance = self.showcase.entrance();
        // The whole life of the thread. The one that starts it is waiting for what it sends.
        let work = move || {
            // Where the table stays shared, each system call takes a little longer.
            let is_own = descriptors::own().is_ok();
            let worker = match setting().and_then(|setting| listening(setting, &at, mode)) {
                Ok((worker, addresses)) => {
                    if is_own {
                        // Where there is no room for them they are not seen, and serve as well.
                        let _ = entrance.show(&worker.listeners());
                    }
                    let _ = ready.send(Ok(addresses));
                    worker
                }
                Err(error) => {
                    let _ = ready.send(Err(error));
                    return Counts::default();
                }
            };
            match wait.recv() {
                Ok(()) => worker.run(|| stop.load(Ordering::Relaxed)),
                Err(_) => Counts::default(),
            }
        };
        let thread = thread::Builder::new().name(name).stack_size(STACK);
        let thread = thread.spawn(work).map_err(ServeError::thread)?;
        let addresses = match is_ready.recv() {
            Ok(addresses) => addresses?,
            // It has not answered, so it has panicked.
            Err(_) => match thread.join() {
                Err(panic) => std::panic::resume_unwind(panic),
                Ok(_) => unreachable!("a worker says whether it is ready"),
            },
        };
        let is_counted = true;
        Ok((
            WorkerHandle {
                thread,
                go,
                is_counted,
            },
            addresses,
        ))
    }
}

/// A worker that listens, and where.
fn listening(
    setting: Setting,
    at: &[Address],
    mode: Option<u32>,
) -> Result<(Worker<Epoll>, Vec<Address>), ServeError> {
    let mut worker = Worker::new(Epoll::new().map_err(ServeError::ring)?, setting);
    let mut listen = |address| {
        let found = worker.listen(address, mode);
        found.map_err(|error| ServeError::listen(address, error))
    };
    let addresses = at.iter().map(&mut listen).collect::<Result<_, _>>()?;
    Ok((worker, addresses))
}

fn open_library(root: &Path, options: &LibraryOptions) -> Result<Library, ServeError> {
    Library::open(root, options, clock::realtime).map_err(|error| {
        let hint = match error {
            Errno::ENOSYS | Errno::EPERM => {
                " (openat2, without which files outside of it could be reached, is missing or forbidden here)"
            }
            _ => "",
        };
        let root = root.display();
        ServeError::new(format!("cannot serve the folder {root}: {error}{hint}"))
    })
}

fn refused_log(log: &LogFile, error: std::io::Error) -> ServeError {
    let path = log.path.display();
    ServeError::new(match Errno::from(error) {
        Errno::ELOOP if log.is_given => format!(
            "the log {path} must be neither a symbolic link nor a file with several hard links, since --user makes another user its owner"
        ),
        error => format!("cannot append to the log {path}: {error}"),
    })
}

fn check(config: &Config) -> Result<(), ServeError> {
    let limits = &config.limits;
    let addresses = config.listen.len() as u64;
    let connections = u64::from(limits.connections);
    let rows = [
        ("the number of addresses", addresses, slots::FIRST),
        ("the number of workers", config.workers.into(), WORKERS_MAX),
        ("the number of connections", connections, CONNECTIONS_MAX),
    ];
    for (what, given, most) in rows {
        let most = u64::from(most);
        if !(1..=most).contains(&given) {
            return Err(ServeError::range(what, given, most));
        }
    }
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

/// Checks that each address is there once.
///
/// # Errors
/// One is there twice.
pub fn refuse_twice(addresses: &[Address]) -> Result<(), ServeError> {
    let mut rest = addresses;
    while let [address, others @ ..] = rest {
        if others.contains(address) && !takes_any_port(address) {
            return Err(shared(address, address));
        }
        rest = others;
    }
    Ok(())
}

/// Checks that no connection to the operator's address could have meant one of `addresses`.
fn refuse_among(addresses: &[Address], admin: &Address) -> Result<(), ServeError> {
    let overlaps = |other: &&Address| match (admin, other) {
        (Address::Ip(admin), Address::Ip(other)) => {
            let is_all = |ip: std::net::IpAddr| ip.is_unspecified();
            let is_same = admin.ip() == other.ip() || is_all(admin.ip()) || is_all(other.ip());
            is_same && admin.port() == other.port() && admin.port() != 0
        }
        (admin, other) => admin == *other,
    };
    match addresses.iter().find(overlaps) {
        Some(address) => Err(shared(address, admin)),
        None => Ok(()),
    }
}

fn takes_any_port(address: &Address) -> bool {
    matches!(address, Address::Ip(address) if address.port() == 0)
}

/// With a shared port the kernel would give each of both a part of the connections.
fn shared(address: &Address, other: &Address) -> ServeError {
    ServeError::new(format!(
        "cannot listen at both {address} and {other}; give one of them another port"
    ))
}

/// Whether workers can listen at one address together.
fn can_share(address: &Address) -> bool {
    matches!(address, Address::Ip(_))
}
