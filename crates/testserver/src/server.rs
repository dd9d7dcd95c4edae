//! The test servers as their owner has them: bound or started, run, stopped, and what they did.

use crate::behaviour::Behaviour;
use crate::config::{BusyPoll, Config};
use crate::misbehaviour::{Log, Script};
use crate::truth::log::{Header, LogCounts, Writer};
use crate::worker::{Command, TestRing, Worker};
use kernel::{Address, Epoll, clock};
use refserver::parts::{Encryption, Secured};
use refserver::{Certificate, ServeError};
use std::fmt;
use std::fs::{self, File};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use units::Instant;
use wire::tls::{self, Tls};

/// What a truth server has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// On connections and the wire.
    pub log: Log,
    /// Requests whose query could not be understood; they got a 400, and are among those answered as expected.
    pub wrong: u64,
    /// What became of the truth log's records; none without a log.
    pub records: Option<LogCounts>,
}

impl fmt::Display for Counts {
    /// One count a line, `name number`. No line end after the last.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\nwrong_queries {}", self.log, self.wrong)?;
        if let Some(LogCounts { written, lost }) = self.records {
            write!(f, "\nlog_written {written}\nlog_lost {lost}")?;
        }
        Ok(())
    }
}

/// A truth server that listens, but does not serve before [`TruthServer::run`].
///
/// One thread and one ring: the order in which requests are counted and queued is that in which they come.
pub struct TruthServer(Bound);

/// The worker of a server that listens, with TLS and without.
enum Bound {
    Plain(Box<Worker<Epoll>>),
    Secured(Box<Worker<Secured<Epoll, Tls<tls::Server>>>>),
}

/// Does the same with either worker.
macro_rules! with {
    ($bound:expr, $worker:ident => $done:expr) => {
        match $bound {
            Bound::Plain($worker) => $done,
            Bound::Secured($worker) => $done,
        }
    };
}

impl Bound {
    /// Listens where the behaviour's configuration says, with TLS if it has a certificate.
    fn new(mut behaviour: Behaviour) -> Result<Bound, ServeError> {
        let config = &behaviour.config;
        config.check()?;
        let ring = Epoll::new().map_err(ServeError::ring)?;
        let Some(certificate) = &config.certificate else {
            return Ok(Bound::Plain(Box::new(listening(ring, behaviour)?)));
        };
        let encryption = Encryption::new(certificate, &config.listen)?;
        let ring = Secured::new(ring, encryption.credentials().of_thread());
        behaviour.encryption = Some(encryption);
        Ok(Bound::Secured(Box::new(listening(ring, behaviour)?)))
    }

    /// Where it listens.
    fn addresses(&self) -> &[Address] {
        with!(self, worker => worker.addresses())
    }
}

impl TruthServer {
    /// Opens all that is needed, so that what can fail fails here. Its time begins now.
    ///
    /// # Errors
    /// The configuration is out of range, an address cannot be had, or the log cannot be made.
    pub fn bind(config: &Config) -> Result<TruthServer, ServeError> {
        let start = clock::now();
        let mut bound = Bound::new(Behaviour::truthful(config.clone(), start))?;
        // Last, because a log that is there is written over.
        with!(&mut bound, worker => worker.behaviour.writer = writer(config, start)?);
        Ok(TruthServer(bound))
    }

    /// Where it listens, in the configuration's order, with the ports that were found.
    pub fn addresses(&self) -> &[Address] {
        self.0.addresses()
    }

    /// When its time began: the beginning of its first stall.
    pub fn start(&self) -> Instant {
        with!(&self.0, worker => worker.behaviour.start)
    }

    /// Serves on this thread until `stop` is set, which is seen within some milliseconds; then closes everything,
    /// writes the rest of the log and says what was done. What was still to be answered then is not.
    pub fn run(self, stop: &AtomicBool) -> Counts {
        let stop = |_: &Log| Command::stop_if(stop);
        let (log, behaviour) = with!(self.0, worker => worker.run(stop));
        Counts {
            log,
            wrong: behaviour.wrong,
            records: behaviour.finish(),
        }
    }
}

/// A worker that listens at all addresses.
fn listening<R: TestRing>(ring: R, behaviour: Behaviour) -> Result<Worker<R>, ServeError> {
    let addresses = behaviour.config.listen.clone();
    let mut worker = Worker::new(ring, behaviour);
    for address in &addresses {
        let listening = worker.listen(address);
        listening.map_err(|error| ServeError::listen(address, error))?;
    }
    Ok(worker)
}

fn writer(config: &Config, start: Instant) -> Result<Option<Writer>, ServeError> {
    let Some(path) = &config.log else {
        return Ok(None);
    };
    let file = File::create(path).map_err(|error| {
        let path = path.display();
        ServeError::new(format!(
            "cannot write the truth log to {path}: {error}; is there such a folder, and may you write there?"
        ))
    })?;
    let since_origin = clock::now().as_nanos();
    let header = Header {
        start,
        wall_offset: (clock::realtime().as_nanos() as u64).saturating_sub(since_origin),
        seed: config.seed,
        boot: boot(),
        stamped: true,
    };
    Ok(Some(Writer::new(Box::new(file), &header, config.complain)))
}

/// The kernel's name for this boot; zeros where it has none.
fn boot() -> [u8; 16] {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let digits = text.trim().replace('-', "");
    u128::from_str_radix(&digits, 16).unwrap_or(0).to_be_bytes()
}

/// State that the misbehaving server's owner and its thread share.
#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    resume: AtomicBool,
    log: Mutex<Log>,
}

impl Shared {
    /// A log is whole after each assignment, even if the thread that made it has panicked.
    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes what has been done so far, and returns what is to be done next.
    fn turn(&self, log: &Log) -> Command {
        *self.log() = *log;
        match self.resume.swap(false, Ordering::Relaxed) {
            true => Command::Resume,
            false => Command::stop_if(&self.stop),
        }
    }
}

/// A running misbehaving server. Dropped, it stops.
#[derive(Debug)]
pub struct MisbehavingServer {
    address: Address,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<Log>>,
}

impl MisbehavingServer {
    /// Listens at `at` (port 0 asks for any) and serves on a thread of its own.
    ///
    /// # Errors
    /// There is no ring, no such address or no thread to be had.
    pub fn start(at: &Address, script: Script) -> Result<MisbehavingServer, ServeError> {
        MisbehavingServer::start_with(at, script, None)
    }

    /// As [`MisbehavingServer::start`], and speaks TLS with this certificate.
    ///
    /// # Errors
    /// As there, and if there is no such certificate.
    pub fn start_secured(
        at: &Address,
        script: Script,
        certificate: Certificate,
    ) -> Result<MisbehavingServer, ServeError> {
        MisbehavingServer::start_with(at, script, Some(certificate))
    }

    fn start_with(
        at: &Address,
        script: Script,
        certificate: Option<Certificate>,
    ) -> Result<MisbehavingServer, ServeError> {
        let config = Config {
            listen: vec![at.clone()],
            certificate,
            script,
            busy_poll: BusyPoll::Never,
            ..Config::default()
        };
        let bound = Bound::new(Behaviour::scripted(config))?;
        let address = bound.addresses()[0].clone();
        let shared = Arc::new(Shared::default());
        let thread = thread::Builder::new()
            .name("misbehaving".to_owned())
            .spawn({
                let shared = Arc::clone(&shared);
                move || with!(bound, worker => worker.run(|log| shared.turn(log)).0)
            })
            .map_err(ServeError::thread)?;
        Ok(MisbehavingServer {
            address,
            shared,
            thread: Some(thread),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// What it has done so far. What happens in one turn of its loop becomes visible together.
    pub fn log(&self) -> Log {
        *self.shared.log()
    }

    /// Ends the outage of the listening socket, if there is one.
    pub fn resume(&self) {
        self.shared.resume.store(true, Ordering::Relaxed);
    }

    /// Does what has come, closes everything, and says what was done; a matter of milliseconds.
    pub fn stop(mut self) -> Log {
        match self.end() {
            Some(Ok(log)) => log,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => self.log(),
        }
    }

    fn end(&mut self) -> Option<thread::Result<Log>> {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.thread.take().map(JoinHandle::join)
    }
}

impl Drop for MisbehavingServer {
    fn drop(&mut self) {
        // A panic there was told on standard error already; here it may be that another one is under way.
        drop(self.end());
    }
}
#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::WORK_MAX;
    use std::path::PathBuf;
    use units::Nanos;

    #[test]
    fn what_is_out_of_range_is_refused() {
        let at = || vec!["127.0.0.1:0".parse().unwrap()];
        let cases = [
            (
                Config::default(),
                "the number of addresses must be from 1 to 64, not 0",
            ),
            (
                Config {
                    listen: at(),
                    work: WORK_MAX + Nanos::from_nanos(1),
                    ..Config::default()
                },
                "the work in nanoseconds must be from 1 to 1000000000, not 1000000001",
            ),
            (
                Config {
                    listen: at(),
                    log: Some(PathBuf::from("/nonesuch/truth.log")),
                    ..Config::default()
                },
                "cannot write the truth log to /nonesuch/truth.log: No such file or directory (os error 2); is there \
                 such a folder, and may you write there?",
            ),
        ];
        for (config, sentence) in cases {
            let error = TruthServer::bind(&config).err().expect("a refusal");
            assert_eq!(error.to_string(), sentence);
        }
    }

    #[test]
    fn an_address_that_somebody_has_is_refused() {
        let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let at = Address::Ip(other.local_addr().unwrap());
        let config = Config {
            listen: vec![at],
            ..Config::default()
        };
        let error = TruthServer::bind(&config).err().expect("a refusal");
        assert!(
            error.to_string().contains("cannot listen at 127.0.0.1:"),
            "{error}"
        );
    }

    #[test]
    fn this_boot_has_a_name() {
        assert_ne!(boot(), [0; 16]);
        assert_eq!(boot(), boot());
    }
}
