//! Which request comes next on a thread, and what number it has.

use crate::job::{self, Job, RequestIndex};
use crate::lines::Lines;
use plan::{Body, Requests};
use wire::Source;

/// The next request as bytes.
#[derive(Debug)]
pub(crate) struct NextRequest<'p> {
    pub(crate) head: Source<'p>,
    pub(crate) body: Source<'p>,
    pub(crate) is_head: bool,
    /// Which of the listed requests it is.
    pub(crate) request_index: RequestIndex,
}

/// The next request, where it is a head alone and its bytes are there already.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BodylessRequest<'p> {
    pub(crate) head: &'p [u8],
    pub(crate) is_head: bool,
    /// As in [`NextRequest`].
    pub(crate) request_index: RequestIndex,
}

impl<'p> From<BodylessRequest<'p>> for NextRequest<'p> {
    fn from(bodyless: BodylessRequest<'p>) -> NextRequest<'p> {
        NextRequest {
            head: Source::Shared(bodyless.head),
            body: Source::EMPTY,
            is_head: bodyless.is_head,
            request_index: bodyless.request_index,
        }
    }
}

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

    /// The next request, if its bytes are there already: nearly always.
    #[inline]
    pub(crate) fn next_shared(&mut self) -> Option<NextRequest<'p>> {
        let place = self.place;
        let prepared = self.job.prepared.get(place)?;
        if prepared.template.is_some() {
            return None;
        }
        self.pass();
        Some(NextRequest {
            head: Source::Shared(&prepared.head),
            body: Source::Shared(&prepared.body),
            is_head: prepared.is_head,
            request_index: prepared.request_index,
        })
    }

    /// The next request, if its bytes are there already and it has no body.
    #[inline]
    pub(crate) fn next_bodyless(&mut self) -> Option<BodylessRequest<'p>> {
        let place = self.place;
        let prepared = self.job.prepared.get(place)?;
        if prepared.template.is_some() || !prepared.body.is_empty() {
            return None;
        }
        self.pass();
        Some(BodylessRequest {
            head: &prepared.head,
            is_head: prepared.is_head,
            request_index: prepared.request_index,
        })
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
        Some(NextRequest {
            head: Source::Own(head),
            body: Source::Own(body),
            is_head: prepared.is_head,
            request_index: prepared.request_index,
        })
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
        let head = Source::Own(job::encode(&request, &job.plan, length));
        Some(NextRequest {
            head,
            body,
            is_head: request.method == "HEAD",
            request_index: RequestIndex::UNLISTED,
        })
    }
}

impl Job {
    /// Head and body of the plan's first requests, at most `most`, with `{seq}` from `seq` on. Empty when the file of
    /// requests holds none.
    pub fn first_requests(&self, seq: u64, most: usize) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut source = RequestSource::new(self, 0, 1, seq);
        let most = match self.labels.len() {
            0 => most,
            listed => most.min(listed),
        };
        let next = |_| {
            source
                .next_shared()
                .or_else(|| source.next_made(Vec::new()))
        };
        let requests = (0..most).map_while(next);
        let bytes = requests.map(|next| (next.head.bytes().to_vec(), next.body.bytes().to_vec()));
        bytes.collect()
    }
}
