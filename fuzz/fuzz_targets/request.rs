//! What a client sends is told the same however it was split.
//!
//! Input: a byte for how many cuts follow, the cuts, the requests.
#![no_main]

#[path = "../../crates/wire/tests/oracle/mod.rs"]
mod oracle;

use libfuzzer_sys::fuzz_target;
use oracle::server::listen;

fuzz_target!(|data: &[u8]| {
    let [count, rest @ ..] = data else { return };
    let (cuts, sent) = rest.split_at(usize::from(count % 16).min(rest.len()));
    let whole = listen(&[sent]);
    assert_eq!(listen(&oracle::pieces(sent, cuts)), whole);
    if sent.len() < 200 {
        assert_eq!(listen(&sent.chunks(1).collect::<Vec<_>>()), whole);
    }
});
