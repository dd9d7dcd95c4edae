//! One thread of the server: its ring, its listening sockets, its connections, its counts.
//!
//! ```text
//! accepted --> reading --whole request, answer taken--> reading
//!                 |  `--answer not taken, or a large file--> holding --all taken--> reading
//!                 |--last answer taken, or the client ended--> closed
//!                 |--its time is over: 408 if it has begun to ask, else closed
//!                 `--refusal taken--> lingering --the client ended, or a second is over--> closed
//! holding --takes too slowly--> reset
//! ```
//!
//! While a connection holds answers back nothing is read from it, so that a client that asks and does not read costs
//! what was read of it at once and the answers to a part of that, and then its own memory. The kernel holds no more
//! for it than a small buffer, until it has shown that it reads. Large files go out in turns, a piece of each and not
//! many pieces in one turn of the loop, so that nobody waits for others' downloads, however many there are.
//!
//! A request that is answered at once costs one receive and one send, no look at the clock and no timer: what is due
//! when follows from a few numbers in the connection's row, which the wheel looks at when it comes round.
//!
//! It knows the ring only by its trait, so that the same loop runs on the simulated one.

// Connections coming and going,
mod doors;
// bytes in and bytes out,
mod answers;
// who holds some of them back,
mod holders;
// and those whose time is over.
mod watching;

use crate::admin::Seat;
use crate::answering::{Desk, Site};
use crate::counts::Counts;
use crate::date;
use crate::headers::Headers;
use crate::limits::Limits;
use crate::log::{Draft, Log};
use crate::places::Places;
use crate::sending::{BUFFER, ROUND};
use crate::shelf::Shelf;
use crate::slots::{FIRST, Slots};
use crate::wheel::Wheel;
pub(crate) use doors::TURNED_AWAY;
use holders::Holders;
use kernel::{Address, Closing, Epoll, Errno, Event, ListenOptions, Ring, Token};
use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;
use units::{Instant, Nanos};
use wire::http1::{self, Requests};

/// How long a wait lasts at most: a stop is seen that soon, and the wheel looked at that often.
const TICK: Nanos = Nanos::from_millis(50);
/// Tokens of one ring are below this.
pub(crate) const TOKENS: u32 = 1 << 20;

/// What a worker is given.
pub(crate) struct Setting {
    pub(crate) site: Site,
    /// The operator's header lines.
    pub(crate) headers: Headers,
    pub(crate) limits: Limits,
    /// The server's, shared by all workers.
    pub(crate) places: Arc<Places>,
    pub(crate) log: Option<Log>,
    /// Where it tells its counts to the operator.
    pub(crate) seat: Option<Seat>,
    /// The time of day since 1970-01-01 UTC.
    pub(crate) wall: fn() -> Duration,
}

/// One worker on a ring of its own.
pub(crate) struct Worker<R> {
    ring: R,
    /// By token: connections may be waiting there.
    doors: Vec<bool>,
    /// No accepting before.
    paused: Instant,
    slots: Slots,
    requests: Requests,
    desk: Desk,
    wheel: Wheel,
    /// Those who can go on at once and have had their share of this turn. Some may have gone since.
    ready: VecDeque<Token>,
    limits: Limits,
    places: Arc<Places>,
    seat: Option<Seat>,
    /// Connections that are here without a place, to read why.
    turned_away: u32,
    /// All connections' `held`.
    holders: Holders,
    /// Bytes of files that may still be sent before it is looked what has happened meanwhile.
    allowance: usize,
}

impl Worker<Epoll> {
    /// The sockets that it listens on.
    pub(crate) fn listeners(&self) -> Vec<BorrowedFd<'_>> {
        self.ring.listeners()
    }
}

impl<R: Ring> Worker<R> {
    /// A worker that does not listen yet.
    pub(crate) fn new(ring: R, setting: Setting) -> Worker<R> {
        let Setting {
            site,
            headers,
            limits,
            places,
            log,
            seat,
            wall,
        } = setting;
        let now = ring.now();
        // One more than may stay, so that there is always a place to say why not.
        let rows = limits.connections.saturating_add(TURNED_AWAY + 1);
        Worker {
            ring,
            doors: Vec::new(),
            paused: Instant::ZERO,
            slots: Slots::new(rows.min(TOKENS - FIRST)),
            requests: Requests::new(http1::Limits {
                head: limits.head_bytes,
                body: limits.body_bytes,
            }),
            desk: Desk {
                site,
                shelf: Shelf::new(wall, &headers),
                counts: Counts::default(),
                out: Vec::new(),
                log,
                draft: Draft::default(),
                is_draining: false,
                now,
            },
            wheel: Wheel::new(now),
            ready: VecDeque::new(),
            limits,
            places,
            seat,
            turned_away: 0,
            holders: Holders::default(),
            allowance: ROUND,
        }
    }

    /// Listens at one more address and says at which. A Unix socket's file gets the permissions `mode`.
    ///
    /// # Errors
    /// What the ring said.
    pub(crate) fn listen(&mut self, at: &Address, mode: Option<u32>) -> Result<Address, Errno> {
        let door = self.doors.len() as u32;
        assert!(door < FIRST, "there are tokens for {FIRST} listeners");
        let options = ListenOptions {
            send_buffer: Some(BUFFER),
            mode,
            ..ListenOptions::default()
        };
        let at = self.ring.listen(Token(door), at, &options)?;
        self.doors.push(false);
        Ok(at)
    }

    /// Serves until `stopped` says so, then drains.
    pub(crate) fn run(mut self, stopped: impl Fn() -> bool) -> Counts {
        while !stopped() {
            self.turn(self.patience());
        }
        self.drain();
        self.finish()
    }

    /// One turn: waits, then does what there is to do. Says whether anything was.
    fn turn(&mut self, timeout: Nanos) -> bool {
        self.ring.wait(Some(timeout));
        self.tell_time();
        let mut is_busy = false;
        self.allowance = ROUND;
        while let Some(completion) = self.ring.next() {
            is_busy = true;
            self.arrive(completion.token, completion.event);
        }
        is_busy |= self.go_round();
        self.accept();
        self.expire();
        if let Some(seat) = &mut self.seat {
            seat.tell(&self.desk.counts);
        }
        is_busy
    }

    fn tell_time(&mut self) {
        let now = self.ring.now();
        self.desk.now = now;
        let second = self.desk.shelf.refresh(now);
        if let Some(log) = &mut self.desk.log {
            if let Some(second) = second {
                log.date(date::log_text(second));
            }
            log.tick(now);
        }
    }

    /// How long the next wait may last.
    fn patience(&self) -> Nanos {
        if !self.ready.is_empty() {
            return Nanos::ZERO;
        }
        let mut until = self.desk.now + TICK;
        if self.doors.contains(&true) {
            until = until.min(self.paused);
        }
        until - self.desk.now
    }

    #[inline]
    fn arrive(&mut self, token: Token, event: Event) {
        match event {
            Event::Received => self.receive(token),
            Event::Incoming => self.doors[token.0 as usize] = true,
            Event::Ended | Event::Failed(_) => self.close(token, Closing::Orderly),
            Event::Writable => self.go_on(token),
            Event::Connected => unreachable!("a server does not connect"),
        }
    }

    /// Writes down what is to be written down; nothing is served any more.
    fn finish(mut self) -> Counts {
        if let Some(log) = &mut self.desk.log {
            log.flush();
            self.desk.counts.log_lines_lost += log.unwritten();
        }
        if let Some(seat) = &mut self.seat {
            seat.leave(&self.desk.counts);
        }
        self.desk.counts
    }
}

#[cfg(test)]
mod tests;
