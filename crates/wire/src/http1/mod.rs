//! HTTP/1.0 and HTTP/1.1 (RFC 9112): the client role and the server role.

mod chunked;
mod client;
mod extension;
mod fields;
mod framing;
mod head;
mod head_cache;
mod line;
mod outbox;
mod refusal;
mod request;
mod request_head;
mod response;
mod scan;
mod server;
mod status;
mod target;

pub use client::{Client, Shared};
pub use head_cache::{Key, RequestCache};
pub use refusal::{Limits, Refusal};
pub use request::{Dialect, Version};
pub use request_head::RequestHead;
pub use response::{CONTINUE, Response, reason};
pub use server::{Server, ServerSink};
