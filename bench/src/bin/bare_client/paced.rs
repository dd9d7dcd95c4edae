//! Exchanges that are due at an even rate, each timed from when it was due: the floor under what an open loop measures.
//!
//! As bare as the other halves: one send and one recv for each exchange, one wait for each batch, and a clock reading for
//! each send's wait and each receive, because without those there is nothing to print. The connection that was used last
//! is used next. What the kernel wakes too late, and what the loop itself takes, is in the figures: that is the point.
//!
//! Asleep it waits as exactly as Linux lets it (nanoseconds, no slack); awake it asks the kernel again and again.

use super::ask::{Ask, Rate};
use super::{BUFFER, connect_all};
use bench::{EDGE, Epoll, IN};
use std::os::fd::RawFd;
use std::time::{Duration, Instant};

/// Until the first exchange is due, when all connections are up: so much that the loop is there before.
const LEAD: Duration = Duration::from_millis(1);
/// The longest wait with exchanges under way: a client that waits longer than this has lost its server.
const PATIENCE: Duration = Duration::from_secs(10);

pub struct PacedClient {
    rate: Rate,
    epoll: Epoll,
    request: Vec<u8>,
    buffer: Vec<u8>,
    /// Connections that nothing is under way on.
    idle: Vec<RawFd>,
    /// What is under way on each descriptor was due then, since the start.
    dues: Vec<Duration>,
    /// How long exchanges took since they were due.
    took: Vec<Duration>,
}

impl PacedClient {
    pub fn new(ask: &Ask, rate: Rate) -> std::io::Result<PacedClient> {
        let mut epoll = Epoll::new()?;
        let idle = connect_all(ask.to, ask.connections)?;
        for fd in &idle {
            epoll.add(*fd, *fd as u64, IN | EDGE)?;
        }
        let last = idle.iter().max().map_or(0, |fd| *fd as usize);
        Ok(PacedClient {
            rate,
            epoll,
            request: ask.request(),
            buffer: vec![0; BUFFER],
            idle,
            dues: vec![Duration::ZERO; last + 1],
            took: Vec::with_capacity(ask.exchanges as usize),
        })
    }

    /// Carries it out and prints what it took. Says when the first exchange was due.
    pub fn keep(&mut self, ask: &Ask) -> std::io::Result<Instant> {
        bench::tighten_waits();
        let start = Instant::now() + LEAD;
        let mut begun = 0;
        while (self.took.len() as u64) < ask.exchanges {
            let next = self.begin(ask, &mut begun, start)?;
            let wait = match self.rate.spin {
                true => Duration::ZERO,
                false => next.saturating_sub(since(start)),
            };
            for index in 0..self.epoll.wait_for(wait)? {
                let fd = self.epoll.event(index).0 as RawFd;
                let received = bench::receive(fd, &mut self.buffer)?;
                let at = since(start);
                assert!(received > 0, "the server closed a connection");
                self.took.push(at - self.dues[fd as usize]);
                self.idle.push(fd);
                self.begin(ask, &mut begun, start)?;
            }
        }
        self.show();
        Ok(start)
    }

    /// Begins what is due, as far as there are connections for it. Says when there is something to do, at the latest.
    #[inline]
    fn begin(&mut self, ask: &Ask, begun: &mut u64, start: Instant) -> std::io::Result<Duration> {
        while *begun < ask.exchanges {
            let due = Duration::from_nanos(*begun * 1_000_000_000 / self.rate.per_second);
            if Instant::now() < start + due {
                return Ok(due);
            }
            let Some(fd) = self.idle.pop() else { break };
            let sent = bench::send(fd, &self.request)?;
            assert!(sent == self.request.len(), "a send fell short");
            self.dues[fd as usize] = due;
            *begun += 1;
        }
        Ok(since(start) + PATIENCE)
    }

    fn show(&mut self) {
        let took = &mut self.took[self.rate.skip as usize..];
        took.sort_unstable();
        let names = ["p50", "p90", "p99", "p99.9", "max"];
        let figures = names.iter().zip([500, 900, 990, 999, 1000]);
        let figures = figures.map(|(name, mille)| format!("{name} {} ns", ranked(took, mille)));
        println!("{}", figures.collect::<Vec<_>>().join(", "));
    }
}

fn since(start: Instant) -> Duration {
    Instant::now().saturating_duration_since(start)
}

/// The smallest that so many of a thousand are not above (nearest rank), of what is sorted and not empty.
fn ranked(sorted: &[Duration], per_mille: usize) -> u128 {
    let rank = (sorted.len() * per_mille).div_ceil(1000);
    sorted[rank - 1].as_nanos()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_the_nearest() {
        let sorted: Vec<Duration> = (1..=2000).map(Duration::from_nanos).collect();
        let cases = [(500, 1000), (990, 1980), (999, 1998), (1000, 2000)];
        for (per_mille, wanted) in cases {
            assert_eq!(ranked(&sorted, per_mille), wanted);
        }
        assert_eq!(ranked(&sorted[..1], 500), 1);
        assert_eq!(ranked(&sorted[..3], 500), 2);
    }
}
