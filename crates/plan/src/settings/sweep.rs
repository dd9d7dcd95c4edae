//! Sweep: what differs between the points, and in which order they are measured.

use super::Takes::{Value, Word};
use super::{Choice, Group, Setting, keep, put, varied, yes};
use crate::{Axis, Nesting, Order};
use units::Series;

/// What all rows of the group have in common.
const ROW: Setting = Setting {
    group: Group::Sweep,
    ..Setting::BASE
};

#[rustfmt::skip]
pub(super) static ROWS: &[Setting] = &[
    Setting { name: "slo", takes: Value("CONDITION"), common: true, sweep_only: true,
        help: "Search for the highest rate at which this condition holds.",
        long: "A percentile or max of response time under a time (p99<10ms), errors under a share (errors<1%); several \
               with commas. The rates of --rate are tried upwards until one fails; by default they double up to 1m, from \
               100 or from the lowest rate that five rounds can tell. Then windows at rates around the threshold follow, \
               12 for each of --rounds at most, until the rate at which 90 % of windows hold is known to 5 %. Last, one \
               window of ten times the length has to hold at that rate, or at one 5 % lower, and so on.",
        parse: |draft, text| put(&mut draft.plan.slo, text),
        show: |plan| plan.slo.as_ref().map_or(String::new(), ToString::to_string),
        ..ROW },
    Setting { name: "quick", sweep_only: true,
        help: "With --slo: leave out the long window at the end.",
        long: "The answer is then the highest rate that held in short windows, which a queue that fills slowly may not \
               keep up; it is not called capacity.",
        parse: |draft, _| keep(&mut draft.plan.quick, Ok(true)),
        show: |plan| yes(plan.quick),
        ..ROW },
    Setting { name: "workers", takes: Value("N,..."), sweep_only: true, axis: true,
        help: "Worker counts of the started server: {workers} in COMMAND.",
        parse: |draft, text| draft.vary(text, |values: Series<u32>| Axis::Workers(values.0)),
        show: |plan| varied(plan, "workers", String::new()),
        ..ROW },
    Setting { name: "size", takes: Value("BYTES,..."), sweep_only: true, axis: true,
        help: "Sizes of responses: {size} in a URL, as of /bytes/{size} of `weigh serve`.",
        parse: |draft, text| draft.vary(text, |values: Series<u32>| Axis::Size(values.0)),
        show: |plan| varied(plan, "size", String::new()),
        ..ROW },
    Setting { name: "order", takes: Word(Order::words), sweep_only: true, default: "up",
        help: "Order in which the points are measured.",
        parse: |draft, text| keep(&mut draft.sweep.order, Choice::read(text)),
        show: |plan| { plan.sweep .as_ref() .map_or(String::new(), |sweep| sweep.order.word().to_owned()) },
        ..ROW },
    Setting { name: "interleaved", sweep_only: true,
        help: "Measure one round of every point, then the next round of every point.",
        long: "A drift of the machine then affects all points alike. Otherwise all rounds of a point are measured, then \
               the next point.",
        parse: |draft, _| keep(&mut draft.sweep.rounds, Ok(Nesting::Interleaved)),
        show: |plan| {
            let sweep = plan.sweep.as_ref();
            sweep.map_or(String::new(), |sweep| {
                yes(sweep.rounds == Nesting::Interleaved)
            })
        },
        ..ROW },
];
