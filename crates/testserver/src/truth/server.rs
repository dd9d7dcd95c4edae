//! The truth server as its owner has it: configured, bound, run, and what it did.

use super::behaviour::Truthful;
use super::log::{Header, LogCounts, Writer};
use super::queue::{Capacity, Queue, Service};
use super::stall::Stall;
use crate::misbehaviour::{self, Chooser, Control, Log, Rule, Script, Worker};
use kernel::{Address, Epoll, clock, is_free};
use refserver::ServeError;
use refserver::parts::Headers;
use refserver::parts::PrebuiltResponses;
use refserver::parts::refuse_twice;
use std::fmt;
use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use units::{Instant, Nanos};

/// How long before an instant sleeping ends and asking begins. Of 2000 waits on a 2-core virtual machine sleeping alone
/// ended 26 us late at the median, 35 us at p90 and 60 us at most; so nearly all are over in time, and no more is burned.
const MARGIN: Nanos = Nanos::from_micros(100);
/// The longest [`Config::work`]: more is a stall.
pub const WORK_MAX: Nanos = Nanos::from_secs(1);

/// How waits end that are to end at an instant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum BusyPoll {
    /// If the process may use more than one processor, it is awake for the last 100 us of each wait; else as `Never`.
    #[default]
    Auto,
    /// The thread never sleeps, but in stalls: it hears of requests without delay, too.
    Always,
    /// It sleeps to the end of each wait.
    Never,
}

impl BusyPoll {
    fn resolve(self) -> misbehaviour::WaitMode {
        let has_others = thread::available_parallelism().is_ok_and(|cpus| cpus.get() > 1);
        let (margin, is_always) = match self {
            BusyPoll::Always => (MARGIN, true),
            BusyPoll::Auto if has_others => (MARGIN, false),
            BusyPoll::Auto | BusyPoll::Never => (Nanos::ZERO, false),
        };
        misbehaviour::WaitMode { margin, is_always }
    }
}

/// What a truth server is to be.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where it listens, at most 64 addresses; port 0 asks for any.
    pub listen: Vec<Address>,
    /// The seed of every draw.
    pub seed: u64,
    /// When everything stands still.
    pub stall: Option<Stall>,
    /// Processor time that goes into each request besides; at most [`WORK_MAX`].
    pub work: Nanos,
    /// The one queue that all requests pass.
    pub capacity: Option<(Capacity, Service)>,
    /// Misbehaviours that any connection or request can meet.
    pub faults: Vec<Rule>,
    /// How slow misbehaviours are and how long they last. Its rules are those of `faults`, and no others.
    pub script: Script,
    /// How waits end.
    pub busy_poll: BusyPoll,
    /// Where every request is written down.
    pub log: Option<PathBuf>,
    /// Called once, with a sentence, when the log cannot be written.
    pub complain: fn(&str),
}

impl Default for Config {
    /// No address yet, and a server that answers everything right and at once, with seed 0.
    fn default() -> Config {
        Config {
            listen: Vec::new(),
            seed: 0,
            stall: None,
            work: Nanos::ZERO,
            capacity: None,
            faults: Vec::new(),
            script: Script::default(),
            busy_poll: BusyPoll::default(),
            log: None,
            complain: |_| (),
        }
    }
}

/// What a truth server has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// On connections and the wire.
    pub log: Log,
    /// Requests whose query could not be understood; they were answered 400, and are among those answered right.
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
pub struct TruthServer {
    worker: Worker<Epoll, Truthful>,
    addresses: Vec<Address>,
    start: Instant,
}

impl TruthServer {
    /// Opens all that is needed, so that what can fail fails here. Its time begins now.
    ///
    /// # Errors
    /// The configuration is out of range, an address cannot be had, or the log cannot be made.
    pub fn bind(config: &Config) -> Result<TruthServer, ServeError> {
        check(config)?;
        let ring = Epoll::new().map_err(ServeError::ring)?;
        for address in &config.listen {
            is_free(address).map_err(|error| ServeError::listen(address, error))?;
        }
        let start = clock::now();
        let behaviour = behaviour(config, start)?;
        let mut worker = Worker::new(
            ring,
            behaviour,
            config.script.clone(),
            config.busy_poll.resolve(),
        );
        worker.stamp();
        let mut addresses = Vec::new();
        for address in &config.listen {
            let found = worker
                .listen(address)
                .map_err(|error| ServeError::listen(address, error))?;
            addresses.push(found.clone());
        }
        Ok(TruthServer {
            worker,
            addresses,
            start,
        })
    }

    /// Where it listens, in the configuration's order, with the ports that were found.
    pub fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    /// When its time began: the beginning of its first stall.
    pub fn start(&self) -> Instant {
        self.start
    }

    /// Serves on this thread until `stop` is set, which is seen within some milliseconds; then closes everything,
    /// writes the rest of the log and says what was done. What was still to be answered then is not.
    pub fn run(self, stop: &AtomicBool) -> Counts {
        let (log, behaviour) = self.worker.run(stop);
        Counts {
            log,
            wrong: behaviour.wrong,
            records: behaviour.writer.map(Writer::finish),
        }
    }
}

impl Control for AtomicBool {
    fn stopped(&self) -> bool {
        self.load(Ordering::Relaxed)
    }
}

fn check(config: &Config) -> Result<(), ServeError> {
    let rows = [
        ("the number of addresses", config.listen.len() as u64, 1, 64),
        (
            "the work in nanoseconds",
            config.work.as_nanos(),
            0,
            WORK_MAX.as_nanos(),
        ),
    ];
    for (what, given, least, most) in rows {
        if !(least..=most).contains(&given) {
            return Err(ServeError::range(what, given, most));
        }
    }
    refuse_twice(&config.listen)
}

/// The distributions of this configuration, from `start` on.
pub(super) fn behaviour(config: &Config, start: Instant) -> Result<Truthful, ServeError> {
    let rules: Vec<_> = config
        .faults
        .iter()
        .map(|rule| rule.seeded(config.seed))
        .collect();
    Ok(Truthful {
        seed: config.seed,
        start,
        stall: config.stall,
        work: config.work,
        queue: config
            .capacity
            .map(|(capacity, service)| Queue::new(capacity, service)),
        chooser: Chooser::new(&rules),
        faults: Chooser::default(),
        prebuilt: PrebuiltResponses::new(clock::realtime, &Headers::default()),
        nameless: 0,
        wrong: 0,
        writer: writer(config, start)?,
    })
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

#[cfg(test)]
mod tests {
    use super::*;

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
