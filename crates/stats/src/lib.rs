//! Numbers only: histograms, quantiles, intervals, the shape of curves.
//!
//! In scope: what can be said about a set of numbers, how precisely, and whether there are enough
//! of them to say it. Out of scope: what the numbers mean, where they come from and where they go:
//! no HTTP, no files, no clock.
//!
//! ```
//! use stats::Histogram;
//!
//! let mut latency = Histogram::new();
//! (1..=2_000).for_each(|nanos| latency.record(nanos));
//! assert_eq!(latency.quantile_if_carried(0.99), Some(1_980));
//! assert_eq!(latency.quantile_if_carried(0.999), None); // only two samples lie beyond it
//! ```
#![forbid(unsafe_code)]

mod layout;

mod packed;

mod poisson;
mod rank;

mod histogram;

mod hdr;

mod form;

mod chi_squared;
mod summary;

mod interval;

// What a curve of several loads says:
mod knee;

mod line;
pub mod scalability;
mod steady;
mod threshold;
mod trend;

pub mod clusters;

pub mod comparison;

#[cfg(test)]
mod noise;

pub use clusters::Clusters;
pub use hdr::HdrError;
pub use histogram::{Bucket, Histogram};
pub use interval::{Interval, log_t_interval, median_interval, student_t};
pub use knee::near_peak;
pub use line::{Line, fit_line};
pub use poisson::poisson_tail;
pub use rank::{carried_from, carries, rank};
pub use steady::{is_rising, warm_up};
pub use summary::{mean, median, min_max};
pub use threshold::{Threshold, Trials};
pub use trend::rising_chance;
