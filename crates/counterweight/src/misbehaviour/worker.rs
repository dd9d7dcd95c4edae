//! The loop: accepts, listens, and does step by step what its conduct says.
//!
//! ```text
//! accepted --> doing the steps of what it meets, if anything --all done--> serving
//! serving --request read--> its due time --> doing its steps --all done, kept--> serving
//!                             |  `--all done, not kept--> closed
//!                             |--Close, Reset, dead socket--> closed
//!                             `--waits for: Writable | timer | its turn (after so many sends) | the client's end
//! ```
//!
//! A connection that waits is left alone until what it waits for comes; only one that could send on at once and has
//! had its share is queued, and then the next wait does not sleep. So it neither spins nor starves the others.
//!
//! What is due is looked after between any two completions, because a burst of them takes milliseconds; and while
//! everything stands still nothing is read, so that requests wait where they would wait for a server that is stopped.

use super::conduct::{Conduct, Ending, Stamps, Still};
use super::connections::{Connection, Connections, Doing, FIRST, Heard, Said, Upcoming};
use super::log::Log;
use super::script::Script;
use super::table::Step;
use kernel::{Address, Closing, Errno, Event, ListenOptions, Token};
use std::collections::{BTreeSet, VecDeque};
use units::{Instant, Nanos};
use wire::http1::Requests;

/// How long a wait lasts at most: an order is seen that soon.
const TICK: Nanos = Nanos::from_millis(2);
/// Before accepting, or listening again, is tried once more.
const PAUSE: Nanos = Nanos::from_millis(20);
/// Connections taken before those that are there have their turn.
const ACCEPTS: u32 = 64;
/// Steps and sends of one connection before the others have their turn.
const SHARE: u32 = 16;
/// Turns in which a server that is told to stop still does what has come.
const LAST_TURNS: u32 = 64;

/// Whether connections come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Door {
    Open,
    /// Listening, but accepting nothing before this moment.
    Shut(Instant),
    /// Not listening before this moment.
    Closed(Instant),
}

/// Whether a connection can go on at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pace {
    On,
    Rest,
}

/// How waits end that are to end at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Spin {
    /// The last stretch of a wait, in which the loop asks its ring again and again instead of sleeping.
    pub(crate) margin: Nanos,
    /// It never sleeps but in stalls.
    pub(crate) is_always: bool,
}

impl Spin {
    /// Sleeping alone.
    pub(crate) const NEVER: Spin = Spin {
        margin: Nanos::ZERO,
        is_always: false,
    };
}

/// What the thread is told from outside, and tells.
pub(crate) trait Orders {
    /// It is to come to an end.
    fn stopped(&self) -> bool;

    /// Whether the outage of the listening sockets is to end, since this was last asked.
    fn take_resume(&self) -> bool {
        false
    }

    /// What has been done so far.
    fn publish(&self, log: &Log) {
        let _ = log;
    }
}

/// How long the steps of misbehaviours last.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spans {
    interval: Nanos,
    delay: Nanos,
    outage: Nanos,
}

impl Spans {
    pub(crate) fn of(script: &Script) -> Spans {
        Spans {
            interval: script.interval,
            delay: script.delay,
            outage: script.outage,
        }
    }
}

/// The server as its thread has it.
pub(crate) struct Worker<R, C: Conduct> {
    ring: R,
    conduct: C,
    spans: Spans,
    spin: Spin,
    /// Where it listens; the token of a listening socket is its place.
    addresses: Vec<Address>,
    options: ListenOptions,
    connections: Connections<C::Wish>,
    requests: Requests,
    /// When connections whose `timer` is set go on. One for each of them at most.
    timers: BTreeSet<(Instant, Token)>,
    /// Connections that could go on at once; none twice.
    ready: VecDeque<Token>,
    door: Door,
    /// Listening sockets at which connections may be waiting; none twice.
    called: Vec<Token>,
    /// No accepting before.
    paused: Instant,
    /// Nothing at all is done before.
    frozen: Instant,
    /// The clock as it was read last.
    now: Instant,
    log: Log,
}

impl<R: Still, C: Conduct> Worker<R, C> {
    /// A server that does not listen yet.
    pub(crate) fn new(ring: R, conduct: C, spans: Spans, spin: Spin) -> Worker<R, C> {
        Worker {
            now: ring.now(),
            ring,
            conduct,
            spans,
            spin,
            addresses: Vec::new(),
            options: ListenOptions::default(),
            connections: Connections::new(),
            requests: Requests::default(),
            timers: BTreeSet::new(),
            ready: VecDeque::new(),
            door: Door::Open,
            called: Vec::new(),
            paused: Instant::ZERO,
            frozen: Instant::ZERO,
            log: Log::default(),
        }
    }

    /// Has the connections that are accepted say when the kernel received their bytes.
    pub(crate) fn stamp(&mut self) {
        self.options.stamps = true;
    }

    /// Listens at one address more, of at most 64, and says where that is.
    ///
    /// # Errors
    /// What the kernel said.
    pub(crate) fn listen(&mut self, at: &Address) -> Result<&Address, Errno> {
        let place = self.addresses.len() as u32;
        if place == FIRST {
            return Err(Errno::EMFILE);
        }
        let address = self.ring.listen(Token(place), at, &self.options)?;
        self.addresses.push(address);
        Ok(&self.addresses[place as usize])
    }

    /// The ring, to set going what is to happen on it.
    #[cfg(test)]
    pub(crate) fn ring_mut(&mut self) -> &mut R {
        &mut self.ring
    }

    /// Serves until the orders say stop; tells what was done after every turn in which something was. What is still to
    /// be answered then is not.
    pub(crate) fn run(mut self, orders: &impl Orders) -> (Log, C) {
        while !orders.stopped() {
            if orders.take_resume() {
                self.open_door();
            }
            self.now = self.ring.now();
            if let Some(until) = self.standing() {
                // Standing still is what is wanted; a stop is seen as soon as ever.
                self.stand(until);
            } else if self.turn(self.patience()) {
                orders.publish(&self.log);
            }
        }
        for _ in 0..LAST_TURNS {
            if !self.turn(Nanos::ZERO) {
                break;
            }
        }
        for token in self.connections.tokens() {
            self.close(token, Closing::Orderly);
        }
        orders.publish(&self.log);
        (self.log, self.conduct)
    }

    /// Until when everything stands still.
    fn standing(&self) -> Option<Instant> {
        let frozen = (self.now < self.frozen).then_some(self.frozen);
        frozen.max(self.conduct.stall(self.now))
    }

    /// Stands still for a while, or to the end of it.
    fn stand(&mut self, until: Instant) {
        let rest = until - self.now;
        if rest <= self.spin.margin {
            self.ring.burn_until(until);
        } else {
            let nap = rest.saturating_sub(self.spin.margin).min(TICK);
            self.ring.sleep_until(self.now + nap);
        }
    }

    /// How long the next wait may last.
    fn patience(&self) -> Nanos {
        if self.spin.is_always || !self.ready.is_empty() || self.can_accept() {
            return Nanos::ZERO;
        }
        let first = self.timers.first().map_or(Instant::NEVER, |timer| timer.0);
        let rest = first - self.now;
        rest.saturating_sub(self.spin.margin).min(TICK)
    }

    /// Waits, then does what there is to do. Says whether anything was.
    fn turn(&mut self, timeout: Nanos) -> bool {
        self.ring.wait(Some(timeout));
        self.now = self.ring.now();
        self.conduct.turn(self.now);
        let mut is_busy = false;
        while self.standing().is_none() {
            is_busy |= self.see_to_timers();
            let Some(completion) = self.ring.next() else {
                is_busy |= self.see_to_door();
                return is_busy | self.see_to_ready();
            };
            is_busy = true;
            self.arrive(completion.token, completion.event);
        }
        is_busy
    }

    fn arrive(&mut self, token: Token, event: Event) {
        match event {
            Event::Incoming => {
                if !self.called.contains(&token) {
                    self.called.push(token);
                }
            }
            Event::Received => self.receive(token),
            Event::Writable => {
                if let Some(connection) = self.connections.get(token) {
                    connection.is_blocked = false;
                    self.advance(token);
                }
            }
            Event::Ended => {
                if let Some(connection) = self.connections.get(token) {
                    connection.is_ended = true;
                    self.advance(token);
                }
            }
            Event::Failed(_) => self.close(token, Closing::Orderly),
            Event::Connected => unreachable!("a server does not connect"),
        }
    }

    fn receive(&mut self, token: Token) {
        self.now = self.ring.now();
        let input = self.ring.received();
        self.log.bytes_received += input.len() as u64;
        let Some(connection) = self.connections.get(token) else {
            return;
        };
        let stamps = Stamps {
            received: self.ring.received_at(),
            read: self.now,
        };
        let Heard {
            requests,
            refused,
            is_too_far,
        } = connection.hear(&mut self.requests, &mut self.conduct, input, stamps);
        self.log.requests += requests;
        self.log.refused += refused;
        if is_too_far {
            self.log.cut += 1;
            return self.close(token, Closing::Reset);
        }
        self.advance(token);
    }

    fn see_to_timers(&mut self) -> bool {
        let mut is_busy = false;
        while let Some(&(due, token)) = self.timers.first()
            && due <= self.now
            && self.standing().is_none()
        {
            is_busy = true;
            self.timers.pop_first();
            if let Some(connection) = self.connections.get(token) {
                connection.timer = None;
                self.advance(token);
            }
        }
        is_busy
    }

    /// Gives each that is ready now one more turn.
    fn see_to_ready(&mut self) -> bool {
        let count = self.ready.len();
        for _ in 0..count {
            if let Some(token) = self.ready.pop_front()
                && let Some(connection) = self.connections.get(token)
                && std::mem::take(&mut connection.is_ready)
            {
                self.advance(token);
            }
        }
        count > 0
    }
}

/// Connections coming and going.
impl<R: Still, C: Conduct> Worker<R, C> {
    fn can_accept(&self) -> bool {
        self.door == Door::Open && !self.called.is_empty() && self.now >= self.paused
    }

    fn see_to_door(&mut self) -> bool {
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
    fn open_door(&mut self) {
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

    fn close_door(&mut self) {
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

    fn close(&mut self, token: Token, how: Closing) {
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

    fn end(&mut self, connection: u64, doing: &Doing<C::Wish>) {
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

/// What is done on a connection.
impl<R: Still, C: Conduct> Worker<R, C> {
    /// Goes on as far as it can, or until others must have their turn.
    fn advance(&mut self, token: Token) {
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

#[cfg(test)]
mod tests {
    use super::super::conduct::Scripted;
    use super::*;
    use crate::misbehaviour::{Misbehaviour, When};
    use kernel::Epoll;
    use std::io::Write;
    use std::net::TcpStream;

    fn worker(script: &Script) -> Worker<Epoll, Scripted> {
        let ring = Epoll::new().unwrap();
        let spans = Spans::of(script);
        let mut worker = Worker::new(ring, Scripted::new(script), spans, Spin::NEVER);
        worker.listen(&"127.0.0.1:0".parse().unwrap()).unwrap();
        worker
    }

    #[test]
    fn a_client_that_does_not_read_costs_no_turns_and_no_memory() {
        let mut worker = worker(&Script::of(Misbehaviour::EndlessBody, When::Every(1)));
        let mut client = TcpStream::connect(worker.addresses[0].to_string()).unwrap();
        client.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
        // Once the kernel's buffers are full nothing is left to do.
        while worker.turn(TICK) || worker.log.bytes_sent == 0 {
            assert!(worker.log.bytes_sent < 1 << 30, "nobody reads that");
        }
        assert_eq!(worker.patience(), TICK);
        assert!(worker.ready.is_empty() && worker.timers.is_empty());
    }

    #[test]
    fn a_connection_that_is_gone_leaves_no_timer() {
        let script = Script {
            delay: Nanos::from_secs(3600),
            ..Script::of(Misbehaviour::Late, When::Every(1))
        };
        let mut worker = worker(&script);
        let mut client = TcpStream::connect(worker.addresses[0].to_string()).unwrap();
        client
            .write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            .unwrap();
        while worker.timers.is_empty() {
            worker.turn(TICK);
        }
        worker.close(Token(FIRST), Closing::Reset);
        assert!(worker.timers.is_empty());
        assert!(worker.connections.tokens().is_empty());
    }
}
