//! The reference server, with which other servers and the load generator itself are compared.
//!
//! In scope: what `weigh serve` does, from listening to the counts it reports when it stops; built-in resources, HTTP
//! to the letter, few system calls. Out of scope: load, statistics, judging; and what a command line is. It stands on
//! `wire` and `kernel` as the generator does, so that a fault of theirs shows from both sides.
//!
//! A [`Server`] is a few workers that share nothing: each has its own ring, its own listening sockets (the kernel
//! spreads connections over them) and its own counts, which are added up at the end.
//!
//! ```
//! use refserver::{Config, Server};
//! use std::io::{Read, Write};
//! use std::sync::atomic::{AtomicBool, Ordering};
//!
//! let config = Config { listen: vec!["127.0.0.1:0".parse().unwrap()], workers: 1, ..Config::default() };
//! let server = Server::bind(&config)?;
//! let at = server.addresses()[0].to_string();
//! let stop = AtomicBool::new(false);
//! let counts = std::thread::scope(|scope| {
//!     let running = scope.spawn(|| server.run(&stop));
//!     let mut client = std::net::TcpStream::connect(at).unwrap();
//!     client.write_all(b"GET /hello HTTP/1.0\r\n\r\n").unwrap();
//!     let mut response = String::new();
//!     client.read_to_string(&mut response).unwrap();
//!     assert!(response.starts_with("HTTP/1.1 200 OK\r\n"));
//!     stop.store(true, Ordering::Relaxed);
//!     running.join().unwrap()
//! });
//! assert_eq!((counts.connections, counts.requests, counts.responses_2xx), (1, 1, 1));
//! # Ok::<(), refserver::ServeError>(())
//! ```
#![forbid(unsafe_code)]

// In reading order: what is served,
mod resources;
// when,
mod date;
// with which header lines of the operator's,
mod headers;
// as ready bytes;
mod prebuilt;
// what is served of a folder,
mod files;
// how a request finds its response,
mod responding;
// and large ones their way out,
mod sending;
// where connections are kept,
mod slots;
// how long each of them may take,
mod limits;
// how many connections there may be,
mod limiter;
// what is written down of them,
mod appender;
mod log;
// what one thread does with them,
mod worker;
// through what their bytes go,
mod secured;
// and with which certificate.
mod encryption;
// What it has done,
mod counts;
// how an operator reads that,
mod admin;
// why there may be none,
mod errors;
// what an operator sets,
mod config;
// and all threads together.
mod server;

/// What test servers share with this one: its ready responses, the Date in them, its checks of addresses, its TLS.
pub mod parts {
    pub use crate::appender::Appender;
    pub use crate::config::check_addresses;
    pub use crate::date::text as date;
    pub use crate::encryption::Encryption;
    pub use crate::headers::Headers;
    pub use crate::prebuilt::{Form, PrebuiltResponses, ResponseKey};
    pub use crate::resources::{choose, find};
    pub use crate::secured::Secured;
    pub use crate::slots::{FIRST, Slots};
}

pub use config::Config;
pub use counts::Counts;
pub use encryption::Certificate;
pub use errors::ServeError;
pub use limits::{Limits, Pace};
pub use server::{Control, Server};
