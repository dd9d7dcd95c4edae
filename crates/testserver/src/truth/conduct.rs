//! How the truth server decides: what a request asks, when it is due, what it meets, and what is written down of it.

use super::faults::Faults;
use super::law::{Law, delay};
use super::log::{Record, Writer};
use super::query::Wrong;
use super::queue::Queue;
use super::stall::Stall;
use super::target::{self, Target};
use crate::misbehaviour::{Chooser, Conduct, Ending, Meets, Misbehaviour, Question, Stamps};
use counterweight::parts::{Form, PrebuiltResponses, ResponseKey, choose, date, find};
use kernel::clock;
use std::borrow::Cow;
use units::{Instant, Nanos};
use wire::Version;
use wire::http1::{Asked, Response};

/// The resource whose answer `/delay` and `/fault` give.
const ANSWER: &[u8] = b"/hello";

/// What a request asks, for as long as it takes.
#[derive(Debug)]
pub(super) struct Wish {
    id: u64,
    id_given: bool,
    kind: Kind,
    version: Version,
    answer: ResponseKey,
}

#[derive(Debug)]
enum Kind {
    /// After a delay.
    Delay(Law),
    /// With what this row of the faults has for it.
    Fault(usize),
    /// One of the resources.
    Resource,
    /// With this sentence.
    Wrong(Wrong),
}

/// The laws of one server, and how far their counts are.
pub(super) struct Truthful {
    pub(super) seed: u64,
    /// When the first stall began.
    pub(super) start: Instant,
    pub(super) stall: Option<Stall>,
    pub(super) work: Nanos,
    pub(super) queue: Option<Queue>,
    /// Whom the server's own rules meet.
    pub(super) chooser: Chooser,
    /// Those that requests ask for.
    pub(super) faults: Faults,
    pub(super) prebuilt: PrebuiltResponses,
    /// Requests so far that came without an id.
    pub(super) nameless: u64,
    /// Requests so far that could not be understood.
    pub(super) wrong: u64,
    pub(super) writer: Option<Writer>,
}

impl Conduct for Truthful {
    type Wish = Wish;

    fn accept(&mut self) -> Option<Misbehaviour> {
        self.chooser.choose(Meets::Connection)
    }

    fn wish(&mut self, asked: &Asked<'_>) -> Wish {
        // What is not UTF-8 is none of the server's own paths.
        let path = std::str::from_utf8(asked.path).unwrap_or_default();
        let (id, target) = target::read(path, self.seed);
        let is_head = asked.method == "HEAD";
        let resource = match target {
            Target::Resource => choose(asked.method, asked.path),
            _ => find(ANSWER),
        };
        let kind = match target {
            Target::Delay(law) => Kind::Delay(law),
            Target::Fault(rule) => self.faults.row(rule).map_or_else(Kind::Wrong, Kind::Fault),
            Target::Resource => Kind::Resource,
            Target::Wrong(wrong) => Kind::Wrong(wrong),
        };
        Wish {
            id: id.unwrap_or_else(|| self.count()),
            id_given: id.is_some(),
            kind,
            version: asked.version,
            answer: ResponseKey {
                resource,
                form: Form::new(asked.version, asked.keepalive),
                is_head,
            },
        }
    }

    fn due(&mut self, wish: &Wish, stamps: Stamps) -> Instant {
        self.wrong += u64::from(matches!(wish.kind, Kind::Wrong(_)));
        let arrival = stamps.received.unwrap_or(stamps.read);
        let served = match &mut self.queue {
            Some(queue) => queue.pass(arrival, self.seed, wish.id),
            None => arrival,
        };
        match wish.kind {
            Kind::Delay(law) => served + delay(law, self.seed, wish.id),
            _ if self.queue.is_some() => served,
            _ => stamps.read,
        }
    }

    fn meet(&mut self, question: &Question<Wish>) -> Option<Misbehaviour> {
        let sort = question.sort();
        let asked = match question.wish.kind {
            Kind::Fault(row) => self.faults.count(row, sort),
            _ => None,
        };
        self.chooser.choose(sort).or(asked)
    }

    fn right(&self, question: Option<&Question<Wish>>) -> Cow<'_, [u8]> {
        let Some(question) = question else {
            return Cow::Borrowed(self.prebuilt.bytes(ResponseKey {
                resource: find(ANSWER),
                form: Form::Kept,
                is_head: false,
            }));
        };
        match &question.wish.kind {
            Kind::Wrong(wrong) => Cow::Owned(explain(wrong, question)),
            _ => Cow::Borrowed(self.prebuilt.bytes(question.wish.answer)),
        }
    }

    fn end(&mut self, question: &Question<Wish>, ending: Ending) {
        if let Some(writer) = &mut self.writer {
            writer.add(&Record {
                id: question.wish.id,
                received: question.stamps.received.unwrap_or(Instant::ZERO),
                read: question.stamps.read,
                due: question.due,
                departure: ending.departure.unwrap_or(Instant::ZERO),
                connection: ending.connection as u32,
                misbehaviour: ending.met,
                id_given: question.wish.id_given,
                wrong: matches!(question.wish.kind, Kind::Wrong(_)),
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
fn explain(wrong: &Wrong, question: &Question<Wish>) -> Vec<u8> {
    let sentence = format!("{wrong}\n");
    let mut bytes = Vec::new();
    let response = Response {
        status: 400,
        version: question.wish.version,
        date: &date(clock::realtime().as_secs()),
        content_length: Some(sentence.len() as u64),
        keepalive: question.keepalive,
        headers: &[("Content-Type", "text/plain")],
    };
    response.encode(&mut bytes);
    if !question.is_head {
        bytes.extend_from_slice(sentence.as_bytes());
    }
    bytes
}
