//! Where a worker keeps its connections: a table indexed by token, reused last in, first out.
//!
//! An idle connection costs its row and nothing else; what it holds back (answers that the socket did not take, a file
//! that is being sent, requests behind them) is allocated when that happens and freed when it is over.

use crate::limits::{Limits, Pace};
use crate::responding::Reading;
use crate::sending::{BUFFER, Sending};
use kernel::Token;
use std::net::IpAddr;
use units::{Instant, Nanos};
use wire::http1;

/// Tokens below this one are for listening sockets.
pub const FIRST: u32 = 64;

/// One connection.
#[derive(Default)]
pub(crate) struct Slot {
    pub(crate) http: http1::Server,
    pub(crate) reading: Reading,
    /// What cannot go on before the socket takes more, or before the others have had their turn.
    pub(crate) held: Option<Box<Held>>,
    /// The client's address; none on a Unix socket.
    pub(crate) peer: Option<IpAddr>,
    pub(crate) watch: Watch,
    /// It counts in the [connection limiter](crate::limiter); a refused client does not.
    pub(crate) is_admitted: bool,
    /// It is in the queue of connections that can go on at once.
    pub(crate) is_queued: bool,
    /// The kernel may hold as much for it as it sees fit.
    pub(crate) is_wide: bool,
}

/// Responses that the socket did not take, the file behind them, and what was read behind that.
pub(crate) struct Held {
    /// When the socket last took something.
    pub(crate) since: Instant,
    pub(crate) out: Vec<u8>,
    /// How much of `out` is sent.
    pub(crate) sent: usize,
    pub(crate) file: Option<Sending>,
    pub(crate) input: Vec<u8>,
}

impl Held {
    pub(crate) fn size(&self) -> usize {
        self.out.len() + self.input.len()
    }
}

/// What a connection is waited for.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waits {
    /// Its first byte.
    #[default]
    First,
    /// The rest of a head.
    Head,
    /// The rest of a body.
    Body,
    /// That it takes what it asked for.
    Send,
    /// Its next request.
    Idle,
    /// That it ends, after our last word.
    Linger,
}

/// Since when it is waited for, and what has moved meanwhile.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Watch {
    pub(crate) waits: Waits,
    pub(crate) since: Instant,
    /// When something moved last.
    pub(crate) last: Instant,
    pub(crate) bytes: u64,
    /// Of them, those that are known to have come where they were sent to.
    confirmed: u64,
    /// When it is looked at, whatever the deadline is by then.
    pub(crate) armed: Instant,
}

impl Watch {
    fn new(now: Instant) -> Watch {
        Watch {
            since: now,
            last: now,
            armed: Instant::NEVER,
            ..Watch::default()
        }
    }

    /// From now on `waits` is what it is waited for.
    #[inline]
    pub(crate) fn begin(&mut self, waits: Waits, now: Instant) {
        (self.waits, self.since, self.last) = (waits, now, now);
        (self.bytes, self.confirmed) = (0, 0);
    }

    /// So many bytes have moved.
    #[inline]
    pub(crate) fn moved(&mut self, bytes: u64, now: Instant) {
        if bytes > 0 {
            (self.last, self.bytes) = (now, self.bytes.saturating_add(bytes));
        }
    }

    /// What was sent is on its way as far as the kernel has taken it; so much of it the other side has not. Says whether
    /// that side has taken something since this was last asked, and enough of it since the beginning.
    pub(crate) fn confirm(&mut self, outstanding: usize, pace: &Pace, now: Instant) -> bool {
        let confirmed = self.bytes.saturating_sub(outstanding as u64);
        let has_moved = confirmed > self.confirmed;
        self.confirmed = self.confirmed.max(confirmed);
        if has_moved {
            self.last = now;
        }
        has_moved && pace.deadline(self.since, now, confirmed) > now
    }

    /// Whether the client has read more than one full [`BUFFER`] of what was sent, and as much each second.
    pub(crate) fn is_brisk(&self, now: Instant) -> bool {
        // All but what the kernel still holds, which is no more than that.
        let read = self.bytes.saturating_sub(u64::from(BUFFER));
        let seconds = (now - self.since).max(Nanos::from_secs(1));
        u128::from(read) * 1_000_000_000 >= u128::from(BUFFER) * u128::from(seconds.as_nanos())
    }

    /// When its time is over, if nothing more moves.
    #[inline]
    pub(crate) fn deadline(&self, limits: &Limits) -> Instant {
        let Watch {
            since, last, bytes, ..
        } = *self;
        match self.waits {
            Waits::Idle => since + limits.keepalive,
            Waits::First => since + limits.first_request,
            Waits::Head => since + limits.head,
            Waits::Body => limits.body.deadline(since, last, bytes),
            Waits::Send => limits.send.deadline(since, last, bytes),
            Waits::Linger => since + Limits::LINGER,
        }
    }
}

impl Slot {
    pub(crate) fn new(peer: Option<IpAddr>, now: Instant) -> Slot {
        Slot {
            peer,
            watch: Watch::new(now),
            is_admitted: true,
            ..Slot::default()
        }
    }

    /// Nothing was asked that is not answered.
    pub(crate) fn is_idle(&self) -> bool {
        self.held.is_none() && self.watch.waits != Waits::Linger && self.http.is_idle()
    }

    /// Nothing more is read: its last word was heard, or ours was said.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.reading.is_last || self.http.is_over()
    }

    /// What it is waited for, as it stands.
    #[inline]
    pub(crate) fn waits(&self) -> Waits {
        if self.held.is_some() {
            Waits::Send
        } else if self.reading.is_in_body {
            Waits::Body
        } else if self.http.is_idle() {
            Waits::Idle
        } else {
            Waits::Head
        }
    }
}

/// Connections by token, reused last in, first out.
#[derive(Debug)]
pub struct Slots<T> {
    rows: Vec<Option<T>>,
    /// Free rows among `rows`.
    free: Vec<u32>,
    limit: u32,
}

impl<T> Slots<T> {
    /// Returns a table for at most `limit` connections.
    pub fn new(limit: u32) -> Slots<T> {
        Slots {
            rows: Vec::new(),
            free: Vec::new(),
            limit,
        }
    }

    /// Returns the token that [`Slots::fill`] takes next; none when all are in use.
    pub fn vacant(&self) -> Option<Token> {
        let fresh = self.rows.len() as u32;
        let row = match self.free.last() {
            Some(row) => *row,
            None if fresh < self.limit => fresh,
            None => return None,
        };
        Some(Token(FIRST + row))
    }

    /// Keeps a new connection under `token`, which [`Slots::vacant`] has just named.
    pub fn fill(&mut self, token: Token, connection: T) -> &mut T {
        let row = (token.0 - FIRST) as usize;
        if row == self.rows.len() {
            self.rows.push(None);
        } else {
            self.free.pop();
        }
        self.rows[row].insert(connection)
    }

    /// Returns a connection, if there is one with this token.
    #[inline]
    pub fn get(&mut self, token: Token) -> Option<&mut T> {
        let row = token.0.checked_sub(FIRST)?;
        self.rows.get_mut(row as usize)?.as_mut()
    }

    /// Removes a connection, so that its token is free.
    pub fn release(&mut self, token: Token) -> Option<T> {
        let row = token.0.checked_sub(FIRST)?;
        let connection = self.rows.get_mut(row as usize)?.take()?;
        self.free.push(row);
        Some(connection)
    }

    /// Returns whether there is no connection.
    pub fn is_empty(&self) -> bool {
        self.free.len() == self.rows.len()
    }

    /// Returns the tokens of those connections of which `wanted` is true.
    pub fn tokens(&self, wanted: impl Fn(&T) -> bool) -> Vec<Token> {
        let rows = self.rows.iter().zip(FIRST..);
        rows.filter(|(row, _)| row.as_ref().is_some_and(&wanted))
            .map(|(_, token)| Token(token))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_reads_from_its_full_socket_is_not_too_slow() {
        let pace = Pace {
            patience: Nanos::from_secs(10),
            speed: 1000,
        };
        let limits = Limits {
            send: pace,
            ..Limits::default()
        };
        let at = |secs| Instant::ZERO + Nanos::from_secs(secs);
        let mut watch = Watch::new(at(0));
        watch.begin(Waits::Send, at(100));
        // The socket has taken a megabyte at once, of which so much is not acknowledged then.
        watch.moved(1_000_000, at(100));
        assert_eq!(watch.deadline(&limits), at(110));
        let looks = [
            (110, 990_000, true),
            // Twenty seconds ask for ten thousand bytes,
            (120, 985_000, true),
            // and thirty for twenty thousand: more than what came.
            (130, 984_000, false),
        ];
        for (secs, outstanding, is_fast) in looks {
            let answer = watch.confirm(outstanding, &pace, at(secs));
            assert_eq!(answer, is_fast, "{secs}");
        }
        // However much came before, silence is silence.
        let mut watch = Watch::new(at(0));
        watch.begin(Waits::Send, at(100));
        watch.moved(1_000_000, at(100));
        assert!(watch.confirm(100_000, &pace, at(110)));
        assert_eq!(watch.deadline(&limits), at(120));
        assert!(!watch.confirm(100_000, &pace, at(120)));
    }

    #[test]
    fn rows_are_reused_before_new_ones_are_made_and_the_limit_holds() {
        let mut slots = Slots::new(2);
        let fill = |slots: &mut Slots<()>| {
            let token = slots.vacant()?;
            slots.fill(token, ());
            Some(token.0 - FIRST)
        };
        assert_eq!(fill(&mut slots), Some(0));
        assert_eq!(fill(&mut slots), Some(1));
        assert_eq!(fill(&mut slots), None);
        assert!(slots.release(Token(FIRST)).is_some());
        assert!(slots.release(Token(FIRST)).is_none());
        assert_eq!(slots.tokens(|_| true), [Token(FIRST + 1)]);
        assert_eq!(fill(&mut slots), Some(0));
        assert!(slots.get(Token(FIRST - 1)).is_none());
        assert!(slots.get(Token(FIRST + 2)).is_none());
        slots.release(Token(FIRST));
        assert!(!slots.is_empty());
        slots.release(Token(FIRST + 1));
        assert!(slots.is_empty());
    }

    /// The row, and with it all user memory of an idle connection but some 24 bytes among the deadlines and 16 in the ring.
    #[test]
    fn an_idle_connection_is_small() {
        assert!(
            size_of::<Option<Slot>>() <= 256,
            "{}",
            size_of::<Option<Slot>>()
        );
    }
}
