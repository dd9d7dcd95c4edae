//! The connections of a misbehaving server: what each has been asked, and what is being done on it.

use crate::behaviour::{Behaviour, Pending};
use crate::misbehaviour::{Log, Misbehaviour, REFUSAL, Step};
use kernel::Errno;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::io::IoSlice;
use std::ops::ControlFlow;
use units::Instant;
use wire::http1::{RequestHead, Server, ServerSink};

/// Connections at a time; those that come then wait in the kernel.
pub(crate) const CONNECTIONS_LIMIT: u32 = 16 * 1024;
/// Requests that a client may ask ahead of their answers. More are read to the end of what came with them, no further.
pub(crate) const AHEAD_LIMIT: usize = 1024;
/// Pieces that are sent at once.
const SLICES: usize = 64;

/// What is being done on a connection: steps, and how far they have come.
#[derive(Debug)]
pub(crate) struct Activity {
    /// The request for which it is done; none at accept, and for what is refused.
    pub(crate) pending: Option<Pending>,
    /// What is met, if anything is.
    pub(crate) misbehaviour: Option<Misbehaviour>,
    steps: &'static [Step],
    /// Bytes of the first of `steps` that are sent.
    sent: u64,
    /// The expected response, once the kernel has taken only a part of it: its behaviour may say another one a second later.
    kept: Option<Vec<u8>>,
    /// The clock just before the first byte was sent; zero before that.
    pub(crate) departure: Instant,
}

impl Activity {
    /// What is to be done for a request, or without one when a connection is accepted, that meets this; if it meets
    /// nothing, the expected response.
    pub(crate) fn new(pending: Option<Pending>, misbehaviour: Option<Misbehaviour>) -> Activity {
        Activity {
            pending,
            misbehaviour,
            steps: misbehaviour.map_or(&[Step::Expected], Misbehaviour::steps),
            sent: 0,
            kept: None,
            departure: Instant::ZERO,
        }
    }

    /// What is to be done about a request that cannot be read.
    pub(crate) fn refuse() -> Activity {
        Activity {
            steps: REFUSAL,
            ..Activity::new(None, None)
        }
    }

    /// It is an expected response and nothing else.
    pub(crate) fn is_expected(&self) -> bool {
        self.pending.is_some() && self.misbehaviour.is_none()
    }

    /// Nothing is done before.
    pub(crate) fn due(&self) -> Instant {
        let due = self.pending.as_ref().map(|pending| pending.record.due);
        due.unwrap_or(Instant::ZERO)
    }

    /// The step that is being done; none when all are.
    pub(crate) fn step(&self) -> Option<Step> {
        self.steps.first().copied()
    }

    /// Turns to the next step.
    pub(crate) fn next(&mut self) {
        self.steps = &self.steps[1..];
        self.sent = 0;
        self.kept = None;
    }

    /// Sends what `send` takes of this step's bytes: how many that were, and whether they were fewer than it was given.
    /// `expected` is the expected response.
    pub(crate) fn send<'a>(
        &mut self,
        expected: impl FnOnce(Option<&Pending>) -> Cow<'a, [u8]>,
        send: impl FnOnce(&[IoSlice<'_>]) -> Result<usize, Errno>,
    ) -> Result<(u64, bool), Errno> {
        let (piece, times, at_once) = match (self.step(), self.kept.take()) {
            (Some(Step::Expected), Some(kept)) => (Cow::Owned(kept), 1, u64::MAX),
            (Some(Step::Expected), None) => (expected(self.pending.as_ref()), 1, u64::MAX),
            (Some(Step::Send(piece)), _) => (Cow::Borrowed(piece), 1, u64::MAX),
            (Some(Step::Repeat(piece, times)), _) => (Cow::Borrowed(piece), times, u64::MAX),
            (Some(Step::Bytewise(piece) | Step::Drip(piece)), _) => (Cow::Borrowed(piece), 1, 1),
            _ => return Ok((0, false)),
        };
        let length = piece.len() as u64;
        let left = length.saturating_mul(times) - self.sent;
        let most = left.min(at_once);
        let mut slices = [IoSlice::new(&[]); SLICES];
        let (mut count, mut given, mut from) = (0, 0, (self.sent % length) as usize);
        while count < SLICES && given < most {
            let rest = &piece[from..];
            let rest = &rest[..(rest.len() as u64).min(most - given) as usize];
            slices[count] = IoSlice::new(rest);
            (count, given, from) = (count + 1, given + rest.len() as u64, 0);
        }
        let taken = send(&slices[..count])? as u64;
        self.sent += taken;
        if taken == left {
            self.next();
        } else if self.step() == Some(Step::Expected) {
            self.kept = Some(piece.into_owned());
        }
        Ok((taken, taken < given))
    }
}

/// One connection.
#[derive(Debug, Default)]
pub(crate) struct Connection {
    /// From 1, in the order of accepting.
    pub(crate) number: u64,
    pub(crate) http: Server,
    /// The request whose head is read and whose body is not.
    pub(crate) reading: Option<Pending>,
    /// Requests that are read and not begun yet, in their order; none for one that cannot be read.
    pub(crate) requests: VecDeque<Option<Pending>>,
    pub(crate) activity: Option<Activity>,
    /// The socket took less than it was given.
    pub(crate) is_blocked: bool,
    /// Is among those that are to go on.
    pub(crate) is_ready: bool,
    /// The client has ended its side.
    pub(crate) is_ended: bool,
    /// What happens on it is beneath TLS: what comes is no request.
    pub(crate) is_bare: bool,
    /// Something has come since then.
    pub(crate) has_heard: bool,
    /// Nothing is done before.
    pub(crate) timer: Option<Instant>,
}

impl Connection {
    /// Nothing is done on it before something happens elsewhere.
    pub(crate) fn is_waiting(&self) -> bool {
        self.is_blocked || self.timer.is_some()
    }
}

/// What listens to a connection while its bytes are read.
pub(crate) struct Listener<'a> {
    pub(crate) requests: &'a mut VecDeque<Option<Pending>>,
    pub(crate) reading: &'a mut Option<Pending>,
    pub(crate) behaviour: &'a mut Behaviour,
    pub(crate) log: &'a mut Log,
    /// When the kernel received these bytes, where it says so.
    pub(crate) received: Option<Instant>,
    /// The clock just after they were read.
    pub(crate) read: Instant,
}

impl ServerSink for Listener<'_> {
    fn request(&mut self, head: &RequestHead<'_>) {
        *self.reading = Some(self.behaviour.request(head));
    }

    fn body(&mut self, _: &[u8]) {}

    fn complete(&mut self) -> ControlFlow<()> {
        self.log.requests += 1;
        if let Some(mut pending) = self.reading.take() {
            self.behaviour
                .complete(&mut pending, self.received, self.read);
            self.requests.push_back(Some(pending));
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is handed to the kernel, of which it takes so many bytes.
    fn sent(activity: &mut Activity, expected: &'static str, takes: usize) -> String {
        let mut given = String::new();
        let send = |slices: &[IoSlice<'_>]| {
            let bytes: Vec<u8> = slices.iter().flat_map(|slice| slice.to_vec()).collect();
            given = String::from_utf8(bytes).unwrap();
            Ok(takes.min(given.len()))
        };
        activity
            .send(|_| Cow::Borrowed(expected.as_bytes()), send)
            .unwrap();
        given
    }

    #[test]
    fn an_answer_that_was_begun_is_ended_even_if_another_would_be_right_by_then() {
        let mut activity = Activity::new(None, Some(Misbehaviour::Interim));
        while activity.step() != Some(Step::Expected) {
            activity.next();
        }
        let told = [
            sent(&mut activity, "at 10:00:00", 0),
            sent(&mut activity, "at 10:00:01", 9),
            sent(&mut activity, "at 10:00:02", 1),
            sent(&mut activity, "at 10:00:03", 9),
        ];
        assert_eq!(told, ["at 10:00:00", "at 10:00:00", "00", "0"]);
        assert_eq!(activity.step(), None);
    }
}
