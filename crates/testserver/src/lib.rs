//! Servers that test clients, this project's load generator first of all.
//!
//! In scope: a server whose behaviour is known exactly, with a log of what happened to each request ([`truth`]), and one
//! that misbehaves by script, with an exact account of it ([`misbehaviour`]). Out of scope: serving anything for its own
//! sake, which is the reference server's; what a client made of it, and every kind of summary.
//!
//! Both are one loop on one thread and one ring, because the order of requests is the point.
#![forbid(unsafe_code)]

pub mod misbehaviour;
pub mod truth;
