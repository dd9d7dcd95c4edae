//! HTTP/1.0 and HTTP/1.1 (RFC 9112): the client role and the server role.

mod chunked;
mod client;
mod fields;
mod memo;
mod outbox;
mod response;
mod scan;
mod server;
mod status;

pub use client::Client;
pub use memo::{Heads, Requests};
pub use response::{CONTINUE, Response, reason};
pub use server::{Asked, Limits, Refusal, Server, ServerSink};
