//! The thread of a misbehaving server: accepts, listens, and does step by step what the script says.
//!
//! ```text
//! accepted --> doing the rule's steps, if one meets it --all done--> serving
//! serving --request read--> doing its steps --all done, kept--> serving
//!                             |  `--all done, not kept--> closed
//!                             |--Close, Reset, dead socket--> closed
//!                             `--waits for: Writable | timer | its turn (after so many sends) | the client's end
//! ```
//!
//! A connection that waits is left alone until what it waits for comes; only one that could send on at once and has
//! had its share is queued, and then the next wait does not sleep. So it neither spins nor starves the others.

use super::connections::{Connections, Doing, Heard, LISTENER, Question};
use super::log::Log;
use super::script::{Chooser, Meets, Script};
use super::server::Line;
use super::table::{Misbehaviour, Step};
use kernel::{Address, Closing, Epoll, Errno, Event, ListenOptions, Ring, Token};
use std::collections::{BTreeSet, VecDeque};
use std::thread;
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

/// The server as its thread has it.
pub(super) struct Worker {
    ring: Epoll,
    address: Address,
    script: Script,
    chooser: Chooser,
    connections: Connections,
    requests: Requests,
    /// When connections whose `timer` is set go on.
    timers: BTreeSet<(Instant, Token)>,
    /// Connections that could go on at once; none twice.
    ready: VecDeque<Token>,
    door: Door,
    /// Connections may be waiting to be accepted.
    is_called: bool,
    /// No accepting before.
    paused: Instant,
    /// Nothing at all is done before.
    frozen: Instant,
    now: Instant,
    log: Log,
}

impl Worker {
    /// A server that listens.
    ///
    /// # Errors
    /// What the kernel said to listening.
    pub(super) fn new(mut ring: Epoll, at: &Address, script: Script) -> Result<Worker, Errno> {
        let address = ring.listen(LISTENER, at, &ListenOptions::default())?;
        Ok(Worker {
            now: ring.now(),
            ring,
            address,
            chooser: Chooser::new(&script.rules),
            script,
            connections: Connections::default(),
            requests: Requests::default(),
            timers: BTreeSet::new(),
            ready: VecDeque::new(),
            door: Door::Open,
            is_called: false,
            paused: Instant::ZERO,
            frozen: Instant::ZERO,
            log: Log::default(),
        })
    }

    pub(super) fn address(&self) -> &Address {
        &self.address
    }

    /// Serves until `line` says stop; tells it what was done after every turn in which something was.
    pub(super) fn run(mut self, line: &Line) -> Log {
        while !line.stopped() {
            if line.take_resume() {
                self.open_door();
            }
            if self.is_frozen() {
                // Standing still is what is wanted; a stop is seen as soon as ever.
                thread::sleep(TICK.to_std());
                continue;
            }
            if self.turn(self.patience()) {
                line.publish(&self.log);
            }
        }
        for _ in 0..LAST_TURNS {
            if !self.turn(Nanos::ZERO) {
                break;
            }
        }
        line.publish(&self.log);
        self.log
    }

    fn is_frozen(&mut self) -> bool {
        self.frozen > Instant::ZERO && self.ring.now() < self.frozen
    }

    /// How long the next wait may last.
    fn patience(&self) -> Nanos {
        if !self.ready.is_empty() || self.can_accept() {
            return Nanos::ZERO;
        }
        let first = self.timers.first().map_or(Instant::NEVER, |timer| timer.0);
        first.min(self.now + TICK) - self.now
    }

    /// Waits, then does what there is to do. Says whether anything was.
    fn turn(&mut self, timeout: Nanos) -> bool {
        self.ring.wait(Some(timeout));
        self.now = self.ring.now();
        let mut is_busy = false;
        while !self.is_frozen()
            && let Some(completion) = self.ring.next()
        {
            is_busy = true;
            self.arrive(completion.token, completion.event);
        }
        if self.is_frozen() {
            return is_busy;
        }
        is_busy |= self.see_to_door();
        is_busy |= self.see_to_timers();
        is_busy | self.see_to_ready()
    }

    fn arrive(&mut self, token: Token, event: Event) {
        match event {
            Event::Incoming => self.is_called = true,
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
        let input = self.ring.received();
        self.log.bytes_received += input.len() as u64;
        let Some(connection) = self.connections.get(token) else {
            return;
        };
        let Heard {
            requests,
            refused,
            is_too_far,
        } = connection.hear(&mut self.requests, input);
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
impl Worker {
    fn can_accept(&self) -> bool {
        self.door == Door::Open && self.is_called && self.now >= self.paused
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
        let Some(token) = self.connections.vacant() else {
            self.paused = self.now + PAUSE;
            return;
        };
        match self.ring.accept(LISTENER, token) {
            Ok(Some(_)) => {
                self.log.connections += 1;
                self.connections.fill(token);
                if let Some(misbehaviour) = self.chooser.choose(Meets::Connection) {
                    self.misbehave(token, misbehaviour, Question::NONE);
                    self.advance(token);
                }
            }
            Ok(None) => self.is_called = false,
            Err(_) => {
                self.log.accept_errors += 1;
                self.paused = self.now + PAUSE;
            }
        }
    }

    /// The outage is over.
    fn open_door(&mut self) {
        if let Door::Closed(_) = self.door
            && self
                .ring
                .listen(LISTENER, &self.address, &ListenOptions::default())
                .is_err()
        {
            self.log.accept_errors += 1;
            self.door = Door::Closed(self.now + PAUSE);
            return;
        }
        self.door = Door::Open;
    }

    fn close_door(&mut self) {
        if !matches!(self.door, Door::Closed(_)) {
            self.ring.close(LISTENER, Closing::Orderly);
        }
        self.is_called = false;
        self.door = Door::Closed(self.now + self.script.outage);
    }

    fn close(&mut self, token: Token, how: Closing) {
        if let Some(connection) = self.connections.release(token) {
            if let Some(due) = connection.timer {
                self.timers.remove(&(due, token));
            }
            if connection.is_ready {
                self.ready.retain(|other| *other != token);
            }
            self.ring.close(token, how);
        }
    }
}

/// What is done on a connection.
impl Worker {
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
        match doing.step() {
            None => return self.finish(token),
            Some(Step::Silence) if !connection.is_ended => return Pace::Rest,
            Some(Step::Silence | Step::Close) => self.close(token, Closing::Orderly),
            Some(Step::Reset) => self.close(token, Closing::Reset),
            Some(Step::Die) => self.die(),
            Some(Step::Wait) => {
                doing.next();
                return self.rest_for(token, self.script.delay);
            }
            Some(Step::ShutDoor) => {
                doing.next();
                self.door = Door::Shut(self.now + self.script.outage);
            }
            Some(Step::CloseDoor) => {
                doing.next();
                self.close_door();
            }
            Some(Step::Freeze) => {
                doing.next();
                self.frozen = self.now + self.script.outage;
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
        let Some(question) = connection.asked.pop_front() else {
            if connection.is_ended {
                self.close(token, Closing::Orderly);
            }
            return Pace::Rest;
        };
        let sort = match question {
            Question {
                is_refused: true, ..
            } => None,
            Question { is_head: true, .. } => Some(Meets::Head),
            _ => Some(Meets::Exchange),
        };
        match sort.and_then(|sort| self.chooser.choose(sort)) {
            Some(misbehaviour) => self.misbehave(token, misbehaviour, question),
            None => connection.doing = Some(Doing::new(question, None)),
        }
        Pace::On
    }

    fn misbehave(&mut self, token: Token, misbehaviour: Misbehaviour, question: Question) {
        self.log.add(misbehaviour);
        if let Some(connection) = self.connections.get(token) {
            connection.doing = Some(Doing::new(question, Some(misbehaviour.steps())));
        }
    }

    /// All steps are done: serves on, if the client wants it.
    fn finish(&mut self, token: Token) -> Pace {
        let Some(connection) = self.connections.get(token) else {
            return Pace::Rest;
        };
        if let Some(doing) = connection.doing.take() {
            self.log.answered += u64::from(doing.is_right);
            if !doing.question.keepalive {
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

    fn rest_for(&mut self, token: Token, span: Nanos) -> Pace {
        let due = self.now + span;
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
            Pace::On => self.rest_for(token, self.script.interval),
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
        let Some(saying) = doing.saying() else {
            return Pace::Rest;
        };
        let (slices, given) = saying.slices();
        let Ok(taken) = self.ring.send(token, &slices) else {
            self.close(token, Closing::Orderly);
            return Pace::Rest;
        };
        self.log.bytes_sent += taken as u64;
        doing.take(taken);
        if saying.left == taken as u64 {
            doing.next();
        }
        connection.is_blocked = taken < given;
        if connection.is_blocked {
            Pace::Rest
        } else {
            Pace::On
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::misbehaviour::When;
    use std::io::Write;
    use std::net::TcpStream;

    #[test]
    fn a_client_that_does_not_read_costs_no_turns_and_no_memory() {
        let script = Script::of(Misbehaviour::EndlessBody, When::Every(1));
        let at = "127.0.0.1:0".parse().unwrap();
        let mut worker = Worker::new(Epoll::new().unwrap(), &at, script).unwrap();
        let mut client = TcpStream::connect(worker.address().to_string()).unwrap();
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
        let at = "127.0.0.1:0".parse().unwrap();
        let mut worker = Worker::new(Epoll::new().unwrap(), &at, script).unwrap();
        let mut client = TcpStream::connect(worker.address().to_string()).unwrap();
        client
            .write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            .unwrap();
        while worker.timers.is_empty() {
            worker.turn(TICK);
        }
        worker.close(Token(LISTENER.0 + 1), Closing::Reset);
        assert!(worker.timers.is_empty());
        assert!(worker.connections.tokens().is_empty());
    }
}
