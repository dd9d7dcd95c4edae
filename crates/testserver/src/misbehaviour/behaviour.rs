//! What the loop asks before it does anything that a script or a distribution determines.
//!
//! The loop knows connections, steps and timers; what a request means, when it is answered and what it meets is its
//! behaviour's to say, and only numbers, instants and bytes go between the two. So there is one loop for the server that
//! misbehaves by script and for the one that keeps its promises to the microsecond.

use super::script::{Chooser, Script, Trigger};
use super::table::{Misbehaviour, expected};
use kernel::{Epoll, ServerRing, clock};
use std::borrow::Cow;
use std::fmt::Debug;
use units::{Instant, Nanos};
use wire::http1::RequestHead;

/// When a request came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamps {
    /// When the kernel received the bytes that completed it, where it says so.
    pub(crate) received: Option<Instant>,
    /// The clock just after they were read.
    pub(crate) read: Instant,
}

/// A request that was read, as far as answers depend on it.
#[derive(Debug, Clone)]
pub(crate) struct Pending<W> {
    pub(crate) is_head: bool,
    pub(crate) keepalive: bool,
    pub(crate) stamps: Stamps,
    /// It is not answered before.
    pub(crate) due: Instant,
    /// What its behaviour makes of it.
    pub(crate) request: W,
}

impl<W> Pending<W> {
    /// What can meet it.
    pub(crate) fn sort(&self) -> Trigger {
        if self.is_head {
            Trigger::Head
        } else {
            Trigger::Exchange
        }
    }
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ending {
    /// The number of its connection, from 1 in the order of accepting.
    pub(crate) connection: u64,
    /// What it met.
    pub(crate) misbehaviour: Option<Misbehaviour>,
    /// The clock just before the send that carried the first byte; none if nothing was sent.
    pub(crate) departure: Option<Instant>,
}

/// What the loop asks.
pub(crate) trait Behaviour {
    /// What is kept of a request from its head to its end.
    type Request: Debug;

    /// A connection was accepted: what it meets.
    fn accept(&mut self) -> Option<Misbehaviour>;

    /// A request's head is there.
    fn request(&mut self, asked: &RequestHead<'_>) -> Self::Request;

    /// The request is complete: when it is answered at the earliest.
    fn due(&mut self, request: &Self::Request, stamps: Stamps) -> Instant;

    /// Its turn has come: what it meets. Each request is asked about once.
    fn misbehaviour(&mut self, pending: &Pending<Self::Request>) -> Option<Misbehaviour>;

    /// The right answer to a request, or to none at all.
    fn expected(&self, pending: Option<&Pending<Self::Request>>) -> Cow<'_, [u8]>;

    /// It is over with a request, well or not.
    fn end(&mut self, pending: &Pending<Self::Request>, ending: Ending);

    /// How much processor time goes into each request.
    fn work(&self) -> Nanos {
        Nanos::ZERO
    }

    /// Until when everything stands still; none: nothing does.
    fn stall(&self, now: Instant) -> Option<Instant> {
        let _ = now;
        None
    }

    /// A turn of the loop has begun.
    fn turn(&mut self, now: Instant) {
        let _ = now;
    }
}

/// Behaviour by script alone: whatever is asked, and at once.
#[derive(Debug)]
pub(crate) struct Scripted(Chooser);

impl Scripted {
    pub(crate) fn new(script: &Script) -> Scripted {
        Scripted(Chooser::new(&script.rules))
    }
}

impl Behaviour for Scripted {
    type Request = ();

    fn accept(&mut self) -> Option<Misbehaviour> {
        self.0.choose(Trigger::Connection)
    }

    fn request(&mut self, _: &RequestHead<'_>) {}

    fn due(&mut self, (): &(), stamps: Stamps) -> Instant {
        stamps.read
    }

    fn misbehaviour(&mut self, pending: &Pending<()>) -> Option<Misbehaviour> {
        self.0.choose(pending.sort())
    }

    fn expected(&self, pending: Option<&Pending<()>>) -> Cow<'_, [u8]> {
        let form = pending.map_or((false, true), |asked| (asked.is_head, asked.keepalive));
        Cow::Borrowed(expected(form.0, form.1))
    }

    fn end(&mut self, _: &Pending<()>, _: Ending) {}
}

/// A ring on whose thread one can also let time pass without hearing of anything.
pub(crate) trait PausableRing: ServerRing {
    /// Sleeps until then.
    fn sleep_until(&mut self, until: Instant);

    /// Burns processor time until then.
    fn burn_until(&mut self, until: Instant);
}

impl PausableRing for Epoll {
    fn sleep_until(&mut self, until: Instant) {
        clock::sleep_until(until);
    }

    fn burn_until(&mut self, until: Instant) {
        while clock::now() < until {}
    }
}
