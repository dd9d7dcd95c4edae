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
//! like: see `client`.
//!
//! With `--rate R` exchanges are due at an even rate, and what it prints is how long they took since then: see `paced`.
//!
//! Arguments are read by hand, because an argument parser would be a tenth of what this program is.

mod ask;
mod client;
mod paced;

use ask::{Ask, USAGE};
use bench::{EDGE, Epoll, OUT};
use client::Client;
use paced::PacedClient;
use std::net::SocketAddrV4;
use std::os::fd::RawFd;
use std::process::ExitCode;
use std::time::Instant;

const BUFFER: usize = 64 * 1024;

/// Connections that are up.
fn connect_all(to: SocketAddrV4, connections: u64) -> std::io::Result<Vec<RawFd>> {
    let mut epoll = Epoll::new()?;
    let connect = |name| {
        let fd = bench::connect(to)?;
        epoll.add(fd, name, OUT | EDGE)?;
        epoll.wait()?;
        Ok(fd)
    };
    (0..connections).map(connect).collect()
}

/// Carries it out, and returns when the requests began.
fn carry_out(ask: &Ask) -> std::io::Result<Instant> {
    match (ask.paced, ask.close) {
        (Some(rate), _) => PacedClient::new(ask, rate)?.keep(ask),
        (None, false) => Client::new(ask)?.keep(ask),
        (None, true) => Client::new(ask)?.close(ask),
    }
}

fn main() -> ExitCode {
    let Some(ask) = Ask::read(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match carry_out(&ask) {
        Ok(begun) => {
            let (user, system) = bench::processor_time();
            let times = [user, system, begun.elapsed()].map(|time| time.as_micros());
            let ([user, system, wall], exchanges) = (times, ask.exchanges);
            println!("{exchanges} exchanges, {user} us user, {system} us system, {wall} us wall");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("bare_client: {error}");
            ExitCode::FAILURE
        }
    }
}
