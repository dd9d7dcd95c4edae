//! The connections of a misbehaving server: what each has been asked, and what is being done on it.

use super::table::{REFUSAL, Step, right};
use kernel::Token;
use std::collections::VecDeque;
use std::io::IoSlice;
use std::ops::ControlFlow;
use units::Instant;
use wire::http1::{Asked, Requests, Server, ServerSink};

/// The listening socket.
pub(super) const LISTENER: Token = Token(0);
/// Connections at a time; those that come then wait in the kernel.
const CONNECTIONS_LIMIT: u32 = 16 * 1024;
/// Requests that a client may ask ahead of their answers.
const AHEAD_LIMIT: usize = 1024;
/// Pieces that are sent at once.
const SLICES: usize = 64;

/// A request that was read, as far as answers depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Question {
    pub(super) is_head: bool,
    pub(super) keepalive: bool,
    /// It could not be read to its end.
    pub(super) is_refused: bool,
}

impl Question {
    /// What a connection is taken for before anything was asked.
    pub(super) const NONE: Question = Question {
        is_head: false,
        keepalive: true,
        is_refused: false,
    };
}

/// What is being done on a connection: steps, and how far they have come.
#[derive(Debug)]
pub(super) struct Doing {
    pub(super) question: Question,
    steps: &'static [Step],
    /// Bytes of the first of `steps` that are sent.
    sent: u64,
    /// It is a right answer and nothing else.
    pub(super) is_right: bool,
}

impl Doing {
    /// What is to be done by these steps; without any, the right answer.
    pub(super) fn new(question: Question, steps: Option<&'static [Step]>) -> Doing {
        let due = match steps {
            _ if question.is_refused => REFUSAL,
            Some(steps) => steps,
            None => &[Step::Right],
        };
        Doing {
            question,
            steps: due,
            sent: 0,
            is_right: steps.is_none() && !question.is_refused,
        }
    }

    /// The step that is being done; none when all are.
    pub(super) fn step(&self) -> Option<Step> {
        self.steps.first().copied()
    }

    /// Turns to the next step.
    pub(super) fn next(&mut self) {
        self.steps = &self.steps[1..];
        self.sent = 0;
    }

    /// Takes `taken` more bytes of this step for sent.
    pub(super) fn take(&mut self, taken: usize) {
        self.sent += taken as u64;
    }

    /// What this step sends: a piece, how often, and how much of it at once.
    pub(super) fn saying(&self) -> Option<Saying> {
        let (piece, times, at_once) = match self.step()? {
            Step::Say(piece) => (piece, 1, usize::MAX),
            Step::Repeat(piece, times) => (piece, times, usize::MAX),
            Step::Right => {
                let Question {
                    is_head, keepalive, ..
                } = self.question;
                (right(is_head, keepalive), 1, usize::MAX)
            }
            Step::Bytewise(piece) | Step::Drip(piece) => (piece, 1, 1),
            _ => return None,
        };
        Some(Saying {
            piece,
            left: (piece.len() as u64).saturating_mul(times) - self.sent,
            at_once,
            start: (self.sent % piece.len() as u64) as usize,
        })
    }
}

/// What a step still has to send.
#[derive(Debug, Clone, Copy)]
pub(super) struct Saying {
    piece: &'static [u8],
    /// Bytes that are left of all repetitions.
    pub(super) left: u64,
    at_once: usize,
    /// Where in the piece they begin.
    start: usize,
}

impl Saying {
    /// As much of it as is sent at once, and how many bytes that is.
    pub(super) fn slices(&self) -> (Vec<IoSlice<'static>>, usize) {
        let most = self.left.min(self.at_once as u64);
        let mut slices = Vec::with_capacity(SLICES);
        let (mut from, mut given) = (self.start, 0);
        while slices.len() < SLICES && given < most {
            let rest = &self.piece[from..];
            let length = (rest.len() as u64).min(most - given) as usize;
            slices.push(IoSlice::new(&rest[..length]));
            given += length as u64;
            from = 0;
        }
        (slices, given as usize)
    }
}

/// One connection.
#[derive(Debug)]
pub(super) struct Connection {
    http: Server,
    /// The request whose head is read and whose body is not.
    reading: Question,
    /// Read, and not yet turned to.
    pub(super) asked: VecDeque<Question>,
    pub(super) doing: Option<Doing>,
    /// The socket took less than it was given.
    pub(super) is_blocked: bool,
    /// Is among those that are to go on.
    pub(super) is_ready: bool,
    /// The client has ended its side.
    pub(super) is_ended: bool,
    /// Nothing is done before.
    pub(super) timer: Option<Instant>,
}

/// What a piece of input came to.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Heard {
    /// Requests that are complete.
    pub(super) requests: u64,
    /// A request that cannot be read.
    pub(super) refused: u64,
    /// The client has asked too far ahead.
    pub(super) is_too_far: bool,
}

impl Connection {
    fn new() -> Connection {
        Connection {
            http: Server::new(),
            reading: Question::NONE,
            asked: VecDeque::new(),
            doing: None,
            is_blocked: false,
            is_ready: false,
            is_ended: false,
            timer: None,
        }
    }

    /// Reads what the client sent.
    pub(super) fn hear(&mut self, requests: &mut Requests, input: &[u8]) -> Heard {
        let mut listener = Listener {
            asked: &mut self.asked,
            reading: &mut self.reading,
            heard: Heard::default(),
        };
        let result = self.http.receive(requests, input, &mut listener);
        let mut heard = listener.heard;
        if result.is_err() {
            heard.refused = 1;
            self.asked.push_back(Question {
                is_refused: true,
                ..Question::NONE
            });
        }
        heard
    }

    /// Nothing is done on it before something happens elsewhere.
    pub(super) fn is_waiting(&self) -> bool {
        self.is_blocked || self.timer.is_some()
    }
}

/// What listens to a connection while its bytes are read.
struct Listener<'a> {
    asked: &'a mut VecDeque<Question>,
    reading: &'a mut Question,
    heard: Heard,
}

impl ServerSink for Listener<'_> {
    fn request(&mut self, asked: &Asked<'_>) {
        *self.reading = Question {
            is_head: asked.method == "HEAD",
            keepalive: asked.keepalive,
            is_refused: false,
        };
    }

    fn body(&mut self, _: &[u8]) {}

    fn complete(&mut self) -> ControlFlow<()> {
        self.heard.requests += 1;
        if self.asked.len() < AHEAD_LIMIT {
            self.asked.push_back(*self.reading);
        } else {
            self.heard.is_too_far = true;
        }
        ControlFlow::Continue(())
    }
}

/// All connections, by token.
#[derive(Debug, Default)]
pub(super) struct Connections {
    rows: Vec<Option<Connection>>,
    /// Free ones among `rows`.
    free: Vec<u32>,
}

impl Connections {
    /// A token that [`Connections::fill`] takes next; none when there are too many.
    pub(super) fn vacant(&self) -> Option<Token> {
        let fresh = self.rows.len() as u32;
        let row = match self.free.last() {
            Some(row) => *row,
            None if fresh < CONNECTIONS_LIMIT => fresh,
            None => return None,
        };
        Some(Token(LISTENER.0 + 1 + row))
    }

    /// A new connection for the token that [`Connections::vacant`] has just named.
    pub(super) fn fill(&mut self, token: Token) -> &mut Connection {
        let row = Self::row(token);
        if row == self.rows.len() {
            self.rows.push(None);
        } else {
            self.free.pop();
        }
        self.rows[row].insert(Connection::new())
    }

    pub(super) fn get(&mut self, token: Token) -> Option<&mut Connection> {
        self.rows.get_mut(Self::row(token))?.as_mut()
    }

    /// Frees a row.
    pub(super) fn release(&mut self, token: Token) -> Option<Connection> {
        let row = Self::row(token);
        let connection = self.rows.get_mut(row)?.take()?;
        self.free.push(row as u32);
        Some(connection)
    }

    /// The tokens of all.
    pub(super) fn tokens(&self) -> Vec<Token> {
        let rows = self.rows.iter().zip(LISTENER.0 + 1..);
        rows.filter_map(|(row, token)| row.as_ref().map(|_| Token(token)))
            .collect()
    }

    fn row(token: Token) -> usize {
        (token.0 - LISTENER.0 - 1) as usize
    }
}
