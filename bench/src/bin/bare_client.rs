//! The least that an HTTP load generator can do: `bare_client ADDR:PORT -c CONNECTIONS -n EXCHANGES [--close]`.
//!
//! For each exchange one send and one recv, for each batch one epoll_wait, and nothing else: the request is built
//! beforehand, what comes is neither parsed nor stamped nor counted beyond "something came". So it is only right
//! against a server whose whole response fits one segment, such as `bare_responder`. What it costs is the kernel's
//! part of an exchange, which no generator on this interface can avoid.
//!
//! With `--close` each exchange has its own connection: socket, connect, epoll_ctl, send, recv, close.
//!
//! Arguments are read by hand, because an argument parser would be a tenth of what this program is.

use bench::{BROKEN, EDGE, Epoll, IN, OUT};
use std::net::SocketAddrV4;
use std::os::fd::RawFd;
use std::process::ExitCode;

const BUFFER: usize = 64 * 1024;

const USAGE: &str = "usage: bare_client ADDR:PORT -c CONNECTIONS -n EXCHANGES [--close]";

struct Ask {
    to: SocketAddrV4,
    connections: u64,
    exchanges: u64,
    close: bool,
}

impl Ask {
    fn read(mut arguments: impl Iterator<Item = String>) -> Option<Ask> {
        let to = arguments.next()?.parse().ok()?;
        let (mut connections, mut exchanges, mut close) = (None, None, false);
        while let Some(word) = arguments.next() {
            match word.as_str() {
                "-c" => connections = arguments.next()?.parse().ok(),
                "-n" => exchanges = arguments.next()?.parse().ok(),
                "--close" => close = true,
                _ => return None,
            }
        }
        let (connections, exchanges): (u64, u64) = (connections?, exchanges?);
        (connections > 0 && exchanges > 0).then_some(Ask {
            to,
            connections: exchanges.min(connections),
            exchanges,
            close,
        })
    }

    fn request(&self) -> Vec<u8> {
        let connection = if self.close {
            "Connection: close\r\n"
        } else {
            ""
        };
        // As long as weigh's, so that the kernel has as much to carry.
        let agent = "User-Agent: bare-client\r\nAccept: */*";
        format!(
            "GET / HTTP/1.1\r\nHost: {}\r\n{agent}\r\n{connection}\r\n",
            self.to
        )
        .into_bytes()
    }
}

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
        for fd in self.connect_all(ask.connections)? {
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

    /// Connections that are up.
    fn connect_all(&mut self, connections: u64) -> std::io::Result<Vec<RawFd>> {
        let mut epoll = Epoll::new()?;
        (0..connections)
            .map(|name| {
                let fd = bench::connect(self.to)?;
                epoll.add(fd, name, OUT | EDGE)?;
                epoll.wait()?;
                Ok(fd)
            })
            .collect()
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

fn main() -> ExitCode {
    let Some(ask) = Ask::read(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let carried_out = Client::new(&ask).and_then(|mut client| match ask.close {
        false => client.keep(&ask),
        true => client.close(&ask),
    });
    if let Err(error) = carried_out {
        eprintln!("bare_client: {error}");
        return ExitCode::FAILURE;
    }
    let (user, system) = bench::processor_time();
    println!(
        "{} exchanges, {} us user, {} us system",
        ask.exchanges,
        user.as_micros(),
        system.as_micros()
    );
    ExitCode::SUCCESS
}
