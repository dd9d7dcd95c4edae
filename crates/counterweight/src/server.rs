//! The workers together: bound before anything runs, started, stopped, added up.

use crate::counts::Counts;
use crate::slots;
use crate::worker::Worker;
use kernel::{Address, Closing, ConnectOptions, Epoll, Errno, Event, Ring, Token, clock};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use units::Nanos;

/// More threads than this are a mistake.
const WORKERS_MAX: u32 = 1024;
/// Connections that one worker may be told to have: tokens are below 2^20.
const CONNECTIONS_MAX: u32 = (1 << 20) - slots::FIRST;
/// How long an address may take to say whether somebody listens there. On this machine it is a matter of microseconds.
const PROBE: Nanos = Nanos::from_millis(200);

/// What a server is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Where it listens, at most 64 addresses; port 0 asks for any.
    pub listen: Vec<Address>,
    /// Threads, from 1 to 1024.
    pub workers: u32,
    /// Connections that one worker has at a time, at most 2^20 - 64; those that come then wait in the kernel. Too few
    /// descriptors have the same effect.
    pub connections: u32,
}

impl Default for Config {
    /// No address yet, a worker for each CPU that the process may use, 20,000 connections each.
    fn default() -> Config {
        let cpus = thread::available_parallelism().map_or(1, |cpus| cpus.get());
        Config {
            listen: Vec::new(),
            workers: u32::try_from(cpus).map_or(WORKERS_MAX, |cpus| cpus.min(WORKERS_MAX)),
            connections: 20_000,
        }
    }
}

/// Why there is no server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// A number in the configuration is out of its range.
    #[error("{what} must be from 1 to {most}, not {given}")]
    Range {
        /// Which.
        what: &'static str,
        /// What it was.
        given: u64,
        /// What it may be.
        most: u64,
    },
    /// A worker did not get its ring.
    #[error("a worker cannot be set up: {0}")]
    Ring(Errno),
    /// An address cannot be listened at.
    #[error("cannot listen at {address}: {error}")]
    Listen {
        /// Where.
        address: Address,
        /// What the kernel said; EADDRINUSE also when a server that shares its port answered there.
        error: Errno,
    },
    /// A thread cannot be started.
    #[error("a worker thread cannot be started: {0}")]
    Thread(Errno),
}

/// A server that listens, but does not serve before [`Server::run`].
///
/// All workers listen at the same IP addresses (SO_REUSEPORT) and the kernel spreads connections over them by their
/// addresses and ports. A Unix socket cannot be shared that way; the first worker has it alone.
pub struct Server {
    workers: Vec<Worker<Epoll>>,
    addresses: Vec<Address>,
}

impl Server {
    /// Opens all that is needed, so that what can fail fails here.
    ///
    /// # Errors
    /// The configuration is out of range, or an address cannot be had.
    pub fn bind(config: &Config) -> Result<Server, ServeError> {
        check(config)?;
        for address in &config.listen {
            refuse_to_share(address)?;
        }
        let mut first = worker(config)?;
        let addresses = listen(&mut first, &config.listen)?;
        let is_shared = |address: &&Address| matches!(address, Address::Ip(_));
        let shared: Vec<Address> = addresses.iter().filter(is_shared).cloned().collect();
        let mut workers = vec![first];
        let others = if shared.is_empty() {
            0
        } else {
            config.workers - 1
        };
        for _ in 0..others {
            let mut worker = worker(config)?;
            listen(&mut worker, &shared)?;
            workers.push(worker);
        }
        Ok(Server { workers, addresses })
    }

    /// Where it listens, in the configuration's order, with the ports that were found.
    pub fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    /// Serves until `stop` is set, which is seen within 50 ms; then stops listening, answers what has come, gives what
    /// is under way half a second, and closes. Says what was done.
    ///
    /// # Errors
    /// A thread cannot be started; nothing is served then.
    pub fn run(self, stop: &AtomicBool) -> Result<Counts, ServeError> {
        let failed = AtomicBool::new(false);
        let stopped = || stop.load(Ordering::Relaxed) || failed.load(Ordering::Relaxed);
        thread::scope(|scope| {
            let mut running = Vec::with_capacity(self.workers.len());
            for (index, worker) in self.workers.into_iter().enumerate() {
                let alarm = Alarm(&failed);
                let work = move || {
                    let _alarm = alarm;
                    worker.run(stopped)
                };
                let name = format!("worker-{index}");
                let thread = thread::Builder::new().name(name).spawn_scoped(scope, work);
                running.push(thread.map_err(|error| {
                    failed.store(true, Ordering::Relaxed);
                    ServeError::Thread(error.into())
                })?);
            }
            let mut counts = Counts::default();
            for thread in running {
                match thread.join() {
                    Ok(done) => counts += done,
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            Ok(counts)
        })
    }
}

/// Stops all workers when one of them dies of a bug: a server with a part missing would answer some and not others.
struct Alarm<'a>(&'a AtomicBool);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

fn check(config: &Config) -> Result<(), ServeError> {
    let addresses = config.listen.len() as u64;
    let rows = [
        ("the number of addresses", addresses, slots::FIRST),
        ("the number of workers", config.workers.into(), WORKERS_MAX),
        (
            "the number of connections",
            config.connections.into(),
            CONNECTIONS_MAX,
        ),
    ];
    for (what, given, most) in rows {
        let most = u64::from(most);
        if !(1..=most).contains(&given) {
            return Err(ServeError::Range { what, given, most });
        }
    }
    Ok(())
}

fn worker(config: &Config) -> Result<Worker<Epoll>, ServeError> {
    let ring = Epoll::new().map_err(ServeError::Ring)?;
    Ok(Worker::new(ring, config.connections, clock::realtime))
}

fn listen(worker: &mut Worker<Epoll>, at: &[Address]) -> Result<Vec<Address>, ServeError> {
    let listen = |address: &Address| {
        worker
            .listen(address)
            .map_err(|error| failed(address, error))
    };
    at.iter().map(listen).collect()
}

fn failed(address: &Address, error: Errno) -> ServeError {
    let address = address.clone();
    ServeError::Listen { address, error }
}

/// Where ports are shared among workers, they would be shared with another server of the same user too, and each would
/// count a part of what clients sent. So whoever answers at an IP address already, keeps it.
fn refuse_to_share(address: &Address) -> Result<(), ServeError> {
    let Address::Ip(ip) = address else {
        return Ok(());
    };
    if ip.port() == 0 {
        return Ok(());
    }
    // Twice, because a connect to a free port can, once in thousands, be given that very port and meet itself.
    if answers(address)? && answers(address)? {
        return Err(failed(address, Errno::EADDRINUSE));
    }
    Ok(())
}

fn answers(address: &Address) -> Result<bool, ServeError> {
    let mut ring = Epoll::new().map_err(ServeError::Ring)?;
    let options = ConnectOptions::default();
    if ring.connect(Token(0), address, &options).is_err() {
        return Ok(false);
    }
    ring.wait(Some(PROBE));
    let is_taken = ring.next().is_some_and(|it| it.event == Event::Connected);
    ring.close(Token(0), Closing::Reset);
    Ok(is_taken)
}
