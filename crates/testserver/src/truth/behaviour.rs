//! How the truth server decides: what a request asks, when it is due, what it meets, and what is written down of it.

use super::distribution::delay;
use super::log::{Record, Writer};
use super::query::QueryError;
use super::queue::Queue;
use super::stall::Stall;
use super::target::{self, Target};
use crate::misbehaviour::{
    Behaviour, Chooser, Ending, Misbehaviour, Pending, RULES_MAX, Stamps, Trigger,
};
use kernel::clock;
use refserver::parts::{Form, PrebuiltResponses, ResponseKey, choose, date, find};
use std::borrow::Cow;
use units::{Instant, Nanos};
use wire::Version;
use wire::http1::{RequestHead, Response};

/// The resource whose answer `/delay` and `/fault` give.
const ANSWER: &[u8] = b"/hello";

/// What a request asks, for as long as it takes.
#[derive(Debug)]
pub(super) struct Request {
    id: u64,
    id_given: bool,
    target: Target,
    version: Version,
    answer: ResponseKey,
}

/// The distributions of one server, and how far their counts are.
pub(super) struct Truthful {
    pub(super) seed: u64,
    /// When the first stall began.
    pub(super) start: Instant,
    pub(super) stall: Option<Stall>,
    pub(super) work: Nanos,
    pub(super) queue: Option<Queue>,
    /// The server's own rules.
    pub(super) chooser: Chooser,
    /// Those that requests ask for.
    pub(super) faults: Chooser,
    pub(super) prebuilt: PrebuiltResponses,
    /// Requests so far that came without an id.
    pub(super) nameless: u64,
    /// Requests so far that could not be understood.
    pub(super) wrong: u64,
    pub(super) writer: Option<Writer>,
}

impl Behaviour for Truthful {
    type Request = Request;

    fn accept(&mut self) -> Option<Misbehaviour> {
        self.chooser.choose(Trigger::Connection)
    }

    fn request(&mut self, asked: &RequestHead<'_>) -> Request {
        // What is not UTF-8 is none of the server's own paths.
        let path = std::str::from_utf8(asked.path).unwrap_or_default();
        let (id, mut target) = target::read(path, self.seed);
        let is_head = asked.method == "HEAD";
        let resource = match target {
            Target::Resource => choose(asked.method, asked.path),
            _ => find(ANSWER),
        };
        if let Target::Fault(rule) = target
            && !self.faults.add(rule)
        {
            let sentence = format!("more than {RULES_MAX} different faults; give fewer");
            target = Target::Wrong(QueryError::new(sentence));
        }
        Request {
            id: id.unwrap_or_else(|| self.count()),
            id_given: id.is_some(),
            target,
            version: asked.version,
            answer: ResponseKey {
                resource,
                form: Form::new(asked.version, asked.keepalive),
                is_head,
            },
        }
    }

    fn due(&mut self, request: &Request, stamps: Stamps) -> Instant {
        self.wrong += u64::from(matches!(request.target, Target::Wrong(_)));
        let arrival = stamps.received.unwrap_or(stamps.read);
        let served = match &mut self.queue {
            Some(queue) => queue.pass(arrival, self.seed, request.id),
            None => arrival,
        };
        match request.target {
            Target::Delay(distribution) => served + delay(distribution, self.seed, request.id),
            _ if self.queue.is_some() => served,
            _ => stamps.read,
        }
    }

    fn misbehaviour(&mut self, pending: &Pending<Request>) -> Option<Misbehaviour> {
        let sort = pending.sort();
        let asked = match pending.request.target {
            Target::Fault(rule) => self.faults.choose_by(rule, sort),
            _ => None,
        };
        self.chooser.choose(sort).or(asked)
    }

    fn expected(&self, pending: Option<&Pending<Request>>) -> Cow<'_, [u8]> {
        let Some(pending) = pending else {
            return Cow::Borrowed(self.prebuilt.bytes(ResponseKey {
                resource: find(ANSWER),
                form: Form::Kept,
                is_head: false,
            }));
        };
        match &pending.request.target {
            Target::Wrong(wrong) => Cow::Owned(explain(wrong, pending)),
            _ => Cow::Borrowed(self.prebuilt.bytes(pending.request.answer)),
        }
    }

    fn end(&mut self, pending: &Pending<Request>, ending: Ending) {
        if let Some(writer) = &mut self.writer {
            writer.add(&Record {
                id: pending.request.id,
                received: pending.stamps.received.unwrap_or(Instant::ZERO),
                read: pending.stamps.read,
                due: pending.due,
                departure: ending.departure.unwrap_or(Instant::ZERO),
                connection: ending.connection as u32,
                misbehaviour: ending.misbehaviour,
                id_given: pending.request.id_given,
                wrong: matches!(pending.request.target, Target::Wrong(_)),
            });
        }
    }

    fn work(&self) -> Nanos {
        self.work
    }

    fn stall(&self, now: Instant) -> Option<Instant> {
        self.stall?.end(self.start, now)
    }

    fn turn(&mut self, now: Instant) {
        self.prebuilt.refresh(now);
        if let Some(writer) = &mut self.writer {
            writer.tick(now);
        }
    }
}

impl Truthful {
    /// The next id for a request without one; from 0.
    fn count(&mut self) -> u64 {
        let id = self.nameless;
        self.nameless += 1;
        id
    }
}

/// The whole answer to a query that cannot be understood.
fn explain(wrong: &QueryError, pending: &Pending<Request>) -> Vec<u8> {
    let sentence = format!("{wrong}\n");
    let mut bytes = Vec::new();
    let response = Response {
        status: 400,
        version: pending.request.version,
        date: &date(clock::realtime().as_secs()),
        content_length: Some(sentence.len() as u64),
        keepalive: pending.keepalive,
        headers: &[("Content-Type", "text/plain")],
    };
    response.encode(&mut bytes);
    if !pending.is_head {
        bytes.extend_from_slice(sentence.as_bytes());
    }
    bytes
}
