//! Scripts that make requests: from the plan to a thread's next request, and from a round to what a script is told of it.

use crate::job::{Job, JobError, RequestIndex};
use plan::{Body, Plan, Request, Requests};
use record::{Round, ScriptOutput, Tally};
use scripting::{
    Asked, Errors, Next, Response, Said, Script, Settings, Summary, ThreadScript, Url,
};
use stats::Histogram;
use std::collections::BTreeMap;
use units::{Instant, Nanos};

/// Loads the plan's script, if requests are made by one.
pub(crate) fn load(plan: &Plan) -> Result<Option<Script>, JobError> {
    let Requests::Script {
        path,
        arguments,
        common,
    } = &plan.requests
    else {
        return Ok(None);
    };
    let script = Script::load(&Settings {
        name: &path.display().to_string(),
        text: &scripting::read(path).map_err(JobError::Script)?,
        arguments,
        url: Url {
            scheme: &plan.target.scheme,
            authority: &plan.target.authority,
            path: &common.path,
        },
        headers: &common.headers,
        threads: plan.threads(),
    });
    let script = script.map_err(JobError::Script)?;
    script.pipeline().map_err(JobError::Script)?; // so that what fails does so before the load
    let has_delay = |index| script.thread(index).is_some_and(ThreadScript::has_delay);
    if plan.load.is_open() && (0..plan.threads()).any(has_delay) {
        return Err(JobError::Script(format!(
            "{}: delay() contradicts a rate, by which the load is due; leave one of them out",
            path.display()
        )));
    }
    let mut given = script.addresses().into_iter().flatten();
    let endpoints = &plan.target.endpoints;
    let is_known = |address| endpoints.contains(&plan::Endpoint::Ip(address));
    if let Some(other) = given.find(|address| !is_known(*address)) {
        return Err(JobError::Script(format!(
            "{}: a thread is given the address {other}, and weigh loads one server; name it in the URL",
            path.display()
        )));
    }
    Ok(Some(script))
}

/// A request of a script as one of a plan, and its body.
pub(crate) fn request(asked: Asked) -> (Request, Vec<u8>) {
    let request = Request {
        method: asked.method,
        path: asked.path,
        headers: asked.headers,
        // Its bytes lie beside it.
        body: asked.body.as_ref().map(|_| Body::Text(String::new())),
    };
    (request, asked.body.unwrap_or_default())
}

/// The script of one thread.
#[derive(Debug)]
pub(crate) struct Scripted<'p> {
    script: &'p ThreadScript,
    index: RequestIndex,
    /// Slots that wait before their next request, and until when.
    paused: BTreeMap<u32, Instant>,
}

/// Why a request is not sent yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pause {
    /// It is to wait until then, as of now.
    Until(Instant),
    /// It waits already.
    GoesOn,
}

impl<'p> Scripted<'p> {
    /// That of `thread`; none where no script makes requests, or always the same.
    pub(crate) fn of(job: &'p Job, thread: u32) -> Option<Scripted<'p>> {
        let script = job.script.as_ref().filter(|_| job.prepared.is_empty())?;
        let script = script.thread(thread)?;
        Some(Scripted {
            index: match script.wants_responses() {
                true => RequestIndex::TO_BE_TOLD,
                false => RequestIndex::UNLISTED,
            },
            script,
            paused: BTreeMap::new(),
        })
    }

    /// The next request; none when the script has stopped the thread, or has failed.
    pub(crate) fn next(&self) -> Option<(Request, Vec<u8>, RequestIndex)> {
        match self.script.next() {
            Next::Request(asked) => {
                let (request, body) = request(asked);
                Some((request, body, self.index))
            }
            Next::Nothing => None,
        }
    }

    /// What the connection in `slot` is to wait for at `now` before its next request, if it is to: asked of the script once for each
    /// request.
    pub(crate) fn pause(&mut self, slot: u32, now: Instant) -> Option<Pause> {
        if !self.script.has_delay() {
            return None;
        }
        if let Some(until) = self.paused.get(&slot) {
            if *until > now {
                return Some(Pause::GoesOn);
            }
            self.paused.remove(&slot);
            return None;
        }
        let delay = self.script.delay().as_nanos(); // a day at most
        if delay == 0 {
            return None;
        }
        let until = now + Nanos::from_nanos(delay as u64);
        self.paused.insert(slot, until);
        Some(Pause::Until(until))
    }

    /// Whether any slot waits so.
    pub(crate) fn has_paused(&self) -> bool {
        !self.paused.is_empty()
    }

    /// Tells it of a response.
    pub(crate) fn tell(&self, response: &Response) {
        self.script.told(response);
    }
}

impl Job {
    /// Tells the script that makes the requests, if one does, of a round that is over; returns what it has written.
    ///
    /// # Errors
    /// The script has failed: a sentence.
    pub fn script_output(&self, round: &Round) -> Result<Option<Box<ScriptOutput>>, String> {
        let Some(script) = &self.script else {
            return Ok(None);
        };
        if script.failure().is_none() && script.has_done() {
            script.done(summary(&round.tally, round.window.span()));
        }
        if let Some(why) = script.failure() {
            return Err(why);
        }
        let Said { out, err } = script.said();
        let is_silent = out.is_empty() && err.is_empty();
        Ok((!is_silent).then(|| Box::new(ScriptOutput { out, err })))
    }
}

fn summary(tally: &Tally, took: Nanos) -> Summary {
    let errors = tally.socket_errors();
    let open = tally.open.as_ref();
    let latency = open.map_or(&tally.service, |open| &open.response);
    Summary {
        took: took.to_std(),
        requests: tally.statuses.total(),
        bytes: tally.bytes_received,
        errors: Errors {
            connect: errors.connect,
            read: errors.read,
            write: errors.write,
            status: errors.status,
            timeout: errors.timeout,
        },
        latencies: values(latency, 1_000),
        rates: values(&tally.thread_rates, 1),
    }
}

/// The values of a histogram in units of `unit`, each with how often it was counted.
fn values(histogram: &Histogram, unit: u64) -> Vec<(u64, u64)> {
    let mut all: Vec<(u64, u64)> = Vec::new();
    for bucket in histogram.buckets() {
        let value = bucket.high.min(histogram.max().unwrap_or(bucket.high)) / unit;
        match all.last_mut() {
            Some((last, count)) if *last == value => *count += bucket.count,
            _ => all.push((value, bucket.count)),
        }
    }
    all
}
