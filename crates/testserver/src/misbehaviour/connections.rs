//! The connections of a misbehaving server: what each has been asked, and what is being done on it.

use super::behaviour::{Behaviour, Pending, Stamps};
use super::table::{Misbehaviour, REFUSAL, Step};
use kernel::{Errno, Token};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::io::IoSlice;
use std::ops::ControlFlow;
use units::Instant;
use wire::http1::{RequestCache, RequestHead, Server, ServerSink};

/// The token of the first connection. Those before it are of listening sockets.
pub(super) const FIRST: u32 = 64;
/// Connections at a time; those that come then wait in the kernel.
const CONNECTIONS_LIMIT: u32 = 16 * 1024;
/// Requests that a client may ask ahead of their answers. More are read to the end of what came with them, no further.
const AHEAD_LIMIT: usize = 1024;
/// Pieces that are sent at once.
const SLICES: usize = 64;

/// What is to be turned to, in its order.
#[derive(Debug)]
pub(super) enum Upcoming<W> {
    Request(Pending<W>),
    /// A request that could not be read to its end.
    Refused,
}

/// What is being done on a connection: steps, and how far they have come.
#[derive(Debug)]
pub(super) struct Activity<W> {
    /// The request for which it is done; none at accept, and for what is refused.
    pub(super) pending: Option<Pending<W>>,
    /// What is met, if anything is.
    pub(super) misbehaviour: Option<Misbehaviour>,
    steps: &'static [Step],
    /// Bytes of the first of `steps` that are sent.
    sent: u64,
    /// The right answer, once the kernel has taken only a part of it: its behaviour may say another one a second later.
    kept: Option<Vec<u8>>,
    /// The clock just before the first byte was sent.
    pub(super) departure: Option<Instant>,
}

impl<W> Activity<W> {
    /// What is to be done for a request that meets this; if it meets nothing, the right answer.
    pub(super) fn answer(pending: Pending<W>, misbehaviour: Option<Misbehaviour>) -> Activity<W> {
        let steps = misbehaviour.map_or(&[Step::Expected][..], Misbehaviour::steps);
        Activity::new(Some(pending), misbehaviour, steps)
    }

    /// What is to be done on a connection that meets this when it is accepted.
    pub(super) fn greet(misbehaviour: Misbehaviour) -> Activity<W> {
        Activity::new(None, Some(misbehaviour), misbehaviour.steps())
    }

    /// What is to be done about a request that cannot be read.
    pub(super) fn refuse() -> Activity<W> {
        Activity::new(None, None, REFUSAL)
    }

    fn new(
        pending: Option<Pending<W>>,
        misbehaviour: Option<Misbehaviour>,
        steps: &'static [Step],
    ) -> Activity<W> {
        Activity {
            pending,
            misbehaviour,
            steps,
            sent: 0,
            kept: None,
            departure: None,
        }
    }

    /// It is a right answer and nothing else.
    pub(super) fn is_expected(&self) -> bool {
        self.pending.is_some() && self.misbehaviour.is_none()
    }

    /// Nothing is done before.
    pub(super) fn due(&self) -> Instant {
        let due = self.pending.as_ref().map(|pending| pending.due);
        due.unwrap_or(Instant::ZERO)
    }

    /// The step that is being done; none when all are.
    pub(super) fn step(&self) -> Option<Step> {
        self.steps.first().copied()
    }

    /// Turns to the next step.
    pub(super) fn next(&mut self) {
        self.steps = &self.steps[1..];
        self.sent = 0;
        self.kept = None;
    }

    /// Sends what `send` takes of what this step says. `right` says what the right answer is.
    pub(super) fn send<'a>(
        &mut self,
        expected: impl FnOnce(Option<&Pending<W>>) -> Cow<'a, [u8]>,
        send: impl FnOnce(&[IoSlice<'_>]) -> Result<usize, Errno>,
    ) -> Result<Sent, Errno> {
        let (piece, times, at_once) = match (self.step(), self.kept.take()) {
            (Some(Step::Expected), Some(kept)) => (Cow::Owned(kept), 1, usize::MAX),
            (Some(Step::Expected), None) => (expected(self.pending.as_ref()), 1, usize::MAX),
            (Some(Step::Send(piece)), _) => (Cow::Borrowed(piece), 1, usize::MAX),
            (Some(Step::Repeat(piece, times)), _) => (Cow::Borrowed(piece), times, usize::MAX),
            (Some(Step::Bytewise(piece) | Step::Drip(piece)), _) => (Cow::Borrowed(piece), 1, 1),
            _ => return Ok(Sent::default()),
        };
        let output = Output {
            piece: &piece,
            left: (piece.len() as u64).saturating_mul(times) - self.sent,
            at_once,
            start: (self.sent % piece.len() as u64) as usize,
        };
        let mut slices = [IoSlice::new(&[]); SLICES];
        let (count, given) = output.slices(&mut slices);
        let taken = send(&slices[..count])?;
        let is_over = output.left == taken as u64;
        self.sent += taken as u64;
        if is_over {
            self.next();
        } else if self.step() == Some(Step::Expected) {
            self.kept = Some(piece.into_owned());
        }
        Ok(Sent {
            taken: taken as u64,
            is_short: taken < given,
        })
    }
}

/// What came of output something.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sent {
    /// Bytes that the kernel took.
    pub(super) taken: u64,
    /// They were fewer than it was given.
    pub(super) is_short: bool,
}

/// What a step still has to send.
#[derive(Debug, Clone, Copy)]
struct Output<'a> {
    piece: &'a [u8],
    /// Bytes that are left of all repetitions.
    left: u64,
    at_once: usize,
    /// Where in the piece they begin.
    start: usize,
}

impl<'a> Output<'a> {
    /// As much of it as is sent at once: how many slices, and how many bytes.
    fn slices(&self, slices: &mut [IoSlice<'a>; SLICES]) -> (usize, usize) {
        let most = self.left.min(self.at_once as u64);
        let (mut from, mut count, mut given) = (self.start, 0, 0);
        while count < SLICES && given < most {
            let rest = &self.piece[from..];
            let length = (rest.len() as u64).min(most - given) as usize;
            slices[count] = IoSlice::new(&rest[..length]);
            (count, given) = (count + 1, given + length as u64);
            from = 0;
        }
        (count, given as usize)
    }
}

/// One connection.
#[derive(Debug)]
pub(super) struct Connection<W> {
    /// From 1, in the order of accepting.
    pub(super) number: u64,
    http: Server,
    /// The request whose head is read and whose body is not.
    reading: Option<Reading<W>>,
    /// Read, and not yet turned to.
    pub(super) asked: VecDeque<Upcoming<W>>,
    pub(super) activity: Option<Activity<W>>,
    /// The socket took less than it was given.
    pub(super) is_blocked: bool,
    /// Is among those that are to go on.
    pub(super) is_ready: bool,
    /// The client has ended its side.
    pub(super) is_ended: bool,
    /// Nothing is done before.
    pub(super) timer: Option<Instant>,
}

/// A request of which the head is read.
#[derive(Debug)]
struct Reading<W> {
    is_head: bool,
    keepalive: bool,
    request: W,
}

/// What a piece of input came to.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Received {
    /// Requests that are complete.
    pub(super) requests: u64,
    /// A request that cannot be read.
    pub(super) refused: u64,
    /// The client has asked too far ahead.
    pub(super) is_too_far: bool,
}

impl<W> Connection<W> {
    fn new(number: u64) -> Connection<W> {
        Connection {
            number,
            http: Server::new(),
            reading: None,
            asked: VecDeque::new(),
            activity: None,
            is_blocked: false,
            is_ready: false,
            is_ended: false,
            timer: None,
        }
    }

    /// Reads what the client sent.
    pub(super) fn receive<C: Behaviour<Request = W>>(
        &mut self,
        requests: &mut RequestCache,
        behaviour: &mut C,
        input: &[u8],
        stamps: Stamps,
    ) -> Received {
        let mut listener = Listener {
            asked: &mut self.asked,
            reading: &mut self.reading,
            behaviour,
            stamps,
            received: Received::default(),
        };
        let result = self.http.receive(requests, input, &mut listener);
        let mut received = listener.received;
        if result.is_err() {
            received.refused = 1;
            self.asked.push_back(Upcoming::Refused);
        }
        received
    }

    /// Nothing is done on it before something happens elsewhere.
    pub(super) fn is_waiting(&self) -> bool {
        self.is_blocked || self.timer.is_some()
    }
}

/// What listens to a connection while its bytes are read.
struct Listener<'a, C: Behaviour> {
    asked: &'a mut VecDeque<Upcoming<C::Request>>,
    reading: &'a mut Option<Reading<C::Request>>,
    behaviour: &'a mut C,
    stamps: Stamps,
    received: Received,
}

impl<C: Behaviour> ServerSink for Listener<'_, C> {
    fn request(&mut self, asked: &RequestHead<'_>) {
        *self.reading = Some(Reading {
            is_head: asked.method == "HEAD",
            keepalive: asked.keepalive,
            request: self.behaviour.request(asked),
        });
    }

    fn body(&mut self, _: &[u8]) {}

    fn complete(&mut self) -> ControlFlow<()> {
        self.received.requests += 1;
        if let Some(reading) = self.reading.take() {
            self.asked.push_back(Upcoming::Request(Pending {
                is_head: reading.is_head,
                keepalive: reading.keepalive,
                stamps: self.stamps,
                due: self.behaviour.due(&reading.request, self.stamps),
                request: reading.request,
            }));
        }
        self.received.is_too_far = self.asked.len() > AHEAD_LIMIT;
        ControlFlow::Continue(())
    }
}

/// All connections, by token.
#[derive(Debug)]
pub(super) struct Connections<W> {
    rows: Vec<Option<Connection<W>>>,
    /// Free ones among `rows`.
    free: Vec<u32>,
    /// How many there have been.
    count: u64,
}

impl<W> Connections<W> {
    pub(super) fn new() -> Connections<W> {
        Connections {
            rows: Vec::new(),
            free: Vec::new(),
            count: 0,
        }
    }

    /// A token that [`Connections::fill`] takes next; none when there are too many.
    pub(super) fn vacant(&self) -> Option<Token> {
        let fresh = self.rows.len() as u32;
        let row = match self.free.last() {
            Some(row) => *row,
            None if fresh < CONNECTIONS_LIMIT => fresh,
            None => return None,
        };
        Some(Token(FIRST + row))
    }

    /// A new connection for the token that [`Connections::vacant`] has just named.
    pub(super) fn fill(&mut self, token: Token) -> &mut Connection<W> {
        let row = Self::row(token);
        self.count += 1;
        if row == self.rows.len() {
            self.rows.push(None);
        } else {
            self.free.pop();
        }
        self.rows[row].insert(Connection::new(self.count))
    }

    pub(super) fn get(&mut self, token: Token) -> Option<&mut Connection<W>> {
        self.rows.get_mut(Self::row(token))?.as_mut()
    }

    /// Frees a row.
    pub(super) fn release(&mut self, token: Token) -> Option<Connection<W>> {
        let row = Self::row(token);
        let connection = self.rows.get_mut(row)?.take()?;
        self.free.push(row as u32);
        Some(connection)
    }

    /// The tokens of all.
    pub(super) fn tokens(&self) -> Vec<Token> {
        let rows = self.rows.iter().zip(FIRST..);
        rows.filter_map(|(row, token)| row.as_ref().map(|_| Token(token)))
            .collect()
    }

    fn row(token: Token) -> usize {
        (token.0 - FIRST) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is handed to the kernel, of which it takes so many bytes.
    fn sent(activity: &mut Activity<()>, expected: &'static str, takes: usize) -> String {
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
        let now = Instant::from_nanos(1);
        let pending = Pending {
            is_head: false,
            keepalive: true,
            stamps: Stamps {
                received: None,
                read: now,
            },
            due: now,
            request: (),
        };
        let mut activity = Activity::answer(pending, Some(Misbehaviour::Interim));
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
