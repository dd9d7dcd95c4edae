//! Which request comes next on a thread, and what number it has.

use crate::job::{self, Job, Prepared, RequestIndex};
use crate::lines::Lines;
use plan::{Body, Requests};
use std::collections::BTreeMap;
use wire::{Opening, Source};

/// The next request as bytes, and which of the listed requests it is.
pub(crate) type NextRequest<'p> = (Opening<'p>, RequestIndex);

/// One thread's way through the plan's requests.
#[derive(Debug)]
pub(crate) struct RequestSource<'p> {
    job: &'p Job,
    lines: Option<Lines<'p>>,
    /// Place of the next listed request, and how far the one after it lies from it.
    place: usize,
    step: usize,
    /// Threads that share out the list; 1 where each goes through all of it.
    sharers: usize,
    /// Number of the next exchange, and how far apart this thread's numbers are.
    seq: u64,
    stride: u64,
}

impl<'p> RequestSource<'p> {
    /// The way of `thread` of `threads`; `base` is the first number no earlier round has used.
    pub(crate) fn new(job: &'p Job, thread: u32, threads: u32, base: u64) -> RequestSource<'p> {
        let many = job.prepared.len().max(1);
        let (lines, sharers) = match &job.plan.requests {
            Requests::Listed(_) => (None, 1),
            Requests::File { .. } if !job.prepared.is_empty() => (None, threads as usize),
            Requests::File { path, common } => {
                let lines = Lines::new(path, common, &job.plan.target, thread, threads);
                (Some(lines), 1)
            }
        };
        let step = match sharers % many {
            0 => usize::from(many > 1),
            step => step,
        };
        RequestSource {
            job,
            lines,
            place: thread as usize % many,
            step,
            sharers,
            seq: base + u64::from(thread),
            stride: u64::from(threads),
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

    /// The next request, where its bytes must be made; `spare` is an empty buffer for them. None when there is
    /// nothing to send any more: a file of requests was emptied during the load.
    pub(crate) fn next_made(&mut self, spare: Vec<u8>) -> Option<NextRequest<'p>> {
        let seq = self.seq;
        if self.lines.is_some() {
            self.seq += self.stride;
            return self.next_line(seq, spare);
        }
        let prepared = &self.job.prepared[self.place];
        self.pass();
        let template = prepared.template.as_ref()?;
        let (mut head, mut body) = (spare, Vec::new());
        let seed = self.job.plan.seed;
        template.render(&prepared.body, seq, seed, &mut head, &mut body);
        let opening = Opening {
            head: Source::Own(head),
            body: Source::Own(body),
            is_head: prepared.is_head,
        };
        Some((opening, prepared.request_index))
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

    /// Goes on at the beginning of the list. Threads that share it out so that each would always take the same of it
    /// change places, or the requests of a faster thread would be sent more often than their weight says.
    #[cold]
    fn begin_again(&mut self) {
        let many = self.job.prepared.len();
        let is_even = self.sharers < many && many.is_multiple_of(self.sharers);
        self.place = match is_even {
            true => (self.place % self.sharers + 1) % self.sharers,
            false => self.place - many,
        };
    }

    #[cold]
    fn next_line(&mut self, seq: u64, spare: Vec<u8>) -> Option<NextRequest<'p>> {
        let job = self.job;
        let mut request = self.lines.as_mut()?.next()?;
        let seed = job.plan.seed;
        if plan::template::has_holes(&request.path) {
            let mut path = spare;
            plan::template::render(request.path.as_bytes(), seq, seed, &mut path);
            request.path = String::from_utf8(path).expect("holes are filled with ASCII");
        }
        let body = match &request.body {
            None => Source::EMPTY,
            Some(Body::File { .. }) => Source::Shared(&job.common_body),
            Some(Body::Text(text)) => {
                let mut body = Vec::new();
                plan::template::render(text.as_bytes(), seq, seed, &mut body);
                Source::Own(body)
            }
        };
        let length = request.body.as_ref().map(|_| body.bytes().len() as u64);
        let opening = Opening {
            head: Source::Own(job::encode(&request, &job.plan, length)),
            body,
            is_head: request.method == "HEAD",
        };
        Some((opening, RequestIndex::UNLISTED))
    }
}

impl Job {
    /// Head and body of the plan's first requests, at most `most`, with `{seq}` from `seq` on: each listed request once,
    /// in the order of the list, whatever its weight. Empty when the file of requests holds none.
    pub fn first_requests(&self, seq: u64, most: usize) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut source = RequestSource::new(self, 0, 1, seq);
        let turns = self.prepared.iter().enumerate().rev();
        let firsts: BTreeMap<_, _> = turns
            .map(|(turn, prepared)| (prepared.request_index.place(), turn))
            .collect();
        let mut turns: Vec<usize> = firsts.into_values().collect();
        if turns.is_empty() {
            turns = vec![0; most]; // a long file is read line by line, and its requests have no weights
        }
        let next = |turn| {
            source.place = turn;
            match source.next_prepared(|_| true) {
                Some(prepared) => Some(prepared.opening()),
                None => source.next_made(Vec::new()).map(|(opening, _)| opening),
            }
        };
        let requests = turns.into_iter().take(most).map_while(next);
        let bytes = requests.map(|next| (next.head.bytes().to_vec(), next.body.bytes().to_vec()));
        bytes.collect()
    }
}
