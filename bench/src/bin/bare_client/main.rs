//! The least that an HTTP load generator can do: `bare_client ADDR:PORT -c CONNECTIONS -n EXCHANGES [--close]`.
//!
//! For each exchange one send and one recv, for each batch one epoll_wait, and nothing else: the request is built
//! beforehand, what comes is neither parsed nor stamped nor counted beyond "something came". So it is only right
//! against a server whose whole response fits one segment, such as `bare_responder`. What it costs is the kernel's
//! part of an exchange, which no generator on this interface can avoid.
//!
//! With `--close` each exchange has its own connection: socket, connect, epoll_ctl, send, recv, close.
//!
//! With `--size BYTES` it is a client for servers that are measured, whose responses come in as many pieces as they
//! like: see `counting`.
//!
//! With `--rate R` exchanges are due at an even rate, and what it prints is how long they took since then: see `paced`.
//!
//! Arguments are read by hand, because an argument parser would be a tenth of what this program is.

mod ask;
mod counting;
mod paced;

use ask::{Ask, USAGE};
use bench::{BROKEN, EDGE, Epoll, IN, OUT};
use counting::CountingClient;
use paced::PacedClient;
use std::net::SocketAddrV4;
use std::os::fd::RawFd;
use std::process::ExitCode;
use std::time::Instant;

const BUFFER: usize = 64 * 1024;

struct Client {
    to: SocketAddrV4,
    epoll: Epoll,
    request: Vec<u8>,
    buffer: Vec<u8>,
}

impl Client {
    fn new(ask: &Ask) -> std::io::Result<Client> {
        Ok(Client {
            to: ask.to,
            epoll: Epoll::new()?,
            request: ask.request(),
            buffer: vec![0; BUFFER],
        })
    }

    /// Exchanges on connections that stay.
    fn keep(&mut self, ask: &Ask) -> std::io::Result<()> {
        for fd in connect_all(self.to, ask.connections)? {
            self.epoll.add(fd, fd as u64, IN | EDGE)?;
            self.send(fd)?;
        }
        let (mut begun, mut done) = (ask.connections, 0);
        while done < ask.exchanges {
            for index in 0..self.epoll.wait()? {
                let fd = self.epoll.event(index).0 as RawFd;
                self.receive(fd)?;
                done += 1;
                if begun < ask.exchanges {
                    self.send(fd)?;
                    begun += 1;
                }
            }
        }
        Ok(())
    }

    /// Exchanges that each have a connection of their own.
    fn close(&mut self, ask: &Ask) -> std::io::Result<()> {
        // A descriptor, and whether the request has been sent on it.
        let mut slots = vec![(-1, false); ask.connections as usize];
        for (name, slot) in slots.iter_mut().enumerate() {
            *slot = self.open(name)?;
        }
        let (mut begun, mut done) = (ask.connections, 0);
        while done < ask.exchanges {
            for index in 0..self.epoll.wait()? {
                let (name, flags) = self.epoll.event(index);
                let name = name as usize;
                let (fd, sent) = slots[name];
                assert!(flags & BROKEN == 0, "a connection broke");
                if !sent && flags & OUT != 0 {
                    self.send(fd)?;
                    slots[name].1 = true;
                } else if sent && flags & IN != 0 {
                    self.receive(fd)?;
                    bench::close(fd);
                    done += 1;
                    slots[name] = (-1, false);
                    if begun < ask.exchanges {
                        slots[name] = self.open(name)?;
                        begun += 1;
                    }
                }
            }
        }
        Ok(())
    }

    fn open(&mut self, name: usize) -> std::io::Result<(RawFd, bool)> {
        let fd = bench::connect(self.to)?;
        self.epoll.add(fd, name as u64, IN | OUT | EDGE)?;
        Ok((fd, false))
    }

    #[inline]
    fn send(&mut self, fd: RawFd) -> std::io::Result<()> {
        let sent = bench::send(fd, &self.request)?;
        assert!(sent == self.request.len(), "a send fell short");
        Ok(())
    }

    #[inline]
    fn receive(&mut self, fd: RawFd) -> std::io::Result<()> {
        let received = bench::receive(fd, &mut self.buffer)?;
        assert!(received > 0, "the server closed a connection");
        Ok(())
    }
}

/// Connections that are up.
fn connect_all(to: SocketAddrV4, connections: u64) -> std::io::Result<Vec<RawFd>> {
    let mut epoll = Epoll::new()?;
    (0..connections)
        .map(|name| {
            let fd = bench::connect(to)?;
            epoll.add(fd, name, OUT | EDGE)?;
            epoll.wait()?;
            Ok(fd)
        })
        .collect()
}

/// Carries it out, and says when the exchanges began.
fn carry_out(ask: &Ask) -> std::io::Result<Instant> {
    let start = Instant::now();
    if let Some(rate) = ask.paced {
        return PacedClient::new(ask, rate)?.keep(ask);
    }
    match (ask.sized, ask.close) {
        (Some(size), false) => CountingClient::new(ask, size)?.keep(ask),
        (Some(size), true) => CountingClient::new(ask, size)?.close(ask),
        (None, false) => Client::new(ask)?.keep(ask).map(|()| start),
        (None, true) => Client::new(ask)?.close(ask).map(|()| start),
    }
}

fn main() -> ExitCode {
    let Some(ask) = Ask::read(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let begun = match carry_out(&ask) {
        Ok(begun) => begun,
        Err(error) => {
            eprintln!("bare_client: {error}");
            return ExitCode::FAILURE;
        }
    };
    let (user, system) = bench::processor_time();
    println!(
        "{} exchanges, {} us user, {} us system, {} us wall",
        ask.exchanges,
        user.as_micros(),
        system.as_micros(),
        begun.elapsed().as_micros()
    );
    ExitCode::SUCCESS
}
