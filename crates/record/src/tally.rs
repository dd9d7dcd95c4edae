//! What a thread accumulates; merges by addition.

use crate::summary::offered_load;
use crate::{
    Blame, Bodies, Exchange, Fault, Faults, Kind, OpenTimes, Outcome, Requested, Series, Sessions,
    Stalls, Step,
};
use plan::{Load, Protocol};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::clusters::CLASSES;
use stats::{Clusters, Histogram};
use units::{Nanos, Percentile};

/// Counts and distributions of the exchanges that were scheduled in the window (and, where it says so, of others).
///
/// Conservation: `scheduled` = `started` + `never_sent`; `started` = `ok` + ended faults + censored ones; and
/// [`Tally::requests`] = `scheduled` + `carried_over` = `ok` + `faults`. A censored exchange is in `faults` too, under a kind
/// that [`Kind::is_censored`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tally {
    /// Exchanges that were scheduled in the window.
    #[serde(alias = "due")]
    pub scheduled: u64,
    /// Those of `scheduled` that were given up before a byte of them was sent, because time ran out.
    pub never_sent: u64,
    /// Those of `started` that were sent once more, on a new connection, because they were pipelined behind a response that
    /// closed theirs. Each counts once, from its first sending.
    #[serde(default, skip_serializing_if = "crate::round::is_default")]
    pub resent: u64,
    /// Those of `scheduled` that were sent, or failed before: while their connection was being opened, when the send was
    /// refused, or because their connection ended before their turn came.
    pub started: u64,
    /// Exchanges that were sent before the window's start, had not ended at its end, and did not end ok in the drain.
    /// They are not in `scheduled`; they are in `faults` as [`Kind::CarriedOver`], and in the latencies at their age.
    #[serde(default, skip_serializing_if = "crate::round::is_default")]
    pub carried_over: u64,
    /// Those of `started` that ended well.
    pub ok: u64,
    /// Those of `scheduled` that did not, and those of `carried_over`, by fault.
    pub faults: Faults,
    /// What ended connections while no exchange was open on them, in any phase: no exchange can be charged with it.
    pub strays: Faults,
    /// Exchanges of any phase that ended well inside the window: what requests per second are made of.
    pub ok_in_window: u64,
    /// Statuses of those of `started` that got a complete response.
    pub statuses: Statuses,
    /// Raw bytes of the responses to `started`: heads, framing and bodies.
    pub bytes_received: u64,
    /// Raw bytes of the requests of `started` that the kernel took.
    pub bytes_sent: u64,
    /// Bytes of the bodies of the `ok` responses, framing removed; 0 in records that do not say.
    #[serde(default, skip_serializing_if = "crate::round::is_default")]
    pub bytes_of_bodies: u64,
    /// Service time (done - sent) of the `ok` exchanges, and of the censored ones at the age at which they were cut off;
    /// in an open loop, of those of the censored ones that were sent.
    pub service: Histogram,
    /// The smallest of those ages at which an exchange was censored; percentiles above it are lower bounds.
    pub censored_from: Option<Nanos>,
    /// First byte - sent, of the `ok` exchanges.
    pub first_byte: Histogram,
    /// Sent - scheduled, of the `ok` exchanges: queueing, connecting, and the generator's own doing.
    #[serde(alias = "lateness")]
    pub send_delay: Histogram,
    /// Service time of complete responses with status 4xx that were not expected.
    pub service_4xx: Histogram,
    /// Service time of complete responses with status 5xx that were not expected.
    pub service_5xx: Histogram,
    /// Connections opened in any phase of the round.
    pub connects: Connects,
    /// Endings over the window in bins of 100 ms.
    pub series: Series,
    /// Ok responses a second of each thread in each whole bin of the window: how even its throughput was; none in records that do
    /// not say.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub thread_rates: Histogram,
    /// Latencies of the `ok` exchanges that ended in the window, by class in bins of time: how far slow ones come together.
    #[serde(default, skip_serializing_if = "Clusters::is_empty")]
    pub clusters: Clusters,
    /// What was answered to each listed request that is no template: the bodies' likeness.
    #[serde(alias = "answers")]
    pub bodies: Bodies,
    /// Response times and the parts of the send delay; of an open loop only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<Box<OpenTimes>>,
    /// Spans of the window in which nothing ended; of a closed loop only.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "gaps")]
    pub stalls: Option<Box<Stalls>>,
    /// Each request by itself, where several different ones are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested: Option<Box<Requested>>,
}

impl Tally {
    /// Exchanges that were asked for in the window: all that connections which arrive in it stand for, also those that
    /// a connection did not live to ask; else the same as `scheduled`.
    pub fn offered_load(&self, load: &Load, protocol: &Protocol) -> u64 {
        let arrived = self.sessions().map(|sessions| sessions.scheduled);
        offered_load(self.scheduled, arrived, load, protocol)
    }

    /// Returns what became of connections that arrive by the schedule; none where exchanges do.
    pub fn sessions(&self) -> Option<&Sessions> {
        self.open.as_ref()?.sessions.as_ref()
    }

    /// Counts one ended exchange that was scheduled in the window: `started`, its outcome, and what distributions it enters.
    /// `scheduled` is counted at the exchange's intended start, not here. `status` is that of a complete response; 0 where none came.
    /// Returns the class of its latency, see [`Clusters`]; none of the classes where it did not end ok.
    #[inline]
    pub fn observe(&mut self, exchange: &Exchange, outcome: Outcome, status: u16) -> usize {
        self.started += 1;
        match outcome {
            Outcome::Ok => {
                self.ok += 1;
                self.statuses.add(status, 1);
                let class = self.service.record_class(exchange.service().as_nanos());
                self.first_byte.record(exchange.to_first_byte().as_nanos());
                self.send_delay.record(exchange.send_delay().as_nanos());
                match &mut self.open {
                    Some(open) => open.observe_ok(exchange),
                    None => class,
                }
            }
            Outcome::Fault(fault) => {
                self.observe_fault(exchange, fault, status);
                CLASSES
            }
        }
    }

    #[cold]
    fn observe_fault(&mut self, exchange: &Exchange, fault: Fault, status: u16) {
        self.faults.add(fault, 1);
        if status != 0 {
            self.statuses.add(status, 1);
        }
        match fault.kind {
            Kind::Status4xx => self.service_4xx.record(exchange.service().as_nanos()),
            Kind::Status5xx => self.service_5xx.record(exchange.service().as_nanos()),
            kind if kind.is_censored() => self.observe_cut(exchange),
            _ => {}
        }
    }

    /// An open loop knows two ages: since its intended start, and since it was sent, where it was.
    fn observe_cut(&mut self, exchange: &Exchange) {
        if let Some(open) = &mut self.open {
            open.censor(exchange.response());
            open.growth.add(exchange.scheduled, exchange.response());
            if !exchange.is_sent() {
                return;
            }
        }
        self.censor(1, exchange.age());
    }

    /// Counts `count` exchanges that were scheduled in the window and of which nothing was ever sent, given up at `age`
    /// without a connection; `blame` is whose doing it was that none could take them.
    pub fn observe_never_sent(&mut self, count: u64, age: Nanos, blame: Blame) {
        self.observe_given_up(count, age, Step::Queue, blame);
    }

    /// As [`Tally::observe_never_sent`], of exchanges whose connection had come as far as `step`: a connect or a handshake
    /// that was not over.
    pub fn observe_given_up(&mut self, count: u64, age: Nanos, step: Step, blame: Blame) {
        plus(&mut self.never_sent, count);
        let fault = Fault {
            step,
            kind: Kind::NeverSent,
            blame,
        };
        self.faults.add(fault, count);
        self.note_unsent(count);
        match &mut self.open {
            Some(open) => (0..count).for_each(|_| open.censor(age)),
            None if count > 0 => self.censor(count, age),
            None => {}
        }
    }

    /// Counts an exchange that was sent before the window's start and had not ended at its end: cut off, or ended by
    /// `fault`, of which step and blame are kept.
    pub fn observe_carried_over(&mut self, exchange: &Exchange, fault: Fault) {
        plus(&mut self.carried_over, 1);
        let kind = Kind::CarriedOver;
        self.faults.add(Fault { kind, ..fault }, 1);
        if let Some(open) = &mut self.open {
            open.censor(exchange.response());
        }
        self.censor(1, exchange.age());
    }

    /// Counts an exchange that is in the other counts for the request at `place` of the list, where there are several.
    pub fn observe_request(&mut self, place: u32, exchange: &Exchange, outcome: Outcome) {
        let is_open = self.open.is_some();
        if let Some(requested) = &mut self.requested {
            requested.observe(place, exchange, outcome, is_open);
        }
    }

    /// Counts exchanges that are among the errors and belong to no request of the list, because nothing was sent of them.
    pub fn note_unsent(&mut self, count: u64) {
        if let Some(requested) = &mut self.requested {
            plus(&mut requested.unsent, count);
        }
    }

    /// Exchanges that the window answers for: those scheduled in it and those carried over into it. Error shares are of these.
    pub fn requests(&self) -> u64 {
        self.scheduled.saturating_add(self.carried_over)
    }

    /// What is called latency: response times in an open loop, else service times; ok and censored exchanges.
    pub fn latency(&self) -> &Histogram {
        self.open
            .as_ref()
            .map_or(&self.service, |open| &open.response)
    }

    /// Returns so many independent latencies as tell as much of their quantile `p` as those that are there, which come in
    /// clusters: their number divided by the index of dispersion.
    pub fn effective_samples(&self, p: f64) -> u64 {
        (self.latency().count() as f64 / self.clusters.dispersion(p)) as u64
    }

    /// Whether the latencies carry their quantile `p`, or one of the usual ones above it.
    pub fn carries(&self, p: f64) -> bool {
        let usual = Percentile::DEFAULT.iter().map(|p| p.quantile());
        let mut from_here = usual.filter(|usual| *usual > p).chain([p]);
        from_here.any(|p| stats::carries(self.effective_samples(p), p))
    }

    /// The smallest age at which one of those was censored.
    pub fn latency_censored_from(&self) -> Option<Nanos> {
        match &self.open {
            Some(open) => open.censored_from,
            None => self.censored_from,
        }
    }

    fn censor(&mut self, count: u64, age: Nanos) {
        self.service.record_n(age.as_nanos(), count);
        self.censored_from = earlier(self.censored_from, Some(age));
    }

    /// All faults: those that ended and those that were cut off.
    pub fn errors(&self) -> u64 {
        self.faults.total()
    }

    /// Exchanges that were cut off before their end was known, `never_sent` among them.
    pub fn censored(&self) -> u64 {
        self.faults.count(|fault| fault.kind.is_censored())
    }

    /// Whether every exchange that was scheduled or carried over is accounted for exactly once.
    pub fn conserved(&self) -> bool {
        let sum = |a: u64, b: u64| a.checked_add(b); // a count read from a file may be anything
        let of = |kind: Kind| self.faults.count(|fault| fault.kind == kind);
        let requests = sum(self.scheduled, self.carried_over);
        sum(self.started, self.never_sent) == Some(self.scheduled)
            && requests.is_some()
            && sum(self.ok, self.faults.total()) == requests
            && self.never_sent == of(Kind::NeverSent)
            && self.carried_over == of(Kind::CarriedOver)
            && sum(self.ok, self.censored()) == Some(self.latency().count())
            && self
                .requested
                .as_ref()
                .is_none_or(|requested| requested.adds_up(self.ok, self.errors()))
    }

    /// Adds another thread's tally. ([`crate::Summary::tally`] adds rounds, in which connections do not add up.)
    pub fn merge(&mut self, other: &Tally) {
        plus(&mut self.scheduled, other.scheduled);
        plus(&mut self.never_sent, other.never_sent);
        plus(&mut self.resent, other.resent);
        plus(&mut self.carried_over, other.carried_over);
        plus(&mut self.started, other.started);
        plus(&mut self.ok, other.ok);
        self.faults.merge(&other.faults);
        self.strays.merge(&other.strays);
        plus(&mut self.ok_in_window, other.ok_in_window);
        self.statuses.merge(&other.statuses);
        plus(&mut self.bytes_received, other.bytes_received);
        plus(&mut self.bytes_sent, other.bytes_sent);
        plus(&mut self.bytes_of_bodies, other.bytes_of_bodies);
        self.service.merge(&other.service);
        self.censored_from = earlier(self.censored_from, other.censored_from);
        self.first_byte.merge(&other.first_byte);
        self.send_delay.merge(&other.send_delay);
        self.service_4xx.merge(&other.service_4xx);
        self.service_5xx.merge(&other.service_5xx);
        self.connects.merge(&other.connects);
        self.series.merge(&other.series);
        self.thread_rates.merge(&other.thread_rates);
        self.clusters.merge(&other.clusters);
        self.bodies.merge(&other.bodies);
        if let Some(open) = &other.open {
            self.open.get_or_insert_default().merge(open);
        }
        if let Some(stalls) = &other.stalls {
            self.stalls.get_or_insert_default().merge(stalls);
        }
        if let Some(requested) = &other.requested {
            self.requested.get_or_insert_default().merge(requested);
        }
    }
}

impl Tally {
    /// Packs every histogram: for a tally that is kept, as that of a round.
    pub fn pack(&mut self) {
        self.histograms().into_iter().for_each(Histogram::pack);
    }

    fn histograms(&mut self) -> Vec<&mut Histogram> {
        let mut all = vec![
            &mut self.service,
            &mut self.first_byte,
            &mut self.send_delay,
            &mut self.service_4xx,
            &mut self.service_5xx,
            &mut self.thread_rates,
            &mut self.connects.time,
            &mut self.connects.first.service,
            &mut self.connects.first.response,
        ];
        if let Some(handshakes) = &mut self.connects.handshakes {
            all.extend([&mut handshakes.full, &mut handshakes.resumed]);
            all.push(&mut handshakes.with_connect);
        }
        if let Some(open) = self.open.as_deref_mut() {
            all.extend([&mut open.response, &mut open.queued]);
            all.extend([&mut open.connecting, &mut open.generator_late]);
            all.extend(open.sessions.as_mut().map(|sessions| &mut sessions.time));
        }
        if let Some(stalls) = self.stalls.as_deref_mut() {
            all.extend([&mut stalls.length, &mut stalls.caught]);
        }
        if let Some(requested) = self.requested.as_deref_mut() {
            all.extend(requested.each.iter_mut().map(|one| &mut one.latency));
        }
        all
    }
}

/// The smaller of two ages at which an exchange was censored, where there is any.
pub(crate) fn earlier(one: Option<Nanos>, other: Option<Nanos>) -> Option<Nanos> {
    one.into_iter().chain(other).min()
}

/// Adds counts; stops at the top, because what was read from a file may be anything.
fn plus(count: &mut u64, more: u64) {
    *count = count.saturating_add(more);
}

/// Counts by status; few different ones ever occur, and nearly always the first, so it is a list.
/// Two are equal when they hold the same counts, in whatever order they came.
#[derive(Debug, Clone, Default, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Statuses(Vec<(u16, u64)>);

impl PartialEq for Statuses {
    fn eq(&self, other: &Statuses) -> bool {
        self.sorted() == other.sorted()
    }
}

impl Statuses {
    /// Counts `count` more of `status`.
    #[inline]
    pub fn add(&mut self, status: u16, count: u64) {
        match self.0.iter_mut().find(|(known, _)| *known == status) {
            Some((_, known)) => plus(known, count),
            None if count > 0 => self.0.push((status, count)),
            None => {}
        }
    }

    /// Adds another's counts.
    pub fn merge(&mut self, other: &Statuses) {
        for &(status, count) in &other.0 {
            self.add(status, count);
        }
    }

    /// Statuses and their counts, most frequent first.
    pub fn sorted(&self) -> Vec<(u16, u64)> {
        let mut counts = self.0.clone();
        counts.sort_by_key(|&(status, count)| (std::cmp::Reverse(count), status));
        counts
    }

    /// Returns how many responses had `status`.
    pub fn count(&self, status: u16) -> u64 {
        let known = self.0.iter().find(|(known, _)| *known == status);
        known.map_or(0, |(_, count)| *count)
    }

    /// All responses together.
    pub fn total(&self) -> u64 {
        self.0
            .iter()
            .fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }
}

/// The connections of a round, in every phase.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Connects {
    /// Connects that were tried.
    pub attempted: u64,
    /// Those of `attempted` that succeeded.
    pub established: u64,
    /// Those of `attempted` that failed, by fault. (Those of exchanges in the window are in the tally's `faults` too.)
    pub failed: Faults,
    /// Those of `established` that were opened inside the window.
    pub in_window: u64,
    /// From the start of the connect to the connection open, before a handshake.
    pub time: Histogram,
    /// What handshakes took and agreed on; none where there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handshakes: Option<Handshakes>,
    /// The first `ok` exchange of each that was scheduled in the window; none in records that do not say.
    #[serde(default, skip_serializing_if = "crate::round::is_default")]
    pub first: FirstExchanges,
    /// Those of `established` that the peer ended while nothing was under way on them.
    #[serde(default, skip_serializing_if = "crate::round::is_default")]
    pub lost_idle: u64,
    /// Those of `established` that the peer ended before the first byte of a response on them.
    #[serde(default, skip_serializing_if = "crate::round::is_default")]
    pub unserved: u64,
    /// Those of `established` that a response ended, whose end was theirs or that asked for it.
    #[serde(default, skip_serializing_if = "crate::round::is_default")]
    pub ended_by_response: u64,
    /// Connections open when the window opened; over several rounds the fewest.
    pub open_at_start: u64,
    /// The most that were open at a time, summed over threads: what concurrency was really achieved. Over several
    /// rounds the most.
    pub open_peak: u64,
}

/// First exchanges of connections.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FirstExchanges {
    /// Done - sent; part of the tally's.
    pub service: Histogram,
    /// Done - scheduled; of a connection that a closed loop opens when it has something to send, that is from the start of the
    /// connect.
    pub response: Histogram,
}

/// The handshakes that succeeded, between the connect and the first request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Handshakes {
    /// How long those took that checked a certificate, from the connection open to the connection usable.
    pub full: Histogram,
    /// How long those took that went on from an earlier connection's.
    pub resumed: Histogram,
    /// How long either took together with the connect before it.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub with_connect: Histogram,
    /// What they agreed on, with how many did; in order of first occurrence.
    pub agreed: Vec<Agreed>,
}

/// How a connection is encrypted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Encryption {
    /// The version, as `TLSv1.3`.
    pub version: String,
    /// The cipher suite, by its IANA name.
    pub cipher: String,
    /// The group of the key exchange, as `X25519`; none where no new key was exchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_exchange: Option<String>,
    /// The kind of the key of the server's certificate, as `RSA 2048` or `P-256`; only of the first connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate_key: Option<String>,
}

impl Encryption {
    fn is(&self, version: &str, cipher: &str, key_exchange: Option<&str>) -> bool {
        self.version == version
            && self.cipher == cipher
            && self.key_exchange.as_deref() == key_exchange
    }
}

impl std::fmt::Display for Encryption {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.version, self.cipher)?;
        let group = self.key_exchange.iter();
        group
            .chain(&self.certificate_key)
            .try_for_each(|more| write!(f, " {more}"))
    }
}

/// What so many handshakes agreed on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Agreed {
    /// What.
    #[serde(flatten)]
    pub encryption: Encryption,
    /// How many.
    pub count: u64,
}

impl Handshakes {
    /// Counts one that agreed on this.
    pub fn note(&mut self, version: &str, cipher: &str, key_exchange: Option<&str>) {
        self.add(version, cipher, key_exchange, 1);
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.full.count() + self.resumed.count()
    }

    /// Version, cipher suite and key exchange that were agreed on; where handshakes differ in them, separated by semicolons.
    pub fn agreed_on(&self) -> String {
        let each = self.agreed.iter();
        let each: Vec<String> = each.map(|agreed| agreed.encryption.to_string()).collect();
        each.join("; ")
    }

    fn add(&mut self, version: &str, cipher: &str, key_exchange: Option<&str>, count: u64) {
        let mut known = self.agreed.iter_mut();
        match known.find(|known| known.encryption.is(version, cipher, key_exchange)) {
            Some(known) => plus(&mut known.count, count),
            None => self.agreed.push(Agreed {
                encryption: Encryption {
                    version: version.to_owned(),
                    cipher: cipher.to_owned(),
                    key_exchange: key_exchange.map(str::to_owned),
                    certificate_key: None,
                },
                count,
            }),
        }
    }

    /// Returns all of them together; none where there are none.
    pub fn sum<'a>(each: impl Iterator<Item = &'a Handshakes>) -> Option<Handshakes> {
        let mut all: Option<Handshakes> = None;
        each.for_each(|each| all.get_or_insert_default().merge(each));
        all
    }

    /// Takes in `other`, of other connections.
    pub fn merge(&mut self, other: &Handshakes) {
        self.full.merge(&other.full);
        self.resumed.merge(&other.resumed);
        self.with_connect.merge(&other.with_connect);
        for each in &other.agreed {
            let Encryption {
                version,
                cipher,
                key_exchange,
                certificate_key: _,
            } = &each.encryption;
            self.add(version, cipher, key_exchange.as_deref(), each.count);
        }
    }
}

impl Connects {
    fn merge(&mut self, other: &Connects) {
        plus(&mut self.attempted, other.attempted);
        plus(&mut self.established, other.established);
        self.failed.merge(&other.failed);
        plus(&mut self.in_window, other.in_window);
        self.time.merge(&other.time);
        if let Some(others) = &other.handshakes {
            self.handshakes.get_or_insert_default().merge(others);
        }
        self.first.service.merge(&other.first.service);
        self.first.response.merge(&other.first.response);
        plus(&mut self.lost_idle, other.lost_idle);
        plus(&mut self.unserved, other.unserved);
        plus(&mut self.ended_by_response, other.ended_by_response);
        plus(&mut self.open_at_start, other.open_at_start);
        plus(&mut self.open_peak, other.open_peak);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use units::Instant;

    const START: Instant = Instant::from_nanos(5_000_000_000);

    /// One ended exchange, small enough to draw: when it was scheduled, how late and how long it was, and how it ended.
    #[derive(Debug, Clone)]
    struct Drawn {
        scheduled: u64,
        send_delay: u64,
        service: u64,
        ending: usize,
        crc: Option<u32>,
    }

    fn fault(kind: Kind, step: Step, blame: Blame) -> Outcome {
        Outcome::Fault(Fault { kind, step, blame })
    }

    /// Outcomes with their status: an ok one, both classes, a plain fault, the censored kinds.
    fn endings() -> [(Outcome, u16); 8] {
        use Blame::{Generator, Network, Server};
        [
            (Outcome::Ok, 200),
            (Outcome::Ok, 304),
            (fault(Kind::Status4xx, Step::Verdict, Server), 404),
            (fault(Kind::Status5xx, Step::Verdict, Server), 503),
            (fault(Kind::Reset, Step::Head, Network), 0),
            (fault(Kind::Reset, Step::Body, Server), 0),
            (fault(Kind::Timeout, Step::Head, Server), 0),
            (fault(Kind::Unfinished, Step::Body, Generator), 0),
        ]
    }

    /// Adds one that was sent 10 ns after its intended start and cut off at `age` while its body was being read.
    fn carry_over(tally: &mut Tally, age: Nanos) {
        let (scheduled, sent) = (START, START + Nanos::from_nanos(10));
        let exchange = Exchange {
            scheduled,
            sent,
            first: Instant::ZERO,
            done: sent + age,
        };
        let Outcome::Fault(fault) = fault(Kind::Timeout, Step::Body, Blame::Server) else {
            unreachable!()
        };
        tally.observe_carried_over(&exchange, fault);
    }

    fn drawn() -> impl Strategy<Value = Drawn> {
        let stamps = (0_u64..1_000_000_000, 0_u64..10_000, 1_u64..100_000_000_000);
        let crc = proptest::option::of(0_u32..3);
        (stamps, 0_usize..8, crc).prop_map(|((scheduled, send_delay, service), ending, crc)| {
            Drawn {
                scheduled,
                send_delay,
                service,
                ending,
                crc,
            }
        })
    }

    fn observe(tally: &mut Tally, drawn: &Drawn) {
        let scheduled = START + Nanos::from_nanos(drawn.scheduled);
        let sent = scheduled + Nanos::from_nanos(drawn.send_delay);
        let done = sent + Nanos::from_nanos(drawn.service);
        let (outcome, status) = endings()[drawn.ending];
        tally.scheduled += 1;
        tally.observe(
            &Exchange {
                scheduled,
                sent,
                first: done,
                done,
            },
            outcome,
            status,
        );
        if outcome == Outcome::Ok {
            tally.bodies.observe(0, drawn.service % 12, drawn.crc);
        }
        tally.series.add(done - START, 1, 0);
        tally.connects.attempted += 1;
        tally.connects.time.record(drawn.send_delay);
        tally.bytes_received += drawn.service;
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn merging_is_adding_however_the_exchanges_were_split(
            exchanges in proptest::collection::vec((drawn(), 0_usize..4), 0..80),
        ) {
            let mut whole = Tally::default();
            let mut parts: [Tally; 4] = Default::default();
            for (drawn, part) in &exchanges {
                observe(&mut whole, drawn);
                observe(&mut parts[*part], drawn);
                prop_assert!(parts[*part].conserved());
            }
            let merged = |order: &[usize]| order.iter().fold(Tally::default(), |mut sum, part| {
                sum.merge(&parts[*part]);
                sum
            });
            prop_assert!(whole.conserved());
            prop_assert_eq!(&merged(&[0, 1, 2, 3]), &whole);
            prop_assert_eq!(&merged(&[3, 1, 0, 2]), &whole);
        }
    }

    /// The names in a record tell whether a histogram was left out.
    #[test]
    fn every_histogram_of_a_tally_is_packed() {
        let sessions = Some(Default::default());
        let open = OpenTimes {
            sessions,
            ..Default::default()
        };
        let mut tally = Tally {
            open: Some(Box::new(open)),
            stalls: Some(Box::default()),
            ..Tally::default()
        };
        // Those that are not written when they are empty.
        let handshakes = tally.connects.handshakes.get_or_insert_default();
        handshakes.with_connect.record(1);
        tally.connects.first.service.record(1);
        tally.thread_rates.record(1);
        let written = serde_json::to_string(&tally).unwrap();
        assert_eq!(
            tally.histograms().len(),
            written.matches("\"hdr\":").count()
        );
        tally
            .histograms()
            .into_iter()
            .for_each(|each| each.record(9));
        tally.pack();
        let heavy = |each: &&mut Histogram| each.heap_bytes() > 100;
        assert_eq!(
            tally.histograms().iter().filter(|each| heavy(each)).count(),
            0
        );
    }

    #[test]
    fn every_count_that_is_off_by_one_breaks_conservation() {
        let mut sound = Tally {
            scheduled: 5,
            ..Tally::default()
        };
        let drawn = Drawn {
            scheduled: 0,
            send_delay: 1,
            service: 9,
            ending: 0,
            crc: None,
        };
        observe(&mut sound, &drawn);
        observe(&mut sound, &Drawn { ending: 6, ..drawn });
        sound.observe_never_sent(5, Nanos::from_millis(3), Blame::Server);
        carry_over(&mut sound, Nanos::from_secs(2));
        assert!(sound.conserved());
        type Spoil = fn(&mut Tally);
        let reset = Fault {
            kind: Kind::Reset,
            step: Step::Head,
            blame: Blame::Network,
        };
        let cases: &[Spoil] = &[
            |tally| tally.scheduled += 1,
            |tally| tally.never_sent += 1,
            |tally| tally.carried_over += 1,
            |tally| tally.carried_over -= 1,
            |tally| tally.started -= 1,
            |tally| tally.ok += 1,
            |tally| tally.service.record(1),
            |tally| (tally.scheduled, tally.started) = (u64::MAX, u64::MAX),
        ];
        for (index, spoil) in cases.iter().enumerate() {
            let mut tally = sound.clone();
            spoil(&mut tally);
            assert!(!tally.conserved(), "case {index}");
        }
        sound.faults.add(reset, 1);
        assert!(!sound.conserved());
    }

    #[test]
    fn a_censored_exchange_enters_at_its_age_from_when_it_was_sent_or_else_due() {
        let mut tally = Tally {
            scheduled: 2,
            ..Tally::default()
        };
        let (outcome, _) = endings()[7];
        let scheduled = START;
        let (sent, done) = (
            scheduled + Nanos::from_nanos(10),
            scheduled + Nanos::from_nanos(110),
        );
        tally.observe(
            &Exchange {
                scheduled,
                sent,
                first: Instant::ZERO,
                done,
            },
            outcome,
            0,
        );
        assert_eq!(tally.censored_from, Some(Nanos::from_nanos(100)));
        tally.observe(
            &Exchange {
                done,
                ..Exchange::scheduled(scheduled)
            },
            outcome,
            0,
        );
        assert_eq!(
            (tally.service.min(), tally.service.max()),
            (Some(100), Some(110))
        );
        assert_eq!(
            tally.censored_from,
            Some(Nanos::from_nanos(100)),
            "the smallest age stays"
        );
        assert!(tally.conserved());
    }

    #[test]
    fn what_is_carried_over_is_an_error_of_the_window_at_its_age_and_was_not_due_in_it() {
        let age = Nanos::from_secs(2);
        let mut closed = Tally::default();
        carry_over(&mut closed, age);
        assert_eq!(
            (closed.scheduled, closed.started, closed.carried_over),
            (0, 0, 1)
        );
        assert_eq!(
            (closed.requests(), closed.errors(), closed.censored()),
            (1, 1, 1)
        );
        let fault = closed.faults.sorted()[0].fault;
        assert_eq!(
            (fault.kind, fault.step, fault.blame),
            (Kind::CarriedOver, Step::Body, Blame::Server)
        );
        assert_eq!(closed.censored_from, Some(age));
        assert_eq!(closed.latency().max(), Some(age.as_nanos()));
        assert!(closed.conserved());

        let mut open = Tally {
            open: Some(Box::default()),
            ..Tally::default()
        };
        carry_over(&mut open, age);
        assert_eq!(open.latency().max(), Some(age.as_nanos() + 10));
        assert_eq!(open.service.max(), Some(age.as_nanos()));
        assert!(open.conserved());
        open.merge(&open.clone());
        assert_eq!((open.carried_over, open.conserved()), (2, true));
    }

    #[test]
    fn a_fault_without_a_complete_response_has_no_status_and_enters_no_distribution() {
        let mut tally = Tally {
            scheduled: 1,
            ..Tally::default()
        };
        let exchange = Exchange {
            done: START,
            ..Exchange::scheduled(START)
        };
        tally.observe(
            &exchange,
            fault(Kind::ConnectRefused, Step::Connect, Blame::Server),
            0,
        );
        assert_eq!(
            (
                tally.statuses.total(),
                tally.service.count(),
                tally.censored()
            ),
            (0, 0, 0)
        );
        assert_eq!((tally.errors(), tally.conserved()), (1, true));
    }

    #[test]
    fn unexpected_statuses_have_distributions_of_their_own() {
        let mut tally = Tally::default();
        for ending in [2, 3, 3] {
            observe(
                &mut tally,
                &Drawn {
                    scheduled: 0,
                    send_delay: 0,
                    service: 70,
                    ending,
                    crc: None,
                },
            );
        }
        assert_eq!(
            (tally.service_4xx.count(), tally.service_5xx.count()),
            (1, 2)
        );
        assert_eq!((tally.service.count(), tally.first_byte.count()), (0, 0));
        assert_eq!(tally.statuses.sorted(), [(503, 2), (404, 1)]);
    }
}
