//! One connection, as the ring's side of it has it: what came, what ended, what is still to be told.

use crate::{Address, Errno, Event, Token};
use std::collections::VecDeque;
use units::Instant;

/// A connection, as the ring's kernel sees it.
pub(super) struct Link {
    /// None before it is accepted and after it is closed.
    pub(super) token: Option<Token>,
    /// Where it leads to: the peer's address, or the listener's.
    pub(super) address: Address,
    pub(super) state: State,
    pub(super) answer: Option<Result<(), Errno>>,
    pub(super) inbox: VecDeque<u8>,
    pub(super) end: bool,
    pub(super) broken: Option<Errno>,
    /// A send came up short; and since then room was made.
    pub(super) short: bool,
    pub(super) freed: bool,
    /// Bytes under way to the peer.
    pub(super) flying: usize,
    pub(super) peer_gone: bool,
    pub(super) listed: bool,
    /// When the peer's last bytes come: later ones do not overtake them.
    pub(super) tail: Instant,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Connecting,
    Open,
    Ended,
    Dead,
    /// The owner has closed it; what it sent is still under way.
    Closed,
}

impl Link {
    pub(super) fn new(token: Option<Token>, state: State, address: &Address) -> Link {
        Link {
            token,
            address: address.clone(),
            state,
            answer: None,
            inbox: VecDeque::new(),
            end: false,
            broken: None,
            short: false,
            freed: false,
            flying: 0,
            peer_gone: false,
            listed: false,
            tail: Instant::ZERO,
        }
    }

    /// Whether [`Link::step`] would say something.
    pub(super) fn has_news(&self) -> bool {
        let writable = self.short && self.freed;
        match self.state {
            State::Connecting => self.answer.is_some(),
            State::Open => writable || !self.inbox.is_empty() || self.broken.is_some() || self.end,
            State::Ended => writable || self.broken.is_some(),
            State::Dead | State::Closed => false,
        }
    }

    /// What there is to say next, if anything. `Received` is said by the caller, who cuts the bytes.
    pub(super) fn step(&mut self) -> Option<Event> {
        match self.state {
            State::Connecting => self.step_connecting(),
            State::Open | State::Ended => self.step_open(),
            State::Dead | State::Closed => None,
        }
    }

    fn step_connecting(&mut self) -> Option<Event> {
        match self.answer.take()? {
            Ok(()) => {
                self.state = State::Open;
                Some(Event::Connected)
            }
            Err(error) => Some(self.fail(error)),
        }
    }

    fn step_open(&mut self) -> Option<Event> {
        if self.short && self.freed && self.broken.is_none() {
            (self.short, self.freed) = (false, false);
            return Some(Event::Writable);
        }
        if self.state == State::Open && !self.inbox.is_empty() {
            return Some(Event::Received);
        }
        if let Some(error) = self.broken {
            return Some(self.fail(error));
        }
        if self.state == State::Open && self.end {
            self.state = State::Ended;
            return Some(Event::Ended);
        }
        None
    }

    fn fail(&mut self, error: Errno) -> Event {
        self.state = State::Dead;
        Event::Failed(error)
    }
}
