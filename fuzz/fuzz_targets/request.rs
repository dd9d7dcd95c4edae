//! What a client sends is told the same however it was split, whatever other heads the server remembers, and wherever
//! it broke off.
//!
//! Input: a byte for how many cuts follow, the cuts, the requests. The seeds are the cases of the table
//! (`crates/wire/tests/oracle/requests.rs`), one each.
#![no_main]

#[path = "../../crates/wire/tests/oracle/mod.rs"]
mod oracle;

use libfuzzer_sys::fuzz_target;
use oracle::server::{listen, listen_after, listen_haltingly};

fuzz_target!(|data: &[u8]| {
    let [count, rest @ ..] = data else { return };
    let (cuts, sent) = rest.split_at(usize::from(count % 16).min(rest.len()));
    let whole = listen(&[sent]);
    let pieces = oracle::pieces(sent, cuts);
    assert_eq!(listen(&pieces), whole);
    assert_eq!(listen_haltingly(&pieces), whole);
    assert_eq!(listen_after(sent, &pieces), whole);
    if sent.len() < 200 {
        assert_eq!(listen(&sent.chunks(1).collect::<Vec<_>>()), whole);
    }
});
