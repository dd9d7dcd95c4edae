//! On and off: at random while it is on, and none while it is off.

use super::poisson::Random;
use super::spans::Spans;
use super::{Instants, Process, two_times, typed};
use crate::Arrivals;
use units::{Nanos, Rate, exact};

/// The process.
pub(crate) struct OnOff {
    /// Length of a span with arrivals.
    pub(crate) on: Nanos,
    /// Length of the silence after it.
    pub(crate) off: Nanos,
}

impl OnOff {
    /// Reads its settings, `300ms/700ms`.
    pub(crate) fn read(settings: &str) -> Option<Arrivals> {
        let (on, off) = two_times(settings)?;
        (on.min(off) > Nanos::ZERO).then_some(Arrivals::OnOff { on, off })
    }
}

impl Process for OnOff {
    fn written(&self) -> String {
        format!("on-off:{}/{}", typed(self.on), typed(self.off))
    }

    fn words(&self) -> String {
        format!("Poisson, {} on, {} off", exact(self.on), exact(self.off))
    }

    fn steady(&self) -> Arrivals {
        Arrivals::Poisson
    }

    fn dispersion(&self) -> f64 {
        1.0
    }

    fn period(&self) -> Option<Nanos> {
        Some(self.on + self.off)
    }

    fn instants(&self, rate: Rate, seed: u64) -> Box<dyn Instants> {
        let random = Random::new(rate, seed);
        Box::new(Spans::new(random, self.on, self.on + self.off))
    }
}
