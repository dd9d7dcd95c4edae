//! What a thread writes down: the tally, and the judgement of each exchange that enters it.
//!
//! [`ResponseSink`] is the wire's sink for one receive: it stamps, judges and writes down without touching socket or slot
//! beyond the flights, so that received bytes can stay where they are.

use crate::exchanges::{Exchanges, Flight};
use crate::job::Job;
use crate::slot::Slot;
use crate::stalls::StallDetector;
use crate::verdict;
use crate::watchdog::Watchdog;
use crc32fast::Hasher;
use kernel::Errno;
use record::{Blame, Exchange, Fault, Kind, OpenTimes, Outcome, SentTotal, Sessions, Step, Tally};
use scripting::Response;
use stats::clusters::CLASSES;
use units::{Instant, Nanos};
use wire::{Connection, Ending, ExchangeId, Head, Sink, Violation};

/// One body in this many is fingerprinted, beside the first on each connection: at 100 bytes a fingerprint costs about
/// as much as the rest of our own code for an exchange, so that a sample adds under two per cent.
const SAMPLE: u64 = 64;

/// One thread's recorder of one round.
#[derive(Debug)]
pub(crate) struct Recorder<'p> {
    job: &'p Job,
    pub(crate) tally: Tally,
    pub(crate) sent: SentTotal,
    pub(crate) start: Instant,
    pub(crate) end: Instant,
    /// Complete responses of any kind and phase: what tells a slow server from a dead one.
    pub(crate) responses: u64,
    /// The last ending inside the window; its start before the first.
    pub(crate) last_done: Instant,
    pub(crate) stalls: StallDetector,
    pub(crate) watchdog: Watchdog,
    timeout: Nanos,
    bin: Bin,
    /// Latencies of ok exchanges by class: of those that ended in the bin, in the last bin also of those that ended behind the
    /// window.
    classes: Box<[u32; CLASSES]>,
    /// Exchanges to which the server will not respond on their connection, the oldest first, until it is decided what becomes of them.
    pub(crate) behind: Vec<(ExchangeId, Ending)>,
    /// What is kept of responses that are coming, of those that are followed.
    followed: Vec<(ExchangeId, Followed)>,
    /// Whole responses that a script is to be told of.
    pub(crate) told: Vec<Response>,
}

/// What is kept of a response that is coming.
#[derive(Debug)]
enum Followed {
    /// The fingerprint of its body.
    Print(Hasher),
    /// All of it.
    Whole(Response),
}

/// The current bin of the series, kept apart so that an ending costs a comparison and an addition.
#[derive(Debug, Default)]
struct Bin {
    /// Its end, or the window's if that is sooner, so that one comparison holds an ending against both. Before the
    /// first ending of the window it is long past.
    until: Instant,
    offset: Nanos,
    /// Endings of any kind; one that is not ok is an error, which need not be asked of each.
    endings: u64,
    ok: u64,
}

impl<'p> Recorder<'p> {
    pub(crate) fn new(job: &'p Job, stalls: StallDetector, watchdog: Watchdog) -> Recorder<'p> {
        let load = job.plan.load;
        let sessions = load.is_of_connections().then(Sessions::default);
        let open = OpenTimes {
            sessions,
            ..OpenTimes::default()
        };
        Recorder {
            job,
            tally: Tally {
                open: load.is_open().then(|| Box::new(open)),
                requested: job.has_several().then(Box::default),
                ..Tally::default()
            },
            sent: SentTotal::default(),
            start: Instant::NEVER,
            end: Instant::NEVER,
            responses: 0,
            last_done: Instant::ZERO,
            stalls,
            watchdog,
            timeout: job.plan.timeouts.exchange,
            bin: Bin::default(),
            classes: Box::new([0; CLASSES]),
            behind: Vec::new(),
            followed: Vec::new(),
            told: Vec::new(),
        }
    }

    /// Counts an exchange that is sent once more.
    pub(crate) fn note_resent(&mut self, flight: &Flight) {
        self.tally.resent += u64::from(flight.belongs);
    }

    /// Writes down an exchange that is cut off at `at` while no connection has it, after an `ending` on the last that had.
    pub(crate) fn cut_off(&mut self, flight: &mut Flight, ending: Ending, cut: Cut, at: Instant) {
        flight.exchange.done = at;
        if flight.exchange.is_sent() {
            let end = End {
                ending,
                cut: Some(cut),
                is_oldest: false,
                crc: None,
            };
            self.enter(flight, end);
        } else if flight.belongs {
            self.close_cut(flight.exchange.scheduled, Some(cut), false, at);
        }
    }

    /// Writes down an exchange of which no byte was sent when its connection ended at `at`, by `cut`; `is_oldest`: it was the
    /// one that waited longest.
    #[cold]
    fn close_cut(&mut self, scheduled: Instant, cut: Option<Cut>, is_oldest: bool, at: Instant) {
        let age = at - scheduled;
        match cut {
            // The oldest: the server has stopped reading.
            Some(Cut::Timeout) if is_oldest => {
                self.close_unsent(scheduled, verdict::timeout(Step::Send), at);
            }
            Some(Cut::Timeout | Cut::GivenUp) => {
                self.tally.observe_never_sent(1, age, Blame::Server);
            }
            Some(Cut::Stop) => self.tally.observe_never_sent(1, age, Blame::Generator),
            // Its connection ended before its turn came.
            Some(Cut::Dead(_) | Cut::Behind) | None => {
                self.close_unsent(scheduled, verdict::abandoned(Step::Send), at);
            }
        }
    }

    /// The window is known at `now`.
    pub(crate) fn open_window(&mut self, start: Instant, end: Instant, now: Instant) {
        (self.start, self.end) = (start, end);
        self.last_done = start;
        self.watchdog.open_window(start);
        self.watchdog.look(now);
        self.stalls.read(self.watchdog.own_delay());
        if let Some(open) = &mut self.tally.open {
            open.growth.start = start;
        }
    }

    /// Looks whether the thread ran when it meant to; returns when to look again.
    pub(crate) fn tend(&mut self, now: Instant) -> Instant {
        let next = self.watchdog.look(now);
        let own = self.watchdog.own_delay();
        self.stalls.tend(own, self.last_done, now);
        next
    }

    /// Writes down an exchange that is over: `flight.exchange.done` is set.
    #[inline]
    fn close(&mut self, flight: &Flight, outcome: Outcome, ending: &Ending) {
        let done = flight.exchange.done;
        self.note_ending(done, flight.exchange.sent, outcome == Outcome::Ok);
        if flight.belongs {
            self.tally.bytes_received += ending.bytes;
            self.tally.bytes_sent += flight.sent_before + ending.sent;
            let tally = &mut self.tally;
            let class = tally.observe(&flight.exchange, outcome, flight.status);
            if let Some(count) = self.classes.get_mut(class) {
                *count += 1;
            }
        } else if let Outcome::Fault(fault) = outcome {
            self.note_warmup_fault(&flight.exchange, fault);
        }
    }

    /// Counts a request of warm-up that did not end ok, if it is carried over: sent before the window, and not ended at
    /// its end. (An interrupt may end the round before its window: then there is none that could answer for it.)
    #[cold]
    fn note_warmup_fault(&mut self, exchange: &Exchange, fault: Fault) {
        if self.is_carried_over(exchange) {
            self.tally.observe_carried_over(exchange, fault);
        }
    }

    fn is_carried_over(&self, exchange: &Exchange) -> bool {
        let has_window = self.start < self.end;
        has_window && exchange.sent < self.start && exchange.done >= self.end
    }

    /// Writes down an exchange of the window that was to be sent at `scheduled`, was never sent, and is given up.
    pub(crate) fn never_sent(&mut self, scheduled: Instant, now: Instant, blame: Blame) {
        self.tally.scheduled += 1;
        self.tally.observe_never_sent(1, now - scheduled, blame);
        if let Some(open) = &mut self.tally.open {
            open.growth.add(scheduled, now - scheduled);
        }
    }

    /// Counts an arrival, where it is a connection that arrived in the window.
    pub(crate) fn note_arrival(&mut self, belongs: bool) {
        if let Some(sessions) = self.sessions() {
            sessions.scheduled += u64::from(belongs);
        }
    }

    /// What is written down of connections that arrive; none where they do not.
    pub(crate) fn sessions(&mut self) -> Option<&mut Sessions> {
        self.tally.open.as_mut()?.sessions.as_mut()
    }

    /// Counts an ending, if it lies in the window.
    #[inline]
    fn note_ending(&mut self, done: Instant, sent: Instant, ok: bool) {
        if done >= self.bin.until && !self.turn_bin(done, sent) {
            return;
        }
        // In the window stamps only rise, so that no subtraction need stop at zero.
        let between = done.as_nanos().wrapping_sub(self.last_done.as_nanos());
        if between > self.stalls.from.as_nanos() {
            self.note_stall(sent, done, done);
        }
        self.last_done = done;
        self.bin.endings += 1;
        self.bin.ok += u64::from(ok);
    }

    /// Nothing ended in the window until `end`, as is known at `now`.
    #[cold]
    fn note_stall(&mut self, sent: Instant, end: Instant, now: Instant) {
        self.watchdog.look(now);
        let own = self.watchdog.own_delay();
        let scheduled = self.tally.scheduled;
        self.stalls.note(self.last_done, sent, end, scheduled, own);
    }

    /// The first ending behind the window tells of the gap that it ended in.
    fn note_behind(&mut self, sent: Instant, now: Instant) {
        if self.end - self.last_done > self.stalls.from {
            self.note_stall(sent, self.end, now);
        }
        self.last_done = self.last_done.max(self.end);
    }

    /// Makes the bin current that holds an ending at `done`; false where it lies outside the window.
    #[cold]
    fn turn_bin(&mut self, done: Instant, sent: Instant) -> bool {
        if done < self.start {
            return false;
        }
        if done >= self.end {
            self.note_behind(sent, done);
            return false;
        }
        self.flush_bin();
        let interval = self.tally.series.interval;
        let number = (done - self.start).as_nanos() / interval.as_nanos();
        self.bin.offset = interval * number;
        self.bin.until = self.end.min(self.start + self.bin.offset + interval);
        true
    }

    /// The window ends at `cut`, if it does not end sooner.
    pub(crate) fn cut_window(&mut self, cut: Instant) {
        self.end = self.end.min(cut);
        self.bin.until = self.bin.until.min(cut);
    }

    /// Puts what the current bin holds into the series.
    fn flush_bin(&mut self) {
        let bin = std::mem::take(&mut self.bin);
        if bin.endings > 0 {
            let errors = bin.endings - bin.ok;
            self.tally.series.add(bin.offset, bin.ok, errors);
            let width = self.tally.series.interval;
            if bin.until == self.start + bin.offset + width {
                let rate = bin.ok as f64 / width.as_secs_f64();
                self.tally.thread_rates.record(rate as u64);
            }
            let at = (self.start + bin.offset).as_nanos();
            self.tally.clusters.add(at, &*self.classes);
            self.classes.fill(0);
            self.tally.ok_in_window += bin.ok;
        }
    }

    /// What was counted, with a window that ended at `end`.
    pub(crate) fn finish(&mut self, end: Instant) -> Tally {
        self.flush_bin();
        self.tally.stalls = self.stalls.finish(end - self.start);
        std::mem::take(&mut self.tally)
    }

    /// Writes down an exchange of the window that failed before a byte of it was sent.
    pub(crate) fn close_unsent(&mut self, scheduled: Instant, fault: Fault, now: Instant) {
        let exchange = Exchange {
            done: now,
            ..Exchange::scheduled(scheduled)
        };
        self.note_ending(now, now, false);
        self.tally.observe(&exchange, Outcome::Fault(fault), 0);
        self.tally.note_unsent(1);
    }

    /// Writes down an exchange of which at least a byte was sent.
    #[inline]
    fn enter(&mut self, flight: &mut Flight, end: End) {
        let outcome = self.outcome(flight, &end);
        if end.ending.result.is_err()
            || matches!(outcome, Outcome::Fault(fault) if fault.kind.is_censored())
        {
            flight.status = 0; // a status counts when its response is complete
        }
        self.responses += u64::from(end.ending.result.is_ok());
        match outcome {
            Outcome::Ok if flight.belongs => {
                self.tally.bytes_of_bodies += flight.length;
                let answers = &mut self.tally.bodies;
                if !answers.observe_known(flight.request_index.number(), flight.length, end.crc) {
                    self.note_listed(flight, end.crc);
                }
            }
            Outcome::Ok => {}
            Outcome::Fault(fault) => self.note_failed(flight, fault),
        }
        self.close(flight, outcome, &end.ending);
    }

    /// Writes down the first exchange of a connection, if it ended ok.
    fn note_first(&mut self, flight: &Flight) {
        // Without a complete response its status is gone.
        let is_complete = flight.status != 0 && flight.exchange.service() < self.timeout;
        if flight.belongs && is_complete && self.judge(flight) == Outcome::Ok {
            let first = &mut self.tally.connects.first;
            first.service.record(flight.exchange.service().as_nanos());
            let response = flight.exchange.response();
            first.response.record(response.as_nanos());
        }
    }

    /// Writes down for its own request an exchange of the window that ended ok, where there are several requests; and the
    /// first response of a request that is the only one.
    #[cold]
    fn note_listed(&mut self, flight: &Flight, crc: Option<u32>) {
        let place = flight.request_index.place();
        if flight.request_index.is_compared() {
            let request = place.unwrap_or(flight.request_index.number());
            self.tally.bodies.observe(request, flight.length, crc);
        }
        if let Some(place) = place {
            self.tally
                .observe_request(place, &flight.exchange, Outcome::Ok);
        }
    }

    /// Writes down for its own request an exchange that the window answers for and that did not end ok.
    #[cold]
    fn note_failed(&mut self, flight: &Flight, fault: Fault) {
        let kind = match flight.belongs {
            true => fault.kind,
            false if self.is_carried_over(&flight.exchange) => Kind::CarriedOver,
            false => return,
        };
        if let Some(place) = flight.request_index.place() {
            let outcome = Outcome::Fault(Fault { kind, ..fault });
            self.tally.observe_request(place, &flight.exchange, outcome);
        }
    }

    /// The verdict on an exchange that is over.
    #[inline]
    fn outcome(&mut self, flight: &Flight, end: &End) -> Outcome {
        // Whatever became of it later, or would have: it took longer than it may.
        if flight.exchange.service() >= self.timeout {
            return Outcome::Fault(self.timed_out(flight, step(&end.ending)));
        }
        match (end.cut, end.ending.result) {
            (None, Ok(())) => self.judge(flight),
            (None, Err(violation)) => {
                Outcome::Fault(verdict::violation(violation, step(&end.ending)))
            }
            (Some(cut), _) => Outcome::Fault(cut.fault(step(&end.ending), end.is_oldest)),
        }
    }

    /// The fault of an exchange that took too long; by our own doing where it would not have, but for a pause of ours.
    #[cold]
    fn timed_out(&mut self, flight: &Flight, step: Step) -> Fault {
        let Exchange { sent, done, .. } = flight.exchange;
        self.watchdog.look(done);
        let paused = self.watchdog.paused_since(sent);
        let mut fault = verdict::timeout(step);
        if (done - sent).saturating_sub(paused) < self.timeout {
            fault.blame = Blame::Generator;
        }
        fault
    }

    /// The verdict on a complete response.
    #[inline]
    fn judge(&self, flight: &Flight) -> Outcome {
        if !self.job.statuses.holds(flight.status) {
            return Outcome::Fault(verdict::status(flight.status));
        }
        match &self.job.expected {
            Some(body) if flight.differs || flight.length != body.len() as u64 => Outcome::Fault(
                verdict::fault(Step::Verdict, Kind::BodyDiffers, Blame::Server),
            ),
            _ => Outcome::Ok,
        }
    }
}

/// Why the exchanges of a connection are cut off before their end.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cut {
    /// The kernel declared the connection dead.
    Dead(Errno),
    /// The oldest exchange took longer than `--timeout`; those younger go down with it.
    Timeout,
    /// An exchange before it ended the connection.
    Behind,
    /// No response has come for so long that sending on is in vain.
    GivenUp,
    /// We stop listening.
    Stop,
}

impl Cut {
    /// The fault of an exchange in this `step`; `is_oldest`: of the one that was being answered, to which alone the cause belongs.
    fn fault(self, step: Step, is_oldest: bool) -> Fault {
        match self {
            Cut::Dead(errno) if is_oldest => verdict::socket(errno, step),
            Cut::Dead(_) | Cut::Behind => verdict::abandoned(step),
            // At an age under the limit, because the exchange before it was too late: its end is not known.
            Cut::Timeout => verdict::fault(step, Kind::TimeoutBehind, Blame::Server),
            Cut::GivenUp => verdict::fault(step, Kind::Unfinished, Blame::Server),
            Cut::Stop => verdict::fault(step, Kind::Unfinished, Blame::Generator),
        }
    }
}

/// The step in which an exchange ended.
fn step(ending: &Ending) -> Step {
    match ending.step {
        wire::Step::Send => Step::Send,
        wire::Step::Wait | wire::Step::Head => Step::Head,
        wire::Step::Body => Step::Body,
    }
}

/// How an exchange came to its end.
struct End {
    ending: Ending,
    cut: Option<Cut>,
    /// Whether it was the first to end by what has happened.
    is_oldest: bool,
    /// The fingerprint of its body, where it was taken.
    crc: Option<u32>,
}

/// The sink of one receive, or of one cutting off.
pub(crate) struct ResponseSink<'a, 'p> {
    at: Instant,
    exchanges: &'a mut Exchanges,
    recorder: &'a mut Recorder<'p>,
    /// Whether the connection has not answered yet: its first body is fingerprinted.
    is_fresh: &'a mut bool,
    cut: Option<Cut>,
    ended: u32,
    /// One of them ended by a violation.
    broken: bool,
}

/// What an arrival has come to.
pub(crate) struct Delivered {
    /// What the connection said.
    pub(crate) result: Result<(), Violation>,
    /// Exchanges that ended.
    pub(crate) ended: u32,
    /// One of them ended by what was wrong.
    pub(crate) broken: bool,
}

impl<'p, C: Connection<'p>> Slot<C> {
    /// Lets something happen to the slot's connection at `at`, and writes down the exchanges that end by it: as the
    /// connection says or, where they are cut off, as `cut` says.
    #[inline]
    pub(crate) fn deliver(
        &mut self,
        exchanges: &mut Exchanges,
        recorder: &mut Recorder<'p>,
        at: Instant,
        cut: Option<Cut>,
        happen: impl FnOnce(&mut C, &mut ResponseSink<'_, 'p>) -> Result<(), Violation>,
    ) -> Delivered {
        let mut arrival = ResponseSink {
            at,
            is_fresh: &mut self.is_fresh,
            exchanges,
            recorder,
            cut,
            ended: 0,
            broken: false,
        };
        let result = happen(&mut self.connection, &mut arrival);
        let (ended, broken) = (arrival.ended, arrival.broken);
        Delivered {
            result,
            ended,
            broken,
        }
    }
}

impl ResponseSink<'_, '_> {
    /// Adds to what is kept of a response.
    #[cold]
    fn follow(&mut self, id: ExchangeId, bytes: &[u8]) {
        let mut followed = self.recorder.followed.iter_mut();
        match followed.find(|(of, _)| *of == id) {
            Some((_, Followed::Print(hasher))) => hasher.update(bytes),
            Some((_, Followed::Whole(response))) => {
                let room = Response::LONGEST - response.body.len();
                let kept = &bytes[..bytes.len().min(room)];
                response.body.extend_from_slice(kept);
            }
            None => {}
        }
    }

    /// A response has begun that a script is to be told of.
    #[cold]
    fn keep(&mut self, id: ExchangeId, head: &Head<'_>) {
        self.exchanges[id].is_followed = true;
        let response = Response {
            status: head.status,
            head: head.raw.to_vec(),
            body: Vec::new(),
        };
        let whole = Followed::Whole(response);
        self.recorder.followed.push((id, whole));
    }

    /// The first exchange of the connection is over.
    #[cold]
    fn note_first(&mut self, id: ExchangeId) {
        *self.is_fresh = false;
        self.recorder.note_first(&self.exchanges[id]);
    }

    /// A response that was followed is over: the fingerprint of its body, where that was taken.
    #[cold]
    fn ended(&mut self, id: ExchangeId, is_whole: bool) -> Option<u32> {
        let followed = &mut self.recorder.followed;
        let place = followed.iter().position(|(of, _)| *of == id)?;
        match followed.swap_remove(place).1 {
            Followed::Print(hasher) => Some(hasher.finalize()),
            Followed::Whole(response) => {
                self.recorder.told.extend(is_whole.then_some(response));
                None
            }
        }
    }
}

impl Sink for ResponseSink<'_, '_> {
    #[inline]
    fn first(&mut self, id: ExchangeId) {
        self.exchanges[id].exchange.first = self.at;
    }

    #[inline]
    fn head(&mut self, id: ExchangeId, head: &Head<'_>) {
        let flight = &mut self.exchanges[id];
        flight.status = head.status;
        if flight.request_index.is_compared() {
            if *self.is_fresh || self.recorder.responses.is_multiple_of(SAMPLE) {
                flight.is_followed = true;
                let print = Followed::Print(Hasher::new());
                self.recorder.followed.push((id, print));
            }
        } else if flight.request_index.is_told() {
            self.keep(id, head);
        }
    }

    #[inline]
    fn body(&mut self, id: ExchangeId, bytes: &[u8]) {
        let flight = &mut self.exchanges[id];
        if let Some(expected) = &self.recorder.job.expected {
            let from = flight.length as usize;
            flight.differs |= expected.get(from..from + bytes.len()) != Some(bytes);
        }
        flight.length += bytes.len() as u64;
        if flight.is_followed {
            self.follow(id, bytes);
        }
    }

    #[inline]
    fn done(&mut self, id: ExchangeId, ending: Ending) {
        let flight = &mut self.exchanges[id];
        self.ended += 1;
        self.broken |= ending.result.is_err();
        flight.exchange.done = self.at;
        let is_oldest = self.ended == 1;
        if flight.exchange.is_sent() {
            let crc = if flight.is_followed {
                self.ended(id, ending.result.is_ok())
            } else {
                None
            };
            let end = End {
                ending,
                cut: self.cut,
                is_oldest,
                crc,
            };
            self.recorder.enter(&mut self.exchanges[id], end);
            if *self.is_fresh {
                self.note_first(id);
            }
        } else if flight.belongs {
            let scheduled = flight.exchange.scheduled;
            self.recorder
                .close_cut(scheduled, self.cut, is_oldest, self.at);
        }
        self.exchanges.close(id);
    }

    #[cold]
    fn unanswered(&mut self, id: ExchangeId, ending: Ending) {
        self.recorder.behind.push((id, ending));
    }
}
