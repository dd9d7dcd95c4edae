//! Bytes <-> meaning, sans-IO.
//!
//! In scope: the client and the server role of HTTP/1.1 (later h2, h3, TLS as a filter), the vocabulary of what a
//! peer can do wrong. Out of scope: sockets, clocks, threads, statistics; whoever holds a machine of this crate tells
//! it what came and asks it what to send.

/* CONTRACT (to be replaced by modules):

// request.rs
/// What is asked, as the encoder needs it.
pub struct Request<'a> { pub method: &'a str, pub path: &'a str /* origin-form target */, pub authority: &'a str /* Host */,
    pub version: Version /* Http10 | Http11 */, pub headers: &'a [(String, String)], pub body: Option<&'a [u8]>, pub keepalive: bool }
/// Encodes the head (request line + headers incl. Host first, Content-Length when there is a body, `Connection: close` for
/// 1.1 without keepalive, `Connection: keep-alive` for 1.0 with it; a header given by the user replaces the default of the same name)
pub fn encode_head(request: &Request<'_>, out: &mut Vec<u8>);

// exchange kinds
#[derive(Copy..)] pub struct ExchangeId(pub u32);            // per connection, wraps
pub struct Opening<'p> { pub id: ExchangeId, pub head: Cow-like Source<'p>, pub body: &'p [u8], pub method: MethodKind /* Head | Connect | Other */ }
pub enum Source<'p> { Shared(&'p [u8]), Own(Vec<u8>) }       // Own: rendered templates; the Vec is handed back for reuse

// client side, crate::http1::client
pub trait Sink {
    fn first(&mut self, id: ExchangeId);                              // first byte of the (final or 1xx) response to id has come
    fn head(&mut self, id: ExchangeId, head: &Head<'_>);              // final response head: status, version, raw bytes, headers
    fn body(&mut self, id: ExchangeId, bytes: &[u8]);                 // decoded body bytes (chunk framing removed)
    fn done(&mut self, id: ExchangeId, ending: Ending);               // exactly once per opened exchange
}
pub struct Ending { pub result: Result<(), Violation>, pub bytes: u64 /* raw bytes of this response incl. framing */ }
*/
