//! The workers together: ready before anything runs, started, stopped, added up.
//!
//! Each worker lives on a thread of its own from the beginning, with a table of descriptors of its own, so that no
//! system call of one touches what another one needs. So what can fail fails there, and is reported to the thread that
//! waits for the server to be ready. The listening sockets alone are in the table of the thread that made the server
//! too, while it listens: `ss -p` and `lsof` look there for a socket's process.

use crate::admin::{CounterSlot, SharedCounters};
use crate::config::{self, Config, check_addresses};
use crate::counts::Counts;
use crate::encryption::Encryption;
use crate::errors::ServeError;
use crate::files::{Library, LibraryOptions};
use crate::headers::Headers;
use crate::limiter::ConnectionLimiter;
use crate::limits::Limits;
use crate::log::{Log, LogFile};
use crate::responding::Site;
use crate::secured::Secured;
use crate::worker::{Setting, Worker};
use kernel::descriptors::{self, Entrance, Showcase};
use kernel::user::User;
use kernel::{Address, Epoll, Errno, ServerRing, clock};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use units::Nanos;
use wire::tls::{self, Tls};

/// Connections of operators at a time, to the admin listener.
const OPERATORS: u32 = 64;
/// Stacks of workers. The largest frame is that of a head's 256 header lines, 8 KiB; what is not touched costs nothing.
const STACK: usize = 512 * 1024;
/// How often the thread that has called [`Server::run`] looks whether it is to stop.
const WATCH: Nanos = Nanos::from_millis(25);
/// How the caller controls a running server.
#[derive(Debug)]
pub struct Control<'a> {
    /// Set to have it stop.
    pub stop: &'a AtomicBool,
    /// Set to have it open its log anew, and read its certificate again; it clears it.
    pub reopen: &'a AtomicBool,
    /// Called with a sentence about what of that cannot be done.
    pub complain: fn(&str),
}

/// A worker's thread: it ends with its counts, or with why it is not ready.
type Thread = JoinHandle<Result<Counts, ServeError>>;

/// A server that listens, but does not serve before [`Server::run`]. Dropped before that, it is gone.
///
/// All workers listen at the same IP addresses (SO_REUSEPORT) and the kernel spreads connections over them by their
/// addresses and ports. A Unix socket cannot be shared that way; the first worker has it alone.
pub struct Server {
    shared: Arc<Shared>,
    /// Threads that have their workers ready, each with what it waits for; dropped, it ends.
    threads: Vec<(Thread, Sender<()>)>,
    addresses: Vec<Address>,
    admin: Option<Address>,
    /// Copies of the workers' listening sockets, to be seen in this thread's table.
    listeners: Vec<OwnedFd>,
}

impl Server {
    /// Opens all that is needed, so that what can fail fails here; then becomes the user that it is to run as.
    ///
    /// # Errors
    /// The configuration is out of range, or something in it cannot be had.
    pub fn bind(config: &Config) -> Result<Server, ServeError> {
        config::check(config)?;
        check_addresses(&config.listen, config.admin.as_ref())?;
        let user = config.user.as_deref().map(find_user).transpose()?;
        let mut showcase = Showcase::new().map_err(ServeError::ring)?;
        let mut server = Server {
            shared: Arc::new(Shared::new(config)?),
            threads: Vec::new(),
            addresses: Vec::new(),
            admin: None,
            listeners: Vec::new(),
        };
        server.addresses = server.spawn(Some(0), &config.listen, &showcase)?;
        // Whether workers can listen at one address together.
        let can_share = |address: &&Address| matches!(address, Address::Ip(_));
        let shared = server.addresses.iter().filter(can_share).cloned();
        let shared: Vec<Address> = shared.collect();
        for worker in 1..server.shared.config.workers {
            server.spawn(Some(worker), &shared, &showcase)?;
        }
        if let Some(admin) = &config.admin {
            let mut found = server.spawn(None, slice::from_ref(admin), &showcase)?;
            server.admin = found.pop();
        }
        if let Some(user) = &user {
            become_user(user, &server.shared)?;
        }
        // Not before, as each thread begins with a copy of what is in this one's table by then.
        server.listeners = showcase.collect();
        Ok(server)
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
        for (_, go) in &self.threads {
            // Should it have died, joining it tells.
            let _ = go.send(());
        }
        let is_over = || self.threads.iter().any(|(thread, _)| thread.is_finished());
        while !control.stop.load(Ordering::Relaxed) && !is_over() {
            if control.reopen.swap(false, Ordering::Relaxed) {
                self.shared.renew(control.complain);
            }
            thread::sleep(WATCH.to_std()); // signals raise the flags of the caller, which nothing can wait for
        }
        // A socket listens until its last copy is closed, which is to be the worker's.
        drop(self.listeners);
        // Also when one of them has died of a bug: a server with a part missing would serve some clients and not others.
        self.shared.stop.store(true, Ordering::Relaxed);
        let mut counts = Counts::default();
        for (thread, _) in self.threads {
            // It was ready, so there is no error any more.
            counts += join(thread).unwrap_or_default();
        }
        counts
    }

    /// Has a thread get ready, and says where it listens: one of the workers, or (none) the admin listener's.
    fn spawn(
        &mut self,
        worker: Option<u32>,
        at: &[Address],
        showcase: &Showcase,
    ) -> Result<Vec<Address>, ServeError> {
        let name = worker.map_or("admin".to_owned(), |worker| format!("worker-{worker}"));
        let (ready, is_ready) = mpsc::channel();
        let (go, wait) = mpsc::channel();
        let (shared, at) = (Arc::clone(&self.shared), at.to_vec());
        let entrance = showcase.entrance();
        // The whole life of the thread. The one that starts it is waiting for what it sends.
        let work = move || {
            // Where the table stays shared, each system call takes a little longer.
            let is_own = descriptors::own().is_ok();
            let birth = Birth {
                worker,
                at,
                entrance: is_own.then_some(entrance),
                ready,
                wait,
            };
            let ring = Epoll::new().map_err(ServeError::ring)?;
            match shared.encryption.as_ref().filter(|_| worker.is_some()) {
                None => shared.live(ring, birth),
                Some(encryption) => {
                    let of_thread = encryption.credentials().of_thread();
                    shared.live(Secured::<_, Tls<tls::Server>>::new(ring, of_thread), birth)
                }
            }
        };
        let thread = thread::Builder::new().name(name).stack_size(STACK);
        let thread = thread.spawn(work).map_err(ServeError::thread)?;
        let Ok(addresses) = is_ready.recv() else {
            // It has ended, so it says why.
            return join(thread).map(|_| Vec::new());
        };
        self.threads.push((thread, go));
        Ok(addresses)
    }
}

/// What a thread is told when it begins.
struct Birth {
    /// The worker's number; none for the admin listener.
    worker: Option<u32>,
    at: Vec<Address>,
    /// Where it shows its listening sockets; none where they are to be seen already.
    entrance: Option<Entrance>,
    /// It says here where it listens.
    ready: Sender<Vec<Address>>,
    /// It serves when it hears from here, and ends when there is nothing to be heard any more.
    wait: Receiver<()>,
}

/// What a thread has come to; its panic goes on here.
fn join(thread: Thread) -> Result<Counts, ServeError> {
    let done = thread.join();
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
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
fn become_user(user: &User, shared: &Shared) -> Result<(), ServeError> {
    let refused = |path: &Path, error: Errno| {
        let path = path.display();
        ServeError::new(format!(
            "cannot give {path} to the user that the server runs as: {error}"
        ))
    };
    let config = &shared.config;
    for address in config.listen.iter().chain(&config.admin) {
        if let Address::Unix(path) = address {
            user.own_socket(path)
                .map_err(|error| refused(path, error))?;
        }
    }
    if let Some(log) = &shared.log {
        let file = log.open().map_err(|error| refused_log(log, error))?;
        user.own_file(&file)
            .map_err(|error| refused(&log.path, error))?;
    }
    let name = config.user.as_deref().unwrap_or_default();
    user.assume().map_err(|error| refused_user(name, error))
}

/// What all threads share.
struct Shared {
    config: Config,
    headers: Headers,
    limiter: Arc<ConnectionLimiter>,
    counters: Arc<SharedCounters>,
    log: Option<Arc<LogFile>>,
    /// With it all but the operator speak TLS.
    encryption: Option<Encryption>,
    stop: AtomicBool,
}

impl Shared {
    fn new(config: &Config) -> Result<Shared, ServeError> {
        let limits = &config.limits;
        let per_address = limits.connections_per_address;
        let limiter = Arc::new(ConnectionLimiter::new(limits.connections, per_address));
        let log = |path| {
            Arc::new(LogFile {
                path,
                is_given: config.user.is_some(),
                ..LogFile::default()
            })
        };
        let mut config = config.clone();
        if config
            .listen
            .iter()
            .all(|at| matches!(at, Address::Unix(_)))
        {
            // Which no two workers can share.
            config.workers = 1;
        }
        let workers = config.workers as usize;
        Ok(Shared {
            headers: Headers::new(&config.headers)?,
            counters: Arc::new(SharedCounters::new(workers, Arc::clone(&limiter))),
            limiter,
            log: config.log.clone().map(log),
            encryption: match &config.certificate {
                Some(certificate) => Some(Encryption::new(certificate, &config.listen)?),
                None => None,
            },
            stop: AtomicBool::new(false),
            config,
        })
    }

    /// Opens the log anew and reads the certificate again.
    fn renew(&self, complain: fn(&str)) {
        if let Some(log) = &self.log
            && let Err(error) = log.renew()
        {
            let error = refused_log(log, error);
            complain(&format!("{error}; the file that is open is written on"));
        }
        if let Some(encryption) = &self.encryption
            && let Err(error) = encryption.renew()
        {
            complain(&format!("{error}; the certificate of before is shown on"));
        }
    }

    /// A thread's life with its ring.
    fn live<R: ServerRing>(&self, ring: R, birth: Birth) -> Result<Counts, ServeError> {
        let (served, addresses) = self.listening(ring, birth.worker, &birth.at)?;
        if let Some(entrance) = birth.entrance {
            // Where there is no room for them they are not seen, and serve as well.
            let _ = entrance.show(&served.listeners());
        }
        let _ = birth.ready.send(addresses);
        if birth.wait.recv().is_err() {
            return Ok(Counts::default());
        }
        let counts = served.run(|| self.stop.load(Ordering::Relaxed));
        // The server's counts are those of its workers.
        Ok(birth.worker.map_or(Counts::default(), |_| counts))
    }

    /// A worker that listens, and where.
    fn listening<R: ServerRing>(
        &self,
        ring: R,
        worker: Option<u32>,
        at: &[Address],
    ) -> Result<(Worker<R>, Vec<Address>), ServeError> {
        let setting = match worker {
            Some(worker) => self.worker(worker as usize)?,
            None => self.admin(),
        };
        // The files of Unix sockets get these permissions; the operator's does not.
        let mode = worker.and(self.config.listen_mode);
        let mut worker = Worker::new(ring, setting);
        let mut listen = |address| {
            let found = worker.listen(address, mode);
            found.map_err(|error| ServeError::listen(address, error))
        };
        let addresses = at.iter().map(&mut listen).collect::<Result<_, _>>()?;
        Ok((worker, addresses))
    }

    fn worker(&self, worker: usize) -> Result<Setting, ServeError> {
        let config = &self.config;
        let counts = config.admin.is_some();
        Ok(Setting {
            site: match &config.root {
                Some(root) => Site::Files(Box::new(self.open_library(root)?)),
                None => Site::BuiltIn,
            },
            headers: self.headers.clone(),
            limits: config.limits.clone(),
            limiter: Arc::clone(&self.limiter),
            log: match &self.log {
                Some(file) => Some(Log::open(file).map_err(|error| refused_log(file, error))?),
                None => None,
            },
            counter_slot: counts.then(|| CounterSlot::new(&self.counters, worker)),
            wall: clock::realtime,
        })
    }

    fn admin(&self) -> Setting {
        Setting {
            site: Site::Admin(Arc::clone(&self.counters)),
            headers: Headers::default(),
            limits: Limits {
                connections: OPERATORS,
                connections_per_address: 0,
                ..self.config.limits.clone()
            },
            limiter: Arc::new(ConnectionLimiter::new(OPERATORS, 0)),
            log: None,
            counter_slot: None,
            wall: clock::realtime,
        }
    }

    fn open_library(&self, root: &Path) -> Result<Library, ServeError> {
        let options = LibraryOptions {
            open_files: usize::try_from(self.config.open_files).unwrap_or(usize::MAX),
            cache: self.config.cache,
            headers: self.headers.clone(),
        };
        Library::open(root, &options, clock::realtime).map_err(|error| {
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
