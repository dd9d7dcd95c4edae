//! What the tests and the fuzz targets hold the machines against.
//!
//! The fuzz workspace includes this folder by path, so that a property is written once.
#![allow(dead_code, reason = "every test takes what it needs")]

pub mod client;
pub mod operations;
pub mod requests;
pub mod server;

/// The pieces of `input` when it is cut at each of `cuts` (taken modulo what is left; zero cuts nothing).
pub fn pieces<'a>(mut input: &'a [u8], cuts: &[u8]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    for &cut in cuts {
        let (piece, rest) = input.split_at(usize::from(cut).min(input.len()));
        pieces.push(piece);
        input = rest;
    }
    pieces.push(input);
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

/// All ways to cut `input` in two, and the one into single bytes.
pub fn splits(input: &[u8]) -> impl Iterator<Item = Vec<&[u8]>> {
    let halves = (1..input.len()).map(|at| vec![&input[..at], &input[at..]]);
    halves.chain([input.chunks(1).collect()])
}
