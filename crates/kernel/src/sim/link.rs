//! One connection, as the ring's side of it has it: what came, what ended, what is still to be told.

use crate::{Address, Errno, Event, Token};
use std::collections::VecDeque;
use std::net::SocketAddr;
use units::Instant;

/// A connection, as the ring's kernel sees it.
pub(super) struct Link {
    /// None before it is accepted and after it is closed.
    pub(super) token: Option<Token>,
    /// Where it leads to: the peer's address, or the listener's.
    pub(super) address: Address,
    /// The address that a peer which connected to a listener claims to have.
    pub(super) peer: Option<SocketAddr>,
    pub(super) state: State,
    pub(super) answer: Option<Result<(), Errno>>,
    pub(super) inbox: VecDeque<u8>,
    /// When they came: how many bytes at once, and when. Only kept with stamps.
    pub(super) stamps: Option<VecDeque<(usize, Instant)>>,
    /// The owner does not want to hear of them, or of the end.
    pub(super) paused: bool,
    pub(super) end: bool,
    pub(super) broken: Option<Errno>,
    /// A send came up short; and since then room was made.
    pub(super) short: bool,
    pub(super) freed: bool,
    /// Bytes under way to the peer.
    pub(super) flying: usize,
    /// The most of them, if that is less than the window.
    pub(super) send_buffer: usize,
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
            peer: None,
            state,
            answer: None,
            inbox: VecDeque::new(),
            stamps: None,
            paused: false,
            end: false,
            broken: None,
            short: false,
            freed: false,
            flying: 0,
            send_buffer: usize::MAX,
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
            State::Open if self.paused => writable || self.broken.is_some(),
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
        let reads = self.state == State::Open && !self.paused;
        if reads && !self.inbox.is_empty() {
            return Some(Event::Received);
        }
        if let Some(error) = self.broken {
            return Some(self.fail(error));
        }
        if reads && self.end {
            self.state = State::Ended;
            return Some(Event::Ended);
        }
        None
    }

    /// Bytes come.
    pub(super) fn arrive(&mut self, at: Instant, bytes: Vec<u8>) {
        if let Some(stamps) = &mut self.stamps {
            stamps.push_back((bytes.len(), at));
        }
        self.inbox.extend(bytes);
    }

    /// Moves `length` bytes to `received`, and says when the last of them came.
    pub(super) fn read(&mut self, length: usize, received: &mut Vec<u8>) -> Option<Instant> {
        let (front, back) = self.inbox.as_slices();
        let from_front = length.min(front.len());
        received.extend_from_slice(&front[..from_front]);
        received.extend_from_slice(&back[..length - from_front]);
        self.inbox.drain(..length);
        let (stamps, mut rest, mut last) = (self.stamps.as_mut()?, length, None);
        while let Some((count, at)) = stamps.front_mut()
            && rest > 0
        {
            let part = rest.min(*count);
            (rest, *count, last) = (rest - part, *count - part, Some(*at));
            if *count == 0 {
                stamps.pop_front();
            }
        }
        last
    }

    fn fail(&mut self, error: Errno) -> Event {
        self.state = State::Dead;
        Event::Failed(error)
    }
}
