//! The servers: a row each, in a file each, and one line below.
//!
//! A row says how its server is configured, started and asked to end, and what its log can say. Only what these tests need is
//! configured, so that everything else is as people run it; above all the limits on how long a connection lasts.

mod apache;
mod caddy;
mod go;
mod haproxy;
mod lighttpd;
mod nginx;
mod node;

use crate::servers::log::Log;
use crate::servers::site::{Site, find_program};

/// A server that we know how to start.
pub struct Kind {
    /// The name of its program, as a user finds it.
    pub program: &'static str,
    /// Without it the tests fail; others are skipped, which a line says.
    pub is_demanded: bool,
    /// Its configuration: two workers where it has processes, and a log as [`Kind::log`] reads it.
    pub config: fn(&Site) -> String,
    /// The command that runs it in the foreground, of the program's path.
    pub command: fn(&Site, &str) -> Vec<String>,
    /// The signal on which its first process finishes what is under way and ends.
    pub farewell: &'static str,
    /// The most requests it answers on one connection, unless it is told otherwise.
    pub requests_per_connection: u64,
    /// Reads its log.
    pub log: fn(&str) -> Log,
    /// What the log says of bytes, of plain connections and of encrypted ones.
    pub bytes: [Bytes; 2],
    /// What is asked for, and with which header, to get a response without a length: chunked in HTTP/1.1, ended by the
    /// connection's close in HTTP/1.0.
    pub chunked: (&'static str, &'static str),
    /// What it says to a body that it does not want: paths, with the status.
    pub takes: &'static [(&'static str, u16)],
}

/// What a log's bytes of responses and of requests are.
#[derive(Debug, Clone, Copy)]
pub struct Bytes {
    pub sent: Counted,
    pub received: Counted,
}

/// What is counted of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// Head and body, as they are inside TLS.
    Whole,
    /// The body.
    Body,
    /// Nothing that could be compared.
    Nothing,
}

impl Bytes {
    const WHOLE: Bytes = Bytes::new(Counted::Whole, Counted::Whole);
    const NOTHING: Bytes = Bytes::new(Counted::Nothing, Counted::Nothing);

    const fn new(sent: Counted, received: Counted) -> Bytes {
        Bytes { sent, received }
    }
}

impl Kind {
    /// All of them.
    pub const ALL: &[&Kind] = &[
        &nginx::NGINX,
        &lighttpd::LIGHTTPD,
        &apache::APACHE,
        &haproxy::HAPROXY,
        &caddy::CADDY,
        &node::NODE,
        &go::GO,
    ];
    /// Those that serve a folder with all that HTTP has for files, and say of all bytes what they were.
    pub const OF_FILES: &[&Kind] = &[&nginx::NGINX, &lighttpd::LIGHTTPD, &apache::APACHE];
    /// Those that listen on Unix-domain sockets here.
    pub const ON_UNIX_SOCKETS: &[&Kind] = &[&nginx::NGINX, &lighttpd::LIGHTTPD];
    /// One with a master that can be killed together with its workers.
    pub const WITH_MASTER: &[&Kind] = &[&nginx::NGINX];

    /// Where its program is.
    pub fn find(&self) -> Option<String> {
        find_program(self.program)
    }
}
