//! Lua scripts that make requests and are told of responses, with the functions and tables that wrk gives to them.
//!
//! Each thread of a load has an interpreter of its own, in which the script was run; one more, the main one, has its `setup` and
//! `done`. A script that defines neither `request`, `response` nor `delay` makes one request, which need not be asked for again.
//!
//! In scope: what a script says and is told. Out of scope: when a request is sent, and on what; the script's own files, which it may open
//! itself.
//!
//! Without the feature `lua` no script can be loaded.
//!
//! ```
//! # #[cfg(feature = "lua")] {
//! use scripting::{Next, Script, Settings, Url};
//! let script = Script::load(&Settings {
//!     name: "it.lua",
//!     text: b"function request() return wrk.format(nil, '/next') end",
//!     arguments: &[],
//!     url: Url { scheme: "http", authority: "127.0.0.1", path: "/" },
//!     headers: &[],
//!     threads: 1,
//! })?;
//! let Next::Request(asked) = script.thread(0).unwrap().next() else { panic!() };
//! assert_eq!(asked.path, "/next");
//! # }
//! # Ok::<(), String>(())
//! ```
#![forbid(unsafe_code)]

#[cfg(feature = "lua")]
mod asked;
mod file;
#[cfg(feature = "lua")]
mod lua;
#[cfg(feature = "lua")]
mod output;
#[cfg(feature = "lua")]
mod stats;
#[cfg(feature = "lua")]
mod threads;
#[cfg(not(feature = "lua"))]
mod without;

pub use file::read;
#[cfg(feature = "lua")]
pub use lua::{Script, ThreadScript};
#[cfg(not(feature = "lua"))]
pub use without::{Script, ThreadScript};

use std::time::Duration;

/// What a script is run with.
#[derive(Debug, Clone)]
pub struct Settings<'a> {
    /// What it is called in complaints: the file's name.
    pub name: &'a str,
    /// The script.
    pub text: &'a [u8],
    /// The words behind the URL, which `init` is given.
    pub arguments: &'a [String],
    /// The URL's parts.
    pub url: Url<'a>,
    /// Headers that every request has, unless the script changes them.
    pub headers: &'a [(String, String)],
    /// So many threads.
    pub threads: u32,
}

/// The parts of a URL.
#[derive(Debug, Clone, Copy)]
pub struct Url<'a> {
    /// `http` or `https`.
    pub scheme: &'a str,
    /// Host and, where it is given, port.
    pub authority: &'a str,
    /// Path and query.
    pub path: &'a str,
}

impl<'a> Url<'a> {
    /// Host and port apart; of an IPv6 address without its brackets.
    pub fn host_and_port(&self) -> (&'a str, Option<&'a str>) {
        let (host, port) = match self.authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
            _ => (self.authority, None),
        };
        let bare = host.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
        (bare.unwrap_or(host), port)
    }
}

/// A response as a script is told of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// The head, from the status line to the blank line.
    pub head: Vec<u8>,
    /// The body; of a longer one the first [`Response::LONGEST`] bytes.
    pub body: Vec<u8>,
}

impl Response {
    /// As many bytes of a body are kept at most.
    pub const LONGEST: usize = 16 << 20;
}

/// A request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    /// The method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// The headers, without Content-Length, which follows from the body.
    pub headers: Vec<(String, String)>,
    /// The body, if there is one.
    pub body: Option<Vec<u8>>,
}

/// What comes next on a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// This request.
    Request(Asked),
    /// Nothing more: the script has stopped the thread, or has failed.
    Nothing,
}

/// What `done` is told of the load.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// How long it took.
    pub took: Duration,
    /// Complete responses.
    pub requests: u64,
    /// Bytes that were received.
    pub bytes: u64,
    /// Errors.
    pub errors: Errors,
    /// Latencies in microseconds, ascending, each with how often it was measured.
    pub latencies: Vec<(u64, u64)>,
    /// Requests/s of the threads in short spans, likewise.
    pub rates: Vec<(u64, u64)>,
}

/// Errors by what failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Errors {
    /// Connects.
    pub connect: u64,
    /// Responses that did not come, or not whole.
    pub read: u64,
    /// Requests that could not be sent.
    pub write: u64,
    /// Statuses from 400 on.
    pub status: u64,
    /// Responses that took too long.
    pub timeout: u64,
}

/// What a script has written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Said {
    /// To standard output.
    pub out: String,
    /// To standard error.
    pub err: String,
}
