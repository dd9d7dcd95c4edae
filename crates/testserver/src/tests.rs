//! Both servers, and their loop on the simulated ring.

mod misbehaving;
mod secured;
mod truth;
