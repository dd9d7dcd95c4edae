//! The loop: accepts, listens, and does step by step what its behaviour says.
//!
//! ```text
//! accepted --> activity the steps of what it meets, if anything --all done--> serving
//! serving --request read--> its due time --> activity its steps --all done, kept--> serving
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

// In reading order: connections coming and going,
mod listening;
// and what is done for them.
mod steps;

use crate::behaviour::Behaviour;
use crate::config::BusyPoll;
use crate::connections::{AHEAD_LIMIT, CONNECTIONS_LIMIT, Connection, Listener};
use crate::misbehaviour::Log;
use kernel::{Address, Closing, Epoll, Errno, Event, ListenOptions, ServerRing, Token, clock};
use refserver::parts::{FIRST, Secured, Slots};
use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use units::{Instant, Nanos};
use wire::Filter;
use wire::http1::RequestCache;

/// How long a wait lasts at most: an order is seen that soon.
const TICK: Nanos = Nanos::from_millis(2);
/// After this a turn ends, though there is more to do: an order is seen that soon, and one connection's work later.
const TURN_TIME: Nanos = Nanos::from_millis(20);
/// Turns in which a server that is told to stop still does what has come.
const LAST_TURNS: u32 = 64;
/// How long they may take together, but for the one that is begun: requests may cost a second of work each.
const LAST_TIME: Nanos = Nanos::from_millis(100);

/// What a worker does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Command {
    /// Goes on.
    Serve,
    /// Ends the outage of the listening sockets, and goes on.
    Resume,
    /// Comes to an end.
    Stop,
}

impl Command {
    /// [`Command::Stop`] once `stop` is set.
    pub(crate) fn stop_if(stop: &AtomicBool) -> Command {
        match stop.load(Ordering::Relaxed) {
            true => Command::Stop,
            false => Command::Serve,
        }
    }
}

/// A ring on whose thread one can also let time pass without hearing of anything, and do what lies beneath TLS where it has that.
pub(crate) trait TestRing: ServerRing {
    /// Sleeps until then.
    fn sleep_until(&mut self, until: Instant);

    /// Burns processor time until then.
    fn burn_until(&mut self, until: Instant);

    /// From now on what is sent, received and closed on the connection is beneath TLS.
    fn bare(&mut self, _: Token) {}

    /// Sends a fatal alert of TLS; nothing more can be sent on the connection.
    fn alert(&mut self, _: Token) {}
}

impl TestRing for Epoll {
    fn sleep_until(&mut self, until: Instant) {
        clock::sleep_until(until);
    }

    fn burn_until(&mut self, until: Instant) {
        while clock::now() < until {}
    }
}

impl<R: TestRing, F: Filter> TestRing for Secured<R, F> {
    fn sleep_until(&mut self, until: Instant) {
        self.socket_ring().sleep_until(until);
    }

    fn burn_until(&mut self, until: Instant) {
        self.socket_ring().burn_until(until);
    }

    fn bare(&mut self, token: Token) {
        Secured::bare(self, token);
    }

    fn alert(&mut self, token: Token) {
        self.accuse(token);
    }
}

/// The server as its thread has it.
pub(crate) struct Worker<R> {
    ring: R,
    pub(crate) behaviour: Behaviour,
    /// The last stretch of a wait, in which the loop polls its ring instead of sleeping.
    pub(crate) margin: Nanos,
    /// Where it listens; the token of a listening socket is its place.
    addresses: Vec<Address>,
    options: ListenOptions,
    connections: Slots<Connection>,
    cache: RequestCache,
    /// When connections whose `timer` is set go on. One for each of them at most.
    timers: BTreeSet<(Instant, Token)>,
    /// Connections that could go on at once; none twice.
    ready: VecDeque<Token>,
    /// It does not listen before `paused`.
    is_stopped: bool,
    /// Listening sockets at which connections may be waiting; none twice.
    called: Vec<Token>,
    /// No accepting before.
    paused: Instant,
    /// Nothing at all is done before.
    frozen: Instant,
    /// The clock as it was read last.
    now: Instant,
    /// So much longer than its due the last work was.
    overworked: Nanos,
    log: Log,
}

impl<R: TestRing> Worker<R> {
    /// A server that does not listen yet. Of a truth server's connections the kernel says when it received their bytes.
    pub(crate) fn new(ring: R, behaviour: Behaviour) -> Worker<R> {
        Worker {
            now: ring.now(),
            ring,
            margin: behaviour.config.busy_poll.margin(),
            addresses: Vec::new(),
            options: ListenOptions {
                stamps: behaviour.is_truthful(),
                ..ListenOptions::default()
            },
            behaviour,
            connections: Slots::new(CONNECTIONS_LIMIT),
            cache: RequestCache::default(),
            timers: BTreeSet::new(),
            ready: VecDeque::new(),
            is_stopped: false,
            called: Vec::new(),
            paused: Instant::ZERO,
            frozen: Instant::ZERO,
            overworked: Nanos::ZERO,
            log: Log::default(),
        }
    }

    /// Where it listens.
    pub(crate) fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    /// Listens at one address more, of at most 64.
    ///
    /// # Errors
    /// What the kernel sent.
    pub(crate) fn listen(&mut self, at: &Address) -> Result<(), Errno> {
        let place = self.addresses.len() as u32;
        if place == FIRST {
            return Err(Errno::EMFILE);
        }
        let address = self.ring.listen(Token(place), at, &self.options)?;
        self.addresses.push(address);
        Ok(())
    }

    /// The ring, to set going what is to happen on it.
    #[cfg(test)]
    pub(crate) fn ring_mut(&mut self) -> &mut R {
        &mut self.ring
    }

    /// Serves until `command`, which is called before every turn with what was done so far, says stop. What is still to
    /// be answered then is not.
    pub(crate) fn run(mut self, mut command: impl FnMut(&Log) -> Command) -> (Log, Behaviour) {
        loop {
            match command(&self.log) {
                Command::Stop => break,
                Command::Resume => self.resume_listening(),
                Command::Serve => {}
            }
            self.now = self.ring.now();
            if let Some(until) = self.stalled_until() {
                // Standing still is what is wanted; a stop is seen as soon as ever.
                self.pause(until);
            } else {
                self.turn(self.patience());
            }
        }
        let end = self.ring.now() + LAST_TIME;
        for _ in 0..LAST_TURNS {
            if !self.turn(Nanos::ZERO) || self.ring.now() >= end {
                break;
            }
        }
        for token in self.connections.tokens(|_| true) {
            self.close(token, Closing::Orderly);
        }
        (self.log, self.behaviour)
    }

    /// Until when everything stands still.
    fn stalled_until(&self) -> Option<Instant> {
        let frozen = (self.now < self.frozen).then_some(self.frozen);
        frozen.max(self.behaviour.stall(self.now))
    }

    /// Stands still for a while, or to the end of it.
    fn pause(&mut self, until: Instant) {
        let rest = until - self.now;
        if rest <= self.margin {
            self.ring.burn_until(until);
        } else {
            let nap = rest.saturating_sub(self.margin).min(TICK);
            self.ring.sleep_until(self.now + nap);
        }
    }

    /// How long the next wait may last.
    fn patience(&self) -> Nanos {
        if self.behaviour.config.busy_poll == BusyPoll::Always
            || !self.ready.is_empty()
            || self.can_accept()
        {
            return Nanos::ZERO;
        }
        let first = self.timers.first().map_or(Instant::NEVER, |timer| timer.0);
        let rest = first - self.now;
        rest.saturating_sub(self.margin).min(TICK)
    }

    /// Waits, then does what there is to do. Says whether anything was.
    fn turn(&mut self, timeout: Nanos) -> bool {
        self.ring.wait(Some(timeout));
        self.now = self.ring.now();
        self.behaviour.turn(self.now);
        let (mut is_busy, end) = (false, self.now + TURN_TIME);
        while self.stalled_until().is_none() && self.now < end {
            is_busy |= self.fire_timers();
            let Some(completion) = self.ring.next() else {
                is_busy |= self.accept_waiting();
                return is_busy | self.run_ready(end);
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
        let received = self.ring.received_at();
        let input = self.ring.received();
        let Some(connection) = self.connections.get(token) else {
            return;
        };
        if connection.is_bare {
            connection.has_heard = true;
            return self.advance(token);
        }
        self.log.bytes_received += input.len() as u64;
        let mut listener = Listener {
            requests: &mut connection.requests,
            reading: &mut connection.reading,
            behaviour: &mut self.behaviour,
            log: &mut self.log,
            received,
            read: self.now,
        };
        let result = connection
            .http
            .receive(&mut self.cache, input, &mut listener);
        let is_too_far = connection.requests.len() > AHEAD_LIMIT;
        if result.is_err() {
            self.log.refused += 1;
            connection.requests.push_back(None);
        }
        if is_too_far {
            self.log.cut += 1;
            return self.close(token, Closing::Reset);
        }
        self.advance(token);
    }

    fn fire_timers(&mut self) -> bool {
        let mut is_busy = false;
        while let Some(&(due, token)) = self.timers.first()
            && due <= self.now
            && self.stalled_until().is_none()
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

    /// Gives each that is ready now one more turn, as long as there is time.
    fn run_ready(&mut self, end: Instant) -> bool {
        let count = self.ready.len();
        for _ in 0..count {
            if self.now >= end {
                break;
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::misbehaviour::{Misbehaviour, Script, When};
    use std::io::Write;
    use std::net::TcpStream;

    fn worker(script: Script) -> Worker<Epoll> {
        let config = Config {
            script,
            busy_poll: BusyPoll::Never,
            ..Config::default()
        };
        let behaviour = Behaviour::scripted(config);
        let mut worker = Worker::new(Epoll::new().unwrap(), behaviour);
        worker.listen(&"127.0.0.1:0".parse().unwrap()).unwrap();
        worker
    }

    #[test]
    fn a_client_that_does_not_read_costs_no_turns_and_no_memory() {
        let mut worker = worker(Script::of(Misbehaviour::EndlessBody, When::Every(1)));
        let mut client = TcpStream::connect(worker.addresses[0].to_string()).unwrap();
        client.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
        // Once the kernel's buffers are full nothing is left to do.
        while worker.turn(TICK) || worker.log.bytes_sent == 0 {
            assert!(
                worker.log.bytes_sent < 1 << 30,
                "the client does not read that"
            );
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
        let mut worker = worker(script);
        let mut client = TcpStream::connect(worker.addresses[0].to_string()).unwrap();
        client
            .write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            .unwrap();
        while worker.timers.is_empty() {
            worker.turn(TICK);
        }
        worker.close(Token(FIRST), Closing::Reset);
        assert!(worker.timers.is_empty());
        assert!(worker.connections.is_empty());
    }
}
