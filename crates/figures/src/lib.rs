//! Every figure of a measurement, as one row of one table.
//!
//! In scope: what a figure is called, what it means, its unit, how its value follows from the recorded rounds, which
//! findings can affect it, and which tables show it. Text, CSV, sweep tables, charts and requirements select from this
//! table. Out of scope: measuring, judging (the record carries its findings), layout.
//!
//! A row is added in `table/` and nowhere else.
//!
//! ```
//! let run = record::example::ok();
//! let point = figures::Figures::of(&run, 0).unwrap();
//! let p75 = figures::find("latency_us.p75").unwrap();
//! assert!(p75.number(&point).unwrap() > 1_000.0);
//! assert_eq!(figures::find("rps").unwrap().name(), "rps.mean");
//! ```
#![forbid(unsafe_code)]

mod figure;
mod select;
mod source;
mod table;
mod value;

pub use figure::{Cell, Figure, Part, Shown, Weight};
pub use select::{Selected, cells, columns, find, names, rows};
pub use source::Figures;
pub use value::{Unit, Value};
