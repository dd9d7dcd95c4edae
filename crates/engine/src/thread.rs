//! One generator thread: its own ring, slots and recorder. The whole of a round, as one thread lives it.
//!
//! ```text
//!   connect --> Ready barrier --> warm-up --> [ Settled barrier, with a number of requests ] --> measure --> drain
//! ```
//!
//! Everything that happens per exchange is in [`Thread::arrive`] and what it calls; everything that happens now and
//! then (timeouts, retries, the window's edges, interrupts) waits for the alarm, so that a turn of the loop pays one
//! comparison for all of it. A turn reads the clock once per completion and once per send, and never for itself.

// In reading order: what every exchange goes through,
mod exchanges;
// what an open loop does otherwise,
mod arrivals;
// how a thread waits that is not to sleep through what comes next,
mod watch;
// what becomes of connections,
mod connections;
// and of requests whose connection was closed before their turn,
mod resending;
// what is seen to now and then,
mod tending;
// and load in slices, where servers are loaded in turn.
mod slicing;

pub use slicing::{Lane, SliceLength, SliceShare, lane};

use crate::accounts::Accounts;
use crate::barrier::{Barrier, SyncPoint};
use crate::driver::Driver;
use crate::exchanges::Exchanges;
use crate::job::Job;
use crate::local_addresses::LocalAddresses;
use crate::quota::Quota;
use crate::recorder::{Cut, Recorder};
use crate::request_source::RequestSource;
use crate::slot::{Slot, State};
use crate::stalls::StallDetector;
use crate::watchdog::Watchdog;
use kernel::{Completion, Event, Ring};
use plan::{Connect, Endpoint, Stop, Stretch, share, share_in_lots};
use record::{Blame, BusyPoll, SentTotal, Tally, ThreadAccounts};
use resending::Resend;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use units::{Instant, Nanos};
use wire::{Connection, Usual};

/// While it waits for the other threads a thread looks around this often.
const POLL: Nanos = Nanos::from_millis(1);

/// How long what was sent is still followed after an interrupt.
const LAST_MOMENT: Nanos = Nanos::from_millis(500);

/// Requests that go out with one system call.
const BATCH: usize = 64;

/// Connects that are under way at a time, over all threads, while connections are opened before the load: below the
/// backlog that common servers listen with (nginx 511), beyond which Linux drops SYNs for a whole second.
pub(crate) const CONNECTS_AT_ONCE: u32 = 256;

/// What a thread hands over when its round is over.
#[derive(Debug, Default)]
pub struct ThreadResult {
    /// What it counted.
    pub tally: Tally,
    /// Exchanges it sent, by phase.
    pub sent: SentTotal,
    /// Where its time went.
    pub accounts: ThreadAccounts,
    /// The first moment of the window.
    pub start: Instant,
    /// The end of the window as far as this thread knows: with a number of requests, its own last ending.
    pub end: Instant,
    /// The first `{seq}` it did not use.
    pub seq: u64,
    /// Whether it was cut short.
    pub partial: bool,
}

/// One generator thread of one round.
#[derive(Debug)]
pub struct Thread<'p, R, C = Usual<'p>> {
    ring: R,
    job: &'p Job,
    barrier: &'p Barrier<'p>,
    index: u32,
    threads: u32,
    slots: Vec<Slot<C>>,
    exchanges: Exchanges,
    request_source: RequestSource<'p>,
    quota: Quota,
    /// When exchanges are due, and on which slot.
    driver: Driver,
    /// The round's number, from which the schedule follows.
    round: u32,
    recorder: Recorder<'p>,
    local_addresses: LocalAddresses,
    exchanges_per_connection: u64,
    accounts: Accounts,
    /// When slots that failed to connect may try again.
    retries: BinaryHeap<Reverse<(Instant, u32)>>,
    /// What is to be sent again on a slot's next connection, by the slot.
    resends: BTreeMap<u32, VecDeque<Resend<'p>>>,
    /// What the connects took of those slots whose handshake is under way, and of some whose handshake failed.
    connected_after: BTreeMap<u32, Nanos>,
    /// Exchanges that are pending or in flight.
    under_way: u32,
    connecting: u32,
    open: u64,
    /// The latest stamp: what a turn takes for "now".
    clock: Instant,
    /// When something other than a completion is to be seen to.
    alarm: Instant,
    next_sweep: Instant,
    sweep_every: Nanos,
    /// The last time a complete response had come, and how many there were.
    last_response: Instant,
    responses: u64,
    partial: bool,
    /// Whether its turns look for what is due, and whether they may sleep; so a closed loop's ask one thing of both.
    is_watchful: bool,
    /// Whether this turn only asks, and does not sleep, on purpose.
    is_polling: bool,
    is_open_noted: bool,
}

impl<'p, R: Ring> Thread<'p, R> {
    /// Thread `index` of the round that `barrier` was made for, with connections of the usual protocol. `seq` is the first `{seq}` no
    /// earlier round has used.
    pub fn new(ring: R, job: &'p Job, barrier: &'p Barrier<'p>, index: u32, seq: u64) -> Self {
        Thread::over(Default::default(), ring, job, barrier, index, seq)
    }
}

impl<'p, R: Ring, C: Connection<'p>> Thread<'p, R, C> {
    /// As [`Thread::new`], with connections of any kind, which are made of `shared`.
    pub fn over(
        shared: C::Shared,
        ring: R,
        job: &'p Job,
        barrier: &'p Barrier<'p>,
        index: u32,
        seq: u64,
    ) -> Self {
        let plan = &job.plan;
        let threads = plan.threads();
        let slots = share(u64::from(plan.connections()), index, threads);
        let peer = match &job.endpoint {
            Endpoint::Ip(address) => Some(address.ip()),
            Endpoint::Unix(_) => None,
        };
        let shortest = plan.timeouts.exchange.min(plan.timeouts.connect);
        let clock = ring.now();
        let accounts = Accounts::new(index);
        let capacity = slots.saturating_mul(u64::from(plan.protocol.pipeline));
        let stalls = StallDetector::new((!plan.load.is_open()).then_some(capacity));
        let watchdog = Watchdog::new((!ring.is_virtual()).then(|| accounts.meter()));
        Thread {
            slots: (0..slots)
                .map(|_| Slot::new(plan.protocol.pipeline, &shared))
                .collect(),
            exchanges: Exchanges::default(),
            request_source: RequestSource::new(job, index, threads, seq),
            quota: Quota::closed(),
            driver: Driver::of(plan, slots as u32, threads),
            round: 0,
            recorder: Recorder::new(job, stalls, watchdog),
            local_addresses: LocalAddresses::new(&plan.sources, peer, job.ports, index, threads),
            exchanges_per_connection: plan.protocol.exchanges_per_connection(),
            accounts,
            retries: BinaryHeap::new(),
            resends: BTreeMap::new(),
            connected_after: BTreeMap::new(),
            under_way: 0,
            connecting: 0,
            open: 0,
            clock,
            alarm: clock,
            next_sweep: clock,
            sweep_every: (shortest / 16).clamp(Nanos::from_millis(1), Nanos::from_millis(100)),
            last_response: clock,
            responses: 0,
            partial: false,
            is_watchful: false,
            is_polling: false,
            is_open_noted: false,
            ring,
            job,
            barrier,
            index,
            threads,
        }
    }

    /// The same thread in round `round`, which has arrivals of its own; it waits awake when `busy_poll` says so. Without this
    /// it is the first round, and the thread sleeps whenever it waits.
    pub fn in_round(mut self, round: u32, busy_poll: BusyPoll) -> Self {
        self.round = round;
        self.accounts.busy_poll = busy_poll;
        self
    }

    /// Lives the round through.
    pub fn run(mut self) -> ThreadResult {
        let _guard = self.barrier.guard();
        if self.job.plan.connect == Connect::Eager {
            self.connect_all();
        }
        if let Some(start) = self.meet(SyncPoint::Ready) {
            match self.job.plan.stop {
                Stop::Duration(span) => self.load_for(start + self.job.plan.warmup, span, start),
                Stop::Requests(number) => self.load_number(number, start),
            }
        }
        self.clock = self.ring.now();
        self.recorder.watchdog.look(self.clock);
        self.accounts.close(self.clock);
        self.barrier.leave();
        self.drain();
        self.finish()
    }

    /// Opens every connection before the load. Those that fail are tried again until none has come up for as long as
    /// one connect may take; what is missing then is opened when something is due for it.
    fn connect_all(&mut self) {
        let most = (CONNECTS_AT_ONCE / self.threads).max(1);
        let patience = self.job.plan.timeouts.connect;
        let mut next = 0;
        let mut progress = (self.clock, 0);
        loop {
            while self.connecting < most && next < self.slots.len() as u32 {
                self.connect(next);
                next += 1;
            }
            let settled = self.connecting == 0 && self.retries.is_empty();
            if settled || self.barrier.stopped() || self.clock - progress.0 > patience {
                break;
            }
            self.turn(self.clock + POLL * 10);
            if self.open > progress.1 {
                progress = (self.clock, self.open);
            }
        }
    }

    /// Waits at the barrier; none when every thread is to leave.
    fn meet(&mut self, sync_point: SyncPoint) -> Option<Instant> {
        self.barrier.arrive(sync_point, self.clock);
        loop {
            if self.barrier.stopped() {
                self.partial = true;
                return None;
            }
            match self.barrier.opened(sync_point) {
                Some(start) if self.clock >= start => return Some(start),
                Some(start) => self.turn(self.wake_by(start)),
                None => self.turn(self.clock + POLL),
            }
        }
    }

    /// Load whose window lasts for `span` from `start`, after a warm-up that begins now.
    fn load_for(&mut self, start: Instant, span: Nanos, begin: Instant) {
        let end = start + span;
        self.open_window(start, end);
        self.quota = Quota::span(start, end);
        self.begin(begin, Stretch::Window);
        while self.clock < end && !self.interrupted() {
            self.turn(end);
        }
    }

    /// Load whose window lasts until exactly this thread's share of `number` have ended.
    fn load_number(&mut self, number: u64, begin: Instant) {
        let mut start = begin;
        if self.job.plan.warmup > Nanos::ZERO {
            self.warm_up(begin, begin + self.job.plan.warmup);
            match self.meet(SyncPoint::Settled) {
                Some(settled) => start = settled,
                None => return,
            }
        }
        self.open_window(start, Instant::NEVER);
        let plan = &self.job.plan;
        let each = plan.load.exchanges_per_arrival(&plan.protocol);
        let number = share_in_lots(number, each, self.index, self.threads);
        self.quota = Quota::number(start, number);
        self.recorder.stalls.number = number;
        self.last_response = self.clock;
        self.begin(start, Stretch::Window);
        while self.quota.is_left() || self.under_way > 0 {
            self.turn(self.clock + self.sweep_every);
            if self.interrupted() || self.is_hopeless() {
                break;
            }
        }
    }

    /// Load from `begin` to `pause` that is not measured, followed to its end.
    fn warm_up(&mut self, begin: Instant, pause: Instant) {
        let limit = pause + self.job.plan.timeouts.exchange;
        self.quota = Quota::warmup(pause);
        self.begin(begin, Stretch::Apart);
        let goes_on =
            |thread: &Self| thread.clock < pause || thread.under_way > 0 || thread.has_backlog();
        while goes_on(self) && !self.interrupted() {
            if self.clock >= limit {
                self.abandon_backlog(pause, Blame::Server);
            }
            self.turn(self.clock + self.sweep_every);
        }
    }

    fn open_window(&mut self, start: Instant, end: Instant) {
        self.recorder.open_window(start, end, self.clock);
        self.accounts.window(start, end);
        self.barrier.announce(start, end);
        // With a number of requests it is open already, and what is offered next opens what is missing.
        self.note_open(self.clock);
        self.alarm = Instant::ZERO;
    }

    /// One turn of the loop: waits for the kernel, sees to what happened, and to the alarm when it is time.
    fn turn(&mut self, until: Instant) {
        let mut until = until.min(self.alarm);
        if self.is_watchful {
            until = self.watch(until);
        }
        self.ring.wait(Some(until - self.clock));
        self.accounts.turns.waits += 1;
        let before = self.accounts.turns.completions;
        while let Some(completion) = self.ring.next() {
            self.accounts.turns.completions += 1;
            self.arrive(completion);
            if self.is_watchful {
                self.release_after_answer();
            }
        }
        if self.accounts.turns.completions == before {
            self.note_nothing();
        }
        if self.clock >= self.alarm {
            self.tend();
        }
    }

    #[inline]
    fn arrive(&mut self, completion: Completion) {
        let index = completion.token.0;
        match completion.event {
            Event::Received => self.receive(index),
            Event::Writable => {
                self.slots[index as usize].blocked = false;
                self.flush(index);
                self.note_waits(index);
                self.offer_behind_early_response(index);
            }
            Event::Connected => self.connected(index),
            Event::Ended => self.ended(index),
            Event::Failed(errno) => self.failed(index, errno),
            Event::Incoming => {} // no thread listens
        }
    }

    /// The last response on `index` may have come before its request was sent. Only when that is out there is room for
    /// the next one, and nothing else would tell.
    fn offer_behind_early_response(&mut self, index: u32) {
        let slot = &self.slots[index as usize];
        let is_open = matches!(slot.state, State::Open);
        if is_open && slot.connection.is_idle() && !slot.connection.has_outgoing() {
            self.offer(index, self.clock);
        }
    }

    fn offer_all(&mut self, at: Instant) {
        for index in 0..self.slots.len() as u32 {
            self.offer(index, at);
        }
    }

    /// Whether the round is being cut short; if so, nothing more becomes due and the window ends here. What was sent
    /// is still followed for a moment: that it ended is worth more than that it was cut off.
    #[inline]
    fn interrupted(&mut self) -> bool {
        let stopped = self.barrier.stopped();
        if stopped {
            self.cut_short();
        }
        stopped
    }

    #[cold]
    fn cut_short(&mut self) {
        self.partial = true;
        let cut = self.barrier.cut(self.clock);
        self.abandon_backlog(cut, Blame::Generator);
        self.quota.give_up();
        self.recorder.cut_window(cut);
        self.accounts.cut(cut);
    }

    /// With a number of requests to go: whether no complete response has come for twice as long as one may take.
    /// What is still to be asked is then counted as never sent, instead of being asked for hours in vain.
    #[inline]
    fn is_hopeless(&mut self) -> bool {
        if self.recorder.responses != self.responses {
            (self.responses, self.last_response) = (self.recorder.responses, self.clock);
            return false;
        }
        self.has_waited_in_vain()
    }

    #[cold]
    fn has_waited_in_vain(&mut self) -> bool {
        let is_quiet = !self.driver.is_closed() && !self.has_backlog();
        if self.under_way == 0 && (is_quiet || self.request_source.has_paused()) {
            self.last_response = self.clock; // nothing was sent
        }
        let limits = self.job.plan.timeouts;
        let patience = limits.exchange.max(limits.connect) * 2;
        let waited = self.clock - self.last_response;
        if waited <= patience {
            return false;
        }
        self.abandon_backlog(self.clock, Blame::Server);
        let never = self.quota.give_up();
        // By a schedule what was not due yet never will be.
        if self.driver.is_closed() {
            self.recorder.tally.scheduled += never;
            let tally = &mut self.recorder.tally;
            tally.observe_never_sent(never, waited, Blame::Server);
        }
        self.cut_all(Cut::GivenUp);
        true
    }

    /// Sends what was due, and follows what was sent to its end, each for at most as long as one exchange may take, or as
    /// an interrupt allows.
    fn drain(&mut self) {
        let patience = self.job.plan.timeouts.exchange;
        let mut limit = self.clock + patience;
        if !self.driver.is_closed() {
            self.drain_backlog(patience);
            limit = self.clock + patience + self.sweep_every; // some were sent just now
        }
        self.quota.give_up();
        let mut hurried = false;
        while self.under_way > 0 && self.clock < limit {
            if self.barrier.stopped() && !hurried {
                hurried = true;
                limit = self.clock + patience.min(LAST_MOMENT);
            }
            self.turn(limit);
        }
        self.barrier.drained(self.open); // before they are closed
        self.cut_all(Cut::Stop);
    }

    fn finish(mut self) -> ThreadResult {
        assert_eq!(self.under_way, 0, "an exchange was lost");
        debug_assert_eq!(self.exchanges.count(), 0, "all are done");
        self.publish();
        self.request_source.tell(self.recorder.told.drain(..));
        let end = match self.recorder.end {
            Instant::NEVER => self.recorder.last_done,
            end => end,
        };
        let tally = self.recorder.finish(end);
        let mut accounts = self.accounts.spent();
        accounts.paused = self.recorder.watchdog.paused();
        assert!(tally.conserved(), "exchanges do not add up: {tally:?}");
        ThreadResult {
            tally,
            sent: self.recorder.sent,
            accounts,
            start: self.recorder.start,
            end,
            seq: self.request_source.seq(),
            partial: self.partial,
        }
    }
}
