//! The workers together: ready before anything runs, started, stopped, added up.
//!
//! Each worker lives on a thread of its own from the beginning, with a table of descriptors of its own, so that no
//! system call of one touches what another one needs. So what can fail fails there, and is reported to the thread that
//! waits for the server to be ready. The listening sockets alone are in the table of the thread that made the server
//! too, while it listens: `ss -p` and `lsof` look there for a socket's process.

use crate::admin::{CounterSlot, SharedCounters};
use crate::answering::Site;
use crate::counts::Counts;
use crate::errors::ServeError;
use crate::files::{Library, LibraryOptions};
use crate::headers::Headers;
use crate::limiter::ConnectionLimiter;
use crate::limits::Limits;
use crate::log::{Log, LogFile};
use crate::slots;
use crate::worker::{Setting, TOKENS, TURNED_AWAY, Worker};
use kernel::descriptors::{self, Entrance, Showcase};
use kernel::user::User;
use kernel::{Address, Epoll, Errno, affinity, clock, quota};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
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
            refuse_to_share(address)?;
        }
        let user = config.user.as_deref().map(find_user).transpose()?;
        let mut workers = Workers::new(config)?;
        let (first, addresses) = workers.spawn(0, &config.listen)?;
        let is_shared = |address: &&Address| matches!(address, Address::Ip(_));
        let shared: Vec<Address> = addresses.iter().filter(is_shared).cloned().collect();
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
    let name = name.to_owned();
    match User::find(&name) {
        Ok(Some(user)) if user.can_be_assumed() => Ok(user),
        Ok(Some(_)) => Err(ServeError::User {
            name,
            error: Errno::EPERM,
        }),
        Ok(None) => Err(ServeError::NoUser { name }),
        Err(error) => Err(ServeError::User { name, error }),
    }
}

/// Makes the process the user's, and what the user will open or remove later: sockets' files, and the log.
fn become_user(user: &User, config: &Config, log: Option<&LogFile>) -> Result<(), ServeError> {
    let owner = |path: &PathBuf| {
        let path = path.clone();
        move |error| ServeError::Owner { path, error }
    };
    for address in config.listen.iter().chain(&config.admin) {
        if let Address::Unix(path) = address {
            user.own_socket(path).map_err(owner(path))?;
        }
    }
    if let Some(log) = log {
        let file = log.open().map_err(|error| refused_log(log, error))?;
        user.own_file(&file)
            .map_err(owner(&log.path().to_owned()))?;
    }
    user.assume().map_err(|error| ServeError::User {
        name: config.user.clone().unwrap_or_default(),
        error,
    })
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
        let limiter = Arc::new(ConnectionLimiter::new(
            limits.connections,
            limits.connections_per_address,
        ));
        let can_share = |address: &Address| matches!(address, Address::Ip(_));
        let is_given = config.user.is_some();
        let log_file = |path| Arc::new(LogFile::new(path, is_given));
        let count = match config.listen.iter().any(can_share) {
            true => config.workers,
            false => 1,
        };
        let counters = config.admin.as_ref();
        let counters =
            counters.map(|_| Arc::new(SharedCounters::new(count as usize, Arc::clone(&limiter))));
        Ok(Workers {
            config,
            count,
            limiter,
            counters,
            log: config.log.clone().map(log_file),
            headers: Headers::new(&config.headers)?,
            stop: Arc::default(),
            showcase: Showcase::new().map_err(ServeError::Ring)?,
        })
    }

    fn spawn(
        &self,
        worker: u32,
        at: &[Address],
    ) -> Result<(WorkerHandle, Vec<Address>), ServeError> {
        let config = self.config;
        let counters = self.counters.as_ref();
        let job = Job {
            site: match &config.root {
                Some(root) => Serves::Folder(
                    root.clone(),
                    LibraryOptions {
                        open_files: usize::try_from(config.open_files).unwrap_or(usize::MAX),
                        cache: config.cache,
                        headers: self.headers.clone(),
                    },
                ),
                None => Serves::BuiltIn,
            },
            headers: self.headers.clone(),
            limits: config.limits.clone(),
            limiter: Arc::clone(&self.limiter),
            log: self.log.clone(),
            counter_slot: counters.map(|counters| CounterSlot::new(counters, worker as usize)),
            listen: at.to_vec(),
            mode: config.listen_mode,
            entrance: self.showcase.entrance(),
        };
        self.start(format!("worker-{worker}"), job, true)
    }

    fn spawn_admin(&self, at: &Address) -> Result<(WorkerHandle, Vec<Address>), ServeError> {
        let counters = self
            .counters
            .clone()
            .expect("there are counters where there is an admin address");
        let job = Job {
            site: Serves::Admin(counters),
            headers: Headers::default(),
            limits: Limits {
                connections: OPERATORS,
                connections_per_address: 0,
                ..self.config.limits.clone()
            },
            limiter: Arc::new(ConnectionLimiter::new(OPERATORS, 0)),
            log: None,
            counter_slot: None,
            listen: vec![at.clone()],
            mode: None,
            entrance: self.showcase.entrance(),
        };
        self.start("admin".to_owned(), job, false)
    }

    /// Has a thread get ready, and says where it listens.
    fn start(
        &self,
        name: String,
        job: Job,
        is_counted: bool,
    ) -> Result<(WorkerHandle, Vec<Address>), ServeError> {
        let (tell, told) = mpsc::channel();
        let (go, wait) = mpsc::channel();
        let stop = Arc::clone(&self.stop);
        let thread = thread::Builder::new()
            .name(name)
            .stack_size(STACK)
            .spawn(move || job.work(&tell, &wait, &stop))
            .map_err(|error| ServeError::Thread(error.into()))?;
        let addresses = match told.recv() {
            Ok(answer) => answer?,
            Err(_) => return Err(died(thread)),
        };
        let handle = WorkerHandle {
            thread,
            go,
            is_counted,
        };
        Ok((handle, addresses))
    }
}

/// A thread that has not answered has panicked.
fn died(thread: JoinHandle<Counts>) -> ServeError {
    match thread.join() {
        Err(panic) => std::panic::resume_unwind(panic),
        Ok(_) => unreachable!("a worker says whether it is ready"),
    }
}

/// What a worker is made of, before it is on its thread.
struct Job {
    site: Serves,
    headers: Headers,
    limits: Limits,
    limiter: Arc<ConnectionLimiter>,
    log: Option<Arc<LogFile>>,
    counter_slot: Option<CounterSlot>,
    listen: Vec<Address>,
    /// Permissions of Unix sockets.
    mode: Option<u32>,
    /// Where its listening sockets are shown.
    entrance: Entrance,
}

/// As [`Site`], before anything is opened.
enum Serves {
    BuiltIn,
    Folder(PathBuf, LibraryOptions),
    Admin(Arc<SharedCounters>),
}

impl Job {
    /// The whole life of a thread.
    fn work(
        self,
        tell: &Sender<Result<Vec<Address>, ServeError>>,
        go: &Receiver<()>,
        stop: &AtomicBool,
    ) -> Counts {
        // Where the table stays shared, each system call takes a little longer.
        let is_own = descriptors::own().is_ok();
        let entrance = self.entrance;
        let (worker, addresses) = match self.prepare() {
            Ok(ready) => ready,
            Err(error) => {
                let _ = tell.send(Err(error)); // the thread that started this one is waiting
                return Counts::default();
            }
        };
        if is_own {
            // Where there is no room for them they are not seen, and serve as well.
            let _ = entrance.show(&worker.listeners());
        }
        let _ = tell.send(Ok(addresses)); // the thread that started this one is waiting
        if go.recv().is_err() {
            return Counts::default();
        }
        worker.run(|| stop.load(Ordering::Relaxed))
    }

    fn prepare(self) -> Result<(Worker<Epoll>, Vec<Address>), ServeError> {
        let ring = Epoll::new().map_err(ServeError::Ring)?;
        let open_log = |file: &Arc<LogFile>| Log::open(file).map_err(|e| refused_log(file, e));
        let setting = Setting {
            site: self.site.open()?,
            headers: self.headers,
            limits: self.limits,
            limiter: self.limiter,
            log: self.log.as_ref().map(open_log).transpose()?,
            counter_slot: self.counter_slot,
            wall: clock::realtime,
        };
        let mut worker = Worker::new(ring, setting);
        let mut addresses = Vec::with_capacity(self.listen.len());
        for address in &self.listen {
            let found = worker.listen(address, self.mode);
            addresses.push(found.map_err(|error| refused(address, error))?);
        }
        Ok((worker, addresses))
    }
}

impl Serves {
    fn open(self) -> Result<Site, ServeError> {
        match self {
            Serves::BuiltIn => Ok(Site::BuiltIn),
            Serves::Admin(counters) => Ok(Site::Admin(counters)),
            Serves::Folder(path, options) => {
                match Library::open(&path, &options, clock::realtime) {
                    Ok(library) => Ok(Site::Files(Box::new(library))),
                    Err(error) => Err(ServeError::Folder { path, error }),
                }
            }
        }
    }
}

fn refused_log(log: &LogFile, error: std::io::Error) -> ServeError {
    let path = log.path().to_owned();
    match Errno::from(error) {
        Errno::ELOOP if log.is_given() => ServeError::LinkedLog { path },
        error => ServeError::Log { path, error },
    }
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
            return Err(ServeError::Range { what, given, most });
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
        Some((what, _)) => Err(ServeError::Span { what }),
        None => Ok(()),
    }
}

fn refused(address: &Address, error: Errno) -> ServeError {
    let address = address.clone();
    ServeError::Listen { address, error }
}

/// Where ports are shared among workers, they would be shared with another server of the same user too, and each would
/// count a part of what clients sent. So an address at which a server listens already is refused.
fn refuse_to_share(address: &Address) -> Result<(), ServeError> {
    kernel::is_free(address).map_err(|error| refused(address, error))
}

/// Checks that each address is there once.
///
/// # Errors
/// [`ServeError::Shared`]: one is there twice.
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

fn shared(address: &Address, other: &Address) -> ServeError {
    let (address, other) = (address.clone(), other.clone());
    ServeError::Shared { address, other }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_leave_descriptors_for_everything_else() {
        for descriptors in [0, 64, 256, 1024, 20_000, 1 << 20] {
            let config = Config::within(descriptors);
            let connections = u64::from(config.limits.connections);
            let all = connections + config.open_files + DESCRIPTORS + u64::from(TURNED_AWAY);
            let half = (descriptors / 2).max(1);
            assert!(
                connections == half || all <= descriptors,
                "{descriptors}: {all}"
            );
            assert_eq!(
                check(&Config {
                    listen: vec!["[::]:80".parse().unwrap()],
                    ..config
                }),
                Ok(())
            );
        }
        assert!(Config::within(20_000).limits.connections_per_address > 10_000);
    }

    #[test]
    fn an_address_is_for_one_listener() {
        // (where to listen, where the operator may ask, whether that can be)
        #[rustfmt::skip]
        let cases: &[(&[&str], Option<&str>, bool)] = &[
            (&["127.0.0.1:80", "127.0.0.1:81", "[::1]:80"], Some("127.0.0.1:82"), true),
            (&["127.0.0.1:0", "127.0.0.1:0"], Some("127.0.0.1:0"), true),
            (&["0.0.0.0:80", "127.0.0.1:80"], None, true),
            (&["unix:a", "unix:b"], Some("unix:c"), true),
            (&["127.0.0.1:80", "[::1]:80", "127.0.0.1:80"], None, false),
            (&["unix:a", "unix:a"], None, false),
            (&["127.0.0.1:80"], Some("127.0.0.1:80"), false),
            (&["0.0.0.0:80"], Some("127.0.0.1:80"), false),
            (&["127.0.0.1:80"], Some("[::]:80"), false),
            (&["unix:a"], Some("unix:a"), false),
        ];
        for (listen, admin, can_be) in cases {
            let listen: Vec<Address> = listen.iter().map(|at| at.parse().unwrap()).collect();
            let admin = admin.map(|at| at.parse().unwrap());
            let answer = refuse_twice(&listen)
                .and_then(|()| admin.iter().try_for_each(|at| refuse_among(&listen, at)));
            assert_eq!(answer.is_ok(), *can_be, "{listen:?} {admin:?}: {answer:?}");
        }
    }

    #[test]
    fn a_time_of_zero_is_refused_by_name() {
        let mut config = Config {
            listen: vec!["[::]:80".parse().unwrap()],
            ..Config::default()
        };
        config.limits.head = Nanos::ZERO;
        let sentence = "the time for a request's head must be longer than nothing";
        assert_eq!(check(&config).unwrap_err().to_string(), sentence);
    }
}
