//! What is done on a connection, step by step, until it has to wait or the others must have their turn.

use super::{TestRing, Worker};
use crate::connections::Activity;
use crate::misbehaviour::Step;
use kernel::{Closing, Token};
use units::{Instant, Nanos};

/// Steps and sends of one connection before the others have their turn.
const SHARE: u32 = 16;
/// Most that looking at the clock makes a request's work longer; beyond that the worker was not running, and burned nothing.
const LOOK: Nanos = Nanos::from_micros(1);

/// Whether a connection can go on at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pace {
    On,
    Rest,
}

impl<R: TestRing> Worker<R> {
    /// Goes on as far as it can, or until others must have their turn.
    pub(super) fn advance(&mut self, token: Token) {
        for _ in 0..SHARE {
            if self.step(token) == Pace::Rest {
                return;
            }
        }
        self.queue(token);
    }

    /// Leaves the rest for the next turn.
    fn queue(&mut self, token: Token) -> Pace {
        if let Some(connection) = self.connections.get(token)
            && !std::mem::replace(&mut connection.is_ready, true)
        {
            self.ready.push_back(token);
        }
        Pace::Rest
    }

    fn step(&mut self, token: Token) -> Pace {
        let Some(connection) = self.connections.get(token) else {
            return Pace::Rest;
        };
        if connection.is_waiting() {
            return Pace::Rest;
        }
        let Some(activity) = &mut connection.activity else {
            return self.take_up(token);
        };
        if activity.due() > self.now {
            let due = activity.due();
            return self.rest_until(token, due);
        }
        match activity.step() {
            None => return self.finish(token),
            Some(Step::Silence) if !connection.is_ended => return Pace::Rest,
            Some(Step::Silence | Step::Close) => self.close(token, Closing::Orderly),
            Some(Step::Reset) => self.close(token, Closing::Reset),
            Some(Step::Hear) if !connection.has_heard && !connection.is_ended => return Pace::Rest,
            Some(Step::Hear) => activity.next(),
            Some(Step::Bare) => {
                activity.next();
                connection.is_bare = true;
                self.ring.bare(token);
            }
            Some(Step::Alert) => {
                activity.next();
                self.ring.alert(token);
            }
            Some(Step::ChangeCertificate) => {
                activity.next();
                self.behaviour.change_certificate();
            }
            Some(Step::Die) => self.die(),
            Some(Step::Wait) => {
                activity.next();
                return self.rest_until(token, self.now + self.behaviour.config.script.delay);
            }
            Some(Step::PauseAccepting) => {
                activity.next();
                self.paused = self.now + self.behaviour.config.script.outage;
            }
            Some(Step::StopListening) => {
                activity.next();
                self.stop_listening();
            }
            Some(Step::Freeze) => {
                activity.next();
                self.frozen = self.now + self.behaviour.config.script.outage;
                return self.queue(token);
            }
            // The next byte has to wait.
            Some(Step::Drip(_)) if self.send(token) == Pace::On => {
                return self.rest_until(token, self.now + self.behaviour.config.script.interval);
            }
            Some(Step::Drip(_)) => return Pace::Rest,
            Some(Step::Send(_) | Step::Repeat(..) | Step::Bytewise(_) | Step::Expected) => {
                return self.send(token);
            }
        }
        Pace::On
    }

    /// Turns to the next request, if there is one.
    fn take_up(&mut self, token: Token) -> Pace {
        let Some(connection) = self.connections.get(token) else {
            return Pace::Rest;
        };
        let Some(next) = connection.requests.pop_front() else {
            if connection.is_ended {
                self.close(token, Closing::Orderly);
            }
            return Pace::Rest;
        };
        connection.activity = Some(match next {
            None => Activity::refuse(),
            Some(pending) => {
                let misbehaviour = self.behaviour.misbehaviour(&pending);
                if let Some(misbehaviour) = misbehaviour {
                    self.log.add(misbehaviour);
                }
                Activity::new(Some(pending), misbehaviour)
            }
        });
        self.work();
        Pace::On
    }

    /// Burns what a request costs more. What looking at the clock makes it longer is taken from the next request's, so that
    /// the mean is exact, and so is the difference between two servers.
    fn work(&mut self) {
        let work = self.behaviour.config.work;
        if work == Nanos::ZERO {
            return;
        }
        let begun = self.ring.now();
        let due = work.saturating_sub(self.overworked);
        self.ring.burn_until(begun + due);
        self.now = self.ring.now();
        let over = (self.now - begun + self.overworked).saturating_sub(work);
        self.overworked = if over <= LOOK { over } else { Nanos::ZERO };
    }

    /// All steps are done: serves on, if the client wants it.
    fn finish(&mut self, token: Token) -> Pace {
        let Some(connection) = self.connections.get(token) else {
            return Pace::Rest;
        };
        let number = connection.number;
        if let Some(activity) = connection.activity.take() {
            self.log.answered += u64::from(activity.is_expected());
            self.end(number, &activity);
            if activity.pending.is_some_and(|pending| !pending.keepalive()) {
                self.close(token, Closing::Orderly);
            }
        }
        Pace::On
    }

    /// Stops listening first, so that a client that sees its connection reset finds no listener.
    fn die(&mut self) {
        self.stop_listening();
        for token in self.connections.tokens(|_| true) {
            self.close(token, Closing::Reset);
        }
    }

    fn rest_until(&mut self, token: Token, due: Instant) -> Pace {
        if let Some(connection) = self.connections.get(token) {
            connection.timer = Some(due);
            self.timers.insert((due, token));
        }
        Pace::Rest
    }

    /// Sends what the kernel takes of what the step says.
    fn send(&mut self, token: Token) -> Pace {
        let Some(connection) = self.connections.get(token) else {
            return Pace::Rest;
        };
        let Some(activity) = &mut connection.activity else {
            return Pace::Rest;
        };
        self.now = self.ring.now();
        let sent = activity.send(
            |pending| self.behaviour.expected(pending),
            |slices| self.ring.send(token, slices),
        );
        let Ok((taken, is_short)) = sent else {
            self.close(token, Closing::Orderly);
            return Pace::Rest;
        };
        if taken > 0 && activity.departure == Instant::ZERO {
            activity.departure = self.now;
        }
        self.log.bytes_sent += taken;
        connection.is_blocked = is_short;
        if is_short { Pace::Rest } else { Pace::On }
    }
}
