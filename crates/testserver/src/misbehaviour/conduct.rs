//! Who decides: what the loop asks before it does anything that a script or a law determines.
//!
//! The loop knows connections, steps and timers; what a request means, when it is answered and what it meets is its
//! conduct's to say, and only numbers, instants and bytes go between the two. So there is one loop for the server that
//! misbehaves by script and for the one that keeps its promises to the microsecond.

use super::script::{Chooser, Meets, Script};
use super::table::{Misbehaviour, right};
use kernel::{Epoll, Ring, clock};
use std::borrow::Cow;
use std::fmt::Debug;
use units::{Instant, Nanos};
use wire::http1::Asked;

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
pub(crate) struct Question<W> {
    pub(crate) is_head: bool,
    pub(crate) keepalive: bool,
    pub(crate) stamps: Stamps,
    /// It is not answered before.
    pub(crate) due: Instant,
    /// What its conduct makes of it.
    pub(crate) wish: W,
}

impl<W> Question<W> {
    /// What can meet it.
    pub(crate) fn sort(&self) -> Meets {
        if self.is_head {
            Meets::Head
        } else {
            Meets::Exchange
        }
    }
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ending {
    /// The number of its connection, from 1 in the order of accepting.
    pub(crate) connection: u64,
    /// What it met.
    pub(crate) met: Option<Misbehaviour>,
    /// The clock just before the send that carried the first byte; none if nothing was sent.
    pub(crate) departure: Option<Instant>,
}

/// What the loop asks.
pub(crate) trait Conduct {
    /// What is kept of a request from its head to its end.
    type Wish: Debug;

    /// A connection was accepted: what it meets.
    fn accept(&mut self) -> Option<Misbehaviour>;

    /// A request's head is there.
    fn wish(&mut self, asked: &Asked<'_>) -> Self::Wish;

    /// The request is complete: when it is answered at the earliest.
    fn due(&mut self, wish: &Self::Wish, stamps: Stamps) -> Instant;

    /// Its turn has come: what it meets. Each request is asked about once.
    fn meet(&mut self, question: &Question<Self::Wish>) -> Option<Misbehaviour>;

    /// The right answer to a request, or to none at all.
    fn right(&self, question: Option<&Question<Self::Wish>>) -> Cow<'_, [u8]>;

    /// It is over with a request, well or not.
    fn end(&mut self, question: &Question<Self::Wish>, ending: Ending);

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

/// Conduct by script alone: whatever is asked, and at once.
#[derive(Debug)]
pub(crate) struct Scripted(Chooser);

impl Scripted {
    pub(crate) fn new(script: &Script) -> Scripted {
        Scripted(Chooser::new(&script.rules))
    }
}

impl Conduct for Scripted {
    type Wish = ();

    fn accept(&mut self) -> Option<Misbehaviour> {
        self.0.choose(Meets::Connection)
    }

    fn wish(&mut self, _: &Asked<'_>) {}

    fn due(&mut self, (): &(), stamps: Stamps) -> Instant {
        stamps.read
    }

    fn meet(&mut self, question: &Question<()>) -> Option<Misbehaviour> {
        self.0.choose(question.sort())
    }

    fn right(&self, question: Option<&Question<()>>) -> Cow<'_, [u8]> {
        let form = question.map_or((false, true), |asked| (asked.is_head, asked.keepalive));
        Cow::Borrowed(right(form.0, form.1))
    }

    fn end(&mut self, _: &Question<()>, _: Ending) {}
}

/// A ring on whose thread one can also let time pass without hearing of anything.
pub(crate) trait Still: Ring {
    /// Sleeps until then.
    fn sleep_until(&mut self, until: Instant);

    /// Burns processor time until then.
    fn burn_until(&mut self, until: Instant);
}

impl Still for Epoll {
    fn sleep_until(&mut self, until: Instant) {
        clock::sleep_until(until);
    }

    fn burn_until(&mut self, until: Instant) {
        while clock::now() < until {}
    }
}
