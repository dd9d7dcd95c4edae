//! What the loop asks before it does anything that a script or a distribution determines.
//!
//! The loop knows connections, steps and timers; what a request means, when its response is scheduled and what it meets
//! is decided here, and only numbers, instants and bytes go between the two.

use crate::config::{Config, unencrypted};
use crate::misbehaviour::{self, Chooser, Misbehaviour, RULES_MAX, Rule, Trigger};
use crate::truth::log::{LogCounts, Record, Writer};
use crate::truth::{QueryError, Queue, Target, delay, target};
use kernel::clock;
use refserver::parts::{
    Encryption, Form, Headers, PrebuiltResponses, ResponseKey, choose, date, find,
};
use std::borrow::Cow;
use units::Instant;
use wire::http1::RequestHead;

/// The resource whose response `/delay` and `/fault` give.
const ANSWER: &[u8] = b"/hello";

/// A request, from its head to its end.
#[derive(Debug)]
pub(crate) struct Pending {
    /// What is known of it so far, as the truth log will have it.
    pub(crate) record: Record,
    target: Target,
    response: ResponseKey,
}

impl Pending {
    /// The client wants the connection kept.
    pub(crate) fn keepalive(&self) -> bool {
        self.response.form != Form::Close
    }

    /// Returns the trigger of misbehaviours that can meet it.
    fn trigger(&self) -> Trigger {
        match self.response.is_head {
            true => Trigger::Head,
            false => Trigger::Exchange,
        }
    }
}

/// What decides the behaviour of one server, and how far its counts are.
pub(crate) struct Behaviour {
    pub(crate) config: Config,
    /// When the first stall began.
    pub(crate) start: Instant,
    /// The truth server's resources; none for the misbehaving server, which has one response for everything.
    resources: Option<PrebuiltResponses>,
    queue: Option<Queue>,
    /// The server's own rules.
    rules: Chooser,
    /// Those that requests ask for.
    faults: Chooser,
    /// Requests so far that came without an id.
    nameless: u64,
    /// Requests so far that could not be understood.
    pub(crate) wrong: u64,
    /// Where every request is written down.
    pub(crate) writer: Option<Writer>,
    /// The certificate that connections are shown.
    pub(crate) encryption: Option<Encryption>,
}

impl Behaviour {
    /// The truth server's behaviour from `start` on, without a log yet.
    pub(crate) fn truthful(config: Config, start: Instant) -> Behaviour {
        let resources = PrebuiltResponses::new(clock::realtime, &Headers::default());
        Behaviour {
            resources: Some(resources),
            start,
            ..Behaviour::scripted(config)
        }
    }

    /// Behaviour by script alone: whatever is requested, and at once.
    pub(crate) fn scripted(config: Config) -> Behaviour {
        Behaviour {
            start: Instant::ZERO,
            resources: None,
            queue: config.capacity.map(|each| Queue::new(each, config.cold)),
            rules: Chooser::new(&config.script.rules, config.seed),
            faults: Chooser::new(&[], config.seed),
            nameless: 0,
            wrong: 0,
            writer: None,
            encryption: None,
            config,
        }
    }

    /// It is the truth server's.
    pub(crate) fn is_truthful(&self) -> bool {
        self.resources.is_some()
    }

    /// Returns what a connection meets that was accepted.
    pub(crate) fn accept(&mut self) -> Option<Misbehaviour> {
        self.rules.choose(Trigger::Connection)
    }

    /// Reads a request's head.
    pub(crate) fn request(&mut self, head: &RequestHead<'_>) -> Pending {
        // What is not UTF-8 is none of the server's own paths.
        let path = std::str::from_utf8(head.path).unwrap_or_default();
        let (id, mut target) = match self.is_truthful() {
            true => target::read(path),
            false => (None, Target::Resource),
        };
        let resource = match target {
            Target::Resource => choose(head.method, head.path),
            _ => find(ANSWER),
        };
        if let Target::Fault(rule) = target
            && let Err(sentence) = self.fault(rule)
        {
            target = Target::Wrong(QueryError::new(sentence));
        }
        let record = Record {
            id: id.unwrap_or(self.nameless),
            id_given: id.is_some(),
            wrong: matches!(target, Target::Wrong(_)),
            ..Record::default()
        };
        self.nameless += u64::from(id.is_none());
        Pending {
            record,
            target,
            response: ResponseKey {
                resource,
                form: Form::new(head.version, head.keepalive),
                is_head: head.method == "HEAD",
            },
        }
    }

    /// Takes a rule that a request asks for, or says why not.
    fn fault(&mut self, rule: Rule) -> Result<(), String> {
        let (misbehaviour, is_secured) = (rule.misbehaviour, self.config.certificate.is_some());
        if misbehaviour.is_beneath_tls() && !is_secured {
            return Err(unencrypted(misbehaviour));
        }
        match self.faults.add(rule) {
            true => Ok(()),
            false => Err(format!(
                "more than {RULES_MAX} different faults; give fewer"
            )),
        }
    }

    /// Schedules the response to a request whose last bytes were read at `read`, and which the kernel has received at
    /// `received` where it says so.
    pub(crate) fn complete(
        &mut self,
        pending: &mut Pending,
        received: Option<Instant>,
        read: Instant,
    ) {
        let record = &mut pending.record;
        (record.received, record.read) = (received.unwrap_or(Instant::ZERO), read);
        self.wrong += u64::from(record.wrong);
        let (seed, arrival) = (self.config.seed, record.arrival());
        let served = match &mut self.queue {
            Some(queue) => queue.pass(arrival, seed, record.id),
            None => arrival,
        };
        record.due = match pending.target {
            Target::Delay(distribution) => served + delay(distribution, seed, record.id),
            _ if self.queue.is_some() => served,
            _ => read,
        };
    }

    /// Returns what a request meets whose turn has come. Each request is counted once.
    pub(crate) fn misbehaviour(&mut self, pending: &Pending) -> Option<Misbehaviour> {
        let trigger = pending.trigger();
        let fault = match pending.target {
            Target::Fault(rule) => self.faults.choose_by(rule, trigger),
            _ => None,
        };
        self.rules.choose(trigger).or(fault)
    }

    /// Returns the expected response to a request, or to none at all.
    pub(crate) fn expected(&self, pending: Option<&Pending>) -> Cow<'_, [u8]> {
        let unasked = ResponseKey {
            resource: find(ANSWER),
            form: Form::Kept,
            is_head: false,
        };
        let response = pending.map_or(unasked, |pending| pending.response);
        match (&self.resources, pending.map(|pending| &pending.target)) {
            (None, _) => {
                let is_kept = response.form != Form::Close;
                Cow::Borrowed(misbehaviour::expected(response.is_head, is_kept))
            }
            (_, Some(Target::Wrong(wrong))) => Cow::Owned(explain(wrong, response)),
            (Some(resources), _) => Cow::Borrowed(resources.bytes(response)),
        }
    }

    /// Shows another certificate to the connections that follow. One that cannot be made is not shown.
    pub(crate) fn change_certificate(&self) {
        if let Some(encryption) = &self.encryption {
            let _ = encryption.change();
        }
    }

    /// Writes down a request that is over, well or not.
    pub(crate) fn end(&mut self, record: &Record) {
        if let Some(writer) = &mut self.writer {
            writer.add(record);
        }
    }

    /// Returns until when everything stands still; none: nothing does.
    pub(crate) fn stall(&self, now: Instant) -> Option<Instant> {
        self.config.stall?.end(self.start, now)
    }

    /// Begins a turn of the loop.
    pub(crate) fn turn(&mut self, now: Instant) {
        if let Some(resources) = &mut self.resources {
            resources.refresh(now);
        }
        if let Some(writer) = &mut self.writer {
            writer.tick(now);
        }
    }

    /// Writes the rest of the log; none without one.
    pub(crate) fn finish(self) -> Option<LogCounts> {
        self.writer.map(Writer::finish)
    }
}

/// The whole response to a query that cannot be understood.
fn explain(wrong: &QueryError, response: ResponseKey) -> Vec<u8> {
    let sentence = format!("{wrong}\n");
    let length = Some(sentence.len() as u64);
    let headers = [("Content-Type", "text/plain")];
    let date = date(clock::realtime().as_secs());
    let mut bytes = Vec::new();
    response
        .form
        .encode(400, &date, length, &headers, &mut bytes);
    if !response.is_head {
        bytes.extend_from_slice(sentence.as_bytes());
    }
    bytes
}
