//! A simulated ring on which time also passes while the server does not listen, and the clients at its other end.

use super::Lines;
use crate::truth::log::{self, Record};
use crate::worker::TestRing;
use kernel::files::File;
use kernel::sim::{Options, Peer, Sim, World};
use kernel::{Accepted, Address, Closing, Completion, ConnectOptions, Errno, Event, ListenOptions};
use kernel::{Ring, ServerRing, Token};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, IoSlice, Write};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use units::{Instant, Nanos};

/// What one client has received.
#[derive(Debug, Clone, Default)]
pub struct Received {
    /// When its first byte came.
    pub first: Option<Instant>,
    pub text: String,
    pub is_closed: bool,
}

/// What all clients have received, by the order in which they were opened.
#[derive(Debug, Clone, Default)]
pub struct Wire(Rc<RefCell<BTreeMap<u64, Received>>>);

impl Wire {
    pub fn received(&self) -> Vec<Received> {
        self.0.borrow().values().cloned().collect()
    }
}

/// Clients that send what they have, each piece at its time.
pub struct Clients {
    lines: BTreeMap<u64, Lines>,
    wire: Wire,
}

impl Clients {
    fn note(&self, conn: u64, note: impl FnOnce(&mut Received)) {
        note(self.wire.0.borrow_mut().entry(conn).or_default());
    }
}

impl Peer for Clients {
    fn receive(&mut self, at: Instant, conn: u64, bytes: &[u8], _: &mut World) {
        let text: String = bytes.iter().map(|byte| char::from(*byte)).collect();
        self.note(conn, |received| {
            received.first = received.first.or(Some(at));
            received.text.push_str(&text);
        });
    }

    fn opened(&mut self, _: Instant, conn: u64, answer: Result<(), Errno>, world: &mut World) {
        answer.unwrap();
        for (at, text) in self.lines.remove(&conn).unwrap_or_default() {
            world.send(conn, at, text.into_bytes());
        }
    }

    fn closed(&mut self, _: Instant, conn: u64, _: &mut World) {
        self.note(conn, |received| received.is_closed = true);
    }
}

/// What the simulated kernel had for its owner while that did not listen.
struct Held {
    completion: Completion,
    bytes: Vec<u8>,
    at: Option<Instant>,
}

/// The ring. Time passes in the simulation only during a wait, and no wait goes on while there is something to
/// say; so a server that stands still here takes what there is and keeps it until it is asked for.
pub struct Stage {
    sim: Sim<Clients>,
    held: VecDeque<Held>,
    /// What was taken out of `held` last.
    current: Option<Held>,
    /// What a look at the clock takes while processor time is burned.
    look: Nanos,
}

impl Stage {
    pub fn new(seed: u64, options: Options, wire: Wire) -> Stage {
        let clients = Clients {
            lines: BTreeMap::new(),
            wire,
        };
        Stage {
            look: options.call_cost.max(Nanos::from_nanos(1)),
            sim: Sim::with(seed, clients, options),
            held: VecDeque::new(),
            current: None,
        }
    }

    /// Opens a connection for each of `lines`, a moment before its first piece.
    pub fn open(&mut self, at: &Address, lines: Vec<Lines>) {
        for lines in lines {
            let first = lines.first().map_or(Instant::ZERO, |line| line.0);
            let before = Instant::from_nanos(first.as_nanos() - 1000);
            let conn = self.sim.world_mut().open(before, at);
            let clients = self.sim.peer_mut();
            clients.note(conn, |_| ());
            clients.lines.insert(conn, lines);
        }
    }

    fn pass(&mut self, until: Instant) {
        loop {
            while let Some(completion) = self.sim.next() {
                let held = Held {
                    completion,
                    bytes: self.sim.received().to_vec(),
                    at: self.sim.received_at(),
                };
                self.held.push_back(held);
            }
            let now = self.sim.now();
            if now >= until {
                return;
            }
            self.sim.wait(Some(until - now));
        }
    }
}

impl TestRing for Stage {
    fn sleep_until(&mut self, until: Instant) {
        self.pass(until);
    }

    fn burn_until(&mut self, until: Instant) {
        let (now, look) = (self.sim.now(), self.look.as_nanos());
        let looks = (until - now).as_nanos().div_ceil(look);
        self.pass(now + Nanos::from_nanos(looks * look));
    }
}

impl Ring for Stage {
    fn now(&self) -> Instant {
        self.sim.now()
    }

    fn connect(&mut self, _: Token, _: &Address, _: &ConnectOptions) -> Result<(), Errno> {
        panic!("a server does not connect")
    }

    fn send(&mut self, token: Token, slices: &[IoSlice<'_>]) -> Result<usize, Errno> {
        self.sim.send(token, slices)
    }

    fn shutdown(&mut self, token: Token) {
        self.sim.shutdown(token);
    }

    fn close(&mut self, token: Token, how: Closing) {
        self.held.retain(|held| held.completion.token != token);
        self.sim.close(token, how);
    }

    fn wait(&mut self, timeout: Option<Nanos>) {
        if self.held.is_empty() {
            self.sim.wait(timeout);
        }
    }

    fn next(&mut self) -> Option<Completion> {
        self.current = self.held.pop_front();
        match &self.current {
            Some(held) => Some(held.completion),
            None => self.sim.next(),
        }
    }

    fn received(&mut self) -> &mut [u8] {
        match &mut self.current {
            Some(held) if held.completion.event == Event::Received => &mut held.bytes,
            Some(_) => &mut [],
            None => self.sim.received(),
        }
    }
}

impl ServerRing for Stage {
    fn listen(
        &mut self,
        token: Token,
        at: &Address,
        options: &ListenOptions,
    ) -> Result<Address, Errno> {
        self.sim.listen(token, at, options)
    }

    fn accept(&mut self, listener: Token, token: Token) -> Result<Option<Accepted>, Errno> {
        self.sim.accept(listener, token)
    }

    fn send_file(&mut self, _: Token, _: &File, _: u64, _: usize) -> Result<usize, Errno> {
        panic!("no file is served here")
    }

    fn pause(&mut self, token: Token) {
        self.sim.pause(token);
    }

    fn resume(&mut self, token: Token) {
        self.sim.resume(token);
    }

    fn received_at(&self) -> Option<Instant> {
        match &self.current {
            Some(held) => held.at,
            None => self.sim.received_at(),
        }
    }
}

/// A truth log in memory.
#[derive(Clone, Default)]
pub struct Paper(Arc<Mutex<Vec<u8>>>);

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Paper {
    pub fn records(&self) -> Vec<Record> {
        log::records(&self.0.lock().unwrap())
    }
}

/// The text with all values of Date taken out.
pub fn without_dates(text: &str) -> String {
    let mut parts = text.split("\r\nDate: ");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (_, rest) = part.split_once("\r\n").unwrap();
        plain.push_str("\r\nDate: \r\n");
        plain.push_str(rest);
    }
    plain
}
