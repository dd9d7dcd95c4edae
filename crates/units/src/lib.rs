//! Words for quantities: instants, spans of time, counts, sizes; how people write them and how we show them.
//!
//! In scope: the newtypes all rooms share, parsing `10k` and `2m30s`, showing them again.
//! Out of scope: reading a clock (that is `kernel`), arithmetic on samples (that is `stats`).
//!
//! ```
//! use units::{Instant, Nanos};
//!
//! let due = Instant::from_nanos(1_000);
//! let sent = due + Nanos::from_micros(3);
//! assert_eq!(sent - due, Nanos::from_nanos(3_000));
//! assert_eq!("2m30s".parse::<Nanos>().unwrap().as_secs_f64(), 150.0);
//! ```
#![forbid(unsafe_code)]

pub mod date;
mod endpoint;
mod parse;
mod percentile;
mod rate;
mod series;
mod show;
mod time;

pub use endpoint::{Endpoint, EndpointError};
pub use parse::{ParseError, parse_count};
pub use percentile::Percentile;
pub use rate::Rate;
pub use series::Series;
pub use show::{bytes, count, counted, exact, micros, number, percent, rate, span};
pub use time::{Instant, Nanos};
