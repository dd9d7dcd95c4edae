//! Requests as fast as responses come.
//!
//! It is bare: a response is over when something has come, or, where its size is given, when as many bytes have come as it
//! is known to have: servers send a response in one piece or in several, and respond to requests that were sent together
//! in as many pieces as they like. Not parsing is safe, because a response that is not the known one shows: its first
//! bytes are another status's, or more comes than is expected, or it never ends (the caller of this program bounds its
//! time).
//!
//! Requests that are sent together are answered together before the next are sent, as other tools do it.

use super::ask::{Ask, Hold, Size};
use super::{BUFFER, connect_all};
use bench::{BROKEN, EDGE, Epoll, IN, OUT};
use std::io::{BufRead, ErrorKind};
use std::net::SocketAddrV4;
use std::os::fd::RawFd;
use std::time::Instant;

/// The beginning of every response.
const OK: &[u8] = b"HTTP/1.1 200";

pub struct Client {
    to: SocketAddrV4,
    size: Option<Size>,
    /// Requests that are sent at once.
    depth: u64,
    epoll: Epoll,
    /// As many requests as are sent at once.
    requests: Vec<u8>,
    buffer: Vec<u8>,
}

/// One connection.
#[derive(Clone, Default)]
struct Slot {
    fd: RawFd,
    /// Requests that are being answered.
    batch: u64,
    /// Bytes of their responses that are still to come.
    due: usize,
    /// Some of them have come.
    begun: bool,
}

impl Client {
    pub fn new(ask: &Ask) -> std::io::Result<Client> {
        let depth = ask.sized.map_or(1, |size| size.depth);
        Ok(Client {
            to: ask.to,
            size: ask.sized,
            depth,
            epoll: Epoll::new()?,
            requests: ask.request().repeat(depth as usize),
            buffer: vec![0; BUFFER],
        })
    }

    /// Sends requests on connections that stay. Returns when the first of them began: by then all connections were up.
    pub fn keep(&mut self, ask: &Ask) -> std::io::Result<Instant> {
        let mut slots = self.connect(ask.connections)?;
        let start = Instant::now();
        let (mut begun, mut done) = (0, 0);
        for slot in &mut slots {
            begun += self.send(slot, ask.exchanges - begun)?;
        }
        let hold_at = self.size.and_then(|size| size.hold);
        if hold_at == Some(Hold::Body) {
            self.first_bytes(&mut slots)?;
            hold()?;
            return Ok(start);
        }
        while done < ask.exchanges {
            for index in 0..self.epoll.wait()? {
                let slot = &mut slots[self.epoll.event(index).0 as usize];
                if self.receive(slot)? {
                    done += slot.batch;
                    begun += self.send(slot, ask.exchanges - begun)?;
                }
            }
        }
        if hold_at.is_some() {
            hold()?;
        }
        Ok(start)
    }

    fn connect(&mut self, connections: u64) -> std::io::Result<Vec<Slot>> {
        let mut slots = Vec::with_capacity(connections as usize);
        for (name, fd) in connect_all(self.to, connections)?.into_iter().enumerate() {
            self.epoll.add(fd, name as u64, IN | EDGE)?;
            slots.push(Slot {
                fd,
                ..Slot::default()
            });
        }
        Ok(slots)
    }

    /// Sends requests that each have a connection of their own. Returns when the first of them began.
    pub fn close(&mut self, ask: &Ask) -> std::io::Result<Instant> {
        let start = Instant::now();
        let mut slots = vec![Slot::default(); ask.connections as usize];
        for (name, slot) in slots.iter_mut().enumerate() {
            *slot = self.open(name)?;
        }
        let (mut begun, mut done) = (ask.connections, 0);
        while done < ask.exchanges {
            for index in 0..self.epoll.wait()? {
                let (name, flags) = self.epoll.event(index);
                let slot = &mut slots[name as usize];
                assert!(flags & BROKEN == 0, "a connection broke");
                if slot.batch == 0 && flags & OUT != 0 {
                    self.send(slot, 1)?;
                } else if flags & IN != 0 && self.receive(slot)? {
                    bench::close(slot.fd);
                    *slot = Slot::default();
                    done += 1;
                    if begun < ask.exchanges {
                        *slot = self.open(name as usize)?;
                        begun += 1;
                    }
                }
            }
        }
        Ok(start)
    }

    fn open(&mut self, name: usize) -> std::io::Result<Slot> {
        let fd = bench::connect(self.to)?;
        self.epoll.add(fd, name as u64, IN | OUT | EDGE)?;
        Ok(Slot {
            fd,
            ..Slot::default()
        })
    }

    /// Sends the next requests, at most as many as are `left`, and returns how many.
    #[inline]
    fn send(&self, slot: &mut Slot, left: u64) -> std::io::Result<u64> {
        let batch = left.min(self.depth);
        if batch > 0 {
            let each = self.requests.len() / self.depth as usize;
            let requests = &self.requests[..each * batch as usize];
            let sent = bench::send(slot.fd, requests)?;
            assert!(sent == requests.len(), "a send fell short");
        }
        *slot = Slot {
            fd: slot.fd,
            batch,
            due: self.size.map_or(0, |size| size.response * batch as usize),
            begun: false,
        };
        Ok(batch)
    }

    /// Receives what has come, and returns whether that was the last of what was expected.
    #[inline]
    fn receive(&mut self, slot: &mut Slot) -> std::io::Result<bool> {
        let Some(size) = self.size else {
            let received = bench::receive(slot.fd, &mut self.buffer)?;
            assert!(received > 0, "the server closed a connection");
            return Ok(true);
        };
        loop {
            let drop = size.drop && slot.begun;
            let room = if drop { slot.due } else { self.buffer.len() };
            let received = match drop {
                true => bench::discard(slot.fd, room),
                false => bench::receive(slot.fd, &mut self.buffer),
            };
            let received = match received {
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                received => received?,
            };
            assert!(received > 0, "the server closed a connection");
            assert!(received <= slot.due, "more has come than the response");
            if !slot.begun {
                assert!(self.buffer[..received].starts_with(OK), "not a 200");
                slot.begun = true;
            }
            slot.due -= received;
            // A short read has taken all there was, and the next arrival is an event of its own.
            if slot.due == 0 || received < room {
                return Ok(slot.due == 0);
            }
        }
    }

    /// Takes a few bytes of each connection's response.
    fn first_bytes(&mut self, slots: &mut [Slot]) -> std::io::Result<()> {
        let mut left = slots.len();
        while left > 0 {
            for index in 0..self.epoll.wait()? {
                let slot = &mut slots[self.epoll.event(index).0 as usize];
                if !slot.begun {
                    let received = bench::receive(slot.fd, &mut self.buffer[..OK.len()])?;
                    assert!(self.buffer[..received] == *OK, "not a 200");
                    slot.begun = true;
                    left -= 1;
                }
            }
        }
        Ok(())
    }
}

/// Longest hold in seconds: the caller may be gone and have left the pipe to another process.
const HOLD_MAX: u32 = 300;

/// Prints that all connections are held, and waits until the caller closes standard input.
fn hold() -> std::io::Result<()> {
    bench::end_after(HOLD_MAX);
    println!("held");
    std::io::stdin().lock().read_line(&mut String::new())?;
    Ok(())
}
