//! weigh in bad worlds: what a misbehaving server did, by its own log, against what weigh made of it.
//!
//! In scope: every row of the server's table, met by every fifth exchange or connection, so that the script fixes every
//! count; the real binary, its record, its exit status and its sentences. What differs is told as a table, all of it
//! and not only the first. Out of scope: whether the server does what it says; its own tests see to that.

// In reading order: one run and both sides' accounts of it,
mod world;
// what meets exchanges,
mod exchanges;
// and what meets connections, or the whole server.
mod connections;
