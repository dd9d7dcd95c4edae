//! Connections coming and going: accepted while the door is open, closed, and told of when they are gone.

use super::super::conduct::{Conduct, Ending, Still};
use super::super::connections::{Connection, Doing, Upcoming};
use super::Worker;
use kernel::{Closing, Errno, Token};
use units::{Instant, Nanos};

/// Before accepting, or listening again, is tried once more.
const PAUSE: Nanos = Nanos::from_millis(20);
/// Connections taken before those that are there have their turn.
const ACCEPTS: u32 = 64;

/// Whether connections come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Door {
    Open,
    /// Listening, but accepting nothing before this moment.
    Shut(Instant),
    /// Not listening before this moment.
    Closed(Instant),
}

impl<R: Still, C: Conduct> Worker<R, C> {
    pub(super) fn can_accept(&self) -> bool {
        self.door == Door::Open && !self.called.is_empty() && self.now >= self.paused
    }

    pub(super) fn see_to_door(&mut self) -> bool {
        match self.door {
            Door::Shut(until) | Door::Closed(until) if until <= self.now => self.open_door(),
            _ => {}
        }
        let mut accepts = 0;
        while self.can_accept() && accepts < ACCEPTS {
            self.accept();
            accepts += 1;
        }
        accepts > 0
    }

    fn accept(&mut self) {
        let Some(&listener) = self.called.last() else {
            return;
        };
        let Some(token) = self.connections.vacant() else {
            self.paused = self.now + PAUSE;
            return;
        };
        match self.ring.accept(listener, token) {
            Ok(Some(_)) => {
                self.log.connections += 1;
                let connection = self.connections.fill(token);
                if let Some(met) = self.conduct.accept() {
                    self.log.add(met);
                    connection.doing = Some(Doing::greet(met));
                    self.advance(token);
                }
            }
            Ok(None) => {
                self.called.pop();
            }
            Err(_) => {
                self.log.accept_errors += 1;
                self.paused = self.now + PAUSE;
            }
        }
    }

    /// The outage is over.
    pub(super) fn open_door(&mut self) {
        if let Door::Closed(_) = self.door
            && self.listen_again().is_err()
        {
            self.close_listeners();
            self.log.accept_errors += 1;
            self.door = Door::Closed(self.now + PAUSE);
            return;
        }
        self.door = Door::Open;
    }

    fn listen_again(&mut self) -> Result<(), Errno> {
        for (place, address) in self.addresses.iter().enumerate() {
            self.ring
                .listen(Token(place as u32), address, &self.options)?;
        }
        Ok(())
    }

    pub(super) fn close_door(&mut self) {
        self.close_listeners();
        self.door = Door::Closed(self.now + self.spans.outage);
    }

    /// Closes what is open of them.
    fn close_listeners(&mut self) {
        for place in 0..self.addresses.len() {
            self.ring.close(Token(place as u32), Closing::Orderly);
        }
        self.called.clear();
    }

    pub(super) fn close(&mut self, token: Token, how: Closing) {
        let Some(mut connection) = self.connections.release(token) else {
            return;
        };
        if let Some(due) = connection.timer {
            self.timers.remove(&(due, token));
        }
        if connection.is_ready {
            self.ready.retain(|other| *other != token);
        }
        self.ring.close(token, how);
        self.give_up(&mut connection);
    }

    /// Tells the conduct of all that was asked on a connection and is not over.
    fn give_up(&mut self, connection: &mut Connection<C::Wish>) {
        if let Some(doing) = connection.doing.take() {
            self.end(connection.number, &doing);
        }
        for upcoming in connection.asked.drain(..) {
            if let Upcoming::Request(question) = upcoming {
                let ending = Ending {
                    connection: connection.number,
                    met: None,
                    departure: None,
                };
                self.conduct.end(&question, ending);
            }
        }
    }

    pub(super) fn end(&mut self, connection: u64, doing: &Doing<C::Wish>) {
        if let Some(question) = &doing.question {
            let ending = Ending {
                connection,
                met: doing.met,
                departure: doing.departure,
            };
            self.conduct.end(question, ending);
        }
    }
}
