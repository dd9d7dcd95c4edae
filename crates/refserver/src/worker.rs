//! One thread of the server: its ring, its listening sockets, its connections, its counts.
//!
//! ```text
//! accepted --> reading --whole request, response taken--> reading
//!                 |  `--response not taken, or a large file--> holding --all taken--> reading
//!                 |--last response taken, or the client ended--> closed
//!                 |--its time is over: 408 if a request has begun, else closed
//!                 `--refusal taken--> lingering --the client ended, or a second is over--> closed
//! holding --takes too slowly--> reset
//! ```
//!
//! While a connection holds responses back nothing is read from it, so that a client that sends and does not read costs
//! what was read of it at once and the responses to a part of that, and then its own memory. The kernel holds no more
//! for it than a small buffer, until it has shown that it reads. Large files go out in turns, a piece of each and not
//! many pieces in one turn of the loop, so that no client waits for others' downloads, however many there are.
//!
//! A request whose response is taken at once costs one receive and one send, no look at the clock and no timer: its deadline
//! follows from a few numbers in the connection's row. Nearly all deadlines move *later*, and those are not set anew: the
//! old one comes up, the row shows that there is time left, and is armed for the rest of it.
//!
//! It knows the ring only by its trait, so that the same loop runs on the simulated one.

// Connections coming and going,
mod listeners;
// bytes in and bytes out,
mod responses;
// which connections hold some of them back,
mod holders;
// and connections whose time is over.
mod watching;

use crate::admin::CounterSlot;
use crate::counts::Counts;
use crate::date;
use crate::headers::Headers;
use crate::limiter::ConnectionLimiter;
use crate::limits::Limits;
use crate::log::{Draft, Log};
use crate::prebuilt::PrebuiltResponses;
use crate::responding::{ResponseContext, Site};
use crate::sending::{BUFFER, ROUND};
use crate::slots::{FIRST, Slot, Slots};
use holders::Holders;
use kernel::{Address, Closing, Errno, Event, ListenOptions, ServerRing, Token};
pub(crate) use listeners::TURNED_AWAY;
use std::collections::{BTreeSet, VecDeque};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;
use units::{Instant, Nanos};
use wire::http1::{self, RequestCache};

/// How long a wait lasts at most: a stop is seen that soon, and deadlines are looked at that often.
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
    pub(crate) limiter: Arc<ConnectionLimiter>,
    pub(crate) log: Option<Log>,
    /// Where it tells its counts to the operator.
    pub(crate) counter_slot: Option<CounterSlot>,
    /// The time of day since 1970-01-01 UTC.
    pub(crate) wall: fn() -> Duration,
}

/// One worker on a ring of its own.
pub(crate) struct Worker<R> {
    ring: R,
    /// By token: connections may be waiting there.
    listeners: Vec<bool>,
    /// No accepting before.
    paused: Instant,
    slots: Slots<Slot>,
    requests: RequestCache,
    context: ResponseContext,
    /// When connections are looked at next: those whose `watch` is armed.
    deadlines: BTreeSet<(Instant, Token)>,
    /// Connections that can go on at once and have had their share of this turn. Some may have closed since.
    ready: VecDeque<Token>,
    limits: Limits,
    limiter: Arc<ConnectionLimiter>,
    counter_slot: Option<CounterSlot>,
    /// Connections over the limit that are open to read why they are refused.
    turned_away: u32,
    /// All connections' `held`.
    holders: Holders,
    /// Bytes of files that may still be sent before it is looked what has happened meanwhile.
    allowance: usize,
}

impl<R: ServerRing> Worker<R> {
    /// A worker that does not listen yet.
    pub(crate) fn new(ring: R, setting: Setting) -> Worker<R> {
        let now = ring.now();
        // One more than may stay, so that there is always a place to say why not.
        let rows = setting.limits.connections.saturating_add(TURNED_AWAY + 1);
        Worker {
            ring,
            listeners: Vec::new(),
            paused: Instant::ZERO,
            slots: Slots::new(rows.min(TOKENS - FIRST)),
            requests: RequestCache::new(http1::Limits {
                head: setting.limits.head_bytes,
                body: setting.limits.body_bytes,
            }),
            context: ResponseContext {
                site: setting.site,
                prebuilt: PrebuiltResponses::new(setting.wall, &setting.headers),
                counts: Counts::default(),
                out: Vec::new(),
                log: setting.log,
                draft: Draft::default(),
                is_ending: false,
                now,
            },
            deadlines: BTreeSet::new(),
            ready: VecDeque::new(),
            limits: setting.limits,
            limiter: setting.limiter,
            counter_slot: setting.counter_slot,
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
        let listener = self.listeners.len() as u32;
        assert!(listener < FIRST, "there are tokens for {FIRST} listeners");
        let options = ListenOptions {
            send_buffer: Some(BUFFER),
            mode,
            ..ListenOptions::default()
        };
        let at = self.ring.listen(Token(listener), at, &options)?;
        self.listeners.push(false);
        Ok(at)
    }

    /// The sockets that it listens on.
    pub(crate) fn listeners(&self) -> Vec<BorrowedFd<'_>> {
        self.ring.listeners()
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
        self.context.counts.handshakes_failed = self.ring.unfinished_handshakes();
        if let Some(counter_slot) = &mut self.counter_slot {
            counter_slot.publish(&self.context.counts);
        }
        is_busy
    }

    fn tell_time(&mut self) {
        let now = self.ring.now();
        self.context.now = now;
        let second = self.context.prebuilt.refresh(now);
        if let Some(log) = &mut self.context.log {
            if let Some(second) = second {
                log.stamp = date::log_text(second);
            }
            log.tick(now);
        }
    }

    /// How long the next wait may last.
    fn patience(&self) -> Nanos {
        if !self.ready.is_empty() {
            return Nanos::ZERO;
        }
        let mut until = self.context.now + TICK;
        if self.listeners.contains(&true) {
            until = until.min(self.paused);
        }
        until - self.context.now
    }

    #[inline]
    fn arrive(&mut self, token: Token, event: Event) {
        match event {
            Event::Received => self.receive(token),
            Event::Incoming => self.listeners[token.0 as usize] = true,
            Event::Ended | Event::Failed(_) => self.close(token, Closing::Orderly),
            Event::Writable => self.go_on(token),
            Event::Connected => unreachable!("a server does not connect"),
        }
    }

    /// Writes down what is to be written down; nothing is served any more.
    fn finish(mut self) -> Counts {
        self.context.counts.handshakes_failed = self.ring.unfinished_handshakes();
        if let Some(log) = &mut self.context.log {
            log.flush();
            self.context.counts.log_lines_lost += log.unwritten();
        }
        if let Some(counter_slot) = &mut self.counter_slot {
            counter_slot.finish(&self.context.counts);
        }
        self.context.counts
    }
}

#[cfg(test)]
mod tests;
