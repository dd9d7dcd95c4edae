//! From requests to the bytes of their answers.
//!
//! A request's answer is chosen when its head is there and appended when the request is complete, so that the answers
//! of a pipeline stand in its order and go out with one system call. Bodies are skipped.

use crate::counts::Counts;
use crate::resources;
use crate::shelf::{Answer, Form, Shelf};
use crate::slots::Slot;
use std::ops::ControlFlow;
use wire::http1::{Asked, CONTINUE, Requests, ServerSink};

/// Reads what a connection has sent, appends the answers to `out` and counts them. After a refusal or a last request
/// that does nothing any more.
#[inline]
pub(crate) fn read(
    slot: &mut Slot,
    requests: &mut Requests,
    input: &[u8],
    shelf: &Shelf,
    counts: &mut Counts,
    out: &mut Vec<u8>,
) {
    let mut answering = Answering {
        shelf,
        counts,
        out,
        due: &mut slot.due,
    };
    if let Err(refusal) = slot.http.receive(requests, input, &mut answering) {
        slot.refused = true;
        counts.refused += 1;
        counts.responses.count(refusal.status);
        shelf.refuse(refusal, out);
    }
}

/// What listens to a connection while its bytes are read.
struct Answering<'a> {
    shelf: &'a Shelf,
    counts: &'a mut Counts,
    /// Where answers are appended.
    out: &'a mut Vec<u8>,
    /// The answer to the request that is being read.
    due: &'a mut Answer,
}

impl ServerSink for Answering<'_> {
    #[inline]
    fn request(&mut self, asked: &Asked<'_>) {
        *self.due = choose(asked);
        let has_body = asked.chunked || asked.content_length.is_some_and(|length| length > 0);
        if asked.expects_continue && has_body {
            self.out.extend_from_slice(CONTINUE);
            self.counts.responses.informational += 1;
        }
    }

    #[inline]
    fn body(&mut self, _: &[u8]) {}

    #[inline]
    fn complete(&mut self) -> ControlFlow<()> {
        self.counts.requests += 1;
        self.counts.responses.count(self.due.status());
        self.out.extend_from_slice(self.shelf.bytes(*self.due));
        ControlFlow::Continue(())
    }
}

#[inline]
fn choose(asked: &Asked<'_>) -> Answer {
    let is_head = asked.method == "HEAD";
    let resource = if is_head || asked.method == "GET" {
        resources::find(asked.path)
    } else {
        resources::NOT_ALLOWED
    };
    Answer {
        resource,
        form: Form::new(asked.version, asked.keepalive),
        is_head,
    }
}
