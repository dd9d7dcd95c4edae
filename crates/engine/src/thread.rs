//! One generator thread: its own ring, slots and books. The whole of a round, as one thread lives it.
//!
//! ```text
//!   connect --> Ready gate --> warm-up --> [ Settled gate, with a number of requests ] --> measure --> drain
//! ```
//!
//! Everything that happens per exchange is in [`Thread::arrive`] and what it calls; everything that happens now and
//! then (timeouts, retries, the window's edges, interrupts) waits for the alarm, so that a turn of the loop pays one
//! comparison for all of it. A turn reads the clock once per completion and once per send, and never for itself.

use crate::accounts::Accounts;
use crate::books::{Books, Cut, Delivered};
use crate::gate::{Gate, Stage};
use crate::job::Job;
use crate::pace::Pace;
use crate::script::{Next, Script};
use crate::slot::{Flight, Pending, Slot, State};
use crate::source::Sources;
use crate::verdict;
use kernel::{Closing, Completion, ConnectOptions, Errno, Event, Ring, Token};
use plan::{Connect, Endpoint, Stop, share};
use record::{Blame, SentTotal, Tally, ThreadAccounts};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::IoSlice;
use units::{Instant, Nanos};
use wire::{ExchangeId, Heads, Opening, Violation};

/// While it waits for the other threads a thread looks around this often.
const GLANCE: Nanos = Nanos::from_millis(1);

/// How long what was sent is still followed after an interrupt.
const LAST_MOMENT: Nanos = Nanos::from_millis(500);

/// Requests that go out with one system call.
const BATCH: usize = 64;

/// Connects that are under way at a time, over all threads, while connections are opened before the load: below the
/// backlog that common servers listen with (nginx 511), beyond which Linux drops SYNs for a whole second.
const CONNECTS_AT_ONCE: u32 = 256;

/// What a thread hands over when its round is over.
#[derive(Debug, Default)]
pub struct Ledger {
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
pub struct Thread<'p, R> {
    ring: R,
    job: &'p Job,
    gate: &'p Gate<'p>,
    index: u32,
    threads: u32,
    slots: Vec<Slot<'p>>,
    script: Script<'p>,
    pace: Pace,
    books: Books<'p>,
    sources: Sources,
    exchanges_per_connection: u64,
    accounts: Accounts,
    /// When slots that failed to connect may try again.
    retries: BinaryHeap<Reverse<(Instant, u32)>>,
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
    answered_at: Instant,
    answered: u64,
    partial: bool,
    is_open_noted: bool,
    next_id: u32,
}

impl<'p, R: Ring> Thread<'p, R> {
    /// Thread `index` of the round that `gate` was made for. `seq` is the first `{seq}` no earlier round has used.
    pub fn new(ring: R, job: &'p Job, gate: &'p Gate<'p>, index: u32, seq: u64) -> Thread<'p, R> {
        let plan = &job.plan;
        let threads = plan.threads();
        let slots = share(u64::from(plan.connections()), index, threads);
        let peer = match &job.endpoint {
            Endpoint::Ip(address) => Some(address.ip()),
            Endpoint::Unix(_) => None,
        };
        let shortest = plan.timeouts.exchange.min(plan.timeouts.connect);
        let clock = ring.now();
        let heads = Heads::default();
        Thread {
            slots: (0..slots)
                .map(|_| Slot::new(plan.protocol.pipeline, &heads))
                .collect(),
            script: Script::new(job, index, threads, seq),
            pace: Pace::closed(),
            books: Books::new(job),
            sources: Sources::new(&plan.sources, peer, job.ports, index, threads),
            exchanges_per_connection: plan.protocol.exchanges_per_connection(),
            accounts: Accounts::new(index),
            retries: BinaryHeap::new(),
            under_way: 0,
            connecting: 0,
            open: 0,
            clock,
            alarm: clock,
            next_sweep: clock,
            sweep_every: (shortest / 16).clamp(Nanos::from_millis(1), Nanos::from_millis(100)),
            answered_at: clock,
            answered: 0,
            partial: false,
            is_open_noted: false,
            next_id: 0,
            ring,
            job,
            gate,
            index,
            threads,
        }
    }

    /// Lives the round through.
    pub fn run(mut self) -> Ledger {
        let _guard = self.gate.guard();
        if self.job.plan.connect == Connect::Eager {
            self.connect_all();
        }
        if let Some(start) = self.meet(Stage::Ready) {
            match self.job.plan.stop {
                Stop::Duration(span) => self.load_for(start + self.job.plan.warmup, span, start),
                Stop::Requests(number) => self.load_number(number, start),
            }
        }
        self.clock = self.ring.now();
        self.accounts.close(self.clock);
        self.gate.leave();
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
            if settled || self.gate.stopped() || self.clock - progress.0 > patience {
                break;
            }
            self.turn(self.clock + GLANCE * 10);
            if self.open > progress.1 {
                progress = (self.clock, self.open);
            }
        }
    }

    /// Waits at the gate; none when everybody is to leave.
    fn meet(&mut self, stage: Stage) -> Option<Instant> {
        self.gate.arrive(stage, self.clock);
        loop {
            if self.gate.stopped() {
                self.partial = true;
                return None;
            }
            match self.gate.opened(stage) {
                Some(start) if self.clock >= start => return Some(start),
                Some(start) => self.turn(start),
                None => self.turn(self.clock + GLANCE),
            }
        }
    }

    /// Load whose window lasts for `span` from `start`, after a warm-up that begins now.
    fn load_for(&mut self, start: Instant, span: Nanos, begin: Instant) {
        let end = start + span;
        self.open_window(start, end);
        self.pace = Pace::span(start, end);
        self.offer_all(begin);
        while self.clock < end && !self.interrupted() {
            self.turn(end);
        }
    }

    /// Load whose window lasts until exactly this thread's share of `number` have ended.
    fn load_number(&mut self, number: u64, begin: Instant) {
        let mut start = begin;
        if self.job.plan.warmup > Nanos::ZERO {
            let pause = begin + self.job.plan.warmup;
            self.pace = Pace::warmup(pause);
            self.offer_all(begin);
            while (self.clock < pause || self.under_way > 0) && !self.interrupted() {
                self.turn(self.clock + self.sweep_every);
            }
            match self.meet(Stage::Settled) {
                Some(settled) => start = settled,
                None => return,
            }
        }
        self.open_window(start, Instant::NEVER);
        let number = share(number, self.index, self.threads);
        self.pace = Pace::number(start, number);
        self.answered_at = self.clock;
        self.offer_all(start);
        while self.pace.is_left() || self.under_way > 0 {
            self.turn(self.clock + self.sweep_every);
            if self.interrupted() || self.is_hopeless() {
                break;
            }
        }
    }

    fn open_window(&mut self, start: Instant, end: Instant) {
        (self.books.start, self.books.end) = (start, end);
        self.accounts.window(start, end);
        self.gate.announce(start, end);
        self.alarm = Instant::ZERO;
    }

    /// One turn of the loop: waits for the kernel, sees to what happened, and to the alarm when it is time.
    fn turn(&mut self, until: Instant) {
        let patience = until.min(self.alarm) - self.clock;
        self.ring.wait(Some(patience));
        self.accounts.turns.waits += 1;
        let before = self.accounts.turns.completions;
        while let Some(completion) = self.ring.next() {
            self.accounts.turns.completions += 1;
            self.arrive(completion);
        }
        if self.accounts.turns.completions == before {
            self.clock = self.ring.now();
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
            }
            Event::Connected => self.connected(index),
            Event::Ended => self.ended(index),
            Event::Failed(errno) => self.failed(index, errno),
            Event::Incoming => {} // nobody listens here
        }
    }

    #[inline]
    fn receive(&mut self, index: u32) {
        let at = self.ring.now();
        self.clock = at;
        let bytes = self.ring.received();
        let slot = &mut self.slots[index as usize];
        let Delivered {
            result,
            ended,
            broken,
        } = slot.deliver(&mut self.books, at, None, |connection, arrival| {
            connection.receive(bytes, arrival)
        });
        self.under_way -= ended;
        if let Err(violation) = result {
            return self.violated(index, violation, broken);
        }
        if ended > 0 {
            self.proceed(index, at);
        }
    }

    /// Exchanges have ended at `at`: what comes next on this slot?
    #[inline]
    fn proceed(&mut self, index: u32, at: Instant) {
        let slot = &self.slots[index as usize];
        if slot.is_spent(self.exchanges_per_connection) {
            if slot.flights.is_empty() {
                self.leave(index, Cut::Behind);
                self.offer(index, at);
            }
            return;
        }
        self.offer(index, at);
    }

    #[cold]
    fn violated(&mut self, index: u32, violation: Violation, broken: bool) {
        if !broken {
            // No exchange was ended by it, so that none can be charged with it; but it is not to go unseen.
            self.books
                .tally
                .strays
                .add(verdict::violation(violation, record::Step::Head), 1);
        }
        self.leave(index, Cut::Behind);
        self.offer(index, self.clock);
    }

    /// Opens on `index` what is due at `at`, as far as there is room, and sends it.
    #[inline]
    fn offer(&mut self, index: u32, at: Instant) {
        let slot = &mut self.slots[index as usize];
        match slot.state {
            State::Open => {
                while self.slots[index as usize].has_room(self.exchanges_per_connection) {
                    let Some(due) = self.take(at) else { break };
                    self.open_exchange(index, due);
                }
                self.flush(index);
            }
            State::Closed if slot.pending.is_none() => {
                if let Some(due) = self.take(at) {
                    self.slots[index as usize].pending = Some(due);
                    self.connect(index);
                }
            }
            State::Closed | State::Connecting(_) | State::Backoff(_) => {}
        }
    }

    /// Asks the pace for one exchange due at `at`.
    #[inline]
    fn take(&mut self, at: Instant) -> Option<Pending> {
        let belongs = self.pace.take(at)?;
        self.under_way += 1;
        self.books.tally.due += u64::from(belongs);
        Some(Pending { due: at, belongs })
    }

    #[inline]
    fn open_exchange(&mut self, index: u32, due: Pending) {
        match self.script.next_shared() {
            Some(next) => self.open_with(index, due, next),
            None => self.open_made(index, due),
        }
    }

    /// The same for a request whose bytes must be made. (Apart, because what may be either is carried through memory.)
    #[cold]
    fn open_made(&mut self, index: u32, due: Pending) {
        let spare = self.slots[index as usize].connection.spare();
        match self.script.next_made(spare) {
            Some(next) => self.open_with(index, due, next),
            None => self.run_dry(due),
        }
    }

    /// Always inlined: what is known of `next` where this is called makes most of it go away.
    #[inline(always)]
    fn open_with(&mut self, index: u32, due: Pending, next: Next<'p>) {
        let slot = &mut self.slots[index as usize];
        let bytes = next.head.bytes().len() + next.body.bytes().len();
        slot.flights
            .push_back(Flight::new(due, bytes as u64, next.comparable));
        slot.opened += 1;
        self.next_id = self.next_id.wrapping_add(1);
        slot.connection.open(Opening {
            id: ExchangeId(self.next_id),
            head: next.head,
            body: next.body,
            is_head: next.is_head,
        });
    }

    /// There is nothing to ask any more: what is due is never sent, and nothing more becomes due.
    #[cold]
    fn run_dry(&mut self, due: Pending) {
        self.under_way -= 1;
        let never = self.pace.give_up();
        self.books.tally.due += never;
        let count = never + u64::from(due.belongs);
        let age = self.clock - due.due;
        self.books
            .tally
            .observe_never_sent(count, age, Blame::Generator);
    }

    /// Sends what the slot's connection has to send, as far as the kernel takes it.
    #[inline]
    fn flush(&mut self, index: u32) {
        if self.slots[index as usize].flights.is_single() {
            self.flush_by::<2>(index);
        } else {
            self.flush_by::<BATCH>(index);
        }
    }

    /// Sends with at most `SLICES` slices at a time: two are one request, and clearing more would cost what a system
    /// call's bookkeeping costs.
    #[inline]
    fn flush_by<const SLICES: usize>(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        while slot.connection.has_outgoing() && !slot.blocked {
            let mut slices = [IoSlice::new(&[]); SLICES];
            let filled = slot.connection.outgoing(&mut slices);
            let offered: usize = slices[..filled].iter().map(|slice| slice.len()).sum();
            let sent_at = self.ring.now();
            self.clock = sent_at;
            match self.ring.send(Token(index), &slices[..filled]) {
                Ok(taken) => {
                    let begun = slot.stamp_sent(taken, sent_at);
                    self.books.sent.measure += begun.window;
                    self.books.sent.warmup += begun.warmup;
                    slot.connection.sent(taken);
                    slot.blocked = taken < offered;
                }
                Err(errno) => {
                    slot.stamp_refused(sent_at);
                    return self.failed(index, errno);
                }
            }
        }
    }

    fn connect(&mut self, index: u32) {
        let now = self.ring.now();
        self.clock = now;
        let mut options = ConnectOptions {
            source: self.sources.next(),
            nodelay: self.job.nodelay,
        };
        self.books.tally.connects.attempted += 1;
        let mut result = self.ring.connect(Token(index), &self.job.address, &options);
        if result == Err(Errno::EADDRNOTAVAIL) && self.sources.advance() {
            options.source = self.sources.next();
            result = self.ring.connect(Token(index), &self.job.address, &options);
        }
        match result {
            Ok(()) => {
                self.slots[index as usize].state = State::Connecting(now);
                self.connecting += 1;
            }
            Err(errno) => self.connect_failed(index, verdict::connect(errno, self.is_local())),
        }
    }

    fn is_local(&self) -> bool {
        self.job.endpoint.is_local()
    }

    fn connected(&mut self, index: u32) {
        let at = self.ring.now();
        self.clock = at;
        self.connecting -= 1;
        self.open += 1;
        let connects = &mut self.books.tally.connects;
        let slot = &mut self.slots[index as usize];
        if let State::Connecting(since) = slot.state {
            connects.time.record((at - since).as_nanos());
        }
        connects.established += 1;
        connects.in_window += u64::from(at >= self.books.start && at < self.books.end);
        connects.open_peak = connects.open_peak.max(self.open);
        slot.opened_at();
        if let Some(pending) = slot.pending.take() {
            self.open_exchange(index, pending);
        }
        self.offer(index, at);
    }

    /// A connect has failed: it takes the exchange that waited for it along, and the slot waits before the next.
    #[cold]
    fn connect_failed(&mut self, index: u32, fault: record::Fault) {
        self.books.tally.connects.failed.add(fault, 1);
        let slot = &mut self.slots[index as usize];
        let retry = slot.failed_at(self.clock);
        if let Some(pending) = slot.pending.take() {
            self.under_way -= 1;
            if pending.belongs {
                self.books.close_unsent(pending.due, fault, self.clock);
            }
        }
        self.retries.push(Reverse((retry, index)));
        self.alarm = self.alarm.min(retry);
    }

    /// The peer has ended its side.
    fn ended(&mut self, index: u32) {
        let at = self.ring.now();
        self.clock = at;
        let slot = &mut self.slots[index as usize];
        // What was wrong, if anything, is written down with the exchanges; an idle connection may always be ended.
        let delivered = slot.deliver(&mut self.books, at, None, |connection, arrival| {
            connection.end(arrival)
        });
        self.under_way -= delivered.ended;
        self.leave(index, Cut::Behind);
        self.offer(index, at);
    }

    /// The kernel says that the socket is dead.
    #[cold]
    fn failed(&mut self, index: u32, errno: Errno) {
        self.clock = self.ring.now();
        match self.slots[index as usize].state {
            State::Connecting(_) => {
                self.ring.close(Token(index), Closing::Reset);
                self.connecting -= 1;
                self.connect_failed(index, verdict::connect(errno, self.is_local()));
            }
            State::Open => {
                self.leave(index, Cut::Dead(errno));
                self.offer(index, self.clock);
            }
            State::Closed | State::Backoff(_) => {}
        }
    }

    /// Closes an open slot's socket. What is still in flight is written down as `cut` says.
    fn leave(&mut self, index: u32, cut: Cut) {
        let slot = &mut self.slots[index as usize];
        let how = if slot.flights.is_empty() {
            Closing::Orderly
        } else {
            Closing::Reset
        };
        if !slot.flights.is_empty() {
            let delivered = slot.deliver(
                &mut self.books,
                self.clock,
                Some(cut),
                |connection, arrival| {
                    connection.abandon(arrival, Violation::Abandoned);
                    Ok(())
                },
            );
            self.under_way -= delivered.ended;
        }
        self.ring.close(Token(index), how);
        slot.vacate();
        self.open -= 1;
    }

    fn offer_all(&mut self, at: Instant) {
        for index in 0..self.slots.len() as u32 {
            self.offer(index, at);
        }
    }

    /// Sees to everything that is not a completion, and sets the alarm anew.
    #[cold]
    fn tend(&mut self) {
        let now = self.ring.now();
        self.clock = now;
        let edge = self.accounts.tend(now);
        if now >= self.next_sweep {
            self.sweep(now);
            self.next_sweep = now + self.sweep_every;
            self.publish();
        }
        while let Some(&Reverse((retry, index))) = self.retries.peek() {
            if retry > now {
                break;
            }
            self.retries.pop();
            self.retry(index, now);
        }
        if now >= self.books.start && !self.is_open_noted {
            self.is_open_noted = true;
            self.books.tally.connects.open_at_start = self.open;
        }
        let retry = self
            .retries
            .peek()
            .map_or(Instant::NEVER, |&Reverse((retry, _))| retry);
        self.alarm = self.next_sweep.min(edge).min(retry);
    }

    fn retry(&mut self, index: u32, now: Instant) {
        let slot = &mut self.slots[index as usize];
        if !matches!(slot.state, State::Backoff(_)) {
            return;
        }
        slot.state = State::Closed;
        let before_load = self.books.start == Instant::NEVER;
        if before_load && self.job.plan.connect == Connect::Eager {
            self.connect(index);
        } else {
            self.offer(index, now);
        }
    }

    /// Cuts off what has waited too long.
    fn sweep(&mut self, now: Instant) {
        let limits = self.job.plan.timeouts;
        for index in 0..self.slots.len() as u32 {
            let slot = &self.slots[index as usize];
            match slot.state {
                State::Connecting(since) if now - since >= limits.connect => {
                    self.ring.close(Token(index), Closing::Reset);
                    self.connecting -= 1;
                    self.connect_failed(index, verdict::connect_timeout(self.is_local()));
                }
                State::Open => {
                    let oldest = slot.flights.front();
                    if oldest.is_some_and(|flight| now - flight.since() >= limits.exchange) {
                        self.leave(index, Cut::Timeout);
                        self.offer(index, now);
                    }
                }
                _ => {}
            }
        }
    }

    fn publish(&self) {
        let tally = &self.books.tally;
        self.gate
            .publish(self.index, tally.ok, tally.errors(), tally.due);
    }

    /// Whether the round is being cut short; if so, nothing more becomes due and the window ends here. What was sent
    /// is still followed for a moment: that it ended is worth more than that it was cut off.
    fn interrupted(&mut self) -> bool {
        if !self.gate.stopped() {
            return false;
        }
        self.partial = true;
        self.pace.give_up();
        let cut = self.gate.cut(self.clock);
        self.books.end = self.books.end.min(cut);
        self.accounts.cut(cut);
        true
    }

    /// With a number of requests to go: whether no complete response has come for twice as long as one may take.
    /// What is still to be asked is then counted as never sent, instead of being asked for hours in vain.
    fn is_hopeless(&mut self) -> bool {
        if self.books.answered != self.answered {
            (self.answered, self.answered_at) = (self.books.answered, self.clock);
        }
        let patience = self
            .job
            .plan
            .timeouts
            .exchange
            .max(self.job.plan.timeouts.connect)
            * 2;
        if self.clock - self.answered_at <= patience {
            return false;
        }
        let never = self.pace.give_up();
        let age = self.clock - self.answered_at;
        self.books.tally.due += never;
        self.books
            .tally
            .observe_never_sent(never, age, Blame::Server);
        self.cut_all(Cut::GivenUp);
        true
    }

    /// Follows what was sent to its end, for at most as long as one exchange may take, or as an interrupt allows.
    fn drain(&mut self) {
        self.pace.give_up();
        let patience = self.job.plan.timeouts.exchange;
        let mut limit = self.clock + patience;
        let mut hurried = false;
        while self.under_way > 0 && self.clock < limit {
            if self.gate.stopped() && !hurried {
                hurried = true;
                limit = self.clock + patience.min(LAST_MOMENT);
            }
            self.turn(limit);
        }
        self.cut_all(Cut::Stop);
    }

    /// Ends everything: what is in flight is unfinished, what has no connection was never sent.
    fn cut_all(&mut self, cut: Cut) {
        for index in 0..self.slots.len() as u32 {
            match self.slots[index as usize].state {
                State::Open => self.leave(index, cut),
                State::Connecting(_) => {
                    self.ring.close(Token(index), Closing::Reset);
                    self.connecting -= 1;
                    self.slots[index as usize].state = State::Closed;
                }
                State::Closed | State::Backoff(_) => {}
            }
            if let Some(pending) = self.slots[index as usize].pending.take() {
                self.under_way -= 1;
                if pending.belongs {
                    let age = self.clock - pending.due;
                    self.books.tally.observe_never_sent(1, age, Blame::Server);
                }
            }
        }
    }

    fn finish(mut self) -> Ledger {
        assert_eq!(self.under_way, 0, "an exchange was lost");
        self.books.flush_bin();
        self.publish();
        let tally = std::mem::take(&mut self.books.tally);
        assert!(tally.conserved(), "exchanges do not add up: {tally:?}");
        let end = match self.books.end {
            Instant::NEVER => self.books.last_done,
            end => end,
        };
        Ledger {
            tally,
            sent: self.books.sent,
            accounts: self.accounts.finish(),
            start: self.books.start,
            end,
            seq: self.script.seq(),
            partial: self.partial,
        }
    }
}
