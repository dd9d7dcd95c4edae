//! The engine's place for one connection: its socket's name, its protocol state, and what is under way on it.
//!
//! ```text
//!            offer             Connected
//!   Closed ---------> Connecting ------> Open --+
//!     ^  ^                | failed         |    | exchanges come and go
//!     |  |  retry         v                |    |
//!     |  +------------ Backoff             +<---+
//!     +------------------------------------+ closed by either side
//! ```

use crate::job::RequestIndex;
use crc32fast::Hasher;
use record::{Exchange, SentTotal, Step};
use units::{Instant, Nanos};
use wire::{Connection, HeadCache, InlineDeque};

/// The first wait after a failed connect; doubled by every further failure, up to [`LONGEST_BACKOFF`].
const FIRST_BACKOFF: Nanos = Nanos::from_millis(1);
const LONGEST_BACKOFF: Nanos = Nanos::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// No socket; one is opened as soon as something is due.
    Closed,
    /// A connect is under way since this moment.
    Connecting(Instant),
    /// Usable.
    Open,
    /// The last connect failed; the next may be tried at this moment.
    Backoff(Instant),
}

/// An exchange that was assigned to the slot before there was a connection for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pending {
    pub(crate) scheduled: Instant,
    pub(crate) belongs: bool,
}

/// An exchange under way.
#[derive(Debug)]
pub(crate) struct Flight {
    pub(crate) exchange: Exchange,
    /// Bytes of its request that the kernel has not yet taken.
    pub(crate) unsent: u64,
    /// Bytes of its request.
    pub(crate) request_bytes: u64,
    /// Bytes of body that have come.
    pub(crate) length: u64,
    /// Which of the listed requests it is.
    pub(crate) request_index: RequestIndex,
    /// The status, once the head has come; 0 before.
    pub(crate) status: u16,
    /// Whether it was due in the window.
    pub(crate) belongs: bool,
    /// Whether the body has shown itself not to be the expected one.
    pub(crate) differs: bool,
}

impl Flight {
    pub(crate) fn new(pending: Pending, request_bytes: u64, request_index: RequestIndex) -> Flight {
        Flight {
            exchange: Exchange::scheduled(pending.scheduled),
            unsent: request_bytes,
            request_bytes,
            length: 0,
            request_index,
            status: 0,
            belongs: pending.belongs,
            differs: false,
        }
    }

    /// One whose request of `bytes` the kernel has taken whole, its first byte at `sent`.
    #[inline]
    pub(crate) fn sent(
        pending: Pending,
        sent: Instant,
        bytes: u64,
        request_index: RequestIndex,
    ) -> Flight {
        let mut flight = Flight::new(pending, bytes, request_index);
        flight.exchange.sent = sent;
        flight.unsent = 0;
        flight
    }

    /// Since when the server keeps it waiting: the oldest on a connection waits for no other, even unsent.
    pub(crate) fn since(&self) -> Instant {
        match self.exchange.is_sent() {
            true => self.exchange.sent,
            false => self.exchange.scheduled,
        }
    }

    /// The step it is in.
    pub(crate) fn step(&self) -> Step {
        if self.status != 0 {
            Step::Body
        } else if self.unsent > 0 {
            Step::Send
        } else {
            Step::Head
        }
    }
}

/// What every exchange touches comes first and lies together, in lines of the cache that no other slot shares.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Slot<'p> {
    /// What is under way, in the order in which it was opened.
    pub(crate) flights: InlineDeque<Flight>,
    pub(crate) state: State,
    /// Exchanges opened on the present connection.
    pub(crate) opened: u64,
    /// Bytes of requests that were answered before they were sent whole: they come before those of the flights.
    pub(crate) residue: u64,
    /// A send fell short; the socket tells when it can go on.
    pub(crate) blocked: bool,
    /// The fingerprint of the body that is coming, where it is taken.
    pub(crate) hasher: Option<Hasher>,
    pub(crate) connection: Connection<'p>,
    pub(crate) pending: Option<Pending>,
    backoff: Nanos,
}

/// A thousand of them are to fit the second level of the cache.
const _: () = assert!(size_of::<Slot<'_>>() <= 384);

impl Slot<'_> {
    /// A slot whose connections recognise the heads that any of those have read that share `heads`.
    pub(crate) fn new(pipeline: u32, heads: &HeadCache) -> Self {
        Slot {
            connection: Connection::http1_sharing(pipeline, heads),
            state: State::Closed,
            pending: None,
            flights: InlineDeque::default(),
            opened: 0,
            blocked: false,
            residue: 0,
            hasher: None,
            backoff: FIRST_BACKOFF,
        }
    }

    /// A connection was made: the next failure begins at the shortest wait again.
    pub(crate) fn opened_at(&mut self) {
        self.state = State::Open;
        self.backoff = FIRST_BACKOFF;
    }

    /// A window starts: the next failure begins at the shortest wait again.
    pub(crate) fn forget_failures(&mut self) {
        self.backoff = FIRST_BACKOFF;
    }

    /// A connect failed: when may the next be tried?
    pub(crate) fn failed_at(&mut self, now: Instant) -> Instant {
        let retry = now + self.backoff;
        self.backoff = (self.backoff * 2).min(LONGEST_BACKOFF);
        self.state = State::Backoff(retry);
        retry
    }

    /// The socket is gone; what was on it has been accounted for.
    pub(crate) fn vacate(&mut self) {
        debug_assert!(
            self.flights.is_empty(),
            "an exchange would be lost with its connection"
        );
        self.connection.reset();
        self.state = State::Closed;
        self.opened = 0;
        self.blocked = false;
        self.residue = 0;
        self.hasher = None;
    }

    /// Whether one more exchange may be opened on the connection now.
    #[inline]
    pub(crate) fn has_room(&self, exchanges_per_connection: u64) -> bool {
        self.opened < exchanges_per_connection && self.connection.capacity() > 0
    }

    /// Whether the connection has served its time.
    pub(crate) fn is_spent(&self, exchanges_per_connection: u64) -> bool {
        self.connection.closing() || self.opened >= exchanges_per_connection
    }

    /// The kernel refused to take anything at `at`: the request that would have been next was tried, and failed.
    #[cold]
    pub(crate) fn stamp_refused(&mut self, at: Instant) {
        let next = self.flights.iter_mut().find(|flight| flight.unsent > 0);
        if let Some(flight) = next.filter(|flight| !flight.exchange.is_sent()) {
            flight.exchange.sent = at;
        }
    }

    /// Hands the bytes that the kernel took to the requests they belong to: those whose first byte was among them
    /// were sent at `at`, and are counted in `total`.
    #[inline]
    pub(crate) fn stamp_sent(&mut self, bytes: usize, at: Instant, total: &mut SentTotal) {
        if let Some(flight) = self.flights.only_mut()
            && self.residue == 0
            && flight.unsent == bytes as u64
            && flight.request_bytes == bytes as u64
        {
            flight.exchange.sent = at;
            flight.unsent = 0;
            return count_sent(total, flight.belongs);
        }
        self.stamp_sent_of_any(bytes, at, total);
    }

    #[inline(never)]
    fn stamp_sent_of_any(&mut self, bytes: usize, at: Instant, total: &mut SentTotal) {
        let mut left = bytes as u64;
        if self.residue > 0 {
            let taken = left.min(self.residue);
            self.residue -= taken;
            left -= taken;
        }
        for flight in self.flights.iter_mut().filter(|flight| flight.unsent > 0) {
            if left == 0 {
                break;
            }
            if flight.unsent == flight.request_bytes {
                flight.exchange.sent = at;
                count_sent(total, flight.belongs);
            }
            let taken = left.min(flight.unsent);
            flight.unsent -= taken;
            left -= taken;
        }
    }
}

/// Counts an exchange whose first byte was sent, of the window or before it.
#[inline]
pub(crate) fn count_sent(total: &mut SentTotal, belongs: bool) {
    total.measure += u64::from(belongs);
    total.warmup += u64::from(!belongs);
}
