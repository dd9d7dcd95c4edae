//! What is done on a connection, step by step, until it has to wait or the others must have their turn.

use super::super::conduct::{Conduct, Still};
use super::super::connections::{Doing, Said, Upcoming};
use super::super::table::Step;
use super::Worker;
use super::door::Door;
use kernel::{Closing, Token};
use units::{Instant, Nanos};

/// Steps and sends of one connection before the others have their turn.
const SHARE: u32 = 16;

/// Whether a connection can go on at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pace {
    On,
    Rest,
}

impl<R: Still, C: Conduct> Worker<R, C> {
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
        let Some(doing) = &mut connection.doing else {
            return self.take_up(token);
        };
        if doing.due() > self.now {
            let due = doing.due();
            return self.rest_until(token, due);
        }
        match doing.step() {
            None => return self.finish(token),
            Some(Step::Silence) if !connection.is_ended => return Pace::Rest,
            Some(Step::Silence | Step::Close) => self.close(token, Closing::Orderly),
            Some(Step::Reset) => self.close(token, Closing::Reset),
            Some(Step::Die) => self.die(),
            Some(Step::Wait) => {
                doing.next();
                return self.rest_until(token, self.now + self.spans.delay);
            }
            Some(Step::ShutDoor) => {
                doing.next();
                self.door = Door::Shut(self.now + self.spans.outage);
            }
            Some(Step::CloseDoor) => {
                doing.next();
                self.close_door();
            }
            Some(Step::Freeze) => {
                doing.next();
                self.frozen = self.now + self.spans.outage;
                return self.queue(token);
            }
            Some(Step::Drip(_)) => return self.drip(token),
            Some(Step::Say(_) | Step::Repeat(..) | Step::Bytewise(_) | Step::Right) => {
                return self.say(token);
            }
        }
        Pace::On
    }

    /// Turns to the next request, if there is one.
    fn take_up(&mut self, token: Token) -> Pace {
        let Some(connection) = self.connections.get(token) else {
            return Pace::Rest;
        };
        let Some(upcoming) = connection.asked.pop_front() else {
            if connection.is_ended {
                self.close(token, Closing::Orderly);
            }
            return Pace::Rest;
        };
        connection.doing = Some(match upcoming {
            Upcoming::Refused => Doing::refuse(),
            Upcoming::Request(question) => {
                let met = self.conduct.meet(&question);
                met.iter().for_each(|met| self.log.add(*met));
                Doing::answer(question, met)
            }
        });
        self.work();
        Pace::On
    }

    /// Burns what a request costs more.
    fn work(&mut self) {
        let work = self.conduct.work();
        if work > Nanos::ZERO {
            let until = self.ring.now() + work;
            self.ring.burn_until(until);
            self.now = self.ring.now();
        }
    }

    /// All steps are done: serves on, if the client wants it.
    fn finish(&mut self, token: Token) -> Pace {
        let Some(connection) = self.connections.get(token) else {
            return Pace::Rest;
        };
        let number = connection.number;
        if let Some(doing) = connection.doing.take() {
            self.log.answered += u64::from(doing.is_right());
            self.end(number, &doing);
            if doing.question.is_some_and(|question| !question.keepalive) {
                self.close(token, Closing::Orderly);
            }
        }
        Pace::On
    }

    /// The door first, so that a client that sees its connection reset finds nobody listening.
    fn die(&mut self) {
        self.close_door();
        for token in self.connections.tokens() {
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

    /// Sends a byte; the next one has to wait.
    fn drip(&mut self, token: Token) -> Pace {
        match self.say(token) {
            Pace::Rest => Pace::Rest,
            Pace::On => self.rest_until(token, self.now + self.spans.interval),
        }
    }

    /// Sends what the kernel takes of what the step says.
    fn say(&mut self, token: Token) -> Pace {
        let Some(connection) = self.connections.get(token) else {
            return Pace::Rest;
        };
        let Some(doing) = &mut connection.doing else {
            return Pace::Rest;
        };
        self.now = self.ring.now();
        let said = doing.say(
            |question| self.conduct.right(question),
            |slices| self.ring.send(token, slices),
        );
        let Ok(Said { taken, is_short }) = said else {
            self.close(token, Closing::Orderly);
            return Pace::Rest;
        };
        if taken > 0 && doing.departure.is_none() {
            doing.departure = Some(self.now);
        }
        self.log.bytes_sent += taken;
        connection.is_blocked = is_short;
        if is_short { Pace::Rest } else { Pace::On }
    }
}
