//! A ring on which what is sent and received goes through a [`Filter`], so that the servers' loops are the same with and without TLS.
//!
//! It keeps the ring invariants towards its owner. Handshakes, alerts and the peer's word that nothing more comes are its own affair:
//! the owner hears of a connection's first bytes when the handshake is over, so that the time limit for a first request covers both.
//!
//! Of a batch of records the part counts as taken that the socket has of its sealed bytes, the whole when it has all of them. What is not
//! taken yet is offered again by the owner, as [`Ring::send`] asks of it, and is not sealed a second time. Beyond one batch nothing is
//! held for a connection, but what came in the same moment as the end of a handshake, for an owner that does not want to read yet.

use kernel::files::File;
use kernel::{
    Accepted, Address, Closing, Completion, ConnectOptions, Errno, Event, ListenOptions, Ring,
    ServerRing, Token,
};
use std::collections::VecDeque;
use std::io::IoSlice;
use std::os::fd::BorrowedFd;
use units::{Instant, Nanos};
use wire::{Filter, RECORD};

/// Records that are sealed before the first of them is sent.
const BATCH: usize = 4;
/// The most that waits for the socket: a batch, and what the filter has to say to a peer that does not read it.
const WAITING_MOST: usize = 2 * BATCH * RECORD;
/// A record of TLS that no key has sealed (RFC 8446 §5.2).
const UNSEALED: [u8; 5 + 32] = {
    let mut record = [0; 5 + 32];
    (record[0], record[1], record[2], record[4]) = (23, 3, 3, 32);
    record
};
/// What the spare buffer keeps of its size.
const SPARE: usize = (BATCH + 1) * RECORD;

/// A connection's filter, and what waits for the socket or for the owner.
#[derive(Debug)]
struct Link<F> {
    filter: F,
    /// Sealed bytes, of which the socket has taken the first `taken`.
    outbox: Vec<u8>,
    taken: usize,
    /// Bytes of the owner's that are in the outbox, of which it knows the first `told` to be taken.
    sealed: usize,
    told: usize,
    /// What came while the owner did not read.
    kept: Vec<u8>,
    /// The owner waits for `Writable`.
    is_awaited: bool,
    /// The owner does not want to read.
    is_paused: bool,
    /// Nothing more comes.
    is_ended: bool,
    /// The owner was told so.
    is_told: bool,
    /// The connection is dead.
    is_dead: bool,
    /// The sending side ends when the outbox is empty.
    ends: bool,
}

impl<F: Filter> Link<F> {
    fn new(shared: &F::Shared) -> Link<F> {
        Link {
            filter: F::new(shared),
            outbox: Vec::new(),
            taken: 0,
            sealed: 0,
            told: 0,
            kept: Vec::new(),
            is_awaited: false,
            is_paused: false,
            is_ended: false,
            is_told: false,
            is_dead: false,
            ends: false,
        }
    }

    fn waiting(&self) -> usize {
        self.outbox.len() - self.taken
    }

    /// Gives the socket what it takes.
    fn flush<R: Ring>(&mut self, ring: &mut R, token: Token) -> Result<(), Errno> {
        if self.waiting() > 0 {
            let rest = &self.outbox[self.taken..];
            self.taken += ring.send(token, &[IoSlice::new(rest)])?;
        }
        Ok(())
    }

    /// How many bytes of the owner's were taken that it does not know of: the part of the batch that the socket has of the outbox. All are
    /// when the socket has everything.
    fn credit(&self) -> usize {
        let share = match self.outbox.len() {
            0 => self.sealed,
            all => (self.sealed as u64 * self.taken as u64 / all as u64) as usize,
        };
        share.saturating_sub(self.told)
    }

    /// Gives the outbox back when the socket has all of it and the owner knows.
    fn tidy(&mut self, spare: &mut Vec<u8>) {
        if self.waiting() == 0 && self.told == self.sealed {
            (self.taken, self.sealed, self.told) = (0, 0, 0);
            self.outbox.clear();
            if self.outbox.capacity() > 0 {
                *spare = std::mem::take(&mut self.outbox);
                spare.shrink_to(SPARE);
            }
        }
    }

    /// Seals a batch of what the owner offers: `fill` appends so many bytes from a place on.
    fn seal(
        &mut self,
        (from, offered): (usize, usize),
        plain: &mut Vec<u8>,
        fill: &mut impl FnMut(usize, usize, &mut Vec<u8>) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        let end = offered.min(from + BATCH * RECORD);
        let mut at = from;
        while at < end {
            plain.clear();
            fill(at, (end - at).min(RECORD), plain)?;
            let sealed = self.filter.seal(plain, &mut self.outbox);
            sealed.map_err(|_| Errno::EPIPE)?;
            at += plain.len();
            self.sealed += plain.len();
        }
        Ok(())
    }
}

/// A ring whose accepted connections speak through `F`.
#[derive(Debug)]
pub struct Secured<R, F: Filter> {
    ring: R,
    shared: F::Shared,
    /// By token. The table grows by connections, the links themselves are boxed.
    links: Vec<Option<Box<Link<F>>>>,
    /// What the owner is still to be told, before the ring is asked again.
    events: VecDeque<Completion>,
    /// What came last, as the owner reads it; and whose it is, as long as the owner was not told.
    received: Vec<u8>,
    fresh: Option<Token>,
    /// It was kept from an earlier completion.
    is_old: bool,
    /// An empty buffer for the next outbox: of most connections nothing waits.
    spare: Vec<u8>,
    /// What is to be sealed next.
    plain: Vec<u8>,
    /// Connections closed before their handshake was complete.
    unfinished: u64,
}

impl<R: ServerRing, F: Filter> Secured<R, F> {
    /// Connections that `ring` accepts speak through filters made of `shared`.
    pub fn new(ring: R, shared: F::Shared) -> Secured<R, F> {
        Secured {
            ring,
            shared,
            links: Vec::new(),
            events: VecDeque::new(),
            received: Vec::new(),
            fresh: None,
            is_old: false,
            spare: Vec::new(),
            plain: Vec::new(),
            unfinished: 0,
        }
    }

    /// The ring below, which has the sockets: for what has nothing to do with them.
    pub fn socket_ring(&mut self) -> &mut R {
        &mut self.ring
    }

    /// Takes a connection's filter away: from now on what is sent and received is what the socket has, and the connection ends
    /// without a word of the filter's. For servers that test clients.
    pub fn bare(&mut self, token: Token) {
        if let Some(link) = self.links.get_mut(token.0 as usize) {
            *link = None;
        }
        self.events.retain(|told| told.token != token);
        self.fresh = self.fresh.filter(|fresh| *fresh != token);
    }

    /// Has the filter tell the peer that it sent something wrong, which it did not, and so end. For servers that test clients.
    pub fn accuse(&mut self, token: Token) {
        if let Some(link) = link(&mut self.links, token).filter(|link| !link.is_dead) {
            let mut unsealed = UNSEALED;
            let _ = link
                .filter
                .receive(&mut unsealed, &mut link.outbox, &mut |_| Ok(()));
            let _ = link.flush(&mut self.ring, token); // what the socket does not take the peer misses
            link.is_dead = true;
        }
    }

    /// Whether nothing lies between a connection and its socket.
    fn is_bare(&self, token: Token) -> bool {
        let link = self.links.get(token.0 as usize);
        link.is_none_or(Option::is_none)
    }

    /// Sends what it can of `offered` bytes, of which `fill` appends so many from a place on.
    fn send_from(
        &mut self,
        token: Token,
        offered: usize,
        mut fill: impl FnMut(usize, usize, &mut Vec<u8>) -> Result<(), Errno>,
    ) -> Result<usize, Errno> {
        let Some(link) = link(&mut self.links, token).filter(|link| !link.is_dead) else {
            return Err(Errno::EPIPE);
        };
        link.is_awaited = false;
        let mut done = 0;
        loop {
            let credit = link.credit().min(offered - done);
            link.told += credit;
            done += credit;
            link.tidy(&mut self.spare);
            if done == offered {
                return Ok(done);
            }
            if link.waiting() > 0 || !link.filter.is_ready() {
                link.is_awaited = true;
                return Ok(done);
            }
            if link.outbox.capacity() == 0 {
                link.outbox = std::mem::take(&mut self.spare);
            }
            link.seal((done, offered), &mut self.plain, &mut fill)?;
            link.flush(&mut self.ring, token)?;
        }
    }

    /// Something has come from the socket, or its end, or it takes more: tells the owner what there is for it. Nothing else is left to be
    /// told by then.
    fn arrive(&mut self, token: Token, event: Event) {
        let Some(link) = link(&mut self.links, token).filter(|link| !link.is_dead) else {
            return;
        };
        let was_ready = link.filter.is_ready();
        let result = match event {
            Event::Received => {
                let received = &mut self.received;
                received.clear();
                let mut read = |plain: &mut [u8]| {
                    received.extend_from_slice(plain);
                    Ok(())
                };
                let input = self.ring.received();
                let opened = link.filter.receive(input, &mut link.outbox, &mut read);
                let flushed = link.flush(&mut self.ring, token);
                opened.map_err(|_| Errno::EPROTO).and(flushed)
            }
            Event::Failed(errno) => Err(errno),
            _ => link.flush(&mut self.ring, token),
        };
        let is_ready = link.filter.is_ready();
        let failed = match result {
            Ok(()) if link.waiting() > WAITING_MOST => Some(Errno::EPROTO),
            // An owner that has paused it or waits to send would not hear of the end, and nothing else would come.
            Ok(()) if event == Event::Ended && !is_ready => Some(Errno::ECONNRESET),
            result => result.err(),
        };
        if let Some(errno) = failed {
            link.is_dead = true;
            let event = Event::Failed(errno);
            return self.events.push_back(Completion { token, event });
        }
        if is_ready && !was_ready && link.is_paused {
            self.ring.pause(token);
        }
        if link.waiting() == 0 && std::mem::take(&mut link.ends) {
            self.ring.shutdown(token);
        }
        // Each step is told, as a socket would: the owner sees who takes slowly, and who takes nothing.
        let goes_on = is_ready && (link.waiting() == 0 || link.credit() > 0);
        link.tidy(&mut self.spare);
        if goes_on && std::mem::take(&mut link.is_awaited) {
            let event = Event::Writable;
            self.events.push_back(Completion { token, event });
        }
        if event == Event::Received && !self.received.is_empty() {
            self.fresh = Some(token);
        }
        // A peer that has said that nothing more comes may leave the socket open.
        link.is_ended |= event == Event::Ended || link.filter.is_ended();
        self.tell(token);
    }

    /// Tells the owner what there is to be read, and whether that was all, unless it does not read.
    fn tell(&mut self, token: Token) {
        let Some(link) = link(&mut self.links, token) else {
            return;
        };
        let is_fresh = self.fresh == Some(token);
        if link.is_paused {
            if is_fresh {
                self.fresh = None;
                link.kept.append(&mut self.received);
            }
            return;
        }
        let mut tell = |event| self.events.push_back(Completion { token, event });
        if is_fresh || !link.kept.is_empty() {
            tell(Event::Received);
        }
        if link.is_ended && !std::mem::replace(&mut link.is_told, true) {
            tell(Event::Ended);
        }
    }

    /// Whether the owner is to hear of it now: it may have paused the connection meanwhile.
    fn is_due(&mut self, Completion { token, event }: Completion) -> bool {
        let Some(link) = link(&mut self.links, token) else {
            return true;
        };
        match event {
            Event::Received if link.is_paused => {
                self.tell(token);
                false
            }
            Event::Received if self.fresh == Some(token) => {
                self.fresh = None;
                self.is_old = false;
                true
            }
            Event::Received => {
                std::mem::swap(&mut self.received, &mut link.kept);
                link.kept = Vec::new();
                self.is_old = true;
                !self.received.is_empty()
            }
            Event::Ended if link.is_paused => {
                link.is_told = false;
                false
            }
            _ => true,
        }
    }
}

/// The link of a connection.
fn link<F>(links: &mut [Option<Box<Link<F>>>], token: Token) -> Option<&mut Box<Link<F>>> {
    links.get_mut(token.0 as usize)?.as_mut()
}

impl<R: ServerRing, F: Filter> Ring for Secured<R, F> {
    fn now(&self) -> Instant {
        self.ring.now()
    }

    fn is_virtual(&self) -> bool {
        self.ring.is_virtual()
    }

    fn connect(
        &mut self,
        token: Token,
        to: &Address,
        options: &ConnectOptions,
    ) -> Result<(), Errno> {
        self.ring.connect(token, to, options)
    }

    fn send(&mut self, token: Token, slices: &[IoSlice<'_>]) -> Result<usize, Errno> {
        if self.is_bare(token) {
            return self.ring.send(token, slices);
        }
        let offered = slices.iter().map(|slice| slice.len()).sum();
        self.send_from(token, offered, |at, length, plain| {
            let mut skip = at;
            for slice in slices {
                let part = &slice[skip.min(slice.len())..];
                skip = skip.saturating_sub(slice.len());
                plain.extend_from_slice(&part[..part.len().min(length - plain.len())]);
            }
            Ok(())
        })
    }

    fn shutdown(&mut self, token: Token) {
        if let Some(link) = link(&mut self.links, token).filter(|link| !link.is_dead) {
            link.filter.close(&mut link.outbox);
            let flushed = link.flush(&mut self.ring, token);
            if flushed.is_ok() && link.waiting() > 0 {
                link.ends = true;
                return;
            }
        }
        self.ring.shutdown(token);
    }

    fn close(&mut self, token: Token, how: Closing) {
        let link = self.links.get_mut(token.0 as usize);
        if let Some(mut link) = link.and_then(Option::take) {
            self.unfinished += u64::from(!link.filter.is_ready());
            if how == Closing::Orderly && !link.is_dead && link.filter.is_ready() {
                link.filter.close(&mut link.outbox);
                // What the socket does not take now the peer misses: everything that it asked for it has.
                let _ = link.flush(&mut self.ring, token);
            }
            self.events.retain(|told| told.token != token);
            self.fresh = self.fresh.filter(|fresh| *fresh != token);
        }
        self.ring.close(token, how);
    }

    fn wait(&mut self, timeout: Option<Nanos>) {
        let timeout = match self.events.is_empty() {
            true => timeout,
            false => Some(Nanos::ZERO),
        };
        self.ring.wait(timeout);
    }

    fn next(&mut self) -> Option<Completion> {
        loop {
            while let Some(told) = self.events.pop_front() {
                if self.is_due(told) {
                    return Some(told);
                }
            }
            let Completion { token, event } = self.ring.next()?;
            match event {
                Event::Incoming | Event::Connected => return Some(Completion { token, event }),
                _ if self.is_bare(token) => {
                    self.received.clear();
                    if event == Event::Received {
                        self.received.extend_from_slice(self.ring.received());
                    }
                    return Some(Completion { token, event });
                }
                _ => self.arrive(token, event),
            }
        }
    }

    fn received(&mut self) -> &mut [u8] {
        &mut self.received
    }
}

impl<R: ServerRing, F: Filter> ServerRing for Secured<R, F> {
    const HAS_LAST_WORD: bool = true;

    fn listen(
        &mut self,
        token: Token,
        at: &Address,
        options: &ListenOptions,
    ) -> Result<Address, Errno> {
        self.ring.listen(token, at, options)
    }

    fn accept(&mut self, listener: Token, token: Token) -> Result<Option<Accepted>, Errno> {
        let accepted = self.ring.accept(listener, token)?;
        if accepted.is_some() {
            let index = token.0 as usize;
            if index >= self.links.len() {
                self.links.resize_with(index + 1, || None);
            }
            let mut link: Link<F> = Link::new(&self.shared);
            if link.filter.begin(&mut link.outbox).is_err() {
                link.is_dead = true;
                let event = Event::Failed(Errno::EPROTO);
                self.events.push_back(Completion { token, event });
            }
            self.links[index] = Some(Box::new(link));
        }
        Ok(accepted)
    }

    fn send_file(
        &mut self,
        token: Token,
        file: &File,
        offset: u64,
        count: usize,
    ) -> Result<usize, Errno> {
        self.send_from(token, count, |at, length, plain| {
            plain.resize(length, 0);
            let mut filled = 0;
            while filled < length {
                let read = file.read_at(offset + (at + filled) as u64, &mut plain[filled..])?;
                if read == 0 {
                    return Err(Errno::ENODATA);
                }
                filled += read;
            }
            Ok(())
        })
    }

    /// What waits here was not told as taken.
    fn unacknowledged(&self, token: Token) -> usize {
        self.ring.unacknowledged(token)
    }

    fn widen(&mut self, token: Token) {
        self.ring.widen(token);
    }

    /// During its handshake a connection is read on: what the peer says is for the filter.
    fn pause(&mut self, token: Token) {
        match link(&mut self.links, token) {
            Some(link) if !link.filter.is_ready() => link.is_paused = true,
            Some(link) => {
                link.is_paused = true;
                self.ring.pause(token);
            }
            None => self.ring.pause(token),
        }
    }

    fn resume(&mut self, token: Token) {
        if let Some(link) = link(&mut self.links, token)
            && std::mem::take(&mut link.is_paused)
        {
            self.tell(token);
        }
        self.ring.resume(token);
    }

    fn received_at(&self) -> Option<Instant> {
        self.ring.received_at().filter(|_| !self.is_old)
    }

    fn is_amid(&self, token: Token) -> bool {
        let link = self.links.get(token.0 as usize).and_then(Option::as_ref);
        link.is_some_and(|link| !link.is_dead && link.filter.is_amid())
    }

    fn is_spent(&self, token: Token) -> bool {
        let link = self.links.get(token.0 as usize).and_then(Option::as_ref);
        link.is_some_and(|link| link.filter.is_spent())
    }

    fn unfinished_handshakes(&self) -> u64 {
        self.unfinished
    }

    fn listeners(&self) -> Vec<BorrowedFd<'_>> {
        self.ring.listeners()
    }
}
