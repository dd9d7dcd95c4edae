//! Endings over time in the rounds of a closed loop, for checks that look for states and changes within them.

use super::prelude::*;
use plan::Load;

/// A round with fewer whole bins is too short to look into.
const BINS_LEAST: usize = 30;
/// Bins with fewer endings are mostly chance.
const ENDINGS_LEAST: f64 = 10.0;

/// The whole bins of a round.
pub(super) struct Bins<'a> {
    pub(super) round: &'a Round,
    /// Ok endings a second in each bin.
    pub(super) rates: Vec<f64>,
    /// Width of a bin.
    pub(super) width: Nanos,
}

/// Returns the bins of each complete round in which weigh was not paused; none of an open loop, where they follow the
/// schedule. Rounds with few bins or few endings in them are left out.
pub(super) fn bins<'a>(evidence: &Evidence<'a>) -> Vec<Bins<'a>> {
    if evidence.load.is_none_or(Load::is_open) {
        return Vec::new();
    }
    let rounds = evidence.complete().unwrap_or_default().into_iter();
    rounds
        .filter(|round| round.paused().is_none())
        .filter_map(of)
        .collect()
}

fn of(round: &Round) -> Option<Bins<'_>> {
    let width = round.tally.series.interval;
    let whole = (round.window.span().as_nanos() / width.as_nanos()) as usize;
    let counts = round
        .tally
        .series
        .ok
        .iter()
        .copied()
        .chain(std::iter::repeat(0));
    let counts: Vec<f64> = counts.take(whole).map(|ok| ok as f64).collect();
    let is_known = whole >= BINS_LEAST && stats::median(&counts)? >= ENDINGS_LEAST;
    let rates = counts.into_iter().map(|ok| ok / width.as_secs_f64());
    is_known.then(|| Bins {
        round,
        rates: rates.collect(),
        width,
    })
}
