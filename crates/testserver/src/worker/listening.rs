//! Connections coming and going: accepted while it listens, closed, and reported when they are gone.

use super::{TestRing, Worker};
use crate::connections::{Activity, Connection};
use crate::truth::log::Record;
use kernel::{Closing, Errno, Token};
use units::{Instant, Nanos};

/// Before accepting, or listening again, is tried once more.
const PAUSE: Nanos = Nanos::from_millis(20);
/// Connections taken before those that are there have their turn.
const ACCEPTS: u32 = 64;

impl<R: TestRing> Worker<R> {
    pub(super) fn can_accept(&self) -> bool {
        !self.is_stopped && !self.called.is_empty() && self.now >= self.paused
    }

    pub(super) fn accept_waiting(&mut self) -> bool {
        if self.is_stopped && self.now >= self.paused {
            self.resume_listening();
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
                let connection = Connection {
                    number: self.log.connections,
                    ..Connection::default()
                };
                let connection = self.connections.fill(token, connection);
                if let Some(misbehaviour) = self.behaviour.accept() {
                    self.log.add(misbehaviour);
                    connection.activity = Some(Activity::new(None, Some(misbehaviour)));
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
    pub(super) fn resume_listening(&mut self) {
        self.paused = Instant::ZERO;
        if self.is_stopped && self.listen_again().is_err() {
            self.close_listeners();
            self.log.accept_errors += 1;
            self.paused = self.now + PAUSE;
            return;
        }
        self.is_stopped = false;
    }

    fn listen_again(&mut self) -> Result<(), Errno> {
        for (place, address) in self.addresses.iter().enumerate() {
            self.ring
                .listen(Token(place as u32), address, &self.options)?;
        }
        Ok(())
    }

    pub(super) fn stop_listening(&mut self) {
        self.close_listeners();
        self.is_stopped = true;
        self.paused = self.now + self.behaviour.config.script.outage;
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

    /// Ends all requests of a connection that are not over.
    fn give_up(&mut self, connection: &mut Connection) {
        if let Some(activity) = connection.activity.take() {
            self.end(connection.number, &activity);
        }
        for pending in connection.requests.drain(..).flatten() {
            self.behaviour.end(&Record {
                connection: connection.number as u32,
                ..pending.record
            });
        }
    }

    pub(super) fn end(&mut self, connection: u64, activity: &Activity) {
        if let Some(pending) = &activity.pending {
            self.behaviour.end(&Record {
                connection: connection as u32,
                misbehaviour: activity.misbehaviour,
                departure: activity.departure,
                ..pending.record
            });
        }
    }
}
