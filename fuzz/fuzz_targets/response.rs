//! What a server sends is told the same however it was split, and however the connection was used before.
//!
//! Input: a byte for the number of requests and their methods, a byte for how many cuts follow, the cuts, the response.
#![no_main]

#[path = "../../crates/wire/tests/oracle/mod.rs"]
mod oracle;

use libfuzzer_sys::fuzz_target;
use oracle::client::{converse, converse_on};
use wire::Connection;
use wire::http1::Client;

const SCRIPTS: [&str; 8] = ["G.", "H.", "GG.", "GHG.", "G", "GGGG", "HG", ""];

fuzz_target!(|data: &[u8]| {
    let [script, count, rest @ ..] = data else {
        return;
    };
    let script = SCRIPTS[usize::from(script % 8)];
    let (cuts, sent) = rest.split_at(usize::from(count % 16).min(rest.len()));
    let whole = converse(script, &[sent]);
    assert_eq!(converse(script, &oracle::pieces(sent, cuts)), whole);
    let mut connection = Client::http1(4);
    converse_on(&mut connection, "GG.", &[sent]);
    connection.reset();
    assert_eq!(converse_on(&mut connection, script, &[sent]), whole);
    if sent.len() < 200 {
        assert_eq!(converse(script, &sent.chunks(1).collect::<Vec<_>>()), whole);
    }
});
