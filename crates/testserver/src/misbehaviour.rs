//! A server that misbehaves by script: what a client is told in bad worlds, and an exact account of it.
//!
//! In scope: the closed table of [`Misbehaviour`]s, the [`Script`] that says which exchange or connection meets which,
//! the server that carries it out, and its [`Log`], against which a client's counters can be held. Out of scope: what
//! a client ought to make of it; *fault* is the client's word. All that the script does not spoil is answered as it
//! should be, over connections that are kept.
//!
//! The order in which exchanges are numbered is that in which this server turns to them, over all connections; so with
//! `Every(k)` of n exchanges exactly n / k meet the misbehaviour, however the client spreads them.
//!
//! How it is carried out is one loop for this server and for [`crate::truth`]'s; what each does with it is its behaviour.
//! One thread and one ring, because the order is the point; a connection costs its row and what its client asked ahead,
//! which has a limit; what is sent is never copied, so that an endless body costs no memory.
//!
//! ```
//! use testserver::misbehaviour::{Misbehaviour, MisbehavingServer, Script, When};
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

// In reading order: what there is,
mod table;
// which connection or exchange meets it,
mod script;
// what came of it,
mod log;
// what decides it,
mod behaviour;
// the connections it happens on,
mod connections;
// how it is carried out,
mod worker;
// and the thread that does it.
mod server;

pub(crate) use behaviour::{Behaviour, Ending, Pending, Stamps};
#[cfg(test)]
pub(crate) use behaviour::{PausableRing, Scripted};
pub use log::Log;
pub(crate) use script::{Chooser, RULES_MAX, mixed};
pub use script::{Rule, Script, Trigger, When};
pub use server::MisbehavingServer;
pub use table::Misbehaviour;
pub(crate) use worker::{Control, WaitMode, Worker};

#[cfg(test)]
mod tests;
