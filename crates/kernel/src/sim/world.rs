//! What both ends of a simulated ring share: the time, what is still to happen, and the connections in between.
//!
//! It is shaped as the kernel is: a connection keeps its state (bytes that came, the end, an error), and what is
//! `ready` is only a list of those to look at. So completions are made late, when they are asked for, and the order
//! within a connection follows from its state instead of from a queue that faults could shuffle.

use super::action::{Action, Scheduled};
use super::link::{Link, State};
use super::random::Random;
use super::{BUFFER, ConnectAnswer, Options, Reads};
use crate::{Accepted, Address, Closing, Errno, Event, ListenOptions, Token};
use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::io::IoSlice;
use std::net::{Ipv4Addr, SocketAddr};
use units::{Instant, Nanos};

/// What may be still to happen at once, and how many bytes that may hold.
const QUEUE: usize = 4_000_000;
const QUEUED_BYTES: usize = 1 << 30;
/// How long an injected short write or reset takes to be felt, at most.
const FAULT_DELAY: Nanos = Nanos::from_millis(1);
/// What a wait of no length takes that finds nothing, where calls cost nothing else: about what it takes on real rings.
const POLL: Nanos = Nanos::from_nanos(500);
/// The first port given to a listener that asked for any.
const FIRST_PORT: u16 = 40_000;
/// Where peers come from that do not say it.
const PEERS: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);

/// The time, the connections, and what is still to happen to them.
pub struct World {
    now: Cell<Instant>,
    random: Random,
    options: Options,
    queue: BinaryHeap<Reverse<Scheduled>>,
    queued_bytes: usize,
    /// Numbers given to connections, listeners and scheduled actions: one sequence, none used twice.
    last: u64,
    links: BTreeMap<u64, Link>,
    listeners: BTreeMap<u64, Listener>,
    /// What may have something to say to the owner of the ring; each at most once.
    ready: VecDeque<u64>,
}

struct Listener {
    token: Token,
    address: Address,
    options: ListenOptions,
    waiting: VecDeque<u64>,
    listed: bool,
}

/// What the peer does.
impl World {
    /// Sends `bytes` to the ring, to arrive at `at`, or right after what was sent before if that comes later.
    pub fn send(&mut self, conn: u64, at: Instant, bytes: impl Into<Vec<u8>>) {
        let bytes = bytes.into();
        if !bytes.is_empty() {
            self.follow(conn, at, Action::Arrive(conn, bytes));
        }
    }

    /// Ends the peer's side at `at`, after everything sent before.
    pub fn end(&mut self, conn: u64, at: Instant) {
        self.follow(conn, at, Action::ArriveEnd(conn));
    }

    /// Resets the connection at `at`, after everything sent before.
    pub fn reset(&mut self, conn: u64, at: Instant) {
        self.follow(conn, at, Action::Reset(conn));
    }

    /// Calls [`Peer::timer`](super::Peer::timer) at `at`; `conn` and `tag` are the caller's to choose.
    pub fn timer(&mut self, conn: u64, at: Instant, tag: u64) {
        self.schedule(at, Action::Timer(conn, tag));
    }

    /// Connects to a listener of the ring at `at`; [`Peer::opened`](super::Peer::opened) tells how it went. All such
    /// peers have one address, and ports of their own.
    pub fn open(&mut self, at: Instant, listener: &Address) -> u64 {
        let port = (self.last % u64::from(u16::MAX)) as u16 + 1;
        self.open_from(at, listener, SocketAddr::from((PEERS, port)))
    }

    /// As [`World::open`], from an address of the caller's choice.
    pub fn open_from(&mut self, at: Instant, listener: &Address, from: SocketAddr) -> u64 {
        let conn = self.number();
        self.schedule(at, Action::Open(conn, listener.clone(), from));
        conn
    }

    /// Where a connection leads to: what the ring connected to, or the listener that the peer entered. None for one
    /// that is gone.
    pub fn address(&self, conn: u64) -> Option<&Address> {
        self.links.get(&conn).map(|link| &link.address)
    }

    /// A number below `bound`, out of the seed's.
    pub fn random(&mut self, bound: u64) -> u64 {
        self.random.below(bound)
    }

    /// The time.
    pub fn now(&self) -> Instant {
        self.now.get()
    }

    fn follow(&mut self, conn: u64, at: Instant, action: Action) {
        if let Some(link) = self.links.get_mut(&conn) {
            link.tail = link.tail.max(at);
            let at = link.tail;
            self.schedule(at, action);
        }
    }
}

/// What is still to happen.
impl World {
    pub(super) fn new(seed: u64, options: Options) -> World {
        World {
            now: Cell::new(options.start),
            random: Random::new(seed),
            options,
            queue: BinaryHeap::new(),
            queued_bytes: 0,
            last: 0,
            links: BTreeMap::new(),
            listeners: BTreeMap::new(),
            ready: VecDeque::new(),
        }
    }

    fn number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Until when the owner of the ring is stopped, where that has begun by now; told once.
    pub(super) fn stopped(&mut self) -> Option<Instant> {
        let (start, span) = *self.options.stops.first()?;
        (start <= self.now()).then(|| {
            self.options.stops.remove(0);
            start + span
        })
    }

    fn schedule(&mut self, at: Instant, action: Action) {
        let order = self.number();
        self.queued_bytes += action.bytes();
        assert!(self.queue.len() < QUEUE, "too much is still to happen");
        assert!(
            self.queued_bytes < QUEUED_BYTES,
            "too many bytes are under way"
        );
        self.queue.push(Reverse(Scheduled { at, order, action }));
    }

    /// What happens next: everything that is due by now, and while the ring has nothing to say, what comes until
    /// `deadline`, to which time passes.
    pub(super) fn due(&mut self, deadline: Instant) -> Option<Action> {
        let limit = if self.has_ready() {
            self.now()
        } else {
            deadline
        };
        self.due_by(limit)
    }

    /// What happens next until `limit`, whether or not the ring has something to say.
    pub(super) fn due_by(&mut self, limit: Instant) -> Option<Action> {
        let next = self.queue.peek()?;
        if next.0.at > limit {
            return None;
        }
        let Reverse(scheduled) = self.queue.pop()?;
        self.queued_bytes -= scheduled.action.bytes();
        self.pass_to(scheduled.at);
        Some(scheduled.action)
    }

    pub(super) fn pass_to(&self, at: Instant) {
        self.now.set(self.now().max(at));
    }

    /// A wait of `timeout` that began at `begin` ends. A wait that slept ends late; one that only asked and found nothing has
    /// taken time for it, or asking until it is later would never end.
    pub(super) fn wake(&self, begin: Instant, timeout: Option<Nanos>) {
        let late = match timeout {
            Some(Nanos::ZERO) if self.has_ready() => Nanos::ZERO,
            Some(Nanos::ZERO) => self.options.call_cost.max(POLL),
            _ if self.now() > begin => self.options.wake_late,
            _ => Nanos::ZERO,
        };
        self.now.set(self.now() + late);
    }

    pub(super) fn spend(&self) {
        self.now.set(self.now() + self.options.call_cost);
    }

    fn soon(&mut self) -> Instant {
        let delay = self.random.below(FAULT_DELAY.as_nanos());
        self.now() + Nanos::from_nanos(delay)
    }

    /// When what the ring does now is felt by the peer.
    fn there(&self) -> Instant {
        self.now() + self.options.latency
    }
}

/// What happens to connections.
impl World {
    pub(super) fn schedule_answer(&mut self, conn: u64, answer: ConnectAnswer) {
        let (after, outcome) = match answer {
            ConnectAnswer::Accept(after) => (after, Ok(())),
            ConnectAnswer::Refuse(after, error) => (after, Err(error)),
            ConnectAnswer::Never => return,
        };
        if let Some(link) = self.links.get_mut(&conn) {
            link.peer_gone = outcome.is_err();
        }
        let at = self.now() + after;
        self.schedule(at, Action::Answer(conn, outcome));
    }

    /// Something comes to the ring's end of a connection; nothing, when that end is gone.
    pub(super) fn arrive(&mut self, action: Action) {
        let now = self.now();
        let conn = match action {
            Action::Answer(conn, _) | Action::Arrive(conn, _) | Action::ArriveEnd(conn) => conn,
            Action::Reset(conn) | Action::Freed(conn) | Action::Break(conn) => conn,
            _ => return,
        };
        let Some(link) = self
            .links
            .get_mut(&conn)
            .filter(|link| link.state != State::Closed)
        else {
            return;
        };
        let mut tell_peer = false;
        match action {
            Action::Answer(_, outcome) => link.answer = Some(outcome),
            Action::Arrive(_, bytes) if !link.end => link.arrive(now, bytes),
            Action::Arrive(..) => {}
            Action::ArriveEnd(_) => link.end = true,
            Action::Freed(_) => link.freed = link.short,
            _ => {
                tell_peer = matches!(action, Action::Break(_)) && !link.peer_gone;
                link.broken = Some(Errno::ECONNRESET);
                link.peer_gone = true;
            }
        }
        if tell_peer {
            self.schedule(now, Action::Closed(conn));
        }
        self.list(conn);
    }

    /// Bytes have come to the peer's end: room is made, and the answer is whether the peer is there to have them.
    pub(super) fn delivered(&mut self, conn: u64, length: usize) -> bool {
        let Some(link) = self.links.get_mut(&conn) else {
            return false;
        };
        link.flying -= length;
        link.freed = link.short;
        let heard = !link.peer_gone;
        self.list(conn);
        heard
    }

    pub(super) fn has_peer(&self, conn: u64) -> bool {
        self.links.get(&conn).is_some_and(|link| !link.peer_gone)
    }

    /// The peer has been told that the ring has closed: nothing refers to the connection any more.
    pub(super) fn forget(&mut self, conn: u64) {
        if self
            .links
            .get(&conn)
            .is_some_and(|link| link.state == State::Closed)
        {
            self.links.remove(&conn);
        }
    }

    /// A connection of the peer reaches a listener.
    pub(super) fn enter(
        &mut self,
        conn: u64,
        address: &Address,
        from: SocketAddr,
    ) -> Result<(), Errno> {
        let mut listeners = self.listeners.iter_mut();
        let (&id, listener) = listeners
            .find(|(_, listener)| listener.address == *address)
            .ok_or(Errno::ECONNREFUSED)?;
        if listener.waiting.len() >= listener.options.backlog as usize {
            return Err(Errno::ETIMEDOUT);
        }
        listener.waiting.push_back(conn);
        if !std::mem::replace(&mut listener.listed, true) {
            self.ready.push_back(id);
        }
        let mut link = Link::new(None, State::Open, address);
        link.peer = matches!(address, Address::Ip(_)).then_some(from);
        link.stamps = (listener.options.stamps && link.peer.is_some()).then(VecDeque::new);
        self.links.insert(conn, link);
        Ok(())
    }
}

/// What the owner of the ring does.
impl World {
    pub(super) fn injected_connect_error(&mut self) -> Option<Errno> {
        let (chance, error) = self.options.faults.connect_error?;
        self.random.happens(chance).then_some(error)
    }

    pub(super) fn begin(&mut self, token: Token, to: &Address) -> u64 {
        let conn = self.number();
        let link = Link::new(Some(token), State::Connecting, to);
        self.links.insert(conn, link);
        conn
    }

    pub(super) fn listen(
        &mut self,
        token: Token,
        at: &Address,
        options: &ListenOptions,
    ) -> Result<(u64, Address), Errno> {
        let id = self.number();
        let mut address = at.clone();
        if let Address::Ip(ip) = &mut address
            && ip.port() == 0
        {
            ip.set_port(FIRST_PORT + (id % 20_000) as u16);
        }
        if self
            .listeners
            .values()
            .any(|other| other.address == address)
        {
            return Err(Errno::EADDRINUSE);
        }
        let listener = Listener {
            token,
            address: address.clone(),
            options: options.clone(),
            waiting: VecDeque::new(),
            listed: false,
        };
        self.listeners.insert(id, listener);
        Ok((id, address))
    }

    pub(super) fn accept(
        &mut self,
        listener: u64,
        token: Token,
    ) -> Result<Option<(u64, Accepted)>, Errno> {
        let listener = self.listeners.get_mut(&listener).ok_or(Errno::EBADF)?;
        if let Some((chance, error)) = self.options.faults.accept_error
            && !listener.waiting.is_empty()
            && self.random.happens(chance)
        {
            return Err(error);
        }
        let Some(conn) = listener.waiting.pop_front() else {
            return Ok(None);
        };
        let send_buffer = listener.options.send_buffer;
        let link = self.links.get_mut(&conn).ok_or(Errno::ECONNABORTED)?;
        link.token = Some(token);
        link.send_buffer = send_buffer.map_or(usize::MAX, |bytes| bytes as usize);
        let peer = link.peer;
        self.list(conn);
        Ok(Some((conn, Accepted { peer })))
    }

    /// Whether the owner wants to read.
    pub(super) fn pause(&mut self, conn: u64, paused: bool) {
        if let Some(link) = self.links.get_mut(&conn)
            && link.state == State::Open
        {
            link.paused = paused;
            self.list(conn);
        }
    }

    /// The window alone is the connection's limit.
    pub(super) fn widen(&mut self, conn: u64) {
        if let Some(link) = self.links.get_mut(&conn) {
            link.send_buffer = usize::MAX;
        }
    }

    /// The owner has sent what it cannot send: the connection is of no more use to it.
    pub(super) fn give_up(&mut self, conn: u64) {
        if let Some(link) = self.links.get_mut(&conn) {
            link.state = State::Dead;
        }
    }

    /// What may be under way at once.
    pub(super) fn window(&self) -> usize {
        self.options.window
    }

    /// Takes what it can of `slices`, which are all of the `given` bytes that are to be sent, or their beginning.
    pub(super) fn take(
        &mut self,
        conn: u64,
        slices: &[IoSlice<'_>],
        given: usize,
    ) -> Result<usize, Errno> {
        let link = self.links.get_mut(&conn).ok_or(Errno::EBADF)?;
        match (link.state, link.broken) {
            (State::Connecting, _) => return Ok(0),
            (State::Dead, None) => return Err(Errno::EPIPE),
            (_, Some(error)) => {
                link.state = State::Dead;
                return Err(error);
            }
            _ => {}
        }
        let most = self.options.window.min(link.send_buffer);
        let room = most.saturating_sub(link.flying);
        if let Some(error) = self.injected_send_error(conn) {
            return Err(error);
        }
        let there: usize = slices.iter().map(|slice| slice.len()).sum();
        let taken = self.shorten(conn, given, there.min(room));
        self.fly(conn, slices, taken);
        if self.random.happens(self.options.faults.resets) {
            let at = self.soon();
            self.schedule(at, Action::Break(conn));
        }
        Ok(taken)
    }

    fn injected_send_error(&mut self, conn: u64) -> Option<Errno> {
        let (chance, error) = self.options.faults.send_error?;
        if !self.random.happens(chance) {
            return None;
        }
        self.arrive(Action::Break(conn));
        if let Some(link) = self.links.get_mut(&conn) {
            link.state = State::Dead;
        }
        Some(error)
    }

    /// What was sent and has not come to the peer yet.
    pub(super) fn flying(&self, conn: u64) -> usize {
        self.links.get(&conn).map_or(0, |link| link.flying)
    }

    /// How much of `room` a send of `given` bytes takes, and what follows when that is not all.
    fn shorten(&mut self, conn: u64, given: usize, room: usize) -> usize {
        let short = room > 0 && self.random.happens(self.options.faults.short_writes);
        let taken = if short {
            self.random.below(room as u64) as usize
        } else {
            room
        };
        if taken < given
            && let Some(link) = self.links.get_mut(&conn)
        {
            (link.short, link.freed) = (true, false);
            // Without the fault, room is made when the peer receives what fills the window.
            if short {
                let at = self.soon();
                self.schedule(at, Action::Freed(conn));
            }
        }
        taken
    }

    fn fly(&mut self, conn: u64, slices: &[IoSlice<'_>], taken: usize) {
        if taken == 0 {
            return;
        }
        let mut bytes = Vec::with_capacity(taken);
        for slice in slices {
            let rest = taken - bytes.len();
            bytes.extend_from_slice(&slice[..slice.len().min(rest)]);
        }
        if let Some(link) = self.links.get_mut(&conn) {
            link.flying += taken;
        }
        self.schedule(self.there(), Action::Deliver(conn, bytes));
    }

    pub(super) fn shutdown(&mut self, conn: u64) {
        if self.has_peer(conn) {
            self.schedule(self.there(), Action::DeliverEnd(conn));
        }
    }

    /// Closes a connection or a listener; with the latter go the connections that still wait at it.
    pub(super) fn close(&mut self, id: u64, how: Closing) {
        if let Some(listener) = self.listeners.remove(&id) {
            self.ready.retain(|&ready| ready != id);
            for conn in listener.waiting {
                self.close(conn, Closing::Reset);
            }
            return;
        }
        let at = self.there();
        let Some(link) = self.links.get_mut(&id) else {
            return;
        };
        let (tell_peer, listed) = (!link.peer_gone, link.listed);
        (link.token, link.state) = (None, State::Closed);
        link.inbox = VecDeque::new();
        if how == Closing::Reset || !tell_peer {
            self.links.remove(&id);
        }
        if listed {
            self.ready.retain(|&ready| ready != id);
        }
        if tell_peer {
            self.schedule(at, Action::Closed(id));
        }
    }
}

/// What the ring has to say.
impl World {
    fn list(&mut self, conn: u64) {
        if let Some(link) = self.links.get_mut(&conn)
            && link.token.is_some()
            && link.has_news()
            && !std::mem::replace(&mut link.listed, true)
        {
            self.ready.push_back(conn);
        }
    }

    pub(super) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// The next completion; bytes go to `received`, and the last thing said is when the last of them came.
    pub(super) fn next(
        &mut self,
        received: &mut Vec<u8>,
    ) -> Option<(Token, Event, Option<Instant>)> {
        loop {
            let id = self.pick()?;
            if let Some(listener) = self.listeners.get_mut(&id) {
                listener.listed = false;
                return Some((listener.token, Event::Incoming, None));
            }
            if let Some(said) = self.ask(id, received) {
                return Some(said);
            }
        }
    }

    fn pick(&mut self) -> Option<u64> {
        if !self.options.faults.reorder {
            return self.ready.pop_front();
        }
        let index = self.random.below(self.ready.len() as u64) as usize;
        self.ready.swap_remove_back(index)
    }

    /// What one connection says; it stays ready, in its place, as long as it says something.
    fn ask(
        &mut self,
        conn: u64,
        received: &mut Vec<u8>,
    ) -> Option<(Token, Event, Option<Instant>)> {
        let link = self.links.get_mut(&conn)?;
        link.listed = false;
        let token = link.token?;
        let event = link.step()?;
        let mut came = None;
        if event == Event::Received {
            let reads = self.options.faults.reads;
            let length = cut(&mut self.random, reads, link.inbox.len());
            came = link.read(length, received);
        }
        link.listed = link.has_news();
        if link.listed {
            self.ready.push_front(conn);
        }
        Some((token, event, came))
    }
}

/// How many of `there` bytes one completion carries.
fn cut(random: &mut Random, reads: Reads, there: usize) -> usize {
    let most = there.min(BUFFER);
    match reads {
        Reads::Whole => most,
        Reads::OneByte => 1,
        Reads::Random => 1 + random.below(most as u64) as usize,
    }
}
