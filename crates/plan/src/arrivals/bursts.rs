//! Bursts: those of each period evenly spaced within its first part, and none in the rest of it.

use super::constant::Even;
use super::spans::Spans;
use super::{Instants, Process, two_times, typed};
use crate::Arrivals;
use units::{Nanos, Rate, exact};

/// The process.
pub(crate) struct Bursts {
    /// Length of a burst.
    pub(crate) within: Nanos,
    /// From the beginning of a burst to that of the next.
    pub(crate) every: Nanos,
}

impl Bursts {
    /// Reads its settings, `10ms/1s`.
    pub(crate) fn read(settings: &str) -> Option<Arrivals> {
        let (within, every) = two_times(settings)?;
        (Nanos::ZERO < within && within < every).then_some(Arrivals::Bursts { within, every })
    }
}

impl Process for Bursts {
    fn written(&self) -> String {
        format!("bursts:{}/{}", typed(self.within), typed(self.every))
    }

    fn words(&self) -> String {
        let (within, every) = (exact(self.within), exact(self.every));
        format!("in bursts of {within} every {every}")
    }

    fn steady(&self) -> Arrivals {
        Arrivals::Constant
    }

    fn dispersion(&self) -> f64 {
        0.0
    }

    fn period(&self) -> Option<Nanos> {
        Some(self.every)
    }

    fn instants(&self, rate: Rate, _: u64) -> Box<dyn Instants> {
        Box::new(Spans::new(Even::new(rate), self.within, self.every))
    }
}
