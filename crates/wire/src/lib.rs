//! Bytes <-> meaning, sans-IO.
//!
//! In scope: the client and the server role of HTTP/1.1, the encoding of requests and responses, what may lie between a protocol and
//! its socket (TLS, on the client's side), the vocabulary of what a peer can do wrong. Out of scope: sockets, clocks, threads, statistics. The caller passes in what has come
//! and asks what to send; stamps, timeouts and blame are the caller's.
//!
//! ```
//! use wire::{Connection, Ending, ExchangeId, Head, Method, Opening, Request, Sink, Source};
//!
//! #[derive(Default)]
//! struct Seen { status: u16, body: Vec<u8>, ok: bool }
//! impl Sink for Seen {
//!     fn first(&mut self, _: ExchangeId) {}
//!     fn head(&mut self, _: ExchangeId, head: &Head<'_>) { self.status = head.status }
//!     fn body(&mut self, _: ExchangeId, bytes: &[u8]) { self.body.extend_from_slice(bytes) }
//!     fn done(&mut self, _: ExchangeId, ending: Ending) { self.ok = ending.result.is_ok() }
//!     fn unanswered(&mut self, _: ExchangeId, _: Ending) {}
//! }
//!
//! let mut head = Vec::new();
//! let request = Request { path: "/hello", authority: "example.org", ..Request::default() };
//! wire::http1::Dialect::default().encode(&request, &mut head);
//!
//! let mut connection = wire::http1::Client::http1(1);
//! connection.open(ExchangeId(0), Opening { head: Source::Shared(&head), body: Source::EMPTY, method: Method::Idempotent });
//! let mut slices = [std::io::IoSlice::new(&[]); 2];
//! assert_eq!(connection.outgoing(&mut slices), 1);
//! assert_eq!(&*slices[0], &head[..]);
//! connection.sent(head.len(), |_| {});
//!
//! let mut seen = Seen::default();
//! connection.receive(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", &mut seen).unwrap();
//! assert_eq!((seen.status, &seen.body[..], seen.ok), (200, &b"hi"[..], true));
//! ```
#![forbid(unsafe_code)]

mod choice;
mod connection;
mod filter;
pub mod http1;
mod inline_deque;
mod request;
pub mod tls;
mod violation;

pub use choice::{Stack, Visitor};
pub use connection::{
    Connection, Ending, ExchangeId, Handshake, Head, Opening, Scope, Sink, Source,
};
pub use filter::{Filter, Filtered, RECORD};
pub use http1::{Client as Usual, Dialect, Version};
pub use inline_deque::InlineDeque;
pub use request::{DEFAULT_HEADERS, Encoded, Method, Request, header_is_valid};
pub use tls::{Security, Settings as SecuritySettings, Trust};
pub use violation::{Step, Violation, client_certificate, is_encrypted};
