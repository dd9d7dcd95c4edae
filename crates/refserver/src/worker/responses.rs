//! Bytes in, bytes out.

use super::Worker;
use super::holders::Holder;
use crate::responding;
use crate::sending::{ROUND, Rest, Sending};
use crate::slots::{Held, Waits};
use kernel::{Closing, Errno, ServerRing, Token};
use std::io::IoSlice;

/// Input and responses held back for all connections of a worker.
pub(super) const HELD_LIMIT: usize = 64 * 1024 * 1024;
/// What the buffer for responses keeps of its size from one connection to the next.
const OUT_KEPT: usize = 128 * 1024;

/// Whether a connection can be read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    /// All responses are taken.
    On,
    /// Some are held back.
    Held,
    /// It is over, or gone.
    Over,
}

/// Where input is.
enum Input {
    /// In the ring, until it is asked for the next completion.
    Ring,
    /// Where it was put when answers were held back.
    Kept(Vec<u8>),
}

impl Input {
    #[inline]
    fn bytes<'a, R: ServerRing>(&'a self, ring: &'a mut R) -> &'a [u8] {
        match self {
            Input::Ring => ring.received(),
            Input::Kept(bytes) => bytes,
        }
    }
}

impl<R: ServerRing> Worker<R> {
    #[inline]
    pub(super) fn receive(&mut self, token: Token) {
        let length = self.ring.received().len();
        self.context.counts.bytes_received += length as u64;
        self.respond(token, &Input::Ring);
        self.observe(token, length);
    }

    /// Reads and answers as much as the client takes answers; the rest of the input is held back.
    #[inline]
    fn respond(&mut self, token: Token, input: &Input) {
        let mut at = 0;
        while let Some(slot) = self.slots.get(token)
            && !slot.is_over()
        {
            // A constant without encryption, which then costs nothing.
            let is_spent = self.ring.is_spent(token);
            let piece = &input.bytes(&mut self.ring)[at..];
            let length = piece.len();
            let stops = self.context.is_ending;
            if is_spent {
                self.context.is_ending = true;
            }
            let (used, file) = responding::read(slot, &mut self.requests, &mut self.context, piece);
            if is_spent {
                self.context.is_ending = stops;
            }
            at += used;
            let flow = self.flush(token, file, input, at);
            if flow != Flow::On || used == length {
                return;
            }
        }
    }

    /// Sends the answers that were made, and the file behind them. What is not taken is held back, and with it what of
    /// `input` lies behind `at`.
    #[inline]
    fn flush(&mut self, token: Token, file: Option<Sending>, input: &Input, at: usize) -> Flow {
        if self.context.out.is_empty() {
            // It may be over nevertheless, if its last answer went out before its last body was complete.
            return self.settle(token);
        }
        let sent = self.ring.send(token, &[IoSlice::new(&self.context.out)]);
        let taken = sent.unwrap_or(0);
        self.context.counts.bytes_sent += taken as u64;
        let is_all = taken == self.context.out.len();
        let flow = match sent {
            Ok(_) if is_all && file.is_none() => self.settle(token),
            Ok(_) => {
                let held = Held {
                    since: self.context.now,
                    out: self.context.out[taken..].to_vec(),
                    sent: 0,
                    file,
                    input: self.rest(token, input, at),
                };
                self.proceed(token, Box::new(held), taken)
            }
            Err(_) => {
                self.lose(token, file);
                Flow::Over
            }
        };
        self.context.out.clear();
        self.context.out.shrink_to(OUT_KEPT);
        flow
    }

    /// What is still to be read behind answers that are held back: nothing, when one of them was the last.
    fn rest(&mut self, token: Token, input: &Input, at: usize) -> Vec<u8> {
        match self.slots.get(token) {
            Some(slot) if !slot.is_over() => input.bytes(&mut self.ring)[at..].to_vec(),
            _ => Vec::new(),
        }
    }

    /// The client is dead, and with it what was meant for it.
    fn lose(&mut self, token: Token, file: Option<Sending>) {
        self.note_sent(token, file);
        self.close(token, Closing::Orderly);
    }

    /// Logs the end of a file that was sent, whole or not.
    fn note_sent(&mut self, token: Token, file: Option<Sending>) {
        if let Some(sending) = file
            && let Some(slot) = self.slots.get(token)
        {
            let peer = slot.peer;
            self.context.note_sent(sending, peer);
        }
    }

    /// Sends what the context has for a client from which nothing more is read.
    pub(super) fn say_last(&mut self, token: Token) {
        self.flush(token, None, &Input::Kept(Vec::new()), 0);
    }

    /// All answers are taken: was the last one among them?
    fn settle(&mut self, token: Token) -> Flow {
        let now = self.context.now;
        let Some(slot) = self.slots.get(token) else {
            return Flow::Over;
        };
        if !slot.is_over() {
            return Flow::On;
        }
        // A client's last word that is unread when the socket is closed, or comes later, resets the connection, and what is under way to
        // the client may be lost (RFC 9112 9.6).
        if slot.reading.lingers || R::HAS_LAST_WORD {
            slot.watch.begin(Waits::Linger, now);
            self.arm(token);
            // Where nothing was read from it, its end would not be either.
            self.ring.resume(token);
            self.ring.shutdown(token);
        } else {
            self.close(token, Closing::Orderly);
        }
        Flow::Over
    }
}

/// What is held back.
impl<R: ServerRing> Worker<R> {
    /// The socket takes more, or it is this connection's turn.
    pub(super) fn go_on(&mut self, token: Token) {
        let Some(slot) = self.slots.get(token) else {
            return;
        };
        let Some(held) = slot.held.take() else {
            return;
        };
        self.holders.remove(Holder::of(token, &held));
        self.push(token, held);
    }

    /// Gives each that was ready when this turn began its share.
    pub(super) fn go_round(&mut self) -> bool {
        let count = self.ready.len();
        self.allowance = ROUND;
        for _ in 0..count {
            if self.allowance == 0 {
                break;
            }
            if let Some(token) = self.ready.pop_front()
                && let Some(slot) = self.slots.get(token)
                && std::mem::take(&mut slot.is_queued)
            {
                self.go_on(token);
            }
        }
        count > 0
    }

    fn queue(&mut self, token: Token) {
        if let Some(slot) = self.slots.get(token)
            && !std::mem::replace(&mut slot.is_queued, true)
        {
            self.ready.push_back(token);
        }
    }

    /// Sends what was held back: answers, then a share of the file behind them; then reads on.
    fn push(&mut self, token: Token, mut held: Box<Held>) {
        let mut taken = 0;
        if held.sent < held.out.len() {
            match self
                .ring
                .send(token, &[IoSlice::new(&held.out[held.sent..])])
            {
                Ok(sent) => taken = sent,
                Err(_) => return self.lose(token, held.file),
            }
            held.sent += taken;
            self.context.counts.bytes_sent += taken as u64;
        }
        self.proceed(token, held, taken);
    }

    /// Goes on behind a send of which the socket has taken `taken`: with the rest, the file, or further requests.
    fn proceed(&mut self, token: Token, mut held: Box<Held>, taken: usize) -> Flow {
        if held.sent < held.out.len() {
            return self.hold(token, held, taken);
        }
        (held.out, held.sent) = (Vec::new(), 0);
        match held.file {
            Some(_) => self.push_file(token, held, taken),
            None => self.read_on(token, held.input),
        }
    }

    /// Sends a share of the file; `before` is what the socket has taken just now.
    fn push_file(&mut self, token: Token, mut held: Box<Held>, before: usize) -> Flow {
        let Some(sending) = &mut held.file else {
            return Flow::On;
        };
        if self.allowance == 0 {
            // Enough for this turn: other connections come first.
            let flow = self.hold(token, held, before);
            if flow == Flow::Held {
                self.queue(token);
            }
            return flow;
        }
        let share = sending.share().min(self.allowance);
        let rest = &mut sending.rest;
        // Looked at before, so that nothing of another version is sent if that can be helped.
        let sent = rest.check();
        let sent = sent.and_then(|()| rest.send(&mut self.ring, token, share));
        let taken = match sent {
            Ok(taken) => taken,
            Err(error) => {
                self.give_up(token, held.file, error);
                return Flow::Over;
            }
        };
        self.allowance -= taken;
        self.context.counts.bytes_sent += taken as u64;
        if rest.advance(taken) {
            // And behind the last piece, which may have changed while it was taken.
            if let Err(error) = rest.check() {
                self.give_up(token, held.file, error);
                return Flow::Over;
            }
            let sent = held.file.take();
            self.note_sent(token, sent);
            if held.input.is_empty() {
                return self.read_on(token, held.input);
            }
            // What it has asked behind it is for the next turn.
        }
        let flow = self.hold(token, held, before + taken);
        if taken == share && flow == Flow::Held {
            self.queue(token);
        }
        flow
    }

    /// A file could not be sent on: for want of a client, or of the file.
    fn give_up(&mut self, token: Token, file: Option<Sending>, error: Errno) {
        let Some(sending) = file else {
            return;
        };
        if let Rest::File(part) = &sending.rest
            && matches!(error, Errno::ENODATA | Errno::ESTALE | Errno::EIO)
        {
            part.lost();
            self.context.counts.cut += 1;
            self.context.counts.cut_file += 1;
            self.note_sent(token, Some(sending));
            // What was promised does not come: an orderly end could be taken for a whole answer.
            self.close(token, Closing::Reset);
        } else {
            self.lose(token, Some(sending));
        }
    }

    /// Everything is taken: reads what was held back behind it, then what comes.
    fn read_on(&mut self, token: Token, input: Vec<u8>) -> Flow {
        let flow = self.settle(token);
        if flow != Flow::On {
            return flow;
        }
        if !input.is_empty() {
            self.respond(token, &Input::Kept(input));
        }
        let Some(slot) = self.slots.get(token) else {
            return Flow::Over;
        };
        if slot.held.is_some() {
            return Flow::Held;
        }
        self.ring.resume(token);
        self.observe(token, 0);
        Flow::On
    }

    /// Keeps what is not taken, and reads nothing more; `taken` is what the socket has taken just now.
    fn hold(&mut self, token: Token, mut held: Box<Held>, taken: usize) -> Flow {
        let now = self.context.now;
        let Some(slot) = self.slots.get(token) else {
            return Flow::Over;
        };
        if taken > 0 {
            held.since = now;
        }
        let holder = Holder::of(token, &held);
        slot.held = Some(held);
        if slot.watch.waits != Waits::Send {
            slot.watch.begin(Waits::Send, now);
        }
        slot.watch.moved(taken as u64, now);
        // For a client that reads, a small buffer would be the limit on a network of long delay.
        if !slot.is_wide && slot.watch.is_brisk(now) {
            slot.is_wide = true;
            self.ring.widen(token);
        }
        self.ring.pause(token);
        self.arm(token);
        self.holders.add(holder);
        self.relieve();
        match self.slots.get(token) {
            Some(_) => Flow::Held,
            None => Flow::Over,
        }
    }

    /// Cuts the heaviest connections, until what is held back is within its limit.
    fn relieve(&mut self) {
        while self.holders.sum() > HELD_LIMIT
            && let Some(heaviest) = self.holders.heaviest(self.context.now)
        {
            self.cut(heaviest.token, Waits::Send);
        }
    }
}
