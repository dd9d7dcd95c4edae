//! Servers that test clients, this project's load generator first of all.
//!
//! In scope: a server whose behaviour is known exactly, with a log of what happened to each request ([`TruthServer`]), and
//! one that misbehaves by script, with an exact account of it ([`MisbehavingServer`]). Out of scope: serving anything for
//! its own sake, which is the reference server's; what a client made of it, and every kind of summary.
//!
//! Both are one loop on one thread and one ring, because the order of requests is the point: with several threads the
//! order in which requests had met the queue would be unknown. A connection costs its row and the requests that its
//! client sent ahead, which have a limit; what is sent is never copied, so that an endless body costs no memory.
//!
//! The truth server responds with the reference server's built-in resources, and to `/delay` and `/fault`:
//!
//! ```
//! use testserver::truth::{Distribution, delay};
//! use testserver::{Config, TruthServer};
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
//!
//! The misbehaving server has one response for everything, except where its script says otherwise:
//!
//! ```
//! use testserver::MisbehavingServer;
//! use testserver::misbehaviour::{Misbehaviour, Script, When};
//! use std::io::{Read, Write};
//!
//! let script = Script::of(Misbehaviour::BadStatus, When::Every(2));
//! let server = MisbehavingServer::start(&"127.0.0.1:0".parse().unwrap(), script)?;
//! let mut client = std::net::TcpStream::connect(server.address().to_string()).unwrap();
//! client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.0\r\n\r\n").unwrap();
//! let mut answers = String::new();
//! client.read_to_string(&mut answers).unwrap();
//! assert!(answers.starts_with("HTTP/1.1 200 OK\r\n"));
//! assert!(answers.contains("HTTP/1.1 2OO OK\r\n"));
//!
//! let log = server.stop();
//! assert_eq!((log.connections, log.requests, log.answered), (1, 2, 1));
//! assert_eq!(log.count(Misbehaviour::BadStatus), 1);
//! # Ok::<(), refserver::ServeError>(())
//! ```
#![forbid(unsafe_code)]

// In reading order: what goes wrong,
pub mod misbehaviour;
// when responses are scheduled,
pub mod truth;
// how a server is told of both,
mod config;
// what it decides by them,
mod behaviour;
// the connections it happens on,
mod connections;
// how it is carried out,
mod worker;
// and the servers.
mod server;

pub use config::{BusyPoll, Config, WORK_MAX};
pub use refserver::Certificate;
pub use server::{Counts, MisbehavingServer, TruthServer};

#[cfg(test)]
mod tests;
