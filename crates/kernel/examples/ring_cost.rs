//! What an exchange costs on io_uring, as a multiple of what it costs on epoll, against a server that is there already:
//! `ring_cost ADDR:PORT [-c CONNECTIONS] [-n EXCHANGES] [--pairs N] [--cpu N]`.
//!
//! The two rings take turns within one process, each time with new connections; only ratios within a pair are told,
//! because what else runs on a machine changes from one second to the next. Responses are recognised by their length,
//! which the first one tells: all must be as long, as those of `bare_responder` are.
//!
//! CPU time is the process's, so that what the kernel does for io_uring in threads of its own is part of it.

use kernel::accounts::process_cpu;
use kernel::{Address, Closing, ConnectOptions, Epoll, Errno, Event, Ring, Token, Uring};
use std::io::IoSlice;
use std::process::ExitCode;

const USAGE: &str =
    "usage: ring_cost ADDR:PORT [-c CONNECTIONS] [-n EXCHANGES] [--pairs N] [--cpu N]";

struct Ask {
    to: Address,
    connections: u32,
    exchanges: u64,
    pairs: usize,
    cpu: Option<u32>,
}

impl Ask {
    fn read(mut arguments: impl Iterator<Item = String>) -> Option<Ask> {
        let mut ask = Ask {
            to: arguments.next()?.parse().ok()?,
            connections: 100,
            exchanges: 100_000,
            pairs: 9,
            cpu: None,
        };
        while let Some(word) = arguments.next() {
            let value = arguments.next()?;
            match word.as_str() {
                "-c" => ask.connections = value.parse().ok()?,
                "-n" => ask.exchanges = value.parse().ok()?,
                "--pairs" => ask.pairs = value.parse().ok()?,
                "--cpu" => ask.cpu = Some(value.parse().ok()?),
                _ => return None,
            }
        }
        (ask.connections > 0 && ask.pairs > 0).then_some(ask)
    }
}

/// A load as simple as can be: every connection asks again as soon as it is answered.
struct Load<R> {
    ring: R,
    request: Vec<u8>,
    /// Bytes of a response that have come, by token.
    got: Vec<usize>,
    /// Of a whole response; zero until the first has told it.
    length: usize,
}

impl<R: Ring> Load<R> {
    /// Connections that are up, and have asked for the first time.
    fn new(mut ring: R, ask: &Ask) -> Result<Load<R>, Errno> {
        for index in 0..ask.connections {
            ring.connect(Token(index), &ask.to, &ConnectOptions::default())?;
        }
        let request = format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", ask.to).into_bytes();
        let mut load = Load {
            ring,
            request,
            got: vec![0; ask.connections as usize],
            length: 0,
        };
        let mut connected = 0;
        while connected < ask.connections {
            load.ring.wait(None);
            while let Some(completion) = load.ring.next() {
                assert_eq!(completion.event, Event::Connected);
                load.send(completion.token)?;
                connected += 1;
                if connected == ask.connections {
                    break;
                }
            }
        }
        Ok(load)
    }

    fn send(&mut self, token: Token) -> Result<(), Errno> {
        let taken = self.ring.send(token, &[IoSlice::new(&self.request)])?;
        assert_eq!(taken, self.request.len(), "a send fell short");
        Ok(())
    }

    /// Some exchanges, and each answered connection asks again.
    fn run(&mut self, exchanges: u64) -> Result<(), Errno> {
        let mut done = 0;
        while done < exchanges {
            self.ring.wait(None);
            while let Some(completion) = self.ring.next() {
                if self.receive(completion)? {
                    done += 1;
                    self.send(completion.token)?;
                }
            }
        }
        Ok(())
    }

    /// Whether a response is complete now.
    fn receive(&mut self, completion: kernel::Completion) -> Result<bool, Errno> {
        assert_eq!(completion.event, Event::Received);
        let bytes = self.ring.received();
        if self.length == 0 {
            self.length = whole(bytes).ok_or(Errno::EPROTO)?;
        }
        let got = &mut self.got[completion.token.0 as usize];
        *got += bytes.len();
        assert!(*got <= self.length, "responses are not alike");
        let complete = *got == self.length;
        if complete {
            *got = 0;
        }
        Ok(complete)
    }

    fn close(mut self) {
        for index in 0..self.got.len() {
            self.ring.close(Token(index as u32), Closing::Reset);
        }
    }
}

/// How long the response is that begins so.
fn whole(begin: &[u8]) -> Option<usize> {
    let head = begin.windows(4).position(|it| it == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&begin[..head]).ok()?;
    let body = text
        .lines()
        .find_map(|line| line.strip_prefix("Content-Length: "))?;
    Some(head + body.parse::<usize>().ok()?)
}

/// CPU nanoseconds per exchange, after a tenth as many that do not count.
fn cost<R: Ring>(ring: R, ask: &Ask) -> Result<f64, Errno> {
    let mut load = Load::new(ring, ask)?;
    load.run(ask.exchanges / 10)?;
    let before = cpu()?;
    load.run(ask.exchanges)?;
    let spent = cpu()? - before;
    load.close();
    Ok(spent / ask.exchanges as f64)
}

fn cpu() -> Result<f64, Errno> {
    let spent = process_cpu(std::process::id()).ok_or(Errno::ESRCH)?;
    Ok(spent.as_nanos() as f64)
}

/// Value at `share` of the sorted `values`.
fn quantile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * share).round() as usize]
}

fn compare(ask: &Ask) -> Result<(), Errno> {
    if let Some(cpu) = ask.cpu {
        kernel::affinity::pin(cpu)?;
    }
    let (mut epoll, mut uring) = (Vec::new(), Vec::new());
    for pair in 0..ask.pairs {
        // Who is first changes, so that a drift favours nobody.
        if pair % 2 == 0 {
            epoll.push(cost(Epoll::new()?, ask)?);
            uring.push(cost(Uring::new()?, ask)?);
        } else {
            uring.push(cost(Uring::new()?, ask)?);
            epoll.push(cost(Epoll::new()?, ask)?);
        }
    }
    let mut ratios: Vec<f64> = uring.iter().zip(&epoll).map(|(u, e)| u / e).collect();
    println!(
        "{:4} connections: io_uring/epoll {:.3} (quartiles {:.3} to {:.3}, all {:.3} to {:.3}); medians {:.2} and {:.2} us",
        ask.connections,
        quantile(&mut ratios, 0.5),
        quantile(&mut ratios, 0.25),
        quantile(&mut ratios, 0.75),
        quantile(&mut ratios, 0.0),
        quantile(&mut ratios, 1.0),
        quantile(&mut uring, 0.5) / 1000.0,
        quantile(&mut epoll, 0.5) / 1000.0,
    );
    Ok(())
}

fn main() -> ExitCode {
    let Some(ask) = Ask::read(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match compare(&ask) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ring_cost: {error}");
            ExitCode::FAILURE
        }
    }
}
