//! Bytes in, bytes out: one loop that sends what is held, reads requests, and sends their responses.

use super::Worker;
use super::holders::Holder;
use crate::files::FilePart;
use crate::responding;
use crate::sending::{ROUND, Sending, TURN};
use crate::slots::{Held, Waits};
use kernel::{Closing, Errno, ServerRing, Token};
use std::io::IoSlice;

/// Input and responses held back for all connections of a worker.
pub(super) const HELD_LIMIT: usize = 64 * 1024 * 1024;
/// What the buffer for responses keeps of its size from one connection to the next.
const OUT_KEPT: usize = 128 * 1024;

impl<R: ServerRing> Worker<R> {
    #[inline]
    pub(super) fn receive(&mut self, token: Token) {
        let length = self.ring.received().len();
        self.context.counts.bytes_received += length as u64;
        self.serve(token, None);
        self.observe(token, length);
    }

    /// Sends what the context has for a client from which nothing more is read.
    pub(super) fn say_last(&mut self, token: Token) {
        self.serve(token, None);
    }

    /// The socket takes more, or it is this connection's turn.
    pub(super) fn go_on(&mut self, token: Token) {
        if let Some(slot) = self.slots.get(token)
            && let Some(held) = slot.held.take()
        {
            self.holders.remove(Holder::of(token, &held));
            self.serve(token, Some(held));
        }
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

    /// Sends what is held, then reads requests and sends their responses, until all input is read or the socket takes no
    /// more; then the rest is held. New responses are in the context. Input is in the ring where nothing was `held`.
    #[inline]
    fn serve(&mut self, token: Token, mut held: Option<Box<Held>>) {
        let is_kept = held.is_some();
        let mut file = held.as_mut().and_then(|held| held.file.take());
        // How much of the input is read, and what the socket has taken.
        let (mut at, mut taken) = (0, 0);
        let is_ready = loop {
            let (input, is_sent) = match &held {
                Some(held) => (&held.input[at..], held.out.is_empty()),
                None => (&self.ring.received()[at..], true),
            };
            let mut is_read = input.is_empty();
            if is_sent && file.is_none() && self.context.out.is_empty() {
                if is_read {
                    return self.read_on(token, is_kept);
                }
                let Some(slot) = self.slots.get(token).filter(|slot| !slot.is_over()) else {
                    return;
                };
                let used;
                let (requests, context) = (&mut self.requests, &mut self.context);
                (used, file) = responding::read(slot, requests, context, input);
                is_read = used == input.len();
                at += used;
            }
            match self.send_responses(token, &mut held, &mut taken) {
                Ok(true) => {}
                Ok(false) => break false,
                Err(_) => return self.lose(token, file),
            }
            if let Some(sending) = &mut file {
                let is_ready = match self.send_share(token, &mut sending.part, &mut taken) {
                    Ok(is_ready) => is_ready,
                    Err(error) => return self.give_up(token, file, error),
                };
                let is_whole = sending.part.left == 0;
                if is_whole {
                    self.note_sent(token, file.take());
                }
                // What was requested behind it is for the next turn.
                if !is_whole || !is_read {
                    break is_ready;
                }
            }
            if !self.settle(token) {
                return;
            }
        };
        let mut held = held.unwrap_or_else(|| Held::new(self.context.now));
        held.file = file;
        self.keep_input(token, &mut held, is_kept, at);
        self.hold(token, held, taken, is_ready);
    }

    /// Sends responses, held or new, and says whether that was all; what is not taken is held.
    #[inline]
    fn send_responses(
        &mut self,
        token: Token,
        held: &mut Option<Box<Held>>,
        taken: &mut usize,
    ) -> Result<bool, Errno> {
        let old = held.as_mut().filter(|held| !held.out.is_empty());
        let out = match &old {
            Some(held) => &held.out[held.sent..],
            None => &self.context.out[..],
        };
        if out.is_empty() {
            return Ok(true);
        }
        let length = out.len();
        let sent = self.ring.send(token, &[IoSlice::new(out)]);
        let count = sent.unwrap_or(0);
        self.context.counts.bytes_sent += count as u64;
        *taken += count;
        match old {
            Some(held) if count == length => (held.out, held.sent) = (Vec::new(), 0),
            Some(held) => held.sent += count,
            None if count < length => {
                let held = held.get_or_insert_with(|| Held::new(self.context.now));
                held.out = self.context.out.split_off(count);
            }
            None => {}
        }
        self.context.out.clear();
        self.context.out.shrink_to(OUT_KEPT);
        sent.map(|_| count == length)
    }

    /// Sends a share of a file, as large as the turn has left, and says whether the socket took all of it: then more can
    /// be sent in the next turn.
    fn send_share(
        &mut self,
        token: Token,
        part: &mut FilePart,
        taken: &mut usize,
    ) -> Result<bool, Errno> {
        let most = self.allowance.min(TURN);
        let share = usize::try_from(part.left).map_or(most, |left| left.min(most));
        if share == 0 {
            // Enough for this turn: other connections come first.
            return Ok(true);
        }
        // Looked at before, so that nothing of another version is sent if that can be helped.
        part.file.check()?;
        let count = self.ring.send_file(token, &part.file, part.offset, share)?;
        self.allowance -= count;
        self.context.counts.bytes_sent += count as u64;
        *taken += count;
        if part.advance(count) {
            // And behind the last piece, which may have changed while it was taken.
            part.file.check()?;
        }
        Ok(count == share)
    }

    /// Everything is sent: reads what comes.
    #[inline]
    fn read_on(&mut self, token: Token, was_held: bool) {
        if was_held {
            self.ring.resume(token);
            self.observe(token, 0);
        }
    }

    /// All responses are taken. Says whether there may be more: the last one was not among them.
    fn settle(&mut self, token: Token) -> bool {
        let now = self.context.now;
        let Some(slot) = self.slots.get(token) else {
            return false;
        };
        if !slot.is_over() {
            return true;
        }
        if slot.reading.lingers {
            slot.watch.begin(Waits::Linger, now);
            self.arm(token);
            // Where nothing was read from it, its end would not be either.
            self.ring.resume(token);
            self.ring.shutdown(token);
        } else {
            self.close(token, Closing::Orderly);
        }
        false
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

    /// A file could not be sent on: for want of a client, or of the file.
    fn give_up(&mut self, token: Token, file: Option<Sending>, error: Errno) {
        let is_lost = matches!(error, Errno::ENODATA | Errno::ESTALE | Errno::EIO);
        if !is_lost {
            return self.lose(token, file);
        }
        if let Some(sending) = &file {
            sending.part.lost();
        }
        self.context.counts.cut += 1;
        self.context.counts.cut_file += 1;
        self.note_sent(token, file);
        // What was promised does not come: an orderly end could be taken for a whole response.
        self.close(token, Closing::Reset);
    }

    /// Keeps what is read behind responses that are held: nothing, when one of them was the last.
    fn keep_input(&mut self, token: Token, held: &mut Held, is_kept: bool, at: usize) {
        match self.slots.get(token) {
            Some(slot) if !slot.is_over() && is_kept => drop(held.input.drain(..at)),
            Some(slot) if !slot.is_over() => held.input = self.ring.received()[at..].to_vec(),
            _ => held.input.clear(),
        }
    }

    /// Reads nothing more until what is held is taken; `taken` is what the socket has taken just now. If it `is_ready`,
    /// it can go on in the next turn.
    fn hold(&mut self, token: Token, mut held: Box<Held>, taken: usize, is_ready: bool) {
        let now = self.context.now;
        let Some(slot) = self.slots.get(token) else {
            return;
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
        if is_ready && !std::mem::replace(&mut slot.is_queued, true) {
            self.ready.push_back(token);
        }
        self.ring.pause(token);
        self.arm(token);
        self.holders.add(holder);
        self.relieve();
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
