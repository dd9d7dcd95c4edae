//! Connections coming and going.

use super::Worker;
use super::holders::Holder;
use crate::limiter::Full;
use crate::slots::{Slot, Waits};
use kernel::{Closing, ServerRing, Token};
use units::{Instant, Nanos};
use wire::http1::Refusal;

/// How long accepting pauses when it fails, unless a connection of this worker closes before.
const PAUSE: Nanos = Nanos::from_millis(20);
/// Connections taken of one listener before those that are there have their turn.
const ACCEPTS: u32 = 64;
/// Clients over the limit that stay open nevertheless, each for the second that it takes to read why; there are rows
/// and descriptors for so many more. Beyond it they are closed at once and may miss the response; with TLS, whose handshake
/// would come first, they do.
pub(crate) const TURNED_AWAY: u32 = 64;
/// How often a draining worker looks whether anything moves.
const DRAIN_TICK: Nanos = Nanos::from_millis(5);

impl<R: ServerRing> Worker<R> {
    /// Takes from each listener in its turn.
    pub(super) fn accept(&mut self) {
        for listener in 0..self.listeners.len() {
            for _ in 0..ACCEPTS {
                if !self.listeners[listener] || self.context.now < self.paused {
                    break;
                }
                self.accept_one(listener);
            }
        }
    }

    fn accept_one(&mut self, listener: usize) {
        let Some(token) = self.slots.vacant() else {
            // Until one closes; those that come wait in the kernel.
            self.paused = Instant::NEVER;
            return;
        };
        match self.ring.accept(Token(listener as u32), token) {
            Ok(Some(accepted)) => {
                self.context.counts.connections += 1;
                let peer = accepted.peer.map(|peer| peer.ip());
                self.slots.fill(token, Slot::new(peer, self.context.now));
                match self.limiter.acquire(peer) {
                    Ok(()) => self.arm(token),
                    Err(full) => self.turn_away(token, full),
                }
            }
            Ok(None) => self.listeners[listener] = false,
            Err(_) => self.refrain(),
        }
    }

    /// Accepting failed, and would again: open connections are served meanwhile.
    fn refrain(&mut self) {
        self.context.counts.accept_errors += 1;
        self.paused = self.context.now + PAUSE;
    }

    /// Responds 503 to a client over the limit.
    fn turn_away(&mut self, token: Token, full: Full) {
        let counts = &mut self.context.counts;
        let reason = match full {
            Full::All => {
                counts.over_limit += 1;
                "there are as many connections as this server takes"
            }
            Full::Address => {
                counts.over_limit_per_address += 1;
                "there are as many connections as this server takes from one address"
            }
        };
        let Some(slot) = self.slots.get(token) else {
            return;
        };
        (slot.is_admitted, slot.reading.is_last, slot.reading.lingers) = (false, true, true);
        let peer = slot.peer;
        self.turned_away += 1;
        let refusal = Refusal {
            status: 503,
            reason,
            is_head: false,
        };
        self.context.draft.clear();
        self.context.turn_away(refusal, peer);
        self.say_last(token);
        if self.turned_away > TURNED_AWAY {
            self.close(token, Closing::Orderly);
        }
    }

    pub(super) fn close(&mut self, token: Token, how: Closing) {
        let Some(slot) = self.slots.release(token) else {
            return;
        };
        self.deadlines.remove(&(slot.watch.armed, token));
        self.ring.close(token, how);
        // There may be a free slot again, or a descriptor.
        self.paused = Instant::ZERO;
        if slot.is_admitted {
            self.limiter.release(slot.peer);
        } else {
            self.turned_away -= 1;
        }
        if let Some(held) = slot.held {
            self.holders.remove(Holder::of(token, &held));
            if let Some(sending) = held.file {
                self.context.note_sent(sending, slot.peer);
            }
        }
    }
}

/// The end.
impl<R: ServerRing> Worker<R> {
    /// Accepts waiting connections, closes the listeners, responds to what has come and what comes to its end soon.
    pub(super) fn drain(&mut self) {
        self.tell_time();
        self.context.is_ending = true;
        let deadline = self.context.now + self.limits.drain;
        self.close_listeners();
        let mut timeout = Nanos::ZERO;
        while !self.slots.is_empty() && self.context.now < deadline {
            if !self.turn(timeout.min(deadline - self.context.now)) {
                let mut idle = self.slots.tokens(|slot| slot.is_idle());
                idle.retain(|token| !self.ring.is_amid(*token));
                for token in idle {
                    self.close(token, Closing::Orderly);
                }
                timeout = self.patience().min(DRAIN_TICK);
            }
        }
        for token in self.slots.tokens(|slot| slot.watch.waits != Waits::Linger) {
            self.context.counts.cut += 1;
            self.context.counts.cut_drain += 1;
            self.close(token, Closing::Orderly);
        }
        for token in self.slots.tokens(|_| true) {
            self.close(token, Closing::Orderly);
        }
    }

    fn close_listeners(&mut self) {
        self.listeners.fill(true);
        self.paused = Instant::ZERO;
        // Ends: each turn fills a slot, finds no connection, or pauses.
        while self.listeners.contains(&true) && self.context.now >= self.paused {
            self.accept();
        }
        for listener in 0..self.listeners.len() {
            self.ring.close(Token(listener as u32), Closing::Orderly);
        }
        self.listeners.clear();
    }
}
