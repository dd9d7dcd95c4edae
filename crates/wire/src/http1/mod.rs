//! HTTP/1.0 and HTTP/1.1 (RFC 9112): the client role and the server role.

mod asked;
mod chunked;
mod client;
mod extension;
mod fields;
mod framing;
mod head;
mod key;
mod line;
mod memo;
mod outbox;
mod refusal;
mod response;
mod scan;
mod server;
mod status;
mod target;

pub use asked::Asked;
pub use client::Client;
pub use key::Key;
pub use memo::{Heads, Requests};
pub use outbox::Message;
pub use refusal::{Limits, Refusal};
pub use response::{CONTINUE, Response, reason};
pub use server::{Server, ServerSink};
