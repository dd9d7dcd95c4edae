//! How many cycles a start has, once a few starts have shown what takes time and what scatters.

use plan::{Budget, Deciding};
use record::{Comparison, FreshStart, Slice};
use stats::comparison::{Scatter, cycles_per_start};
use units::Nanos;

/// Starts after which it is decided: the recipe's three.
const SHOWN: usize = 3;
/// Starts that have to fit into the time that is left: an interval over fewer is wide whatever each of them is worth.
const LEFT: f64 = 8.0;

/// Returns how many cycles block `number` has in each start from the fourth on, so that the time that is left gives the narrowest
/// interval. None where that is not to be changed: before the fourth start, of windows, where the first three starts do not show
/// it, and where fewer than eight more starts fit into the time.
pub(crate) fn reconsidered(comparison: &Comparison, number: usize) -> Option<u32> {
    let plan = &comparison.plan;
    let starts = comparison.starts.get(..SHOWN)?;
    if !plan.blocks.get(number)?.is_short() {
        return None;
    }
    let took: Nanos = starts.iter().map(|start| start.took).sum();
    let cycles_of = |block: usize| {
        let blocks = starts
            .iter()
            .filter_map(move |start| start.blocks.get(block));
        blocks.flat_map(|block| &block.cycles)
    };
    let seconds = |block: usize| -> f64 {
        let slices = cycles_of(block).flat_map(|cycle| cycle.slices.iter().flatten());
        slices.map(|slice| slice.window.as_secs_f64()).sum()
    };
    let of_blocks: Vec<f64> = (0..plan.blocks.len()).map(seconds).collect();
    let of_all: f64 = of_blocks.iter().sum();
    let cost_cycle = of_blocks[number] / cycles_of(number).count().max(1) as f64;
    let of_short = of_blocks.iter().zip(&plan.blocks);
    let of_short: Vec<f64> = of_short
        .filter_map(|(seconds, block)| block.is_short().then_some(*seconds))
        .collect();
    let short = of_short.len();
    let cost_start = (took.as_secs_f64() - of_all) / (SHOWN * short.max(1)) as f64;

    let others = plan.others().filter_map(|(server, _)| {
        let scatter = Scatter::of(&pairs(comparison, starts, number, server)?)?;
        (scatter.pair > 0.0).then_some(())?;
        Some(cycles_per_start(
            cost_start,
            cost_cycle,
            scatter.pair,
            scatter.start_at_least,
        ))
    });
    let wanted = others.max()?;
    let others = (took.as_secs_f64() - of_short.iter().sum::<f64>()) / SHOWN as f64;
    let each = others + f64::from(wanted) * cost_cycle * short as f64; // the other numbers of connections as this one
    let time = match plan.budget {
        Budget::Time { time, .. } => Some(time),
        Budget::Until(_) | Budget::Precision(_) => plan.limit,
    };
    let fits = time.is_none_or(|time| time.saturating_sub(took).as_secs_f64() >= LEFT * each);
    fits.then_some(wanted)
}

/// Of each start the figure that decides, of the first server and of `server`, in each cycle that has both; none where a start has
/// no such cycle.
fn pairs(
    comparison: &Comparison,
    starts: &[FreshStart],
    number: usize,
    server: usize,
) -> Option<Vec<Vec<(f64, f64)>>> {
    let read = match comparison.plan.decide_on {
        Deciding::P50 => Slice::p50_us,
        Deciding::Throughput => Slice::throughput,
        Deciding::CpuPerRequest | Deciding::Memory => Slice::cpu_us,
    };
    let of_start = |start: &FreshStart| {
        let cycles = start.blocks.get(number)?.cycles.iter();
        let number = |slice: &Option<Slice>| read(slice.as_ref()?);
        let pairs =
            cycles.filter_map(|it| Some((number(&it.slices[0])?, number(&it.slices[server])?)));
        let pairs: Vec<(f64, f64)> = pairs.collect();
        (!pairs.is_empty()).then_some(pairs)
    };
    starts.iter().map(of_start).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::example;

    /// Starts that do not differ.
    fn with_budget(budget: Budget, starts: usize) -> Comparison {
        let mut made = example::two_percent();
        made.starts = vec![made.starts[0].clone(); starts];
        made.plan.budget = budget;
        made
    }

    fn of_time(minutes: u64) -> Budget {
        Budget::Time {
            time: Nanos::from_secs(60 * minutes),
            starts: 3,
        }
    }

    #[test]
    fn it_is_reconsidered_once_after_three_starts_where_time_is_left() {
        let in_ten = |starts| reconsidered(&with_budget(of_time(10), starts), 0);
        assert_eq!(in_ten(2), None);
        // A start takes 2.5 s beside its cycles, a cycle 0.2 s; the cycles of a pair scatter by at most 2.8 %, its starts by the 0.2 %
        // that are assumed at least: the root of 12.5, times 2.8 % / (root 2 times 0.2 %), is 35. This start's scatter is smaller.
        let after = in_ten(3).unwrap();
        assert!((15..=35).contains(&after), "{after}");
        assert_eq!(in_ten(4), Some(after), "later starts do not change it");
        assert_eq!(
            reconsidered(&with_budget(of_time(1), 3), 0),
            None,
            "too few are left"
        );
        assert_eq!(
            reconsidered(&with_budget(Budget::Until(0.02), 3), 0),
            Some(after)
        );
        let mut limited = with_budget(Budget::Until(0.02), 3);
        limited.plan.limit = Some(Nanos::from_secs(60));
        assert_eq!(reconsidered(&limited, 0), None);
    }

    #[test]
    fn starts_that_scatter_much_get_fewer_cycles() {
        let mut made = with_budget(of_time(10), 3);
        for (factor, start) in [1.0, 1.1, 0.9].into_iter().zip(&mut made.starts) {
            let cycles = start.blocks.iter_mut().flat_map(|block| &mut block.cycles);
            for slice in cycles.filter_map(|cycle| cycle.slices[1].as_mut()) {
                slice.server_cpu = slice
                    .server_cpu
                    .map(|cpu| Nanos::from_nanos((cpu.as_nanos() as f64 * factor) as u64));
            }
        }
        assert_eq!(reconsidered(&made, 0), Some(8));
    }

    #[test]
    fn an_open_loop_and_servers_without_the_figure_keep_their_cycles() {
        let mut made = example::several_blocks();
        made.plan.budget = of_time(30);
        assert_eq!(reconsidered(&made, 2), None);
        assert!(reconsidered(&made, 1).is_some());
        let mut unknown = example::not_observed();
        unknown.plan.budget = of_time(30);
        assert_eq!(reconsidered(&unknown, 0), None);
        unknown.plan.decide_on = Deciding::P50;
        assert!(reconsidered(&unknown, 0).is_some());
    }
}
