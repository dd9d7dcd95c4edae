//! Connections whose time is over.

use super::Worker;
use crate::slots::Waits;
use kernel::{Closing, ServerRing, Token};
use units::Instant;
use wire::http1::Refusal;

/// The response to a request that took too long (RFC 9110 §15.5.9).
const TOO_SLOW: Refusal = Refusal {
    status: 408,
    reason: "the request took too long",
    is_head: false,
};

impl<R: ServerRing> Worker<R> {
    /// Has a connection looked at no later than its deadline. Where it will be anyway, this does nothing.
    #[inline]
    pub(super) fn arm(&mut self, token: Token) {
        let Some(slot) = self.slots.get(token) else {
            return;
        };
        let deadline = slot.watch.deadline(&self.limits);
        if deadline < slot.watch.armed {
            let armed = std::mem::replace(&mut slot.watch.armed, deadline);
            self.deadlines.remove(&(armed, token));
            self.deadlines.insert((deadline, token));
        }
    }

    /// A piece of input of this length was read, and what could be answered is: what is the connection waited for now?
    #[inline]
    pub(super) fn observe(&mut self, token: Token, length: usize) {
        let now = self.context.now;
        let Some(slot) = self.slots.get(token) else {
            return;
        };
        let is_responded = std::mem::take(&mut slot.reading.is_responded);
        let waits = slot.waits();
        if slot.watch.waits == Waits::Linger || waits == Waits::Send {
            return;
        }
        if is_responded || waits != slot.watch.waits {
            slot.watch.begin(waits, now);
        } else {
            slot.watch.moved(length as u64, now);
        }
        self.arm(token);
    }

    /// Looks at connections whose armed deadline has come.
    pub(super) fn expire(&mut self) {
        let now = self.context.now;
        while let Some(&(at, token)) = self.deadlines.first()
            && at <= now
        {
            self.deadlines.pop_first();
            let Some(slot) = self.slots.get(token) else {
                continue;
            };
            slot.watch.armed = Instant::NEVER;
            let waits = slot.watch.waits;
            let mut is_over = slot.watch.deadline(&self.limits) <= now;
            if is_over && waits == Waits::Send {
                // A socket's buffer is refilled in large steps, and acknowledged in small ones. Whether the client takes
                // what is in it is worth a question before it is cut for taking nothing, and only then.
                let outstanding = self.ring.unacknowledged(token);
                is_over = !slot.watch.confirm(outstanding, &self.limits.send, now);
            }
            if is_over {
                self.cut(token, waits);
            } else {
                self.arm(token);
            }
        }
    }

    /// Ends a connection that was waited for too long. Sends 408 only if a request has started, because a response to
    /// nothing might be taken for the response to the request that is just being sent. A client that does not read its
    /// responses is reset: only that frees the kernel's buffers for it.
    pub(super) fn cut(&mut self, token: Token, waits: Waits) {
        let counts = &mut self.context.counts;
        let kind = match waits {
            Waits::First => &mut counts.cut_first_request,
            Waits::Head => &mut counts.cut_head,
            Waits::Body => &mut counts.cut_body,
            Waits::Send => &mut counts.cut_send,
            Waits::Idle => &mut counts.cut_idle,
            Waits::Linger => return self.close(token, Closing::Orderly),
        };
        *kind += 1;
        counts.cut += 1;
        match waits {
            Waits::Send => self.close(token, Closing::Reset),
            Waits::Head | Waits::Body => self.refuse(token, TOO_SLOW),
            _ => self.close(token, Closing::Orderly),
        }
    }

    fn refuse(&mut self, token: Token, refusal: Refusal) {
        let Some(slot) = self.slots.get(token) else {
            return;
        };
        if slot.reading.is_early {
            // It has its response; a second one would be taken for that to its next request.
            return self.close(token, Closing::Orderly);
        }
        match slot.reading.draft.take() {
            Some(draft) => self.context.draft = *draft,
            None => self.context.draft.note_refused(slot.http.begun()),
        }
        slot.reading.end();
        let peer = slot.peer;
        self.context.refuse(refusal, peer);
        self.say_last(token);
    }
}
