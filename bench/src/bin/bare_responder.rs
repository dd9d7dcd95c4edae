//! The least that an HTTP server can do: `bare_responder ADDR:PORT [--body BYTES] [--close] [--cpu N]`.
//!
//! One thread; every connection is registered once, edge-triggered; for each readiness one recv and one send of the
//! same bytes. Of what comes only the last four bytes are looked at: a request ends with an empty line, and none of the
//! clients that it is for has more than one under way. With `--close` a connection is closed after its response.
//!
//! It prints where it listens, and ends with the process that started it.

use bench::{EDGE, Epoll, IN};
use std::net::SocketAddr;
use std::os::fd::RawFd;
use std::process::ExitCode;

const BUFFER: usize = 64 * 1024;

/// Names the listener in events; connections are named by their descriptors.
const DOOR: u64 = u64::MAX;

const USAGE: &str = "usage: bare_responder ADDR:PORT [--body BYTES] [--close] [--cpu N]";

/// The largest body: whatever is larger would not go out with one send.
const BODY_MAX: usize = 64 * 1024;

struct Ask {
    at: SocketAddr,
    body: usize,
    close: bool,
    cpu: Option<usize>,
}

impl Ask {
    fn read(mut arguments: impl Iterator<Item = String>) -> Option<Ask> {
        let at = arguments.next()?.parse().ok()?;
        let (mut body, mut close, mut cpu) = (100, false, None);
        while let Some(word) = arguments.next() {
            match word.as_str() {
                "--body" => body = arguments.next()?.parse().ok()?,
                "--close" => close = true,
                "--cpu" => cpu = Some(arguments.next()?.parse().ok()?),
                _ => return None,
            }
        }
        let ask = Ask {
            at,
            body,
            close,
            cpu,
        };
        (body <= BODY_MAX).then_some(ask)
    }

    /// `Connection: keep-alive` is for clients that speak HTTP/1.0, and goes to all, so that all get the same bytes.
    fn response(&self) -> Vec<u8> {
        let connection = if self.close { "close" } else { "keep-alive" };
        let length = self.body;
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: {connection}\r\n\r\n"
        );
        [head.into_bytes(), vec![b'x'; length]].concat()
    }
}

fn serve(ask: &Ask) -> std::io::Result<()> {
    if let Some(cpu) = ask.cpu {
        bench::pin(cpu)?;
    }
    let (listener, at) = bench::listen(ask.at)?;
    let (response, mut buffer) = (ask.response(), vec![0; BUFFER]);
    let mut epoll = Epoll::new()?;
    epoll.add(listener, DOOR, IN)?;
    println!("{at}");
    loop {
        for index in 0..epoll.wait()? {
            let name = epoll.event(index).0;
            if name == DOOR {
                while let Some(fd) = bench::accept(listener)? {
                    epoll.add(fd, fd as u64, IN | EDGE)?;
                }
                continue;
            }
            let fd = name as RawFd;
            let received = bench::receive(fd, &mut buffer).unwrap_or(0);
            let is_whole = buffer[..received].ends_with(b"\r\n\r\n");
            // A client that has gone is noticed by the next receive.
            let is_last = is_whole && (bench::send(fd, &response).is_err() || ask.close);
            if received == 0 || is_last {
                bench::close(fd);
            }
        }
    }
}

fn main() -> ExitCode {
    bench::end_with_parent();
    let Some(ask) = Ask::read(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match serve(&ask) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bare_responder: {error}");
            ExitCode::FAILURE
        }
    }
}
