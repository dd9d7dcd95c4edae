//! The engine's place for one connection: its socket's name, its protocol state, and what is under way on it.
//!
//! ```text
//!            offer             Connected
//!   Closed ---------> Connecting ------> Open --+
//!     ^  ^             |  |  |             ^  |  | exchanges come and go
//!     |  |             |  |  v             |  |  |
//!     |  |             |  | Handshaking ---+  +<-+
//!     |  |  retry      v  v failed            |
//!     |  +------------ Backoff                |
//!     +---------------------------------------+ closed by either side
//! ```

use record::{SentTotal, Step};
use units::{Instant, Nanos};
use wire::Connection;

/// The first wait after a failed connect; doubled by every further failure, up to [`LONGEST_BACKOFF`].
const FIRST_BACKOFF: Nanos = Nanos::from_millis(1);
const LONGEST_BACKOFF: Nanos = Nanos::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// No socket; one is opened as soon as something is due.
    Closed,
    /// A connect is under way since this moment.
    Connecting(Instant),
    /// Connected, and a handshake is under way since this moment.
    Handshaking(Instant),
    /// Usable.
    Open,
    /// The last connect failed; the next may be tried at this moment.
    Backoff(Instant),
}

impl State {
    /// The step in which an exchange is that waits for this slot's connection.
    pub(crate) fn step(self) -> Step {
        match self {
            State::Connecting(_) => Step::Connect,
            State::Handshaking(_) => Step::Handshake,
            State::Closed | State::Open | State::Backoff(_) => Step::Queue,
        }
    }
}

/// An exchange that was assigned to the slot before there was a connection for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pending {
    pub(crate) scheduled: Instant,
    pub(crate) belongs: bool,
}

/// What every exchange touches comes first and lies together, in lines of the cache that no other slot shares.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Slot<C> {
    pub(crate) state: State,
    /// Exchanges opened on the present connection.
    pub(crate) opened: u64,
    /// A send fell short; the socket tells when it can go on.
    pub(crate) blocked: bool,
    /// Whether no exchange of the present connection has ended.
    pub(crate) is_fresh: bool,
    pub(crate) connection: C,
    pub(crate) pending: Option<Pending>,
    backoff: Nanos,
}

/// A thousand of them are to fit the second level of the cache.
const _: () = assert!(size_of::<Slot<wire::Usual<'_>>>() <= 384);

impl<'p, C: Connection<'p>> Slot<C> {
    /// A slot whose connections have so many exchanges open at most, and share what they can with others.
    pub(crate) fn new(most: u32, shared: &C::Shared) -> Self {
        Slot {
            connection: C::sharing(most, shared),
            state: State::Closed,
            pending: None,
            opened: 0,
            blocked: false,
            is_fresh: true,
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
            self.connection.is_idle(),
            "an exchange would be lost with its connection"
        );
        self.connection.reset();
        self.state = State::Closed;
        self.opened = 0;
        self.blocked = false;
        self.is_fresh = true;
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
}

/// Counts an exchange whose first byte was sent, of the window or before it.
#[inline]
pub(crate) fn count_sent(total: &mut SentTotal, belongs: bool) {
    total.measure += u64::from(belongs);
    total.warmup += u64::from(!belongs);
}
