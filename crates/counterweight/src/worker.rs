//! One thread of the server: its ring, its listening sockets, its connections, its counts.
//!
//! ```text
//! accepted --> reading --whole request, answer taken--> reading
//!                 |  `--answer not taken--> holding --Writable, all taken--> reading
//!                 |--last answer taken, or the client ended--> closed
//!                 `--refusal taken--> lingering --the client ended, or a second is over--> closed
//! ```
//!
//! While a connection holds answers back, what it sends is kept and not looked at, so that a client that asks and does
//! not read makes no further answers; past a limit it is cut. (The ring reads what comes; it cannot be told to wait.)
//!
//! It knows the ring only by its trait, so that the same loop runs on the simulated one.

use crate::answering;
use crate::counts::Counts;
use crate::shelf::Shelf;
use crate::slots::{FIRST, Held, Slots};
use kernel::{Address, Closing, Errno, Event, ListenOptions, Ring, Token};
use std::collections::VecDeque;
use std::io::IoSlice;
use std::time::Duration;
use units::{Instant, Nanos};
use wire::http1::Requests;

/// How long a wait lasts at most: a stop is seen that soon.
const TICK: Nanos = Nanos::from_millis(50);
/// How long accepting pauses when it fails, unless a connection of this worker closes before.
const PAUSE: Nanos = Nanos::from_millis(20);
/// Connections taken of one listener before those that are there have their turn.
const ACCEPTS: u32 = 64;
/// How long a refused client may go on sending before it is closed. Closed at once it would be reset, and might lose
/// the refusal before reading it (RFC 9112 §9.6).
const LINGER: Nanos = Nanos::from_secs(1);
/// How long what is under way may take when the server stops.
const DRAIN: Nanos = Nanos::from_millis(500);
/// How often that is looked at.
const DRAIN_TICK: Nanos = Nanos::from_millis(5);
/// Input that is read at once when it was held back; as much as the ring gives at once.
const PIECE: usize = 64 * 1024;
/// Input held back for one connection.
const INPUT_LIMIT: usize = 256 * 1024;
/// Input and answers held back for all connections of a worker.
const HELD_LIMIT: usize = 64 * 1024 * 1024;

/// One worker on a ring of its own.
pub(crate) struct Worker<R> {
    ring: R,
    /// By token: connections may be waiting there.
    doors: Vec<bool>,
    /// No accepting before.
    paused: Instant,
    slots: Slots,
    requests: Requests,
    shelf: Shelf,
    /// Answers of the connection that is being looked at. At most some 500 KB: a ring gives 64 KiB, and the longest
    /// answer is 8 times as long as the shortest request.
    out: Vec<u8>,
    /// When lingering ends, in that order; entries of connections that closed before are passed over.
    lingering: VecDeque<(Instant, Token)>,
    lingering_limit: usize,
    /// The sum over all connections' `held`.
    held: usize,
    /// When this turn began.
    now: Instant,
    counts: Counts,
}

impl<R: Ring> Worker<R> {
    /// A worker for at most `connections` at a time; `wall` is the time of day.
    pub(crate) fn new(ring: R, connections: u32, wall: fn() -> Duration) -> Worker<R> {
        Worker {
            now: ring.now(),
            ring,
            doors: Vec::new(),
            paused: Instant::ZERO,
            slots: Slots::new(connections),
            requests: Requests::default(),
            shelf: Shelf::new(wall),
            out: Vec::new(),
            lingering: VecDeque::new(),
            lingering_limit: connections as usize,
            held: 0,
            counts: Counts::default(),
        }
    }

    /// Listens at one more address and says at which.
    ///
    /// # Errors
    /// What the ring said.
    pub(crate) fn listen(&mut self, at: &Address) -> Result<Address, Errno> {
        let door = self.doors.len() as u32;
        assert!(door < FIRST, "there are tokens for {FIRST} listeners");
        let at = self
            .ring
            .listen(Token(door), at, &ListenOptions::default())?;
        self.doors.push(false);
        Ok(at)
    }

    /// Serves until `stopped` says so, then drains.
    pub(crate) fn run(mut self, stopped: impl Fn() -> bool) -> Counts {
        while !stopped() {
            self.turn(self.patience());
        }
        self.drain();
        self.counts
    }

    /// One turn: waits, then does what there is to do. Says whether anything was.
    fn turn(&mut self, timeout: Nanos) -> bool {
        self.ring.wait(Some(timeout));
        self.now = self.ring.now();
        self.shelf.refresh(self.now);
        let mut busy = false;
        while let Some(completion) = self.ring.next() {
            busy = true;
            self.arrive(completion.token, completion.event);
        }
        self.accept();
        self.expire();
        busy
    }

    /// How long the next wait may last.
    fn patience(&self) -> Nanos {
        let mut until = self.now + TICK;
        if self.doors.contains(&true) {
            until = until.min(self.paused);
        }
        if let Some((deadline, _)) = self.lingering.front() {
            until = until.min(*deadline);
        }
        until - self.now
    }

    #[inline]
    fn arrive(&mut self, token: Token, event: Event) {
        match event {
            Event::Received => self.receive(token),
            Event::Incoming => self.doors[token.0 as usize] = true,
            Event::Ended => self.end(token),
            Event::Writable => self.resume(token),
            Event::Failed(_) => self.close(token, Closing::Orderly),
            Event::Connected => unreachable!("a server does not connect"),
        }
    }
}

/// Connections coming and going.
impl<R: Ring> Worker<R> {
    fn accept(&mut self) {
        for door in 0..self.doors.len() {
            for _ in 0..ACCEPTS {
                if !self.doors[door] || self.now < self.paused {
                    break;
                }
                self.accept_one(door);
            }
        }
    }

    fn accept_one(&mut self, door: usize) {
        let Some(token) = self.slots.vacant() else {
            // Until one closes; those that come wait in the kernel.
            self.paused = Instant::NEVER;
            return;
        };
        match self.ring.accept(Token(door as u32), token) {
            Ok(Some(_)) => {
                self.slots.fill(token);
                self.counts.connections += 1;
            }
            Ok(None) => self.doors[door] = false,
            Err(_) => {
                self.counts.accept_errors += 1;
                self.paused = self.now + PAUSE;
            }
        }
    }

    fn close(&mut self, token: Token, how: Closing) {
        if let Some(slot) = self.slots.release(token) {
            self.held -= slot.held.map_or(0, |held| held.size());
            self.ring.close(token, how);
            // There may be a place again.
            self.paused = Instant::ZERO;
        }
    }

    fn cut(&mut self, token: Token) {
        self.counts.cut += 1;
        self.close(token, Closing::Reset);
    }

    /// The client has ended its side: what it asked before is still answered.
    fn end(&mut self, token: Token) {
        if let Some(slot) = self.slots.get(token) {
            slot.ended = true;
            if slot.held.is_none() {
                self.close(token, Closing::Orderly);
            }
        }
    }

    /// All answers are taken: was the last one among them?
    fn settle(&mut self, token: Token) {
        let Some(slot) = self.slots.get(token) else {
            return;
        };
        if !slot.http.is_over() {
            return;
        }
        if !slot.refused || slot.ended || self.lingering.len() >= self.lingering_limit {
            self.close(token, Closing::Orderly);
            return;
        }
        let deadline = self.now + LINGER;
        slot.lingers = Some(deadline);
        self.lingering.push_back((deadline, token));
        self.ring.shutdown(token);
    }

    /// Closes those that have lingered long enough.
    fn expire(&mut self) {
        while let Some(&(deadline, token)) = self.lingering.front()
            && deadline <= self.now
        {
            self.lingering.pop_front();
            let lingers = self.slots.get(token).and_then(|slot| slot.lingers);
            if lingers == Some(deadline) {
                self.close(token, Closing::Orderly);
            }
        }
    }

    /// Takes who has knocked, closes the doors, answers what has come and what comes to its end soon.
    fn drain(&mut self) {
        self.now = self.ring.now();
        let deadline = self.now + DRAIN;
        self.shut_doors();
        let mut timeout = Nanos::ZERO;
        while !self.slots.is_empty() && self.now < deadline {
            if !self.turn(timeout.min(deadline - self.now)) {
                for token in self.slots.tokens(|slot| slot.is_idle()) {
                    self.close(token, Closing::Orderly);
                }
                timeout = DRAIN_TICK;
            }
        }
        for token in self.slots.tokens(|_| true) {
            self.close(token, Closing::Orderly);
        }
    }

    fn shut_doors(&mut self) {
        self.doors.fill(true);
        self.paused = Instant::ZERO;
        // Ends: each turn takes a place, finds nobody, or pauses.
        while self.doors.contains(&true) && self.now >= self.paused {
            self.accept();
        }
        for door in 0..self.doors.len() {
            self.ring.close(Token(door as u32), Closing::Orderly);
        }
        self.doors.clear();
    }
}

/// Bytes in, bytes out.
impl<R: Ring> Worker<R> {
    #[inline]
    fn receive(&mut self, token: Token) {
        let Some(slot) = self.slots.get(token) else {
            return;
        };
        let input = self.ring.received();
        self.counts.bytes_received += input.len() as u64;
        if slot.held.is_some() {
            self.hold_input(token);
            return;
        }
        answering::read(
            slot,
            &mut self.requests,
            input,
            &self.shelf,
            &mut self.counts,
            &mut self.out,
        );
        self.flush(token);
    }

    /// Sends the answers that were made; what the socket does not take is held.
    #[inline]
    fn flush(&mut self, token: Token) {
        if self.out.is_empty() {
            return;
        }
        let answer = self.ring.send(token, &[IoSlice::new(&self.out)]);
        match answer {
            Ok(taken) if taken == self.out.len() => {
                self.counts.bytes_sent += taken as u64;
                self.settle(token);
            }
            Ok(taken) => {
                self.counts.bytes_sent += taken as u64;
                let held = Held {
                    out: self.out[taken..].to_vec(),
                    sent: 0,
                    input: Vec::new(),
                };
                self.hold(token, Box::new(held));
            }
            Err(_) => self.close(token, Closing::Orderly),
        }
        self.out.clear();
    }

    fn hold(&mut self, token: Token, held: Box<Held>) {
        let size = held.size();
        let is_too_much = held.input.len() > INPUT_LIMIT || self.held + size > HELD_LIMIT;
        if is_too_much {
            self.cut(token);
        } else if let Some(slot) = self.slots.get(token) {
            self.held += size;
            slot.held = Some(held);
        }
    }

    fn unhold(&mut self, token: Token) -> Option<Box<Held>> {
        let held = self.slots.get(token)?.held.take()?;
        self.held -= held.size();
        Some(held)
    }

    /// Keeps what has come behind answers that were not taken, unless nothing is read any more.
    fn hold_input(&mut self, token: Token) {
        if self
            .slots
            .get(token)
            .is_some_and(|slot| slot.http.is_over())
        {
            return;
        }
        if let Some(mut held) = self.unhold(token) {
            held.input.extend_from_slice(self.ring.received());
            self.hold(token, held);
        }
    }

    /// The socket takes more.
    fn resume(&mut self, token: Token) {
        let Some(mut held) = self.unhold(token) else {
            return;
        };
        match self
            .ring
            .send(token, &[IoSlice::new(&held.out[held.sent..])])
        {
            Ok(taken) => {
                self.counts.bytes_sent += taken as u64;
                held.sent += taken;
                if held.sent < held.out.len() {
                    self.hold(token, held);
                } else {
                    self.catch_up(token, &held.input);
                }
            }
            Err(_) => self.close(token, Closing::Orderly),
        }
    }

    /// Every answer is taken: reads on in the `input` that was held back behind them.
    fn catch_up(&mut self, token: Token, mut input: &[u8]) {
        self.settle(token);
        while !input.is_empty()
            && let Some(slot) = self.slots.get(token)
            && slot.held.is_none()
        {
            let (piece, rest) = input.split_at(input.len().min(PIECE));
            input = rest;
            answering::read(
                slot,
                &mut self.requests,
                piece,
                &self.shelf,
                &mut self.counts,
                &mut self.out,
            );
            self.flush(token);
        }
        if let Some(mut held) = self.unhold(token) {
            held.input = input.to_vec();
            self.hold(token, held);
        } else if self.slots.get(token).is_some_and(|slot| slot.ended) {
            self.close(token, Closing::Orderly);
        }
    }
}

#[cfg(test)]
mod tests;
