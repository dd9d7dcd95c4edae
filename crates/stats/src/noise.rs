//! Chance that follows from a seed, for tests that simulate.

/// Random numbers from a linear congruential generator.
pub(crate) struct Noise(u64);

impl Noise {
    /// The same numbers for the same seed.
    pub(crate) fn new(seed: u64) -> Noise {
        Noise(seed)
    }

    /// One that is at least 0 and under 1.
    pub(crate) fn uniform(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f64 / f64::from(1 << 24)
    }

    /// A standard normal one: the sum of twelve uniform ones.
    pub(crate) fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}
