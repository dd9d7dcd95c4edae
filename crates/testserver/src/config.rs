//! Settings of a test server.

use crate::misbehaviour::{Misbehaviour, Script};
use crate::truth::{Capacity, Service, Stall};
use kernel::Address;
use refserver::parts::check_addresses;
use refserver::{Certificate, ServeError};
use std::path::PathBuf;
use std::thread;
use units::Nanos;

/// Busy-polling begins so long before the end of a wait. Of 2000 waits on a 2-core virtual machine sleeping alone
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
    /// Returns the last stretch of a wait in which the loop polls its ring instead of sleeping.
    pub(crate) fn margin(self) -> Nanos {
        let has_others = || thread::available_parallelism().is_ok_and(|cpus| cpus.get() > 1);
        match self {
            BusyPoll::Auto if !has_others() => Nanos::ZERO,
            BusyPoll::Auto | BusyPoll::Always => MARGIN,
            BusyPoll::Never => Nanos::ZERO,
        }
    }
}

/// Settings of a test server.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where it listens, at most 64 addresses; port 0 asks for any.
    pub listen: Vec<Address>,
    /// What clients are shown: with a certificate the server speaks TLS.
    pub certificate: Option<Certificate>,
    /// The seed of every draw.
    pub seed: u64,
    /// When everything stands still.
    pub stall: Option<Stall>,
    /// Processor time that goes into each request besides; at most [`WORK_MAX`].
    pub work: Nanos,
    /// The one queue that all requests pass.
    pub capacity: Option<(Capacity, Service)>,
    /// How long after its first request the queue has its whole capacity: half of it at first, evenly more.
    pub cold: Nanos,
    /// Misbehaviours that any connection or request can meet, how slow they are and how long they last.
    pub script: Script,
    /// How waits end.
    pub busy_poll: BusyPoll,
    /// Where every request is written down.
    pub log: Option<PathBuf>,
    /// Called once, with a sentence, when the log cannot be written.
    pub complain: fn(&str),
}

impl Default for Config {
    /// No address yet, and a server that responds to everything as expected and at once, with seed 0.
    fn default() -> Config {
        Config {
            listen: Vec::new(),
            certificate: None,
            seed: 0,
            stall: None,
            work: Nanos::ZERO,
            capacity: None,
            cold: Nanos::ZERO,
            script: Script::default(),
            busy_poll: BusyPoll::default(),
            log: None,
            complain: |_| (),
        }
    }
}

impl Config {
    /// Checks that everything is within its range, and that a server can listen at all addresses.
    ///
    /// # Errors
    /// What is not so.
    pub(crate) fn check(&self) -> Result<(), ServeError> {
        if self.work > WORK_MAX {
            let (work, most) = (self.work.as_nanos(), WORK_MAX.as_nanos());
            return Err(ServeError::range("the work in nanoseconds", work, most));
        }
        let mut rules = self.script.rules.iter();
        let beneath = rules.find(|rule| rule.misbehaviour.is_beneath_tls());
        if let Some(rule) = beneath.filter(|_| self.certificate.is_none()) {
            return Err(ServeError::new(unencrypted(rule.misbehaviour)));
        }
        check_addresses(&self.listen, None)
    }
}

/// Why a server without TLS cannot do this.
pub(crate) fn unencrypted(misbehaviour: Misbehaviour) -> String {
    let name = misbehaviour.name();
    format!(
        "`{name}` is about TLS, which this server does not speak; start it with --tls self-signed"
    )
}
