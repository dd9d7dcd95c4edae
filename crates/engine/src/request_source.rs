//! Which request comes next on a thread, and what number it has.

use crate::job::{self, Job, Prepared, RequestIndex};
use crate::lines::Lines;
use crate::script::{Pause, Scripted};
use plan::template::{self, Filling};
use plan::{Body, Ranks, Request, Requests};
use scripting::Response;
use std::borrow::Cow;
use std::collections::BTreeMap;
use units::Instant;
use wire::{Encoded, Method, Source};

/// Keeps the draws of places apart from those within a request.
const PLACES: u64 = 0x706c_6163_6573_2e2e;

/// A request that is made for one exchange, to be encoded by the connection that it goes to.
#[derive(Debug)]
pub(crate) struct Made<'s, 'p> {
    job: &'p Job,
    request: Cow<'p, Request>,
    /// Its path, holes filled.
    path: &'s str,
    pub(crate) body: Source<'p>,
    pub(crate) request_index: RequestIndex,
}

impl Made<'_, '_> {
    /// What it asks.
    pub(crate) fn asked(&self) -> wire::Request<'_> {
        let length = self.request.body.as_ref();
        let length = length.map(|_| self.body.bytes().len() as u64);
        job::asked(&self.request, self.path, &self.job.plan, length)
    }

    pub(crate) fn method(&self) -> Method {
        Method::named(&self.request.method)
    }
}

/// One thread's way through the plan's requests.
#[derive(Debug)]
pub(crate) struct RequestSource<'p> {
    job: &'p Job,
    lines: Option<Lines<'p>>,
    /// The script that makes the requests, where their bytes are not there already.
    script: Option<Scripted<'p>>,
    /// The path of the last request that was made.
    path: String,
    /// Place of the next listed request, and how far the one after it lies from it.
    place: usize,
    step: usize,
    /// Threads that share out the list; 1 where each goes through all of it.
    sharers: usize,
    /// By which places are drawn, where they are not taken in turn.
    ranks: Option<Ranks>,
    /// Number of the next exchange, and how far apart this thread's numbers are.
    seq: u64,
    stride: u64,
}

impl<'p> RequestSource<'p> {
    /// The way of `thread` of `threads`; `base` is the first number no earlier round has used.
    pub(crate) fn new(job: &'p Job, thread: u32, threads: u32, base: u64) -> RequestSource<'p> {
        let many = job.prepared.len().max(1);
        let (lines, sharers) = match &job.plan.requests {
            Requests::Listed(_) | Requests::Script { .. } => (None, 1),
            Requests::File { .. } if !job.prepared.is_empty() => (None, threads as usize),
            Requests::File { path, common } => {
                let lines = Lines::new(path, common, &job.plan.target, thread, threads);
                (Some(lines), 1)
            }
        };
        let popularity = job.plan.popularity.filter(|_| many > 1);
        let step = match sharers % many {
            // Each is the last of its turn, so that nothing is asked of a list without popularity.
            _ if popularity.is_some() => many,
            0 => usize::from(many > 1),
            step => step,
        };
        let mut source = RequestSource {
            job,
            lines,
            script: Scripted::of(job, thread),
            path: String::new(),
            place: thread as usize % many,
            step,
            sharers,
            ranks: popularity.map(|popularity| Ranks::new(popularity, many as u64)),
            seq: base + u64::from(thread),
            stride: u64::from(threads),
        };
        if source.ranks.is_some() {
            source.begin_again();
        }
        source
    }

    /// What the holes of request `seq` are filled from.
    fn filling(&self, seq: u64) -> Filling {
        Filling {
            seq,
            seed: self.job.plan.seed,
            popularity: self.job.plan.popularity,
        }
    }

    /// The first number that this thread has not used.
    pub(crate) fn seq(&self) -> u64 {
        self.seq
    }

    /// The next request, if its bytes are there already, as nearly always, and it is one that `is_wanted`.
    #[inline]
    pub(crate) fn next_prepared(
        &mut self,
        is_wanted: impl FnOnce(&Prepared) -> bool,
    ) -> Option<&'p Prepared> {
        let prepared = self.job.prepared.get(self.place)?;
        if prepared.template.is_some() || !is_wanted(prepared) {
            return None;
        }
        self.pass();
        Some(prepared)
    }

    /// The next request, where it must be made. None when there is nothing to send any more: a file of requests was emptied
    /// during the load.
    pub(crate) fn next_made(&mut self) -> Option<Made<'_, 'p>> {
        let (job, filling) = (self.job, self.filling(self.seq));
        if self.script.is_some() {
            return self.next_of_script();
        }
        let (request, file, request_index) = match &mut self.lines {
            Some(lines) => {
                self.seq += self.stride;
                let request = Cow::Owned(lines.next()?);
                (request, &job.common_body[..], RequestIndex::UNLISTED)
            }
            None => {
                let prepared = &job.prepared[self.place];
                self.pass();
                let request = prepared.template.as_deref()?;
                let request = Cow::Borrowed(request);
                (request, &prepared.body[..], prepared.request_index)
            }
        };
        let body = match &request.body {
            None => Source::EMPTY,
            Some(Body::File { .. }) => Source::Shared(file),
            Some(Body::Text(text)) => {
                let mut body = Vec::new();
                template::render(text.as_bytes(), filling, &mut body);
                Source::Own(body)
            }
        };
        let mut path = std::mem::take(&mut self.path).into_bytes();
        path.clear();
        template::render(request.path.as_bytes(), filling, &mut path);
        self.path = String::from_utf8(path).expect("holes are filled with ASCII");
        Some(Made {
            job,
            request,
            path: &self.path,
            body,
            request_index,
        })
    }

    fn next_of_script(&mut self) -> Option<Made<'_, 'p>> {
        let (request, body, request_index) = self.script.as_ref()?.next()?;
        self.seq += self.stride;
        self.path.clone_from(&request.path);
        Some(Made {
            job: self.job,
            request: Cow::Owned(request),
            path: &self.path,
            body: Source::Own(body),
            request_index,
        })
    }

    /// What the connection in `slot` is to wait for at `now` before the next request on it, if the script wants that.
    pub(crate) fn pause(&mut self, slot: u32, now: Instant) -> Option<Pause> {
        self.script.as_mut()?.pause(slot, now)
    }

    /// Whether a connection waits so.
    pub(crate) fn has_paused(&self) -> bool {
        self.script.as_ref().is_some_and(Scripted::has_paused)
    }

    /// Whether a script makes the requests.
    pub(crate) fn is_scripted(&self) -> bool {
        self.script.is_some()
    }

    /// Tells the script of responses that have come.
    pub(crate) fn tell(&self, responses: impl Iterator<Item = Response>) {
        if let Some(script) = &self.script {
            responses.for_each(|response| script.tell(&response));
        }
    }

    /// Goes on to the next place in the list, and to the next number.
    #[inline]
    fn pass(&mut self) {
        self.seq += self.stride;
        self.place += self.step;
        if self.place >= self.job.prepared.len() {
            self.begin_again();
        }
    }

    /// Goes on at the beginning of the list, or at a place that is drawn. Threads that share it out so that each would always take the same of it
    /// change places, or the requests of a faster thread would be sent more often than their weight says.
    #[cold]
    fn begin_again(&mut self) {
        if let Some(ranks) = &self.ranks {
            let bits = template::draw(self.job.plan.seed ^ PLACES, self.seq);
            self.place = ranks.draw(bits) as usize;
            return;
        }
        let many = self.job.prepared.len();
        let is_even = self.sharers < many && many.is_multiple_of(self.sharers);
        self.place = match is_even {
            true => (self.place % self.sharers + 1) % self.sharers,
            false => self.place - many,
        };
    }
}

/// A request as it would be sent first.
#[derive(Debug)]
pub struct FirstRequest {
    /// Its head.
    pub head: Encoded,
    /// Its body; empty where it has none.
    pub body: Vec<u8>,
    pub(crate) method: Method,
}

impl Job {
    /// Head and body of the plan's first requests, at most `most`, with `{seq}` from `seq` on: each listed request once,
    /// in the order of the list, whatever its weight. Empty when the file of requests holds none.
    pub fn first_requests(&self, seq: u64, most: usize) -> Vec<FirstRequest> {
        let mut source = RequestSource::new(self, 0, 1, seq);
        let turns = self.prepared.iter().enumerate().rev();
        let firsts: BTreeMap<_, _> = turns
            .map(|(turn, prepared)| (prepared.request_index.place(), turn))
            .collect();
        let mut turns: Vec<usize> = firsts.into_values().collect();
        if turns.is_empty() {
            // A long file is read line by line, and its requests have no weights; a script may count what it is asked.
            turns = vec![0; if self.script.is_some() { 1 } else { most }];
        }
        let next = |turn| {
            source.place = turn;
            match source.next_prepared(|_| true) {
                Some(prepared) => Some(FirstRequest {
                    head: prepared.head.clone(),
                    body: prepared.body.to_vec(),
                    method: prepared.method,
                }),
                None => source.next_made().map(|made| FirstRequest {
                    head: self.stack.encode(&made.asked()),
                    body: made.body.bytes().to_vec(),
                    method: made.method(),
                }),
            }
        };
        turns.into_iter().take(most).map_while(next).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::{Plan, Popularity, Request};

    /// The places of the first `number` requests of a list of four, by their numbers, over so many threads.
    fn places(number: u64, threads: u32, popularity: Option<Popularity>) -> BTreeMap<u64, u32> {
        let listed = ["/a", "/b", "/c", "/d"].map(Request::get).to_vec();
        let plan = Plan {
            requests: Requests::Listed(listed),
            popularity,
            ..Plan::example("127.0.0.1:80".parse().unwrap())
        };
        let endpoint = plan.target.endpoints[0].clone();
        let job = Job::new(plan, endpoint).unwrap();
        let mut places = BTreeMap::new();
        for thread in 0..threads {
            let mut source = RequestSource::new(&job, thread, threads, 0);
            while source.seq() < number {
                let seq = source.seq();
                let next = source.next_prepared(|_| true).unwrap();
                places.insert(seq, next.request_index.place().unwrap());
            }
        }
        places
    }

    #[test]
    fn requests_are_drawn_by_popularity_and_alike_for_any_number_of_threads() {
        let zipf = Some(Popularity::Zipf(1.0));
        let one = places(12_000, 1, zipf);
        assert_eq!(places(12_000, 5, zipf), one);
        let count = |place| one.values().filter(|each| **each == place).count() as f64;
        // 12, 6, 4 and 3 of 25; four standard deviations.
        for (place, share) in [(0, 0.48), (1, 0.24), (2, 0.16), (3, 0.12)] {
            let off = count(place) - 12_000.0 * share;
            let most = 4.0 * (12_000.0 * share * (1.0 - share)).sqrt();
            assert!(off.abs() < most, "{place}: {off}");
        }
        assert_eq!(
            places(8, 1, None).into_values().collect::<Vec<_>>(),
            [0, 1, 2, 3, 0, 1, 2, 3]
        );
    }

    #[test]
    fn a_made_request_counts_its_own_bodys_length() {
        let request = Request {
            method: "POST".into(),
            path: "/a?id={seq}".into(),
            headers: vec![("X-Id".into(), "{seq}".into())],
            body: Some(Body::Text("n={seq}".into())),
        };
        let plan = Plan {
            requests: Requests::Listed(vec![request]),
            ..Plan::example("127.0.0.1:80".parse().unwrap())
        };
        let endpoint = plan.target.endpoints[0].clone();
        let job = Job::new(plan, endpoint).unwrap();
        let first = job.first_requests(1234, 1).pop().unwrap();
        let head = String::from_utf8(first.head.bytes().to_vec()).unwrap();
        assert!(
            head.starts_with("POST /a?id=1234 HTTP/1.1\r\nHost: 127.0.0.1:80\r\n"),
            "{head}"
        );
        assert!(
            head.contains("\r\nContent-Length: 6\r\n") && head.ends_with("X-Id: {seq}\r\n\r\n"),
            "{head}"
        );
        assert_eq!(first.body, b"n=1234");
    }

    #[test]
    fn a_body_from_a_file_goes_out_as_it_is_whatever_the_path_has() {
        let file = std::env::temp_dir().join(format!("weigh-body-{}", std::process::id()));
        std::fs::write(&file, "n={seq}").unwrap();
        let request = Request {
            method: "POST".into(),
            body: Some(Body::File {
                path: file.clone(),
                length: 7,
            }),
            ..Request::get("/a?id={seq}")
        };
        let plan = Plan {
            requests: Requests::Listed(vec![request]),
            ..Plan::example("127.0.0.1:80".parse().unwrap())
        };
        let endpoint = plan.target.endpoints[0].clone();
        let job = Job::new(plan, endpoint).unwrap();
        std::fs::remove_file(&file).unwrap();
        let first = job.first_requests(12, 1).pop().unwrap();
        let head = String::from_utf8_lossy(first.head.bytes()).into_owned();
        assert!(head.starts_with("POST /a?id=12 "), "{head}");
        assert!(head.contains("\r\nContent-Length: 7\r\n"), "{head}");
        assert_eq!(first.body, b"n={seq}");
    }
}
