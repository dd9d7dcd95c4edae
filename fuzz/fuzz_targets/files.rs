//! What a request says of a file is understood without a panic, paths stay below the root, parts within the file.
//!
//! Input: a byte that says which of it, then its text; of a range, the file's size comes first.
#![no_main]

// The sources themselves, so that the server need not make public what only it uses.
#[allow(dead_code, reason = "only the server reads whether a line matters")]
#[path = "../../crates/refserver/src/files/conditional.rs"]
mod conditional;
#[path = "../../crates/refserver/src/files/conditions.rs"]
mod conditions;
#[path = "../../crates/refserver/src/files/dates.rs"]
mod dates;
#[allow(dead_code, reason = "only the server needs the name of a copy")]
#[path = "../../crates/refserver/src/files/encodings.rs"]
mod encodings;
#[path = "../../crates/refserver/src/files/invariants.rs"]
mod invariants;
#[path = "../../crates/refserver/src/files/paths.rs"]
mod paths;
#[path = "../../crates/refserver/src/files/ranges.rs"]
mod ranges;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((which, text)) = data.split_first() else {
        return;
    };
    match which {
        b'/' => invariants::target(&[b"/", text].concat()),
        b'=' => {
            if let Some((size, text)) = text.split_first_chunk() {
                invariants::range(&[b"bytes=", text].concat(), u64::from_le_bytes(*size));
                invariants::range(text, u64::from_le_bytes(*size));
            }
        }
        _ => invariants::lists(text),
    }
});
