//! The truth mode: a server whose behaviour is known exactly, so that a load generator can be checked against it.
//!
//! In scope: delays by distribution, stalls by the clock, work, a queue of limited capacity, and misbehaviours, all of which
//! follow from a seed and from the ids that requests carry; and a log of what happened to each request, raw, that a
//! client's figures can be held against. Out of scope: what a client made of it, and every kind of summary; nothing
//! here adds up or sorts. `docs/truth.md` is its manual.
//!
//! It is the misbehaving server's loop with another behaviour: one thread and one ring, because the order is the point.
//! A fast server would need several, and then the order in which requests had met the queue would be unknown.
//!
//! ```
//! use testserver::truth::{Config, Distribution, TruthServer, delay};
//! use std::io::{Read, Write};
//! use std::sync::atomic::{AtomicBool, Ordering};
//! use std::time::Instant;
//!
//! let config = Config { listen: vec!["127.0.0.1:0".parse()?], seed: 7, ..Config::default() };
//! let server = TruthServer::bind(&config)?;
//! let at = server.addresses()[0].to_string();
//! let stop = AtomicBool::new(false);
//! let counts = std::thread::scope(|scope| {
//!     let running = scope.spawn(|| server.run(&stop));
//!     let mut client = std::net::TcpStream::connect(at).unwrap();
//!     let sent = Instant::now();
//!     client.write_all(b"GET /delay?law=exponential&mean=2ms&id=42 HTTP/1.0\r\n\r\n").unwrap();
//!     client.read_to_string(&mut String::new()).unwrap();
//!     let distribution = "law=exponential&mean=2ms".parse::<Distribution>().unwrap();
//!     assert!(sent.elapsed() >= delay(distribution, 7, 42).to_std());
//!     stop.store(true, Ordering::Relaxed);
//!     running.join().unwrap()
//! });
//! assert_eq!((counts.log.requests, counts.log.answered, counts.wrong), (1, 1, 0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

// In reading order: chance that can be recomputed,
mod draw;
// what a query says,
mod query;
// how long an answer waits,
mod distribution;
mod queue;
mod stall;
// what it meets,
mod faults;
// all of it out of a path,
mod target;
// what is written down,
pub mod log;
// how a server goes by that,
mod behaviour;
// and the server.
mod server;

pub use distribution::{DELAY_MAX, Distribution, delay};
pub use query::QueryError;
pub use queue::{Capacity, CapacityError, Service, service};
pub use server::{BusyPoll, Config, Counts, TruthServer, WORK_MAX};
pub use stall::{Stall, StallError};

#[cfg(test)]
mod tests;
