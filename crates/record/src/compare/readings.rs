//! From slices to one number a start: what each figure is read from, and which cycles and starts count.
//!
//! A start counts for a server unless it is void for it, and for a pair of servers unless it is void for either. A figure that more
//! than half of a start's cycles lack is none of that start: a median of the few that have it would be one of the cycles that went well.

use super::{Comparison, Cycle, FreshStart, Slice};
use plan::Deciding;
use stats::comparison::{Scatter, median_of_cycles};

/// Where the numbers of a figure come from.
#[derive(Debug, Clone, Copy)]
pub(super) enum Source {
    /// The slices of the block with this index.
    Slices(usize, fn(&Slice) -> Option<f64>),
    /// Memory after the load, once a start.
    Memory,
}

impl Source {
    /// The source of `figure` in the block with index `block`.
    pub fn of(figure: Deciding, block: usize) -> Source {
        match figure {
            Deciding::CpuPerRequest => Source::Slices(block, Slice::cpu_us),
            Deciding::P50 => Source::Slices(block, Slice::p50_us),
            Deciding::Throughput => Source::Slices(block, Slice::throughput),
            Deciding::Memory => Source::Memory,
        }
    }

    /// Returns the value of `server` in each start: the median over its cycles. None where the start does not count.
    pub fn values(self, of: &Comparison, server: usize) -> Vec<Option<f64>> {
        let value = |start: &FreshStart| match self {
            Source::Memory => memory(start, server),
            Source::Slices(block, read) => {
                let cycles = &start.blocks.get(block)?.cycles;
                let values = cycles
                    .iter()
                    .filter_map(|cycle| number(cycle, server, read));
                let values: Vec<f64> = values.collect();
                let all = of.loading(cycles, [server]).count();
                is_most(values.len(), all).then(|| stats::median(&values))?
            }
        };
        let value = |start| of.counts(start, server).then(|| value(start))?;
        of.starts.iter().map(value).collect()
    }

    /// Returns `ln server - ln base` in each start: the median over the cycles that have both. None where the start does not count for
    /// one of the two.
    pub fn log_ratios(self, of: &Comparison, base: usize, server: usize) -> Vec<Option<f64>> {
        let ratio = |start| median_of_cycles(&self.pairs(of, start, base, server)?);
        of.starts.iter().map(ratio).collect()
    }

    /// How much the ratio of two servers scatters from slice to slice and from start to start; none of what is known once a start.
    pub fn scatter(self, of: &Comparison, base: usize, server: usize) -> Option<Scatter> {
        let pairs = |start| self.pairs(of, start, base, server);
        let starts: Vec<Vec<(f64, f64)>> = of.starts.iter().filter_map(pairs).collect();
        matches!(self, Source::Slices(..)).then(|| Scatter::of(&starts))?
    }

    /// The numbers of two servers in each cycle of `start` that has both.
    fn pairs(
        self,
        of: &Comparison,
        start: &FreshStart,
        base: usize,
        server: usize,
    ) -> Option<Vec<(f64, f64)>> {
        (of.counts(start, base) && of.counts(start, server)).then_some(())?;
        match self {
            Source::Memory => Some(vec![(memory(start, base)?, memory(start, server)?)]),
            Source::Slices(block, read) => {
                let cycles = &start.blocks.get(block)?.cycles;
                let pair = |cycle| Some((number(cycle, base, read)?, number(cycle, server, read)?));
                let pairs: Vec<(f64, f64)> = cycles.iter().filter_map(pair).collect();
                let all = of.loading(cycles, [base, server]).count();
                is_most(pairs.len(), all).then_some(pairs)
            }
        }
    }
}

/// Whether `some` of `all` are at least half, and any.
fn is_most(some: usize, all: usize) -> bool {
    some > 0 && 2 * some >= all
}

/// The number that `server` has in `cycle`; none where it is not one that has a logarithm.
fn number(cycle: &Cycle, server: usize, read: fn(&Slice) -> Option<f64>) -> Option<f64> {
    let slice = cycle.slices.get(server)?.as_ref()?;
    read(slice).filter(|number| *number > 0.0 && number.is_finite())
}

fn memory(start: &FreshStart, server: usize) -> Option<f64> {
    let memory = start.servers.get(server)?.memory?;
    (memory > 0).then_some(memory as f64)
}

impl Comparison {
    /// Returns whether what `server`, by its place in the plan, did in `start` counts.
    pub fn counts(&self, start: &FreshStart, server: usize) -> bool {
        let is_sound = start
            .servers
            .get(server)
            .is_some_and(|it| it.void.is_none());
        is_sound && !self.is_excluded(server)
    }

    /// The cycles in which all of `servers` were to be loaded: the reference server is in a few only.
    fn loading<'a, const N: usize>(
        &'a self,
        cycles: &'a [Cycle],
        servers: [usize; N],
    ) -> impl Iterator<Item = &'a Cycle> {
        cycles.iter().filter(move |cycle| {
            let mut few = servers
                .iter()
                .filter(|server| self.plan.servers[**server].reference);
            few.all(|server| cycle.slices[*server].is_some())
        })
    }

    /// Returns whether `server`, by its place in the plan, is not compared at all.
    pub fn is_excluded(&self, server: usize) -> bool {
        let known = self.servers.get(server);
        known.is_some_and(|known| known.excluded.is_some())
    }

    /// Returns the places of the servers that may be ranked: those that do not repeat one and are not excluded.
    pub fn ranked(&self) -> Vec<usize> {
        let servers = self.plan.servers.iter().enumerate();
        let ranked =
            servers.filter(|(place, server)| server.is_contender() && !self.is_excluded(*place));
        ranked.map(|(place, _)| place).collect()
    }

    /// Returns the place of the reference server, where it was measured.
    pub fn reference(&self) -> Option<usize> {
        let place = self
            .plan
            .servers
            .iter()
            .position(|server| server.reference)?;
        (!self.is_excluded(place)).then_some(place)
    }

    /// Every slice of `server` that counts, in order, with the number of its start.
    pub(super) fn slices(&self, server: usize) -> impl Iterator<Item = (u32, &Slice)> {
        let starts = self
            .starts
            .iter()
            .filter(move |start| self.counts(start, server));
        starts.flat_map(move |start| {
            let cycles = start.blocks.iter().flat_map(|block| &block.cycles);
            let slices = cycles.filter_map(move |cycle| cycle.slices.get(server)?.as_ref());
            slices.map(|slice| (start.index, slice))
        })
    }
}
