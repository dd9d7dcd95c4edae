//! What follows from made-up comparisons, of which the truth is known.

use super::*;
use crate::{Grade, example};
use plan::{Block, Budget, Deciding, Load};

fn figure(answers: &Answers, wanted: Deciding) -> &FigureAnswers {
    answers
        .figures
        .iter()
        .find(|figure| figure.figure == wanted)
        .unwrap()
}

fn reasons(comparison: &Comparison) -> Vec<Reason> {
    let doubts = Answers::of(comparison).reliability.doubts;
    doubts.into_iter().map(|doubt| doubt.reason).collect()
}

/// Every slice of a server.
fn slices(comparison: &mut Comparison, server: usize) -> impl Iterator<Item = &mut Slice> {
    let blocks = comparison
        .starts
        .iter_mut()
        .flat_map(|start| &mut start.blocks);
    let cycles = blocks.flat_map(|block| &mut block.cycles);
    cycles.filter_map(move |cycle| cycle.slices[server].as_mut())
}

/// The generator has no CPU left while it loads a server, which has.
fn saturate_generator(made: &mut Comparison, server: usize) {
    for slice in slices(made, server) {
        slice.generator_cpu = slice.window;
        slice.server_cpu = Some(slice.window * 4 / 5);
    }
}

/// The same comparison with its two servers exchanged.
fn exchanged(mut made: Comparison) -> Comparison {
    made.plan.servers.swap(0, 1);
    made.servers.swap(0, 1);
    for start in &mut made.starts {
        start.servers.swap(0, 1);
        let cycles = start.blocks.iter_mut().flat_map(|block| &mut block.cycles);
        cycles.for_each(|cycle| cycle.slices.swap(0, 1));
    }
    made
}

#[test]
fn a_planted_difference_is_found_and_equal_servers_are_not_told_apart() {
    let answers = Answers::of(&example::two_percent());
    let [only] = answers.headlines() else {
        panic!("{answers:?}")
    };
    assert_eq!((only.said, only.rating), (Said::More, Rating::Worse));
    let ratio = only.ratio.unwrap();
    assert!(
        ratio.low < 1.02 && 1.02 < ratio.high && ratio.high < 1.04,
        "{ratio:?}"
    );
    assert!((0.005..0.02).contains(&only.detectable.unwrap()));
    assert_eq!(answers.reliability, Reliability::default());

    let answers = Answers::of(&example::equal_servers());
    let [only] = answers.headlines() else {
        panic!("{answers:?}")
    };
    assert_eq!(
        (only.said, only.rating),
        (Said::NoLargerDifference, Rating::NoneShown)
    );
    let ratio = only.ratio.unwrap();
    assert!((only.largest.unwrap() - (ratio.high - 1.0).max(1.0 / ratio.low - 1.0)).abs() < 1e-12);
}

#[test]
fn of_throughput_more_is_better_and_of_everything_else_less() {
    let answers = Answers::of(&example::comparison(&[1.0, 1.3], 8));
    for (wanted, said) in [
        (Deciding::CpuPerRequest, Said::More),
        (Deciding::P50, Said::More),
        (Deciding::Throughput, Said::Less),
    ] {
        let versus = &figure(&answers, wanted).against_first[0];
        assert_eq!(
            (versus.said, versus.rating),
            (said, Rating::Worse),
            "{wanted:?}"
        );
    }
    let answers = Answers::of(&example::comparison(&[1.3, 1.0], 8));
    assert_eq!(
        figure(&answers, Deciding::Throughput).against_first[0].rating,
        Rating::Better
    );
}

#[test]
fn exchanging_the_servers_negates_every_log_ratio_exactly() {
    for made in [
        example::two_percent(),
        example::one_void_start(),
        example::several_blocks(),
    ] {
        let (there, back) = (Answers::of(&made), Answers::of(&exchanged(made)));
        assert_eq!(there.figures.len(), back.figures.len());
        for (there, back) in there.figures.iter().zip(&back.figures) {
            let (there, back) = (&there.against_first[0], &back.against_first[0]);
            let negated = back.log_ratios.iter().map(|log| log.map(|log| -log));
            assert_eq!(there.log_ratios, negated.collect::<Vec<_>>());
            assert_eq!(
                (there.largest, there.detectable),
                (back.largest, back.detectable)
            );
            let mirrored = match back.said {
                Said::More => Said::Less,
                Said::Less => Said::More,
                other => other,
            };
            assert_eq!(there.said, mirrored);
        }
    }
}

/// One block of closed-loop cycles with these CPU times per request, in microseconds.
fn with_cpu(starts: &[&[(f64, f64)]]) -> Comparison {
    let mut made = example::comparison(&[1.0, 1.0], starts.len() as u32);
    for (start, wanted) in made.starts.iter_mut().zip(starts) {
        let cycles = &mut start.blocks[0].cycles;
        cycles.truncate(wanted.len());
        for (cycle, (a, b)) in cycles.iter_mut().zip(*wanted) {
            for (slice, micros) in cycle.slices.iter_mut().zip([a, b]) {
                let slice = slice.as_mut().unwrap();
                slice.server_cpu = Some(Nanos::from_nanos((micros * 1e3) as u64 * slice.ok));
            }
        }
    }
    made
}

#[test]
fn a_value_is_the_geometric_mean_of_medians_and_a_ratio_that_of_medians_of_ratios() {
    let made = with_cpu(&[
        &[(10.0, 20.0), (20.0, 80.0), (40.0, 40.0)], // ratios 2, 4, 1
        &[(10.0, 40.0), (10.0, 80.0), (90.0, 90.0)], // 4, 8, 1
        &[(10.0, 80.0), (10.0, 80.0), (10.0, 80.0)],
    ]);
    let answers = Answers::of(&made);
    let cpu = figure(&answers, Deciding::CpuPerRequest);
    let near =
        |found: f64, wanted: f64| assert!((found / wanted - 1.0).abs() < 1e-9, "{found} {wanted}");
    near(cpu.values[0].unwrap(), (20.0_f64 * 10.0 * 10.0).cbrt());
    near(cpu.values[1].unwrap(), (40.0_f64 * 80.0 * 80.0).cbrt());
    near(cpu.against_first[0].ratio.unwrap().centre, 4.0);
    assert_eq!(cpu.by_start[1].len(), 3);
}

#[test]
fn a_start_that_is_void_for_one_of_two_does_not_count_for_the_pair() {
    let mut made = example::three_servers();
    made.starts[2].servers[1].void = Some("it died".into());
    let answers = Answers::of(&made);
    let cpu = figure(&answers, Deciding::CpuPerRequest);
    let starts: Vec<(usize, u32)> = cpu
        .against_first
        .iter()
        .map(|it| (it.server, it.starts))
        .collect();
    assert_eq!(starts, [(1, 7), (2, 8)]);
    assert_eq!(cpu.against_first[0].log_ratios[2], None);
    let pairs: Vec<u32> = cpu.pairs.iter().map(|pair| pair.starts).collect();
    assert_eq!(pairs, [7, 8, 7]);
    assert_eq!(cpu.by_start[1][2], None);
    assert!(cpu.by_start[0][2].is_some());
}

#[test]
fn a_figure_that_most_cycles_lack_is_none_of_the_start() {
    for (lacking, wanted) in [(12, 8), (13, 7)] {
        let mut made = example::two_percent();
        let cycles = made.starts[0].blocks[0].cycles.iter_mut().take(lacking);
        cycles.for_each(|cycle| cycle.slices[1].as_mut().unwrap().latency[0] = None);
        let answers = Answers::of(&made);
        assert_eq!(
            figure(&answers, Deciding::P50).against_first[0].starts,
            wanted
        );
        assert_eq!(
            figure(&answers, Deciding::CpuPerRequest).against_first[0].starts,
            8
        );
    }
}

#[test]
fn fewer_than_three_starts_have_a_value_and_no_interval() {
    for (starts, has_interval) in [(2, false), (3, true)] {
        let answers = Answers::of(&example::comparison(&[1.0, 1.02], starts));
        let only = &answers.headlines()[0];
        assert_eq!(only.ratio.is_some(), has_interval);
        assert_eq!(only.said == Said::TooFewStarts, !has_interval);
        assert_eq!(answers.reliability.grade == Grade::Invalid, !has_interval);
        assert!(answers.deciding().unwrap().values[1].is_some());
    }
}

#[test]
fn a_figure_that_starts_lack_is_not_measured_and_no_matter_of_too_few_starts() {
    let mut made = example::two_percent();
    slices(&mut made, 1).for_each(|slice| slice.in_window = 0);
    let answers = Answers::of(&made);
    let throughput = &figure(&answers, Deciding::Throughput).against_first[0];
    assert_eq!((throughput.said, throughput.starts), (Said::NotMeasured, 0));
    assert_eq!(answers.headlines()[0].said, Said::More);
    made.starts.truncate(2);
    let answers = Answers::of(&made);
    let throughput = &figure(&answers, Deciding::Throughput).against_first[0];
    assert_eq!(throughput.said, Said::TooFewStarts);
}

#[test]
fn the_scatter_of_slices_is_that_of_the_example() {
    // Each slice by itself scatters by 2 %, so a pair by the root of 2 times as much; each start of a server by 0.2 %.
    let answers = Answers::of(&example::comparison(&[1.0, 1.0], 40));
    let scatter = answers.headlines()[0].scatter.unwrap();
    assert!((0.025..0.032).contains(&scatter.pair), "{scatter:?}");
    assert!(scatter.start < 0.005, "{scatter:?}");
    let memory = &figure(&answers, Deciding::Memory).against_first[0];
    assert_eq!(memory.scatter, None);
}

#[test]
fn the_reference_server_is_held_beside_the_first_in_the_cycles_that_both_had() {
    let mut made = example::beside_reference();
    let cycles = made
        .starts
        .iter_mut()
        .flat_map(|start| &mut start.blocks[0].cycles);
    for (number, cycle) in cycles.enumerate() {
        // The machine gets slower from cycle to cycle, and the reference server is there at the beginning only.
        let slower = 1 + (number % Block::CYCLES as usize) as u64;
        for slice in cycle.slices.iter_mut().flatten() {
            slice.server_cpu = slice.server_cpu.map(|cpu| cpu * slower);
        }
    }
    let answers = Answers::of(&made);
    let cpu = figure(&answers, Deciding::CpuPerRequest);
    let beside = cpu.against_reference.as_ref().unwrap();
    assert_eq!((beside.base, beside.server, beside.starts), (2, 0, 8));
    let ratio = beside.ratio.unwrap();
    assert!((3.7..4.3).contains(&ratio.centre), "{ratio:?}");
    assert!(ratio.low < 4.0 && ratio.high > 4.0, "{ratio:?}");
    let unpaired = cpu.values[0].unwrap() / cpu.values[2].unwrap();
    assert!(unpaired > 10.0, "{unpaired}");
    let without = Answers::of(&example::two_percent());
    assert!(
        without
            .figures
            .iter()
            .all(|it| it.against_reference.is_none())
    );
}

#[test]
fn the_plans_figure_decides_and_latency_where_that_was_not_observed() {
    let decides = |made: &Comparison| {
        let answers = Answers::of(made);
        let figure = answers.deciding().unwrap();
        (figure.figure, figure.block)
    };
    let mut made = example::several_blocks();
    assert_eq!(decides(&made), (Deciding::CpuPerRequest, Some(0)));
    made.plan.decide_on = Deciding::Throughput;
    assert_eq!(decides(&made), (Deciding::Throughput, Some(0)));
    made.plan.decide_on = Deciding::Memory;
    assert_eq!(decides(&made), (Deciding::Memory, None));
    // Latency decides under equal load, which is the open loop.
    made.plan.decide_on = Deciding::P50;
    assert_eq!(decides(&made), (Deciding::P50, Some(2)));
    made.plan.decide_on = Deciding::CpuPerRequest;
    slices(&mut made, 1).for_each(|slice| slice.server_cpu = None);
    assert_eq!(decides(&made), (Deciding::P50, Some(2)));
    let instead_of = Deciding::CpuPerRequest;
    assert!(reasons(&made).contains(&Reason::DecidedOtherwise { instead_of }));
    assert_eq!(decides(&example::not_observed()), (Deciding::P50, Some(0)));
    // A server that was not there at all is not one that was not observed.
    let mut made = example::three_servers();
    made.starts
        .iter_mut()
        .for_each(|start| start.servers[2].void = Some("it did not start".into()));
    assert_eq!(decides(&made), (Deciding::CpuPerRequest, Some(0)));
}

#[test]
fn an_open_loop_has_no_throughput_of_its_own() {
    let made = example::several_blocks();
    let answers = Answers::of(&made);
    let blocks = answers
        .figures
        .iter()
        .filter(|figure| figure.figure == Deciding::Throughput);
    assert_eq!(
        blocks.map(|figure| figure.block).collect::<Vec<_>>(),
        [Some(0), Some(1)]
    );
    assert!(matches!(made.plan.blocks[2].load, Load::Open { .. }));
}

#[test]
fn a_second_name_is_never_ranked_and_widens_the_margin() {
    let mut made = example::comparison(&[1.0, 1.02, 1.01], 8);
    made.plan.all_pairs = true;
    let without = Answers::of(&made);
    assert_eq!((without.headlines().len(), without.ranks.len()), (2, 3));
    assert_eq!(without.headlines()[0].said, Said::More);
    made.plan.servers[2].repeats = Some(0);
    let with = Answers::of(&made);
    let cpu = with.deciding().unwrap();
    assert_eq!(
        (cpu.against_first.len(), cpu.pairs.len(), with.ranks.len()),
        (1, 1, 2)
    );
    assert_eq!((cpu.bias[0].base, cpu.bias[0].server), (0, 2));
    // 1 % of planted bias takes the answer away, and is said.
    assert_eq!(cpu.bias[0].ratio, without.headlines()[1].ratio);
    assert_ne!(with.headlines()[0].said, Said::More);
    assert!(reasons(&made).contains(&Reason::Bias { server: 2 }));
}

#[test]
fn ranks_are_ranges_over_every_pair_and_only_where_they_are_asked_for() {
    let mut made = example::three_servers();
    let answers = Answers::of(&made);
    let ranks: Vec<(usize, usize, usize)> = answers
        .ranks
        .iter()
        .map(|it| (it.server, it.best, it.worst))
        .collect();
    assert_eq!(ranks, [(0, 1, 2), (1, 1, 2), (2, 3, 3)]);
    let cpu = answers.deciding().unwrap();
    assert!((answers.pairs_confidence - (1.0 - 0.05 / 3.0)).abs() < 1e-12);
    let widths = [&cpu.against_first[0], &cpu.pairs[0]]
        .map(|it| it.ratio.unwrap().high / it.ratio.unwrap().low);
    assert!(widths[0] < widths[1], "{widths:?}");
    made.plan.all_pairs = false;
    let answers = Answers::of(&made);
    assert!(answers.ranks.is_empty() && answers.deciding().unwrap().pairs.is_empty());
    // A server that is excluded has no rank, and the others keep their places in the plan.
    made.plan.all_pairs = true;
    made.servers[1].excluded = Some("another body".into());
    let ranks = Answers::of(&made).ranks;
    assert_eq!(
        ranks
            .iter()
            .map(|it| (it.server, it.best))
            .collect::<Vec<_>>(),
        [(0, 1), (2, 2)]
    );
}

#[test]
fn a_regression_is_beyond_only_where_the_whole_interval_is() {
    use RegressionAnswer::{Beyond, CannotTell, Within};
    let cases = [
        (1.02, 0.01, Beyond),
        (1.02, 0.02, CannotTell),
        (1.02, 0.05, Within),
        (0.9, 0.01, Within),
    ];
    for (cost, limit, wanted) in cases {
        let mut made = example::comparison(&[1.0, cost], 8);
        made.plan.max_regression = Some(limit);
        let regressed = Answers::of(&made).regression.unwrap();
        assert_eq!(
            (regressed.server, regressed.answer),
            (Some(1), wanted),
            "{cost} {limit}"
        );
    }
    assert_eq!(Answers::of(&example::two_percent()).regression, None);
    let mut made = example::comparison(&[1.0, 0.8, 1.3], 8);
    made.plan.max_regression = Some(0.02);
    // Of throughput less is worse, and the worst server is the answer.
    made.plan.decide_on = Deciding::Throughput;
    let of = |made: &Comparison| {
        let regressed = Answers::of(made).regression.unwrap();
        (regressed.server, regressed.answer)
    };
    assert_eq!(of(&made), (Some(2), Beyond));
    // What is excluded, or says nothing, is not within.
    made.servers[2].excluded = Some("another body".into());
    assert_eq!(of(&made), (Some(2), CannotTell));
    made.servers[2].excluded = None;
    slices(&mut made, 2).for_each(|slice| slice.errors = slice.ok);
    assert_eq!(of(&made), (Some(2), CannotTell));
    made.starts.clear();
    assert_eq!(of(&made).1, CannotTell);
}

#[test]
fn where_the_first_is_excluded_nothing_is_compared_with_it() {
    let mut made = example::three_servers();
    made.servers[0].excluded = Some("it answers with status 404".into());
    let answers = Answers::of(&made);
    assert!(answers.headlines().is_empty());
    assert_eq!(answers.ranks.len(), 2);
    assert!(reasons(&made).contains(&Reason::NothingMeasured));
    assert_eq!(answers.reliability.grade, Grade::Invalid);
}

#[test]
fn less_the_generators_own_is_a_control_only_where_that_is_the_same_for_both() {
    let mut made = example::two_percent();
    let controls = Answers::of(&made).controls;
    assert!(controls[0].is_valid, "{controls:?}");
    let ratio = controls[0].less_generator.ratio.unwrap();
    assert!(ratio.low < 1.02 && 1.02 < ratio.high, "{ratio:?}");
    slices(&mut made, 1).for_each(|slice| slice.generator_cpu = slice.generator_cpu * 103 / 100);
    let answers = Answers::of(&made);
    assert!(!answers.controls[0].is_valid);
    assert_eq!(
        answers.headlines(),
        Answers::of(&example::two_percent()).headlines()
    );
    slices(&mut made, 1).for_each(|slice| slice.generator_cpu = Nanos::ZERO);
    assert!(Answers::of(&made).controls.is_empty());
}

#[test]
fn a_comparison_that_looks_several_times_answers_at_its_looks_only() {
    let mut made = example::comparison(&[1.0, 1.1], 12);
    made.plan.budget = Budget::Until(0.02);
    let answers = Answers::of(&made);
    assert!((answers.confidence - 0.99).abs() < 1e-12);
    assert_eq!(answers.headlines()[0].said, Said::More);
    // Before the first look nothing is said, however clear it is.
    let mut early = made.clone();
    early.starts.truncate(7);
    let answers = Answers::of(&early);
    assert_eq!(
        (answers.headlines()[0].said, answers.headlines()[0].rating),
        (Said::CannotTell, Rating::NoneShown)
    );
    // A look that could tell stands, whatever came after it.
    for start in made.starts.iter_mut().skip(8) {
        let cycles = start.blocks.iter_mut().flat_map(|block| &mut block.cycles);
        let slices = cycles.filter_map(|cycle| cycle.slices[1].as_mut());
        slices.for_each(|slice| slice.server_cpu = slice.server_cpu.map(|cpu| cpu / 3));
    }
    assert_eq!(Answers::of(&made).headlines()[0].said, Said::More);
}

#[test]
fn equal_servers_are_decided_at_half_the_difference_and_after_the_last_look_it_is_said_what_could_be()
 {
    let mut made = example::comparison(&[1.0, 1.0], 40);
    made.plan.budget = Budget::Until(0.05);
    let only = &Answers::of(&made).headlines()[0].clone();
    assert_eq!(only.said, Said::NoLargerDifference);
    assert!(
        (only.largest.unwrap() - (1.05_f64.sqrt() - 1.0)).abs() < 1e-12,
        "{only:?}"
    );
    // On the margin it can never be told.
    let mut made = example::comparison(&[1.0, 1.004], 40);
    made.plan.budget = Budget::Until(0.008);
    let only = &Answers::of(&made).headlines()[0].clone();
    assert_eq!(only.said, Said::CannotTell, "{only:?}");
    assert!(only.decidable.is_some_and(|share| share > 0.002));
    assert_eq!(only.time_needed, None);
}

#[test]
fn where_a_fixed_time_cannot_tell_a_longer_one_is_proposed() {
    // Three starts that scatter by a few per cent.
    let made = with_cpu(&[&[(10.0, 10.0)], &[(10.0, 10.5)], &[(10.0, 9.6)]]);
    let only = &Answers::of(&made).headlines()[0].clone();
    assert_eq!(only.said, Said::CannotTell);
    assert!(only.time_needed.unwrap() > made.elapsed * 3 / 2, "{only:?}");
    assert!(
        Answers::of(&example::two_percent()).headlines()[0]
            .time_needed
            .is_none()
    );
}

type Change = fn(&mut Comparison);
type Wanted = fn(&Reason) -> bool;

/// A change, the only doubt that it makes, and its grade.
const DOUBTS: &[(Change, Wanted, Grade)] = &[
    (
        |made| slices(made, 1).take(1).for_each(|slice| slice.errors = 1),
        |it| {
            matches!(
                it,
                Reason::Errors {
                    server: 1,
                    errors: 1,
                    allowed: true,
                    ..
                }
            )
        },
        Grade::Caveat,
    ),
    (
        |made| slices(made, 1).for_each(|slice| slice.errors = slice.ok / 50),
        |it| {
            matches!(
                it,
                Reason::Errors {
                    server: 1,
                    allowed: false,
                    ..
                }
            )
        },
        Grade::Invalid,
    ),
    (
        |made| {
            slices(made, 0)
                .skip(30)
                .take(1)
                .for_each(|slice| slice.body = Some((1, 1)))
        },
        |it| {
            matches!(
                it,
                Reason::BodyChanged {
                    server: 0,
                    slices: 1,
                    of: 200,
                    ..
                }
            )
        },
        Grade::Invalid,
    ),
    (
        |made| {
            made.plan.unequal = true;
            slices(made, 0)
                .skip(30)
                .take(1)
                .for_each(|slice| slice.body = Some((1, 1)));
        },
        |it| matches!(it, Reason::BodyChanged { allowed: true, .. }),
        Grade::Caveat,
    ),
    (
        |made| {
            slices(made, 1)
                .take(99)
                .for_each(|slice| slice.lower_bound = true)
        },
        |it| {
            matches!(
                it,
                Reason::CpuLowerBound {
                    server: 1,
                    slices: 99,
                    of: 200
                }
            )
        },
        Grade::Caveat,
    ),
    (
        |made| {
            slices(made, 1)
                .take(100)
                .for_each(|slice| slice.lower_bound = true)
        },
        |it| matches!(it, Reason::CpuLowerBound { slices: 100, .. }),
        Grade::Invalid,
    ),
    (
        |made| {
            made.plan.decide_on = Deciding::P50;
            let cycles = made.starts[2..]
                .iter_mut()
                .flat_map(|it| &mut it.blocks[0].cycles);
            let slices = cycles.filter_map(|cycle| cycle.slices[1].as_mut());
            slices.for_each(|slice| slice.latency[0] = None);
        },
        |it| {
            *it == Reason::NotMeasured {
                server: 1,
                starts: 2,
            }
        },
        Grade::Invalid,
    ),
    (
        |made| {
            let starts = made.starts.iter_mut().step_by(2);
            let cycles = starts.flat_map(|it| &mut it.blocks[0].cycles);
            for slice in cycles.filter_map(|cycle| cycle.slices[1].as_mut()) {
                slice.server_cpu = slice.server_cpu.map(|cpu| cpu.saturating_sub(cpu / 10));
            }
        },
        |it| *it == Reason::Undecided { server: 1 },
        Grade::Caveat,
    ),
    (
        |made| made.starts[0].blocks[0].steady = false,
        |it| matches!(it, Reason::NotSteady { starts: 1, of: 8 }),
        Grade::Caveat,
    ),
    (
        |made| {
            made.starts
                .iter_mut()
                .for_each(|start| start.foreign = Some(0.051))
        },
        |it| matches!(it, Reason::OtherPrograms { .. }),
        Grade::Caveat,
    ),
    (
        |made| {
            made.starts
                .iter_mut()
                .for_each(|start| start.steal = Some(0.06))
        },
        |it| matches!(it, Reason::Steal { .. }),
        Grade::Caveat,
    ),
    (
        |made| saturate_generator(made, 0),
        |it| matches!(it, Reason::GeneratorSaturated { servers, share: 1.0, decides: false } if servers == &[0]),
        Grade::Note,
    ),
    (
        |made| {
            made.plan.decide_on = Deciding::P50;
            saturate_generator(made, 1);
        },
        |it| matches!(it, Reason::GeneratorSaturated { servers, decides: true, .. } if servers == &[1]),
        Grade::Caveat,
    ),
    (
        |made| made.starts[5].servers[0].void = Some("it died".into()),
        |it| matches!(it, Reason::VoidStarts { server: 0, starts: 1, of: 8, why } if why == "it died"),
        Grade::Caveat,
    ),
    (
        |made| made.servers[1].conditions.logged_millibytes = Some(90_000),
        |it| {
            *it == Reason::Unequal {
                conditions: vec![Condition::Logging],
            }
        },
        Grade::Caveat,
    ),
    (
        |made| made.plan.servers[1].plan.server = None,
        |it| *it == Reason::SameServerStart { servers: vec![1] },
        Grade::Caveat,
    ),
    (
        |made| made.interrupted = true,
        |it| *it == Reason::Stopped { why: None },
        Grade::Caveat,
    ),
    (
        |made| made.broken_off = Some("the disk is full".into()),
        |it| matches!(it, Reason::Stopped { why: Some(_) }),
        Grade::Caveat,
    ),
];

#[test]
fn each_doubt_has_its_grade() {
    for (number, (change, wanted, grade)) in DOUBTS.iter().enumerate() {
        let mut made = example::two_percent();
        assert!(reasons(&made).is_empty());
        change(&mut made);
        let reliability = Answers::of(&made).reliability;
        let [only] = &reliability.doubts[..] else {
            panic!("{number}: {reliability:?}");
        };
        assert!(wanted(&only.reason), "{number}: {only:?}");
        assert_eq!(
            (only.grade, reliability.grade),
            (*grade, *grade),
            "{number}"
        );
    }
    let mut made = example::two_percent();
    made.starts
        .iter_mut()
        .for_each(|start| start.foreign = Some(0.049));
    assert!(reasons(&made).is_empty());
    // A server that may be saturated as well.
    saturate_generator(&mut made, 0);
    slices(&mut made, 0).for_each(|slice| slice.server_cpu = Some(slice.window * 19 / 20));
    assert!(
        !reasons(&made)
            .iter()
            .any(|it| matches!(it, Reason::GeneratorSaturated { .. }))
    );
}

#[test]
fn what_says_nothing_has_no_answer_and_other_figures_keep_theirs() {
    let mut made = example::comparison(&[1.0, 1.1, 1.1], 8);
    slices(&mut made, 1).for_each(|slice| slice.lower_bound = true);
    let answers = Answers::of(&made);
    let said = |wanted| {
        figure(&answers, wanted)
            .against_first
            .iter()
            .map(|it| it.said)
            .collect::<Vec<Said>>()
    };
    assert_eq!(said(Deciding::CpuPerRequest), [Said::Void, Said::More]);
    assert_eq!(said(Deciding::P50), [Said::More, Said::More]);
    let cpu = figure(&answers, Deciding::CpuPerRequest);
    assert_eq!(cpu.against_first[0].rating, Rating::NoneShown);
    assert_eq!(cpu.void, [false, true, false]);
    assert_eq!(figure(&answers, Deciding::P50).void, [false; 3]);
    slices(&mut made, 0).for_each(|slice| slice.body = Some((slice.ok, 1)));
    let answers = Answers::of(&made);
    let all = answers
        .figures
        .iter()
        .flat_map(|figure| &figure.against_first);
    assert!(all.into_iter().all(|versus| versus.said == Said::Void));
}

#[test]
fn conditions_are_equal_unequal_or_not_known() {
    use Condition::{Body, Compression, KeepAlive, Logging, Protocol, Status, Workers};
    let mut made = example::three_servers();
    assert_eq!(Answers::of(&made).conditions.equal, Condition::ALL);
    made.servers[2].conditions.workers = Some(1);
    made.servers[1].conditions.logged_millibytes = None;
    made.servers[2].conditions.compression = Some("gzip".into());
    // Less than a byte a request is no log.
    made.servers[0].conditions.logged_millibytes = Some(999);
    let found = Answers::of(&made).conditions;
    assert_eq!(found.unequal, [Compression, Workers]);
    assert_eq!(found.unknown, [Logging]);
    assert_eq!(found.equal, [Body, Status, Protocol, KeepAlive]);
    // Known to differ from one is unequal, although a third is not known.
    made.servers[0].conditions.logged_millibytes = Some(1_000);
    made.servers[2].conditions.logged_millibytes = Some(0);
    assert!(Answers::of(&made).conditions.unequal.contains(&Logging));
    // What is not compared need not be equal.
    made.servers[2].excluded = Some("compressed".into());
    assert!(Answers::of(&made).conditions.unequal.is_empty());
}

#[test]
fn a_comparison_of_which_nothing_is_there_has_no_answer_and_does_not_panic() {
    let mut made = example::two_percent();
    made.starts.clear();
    made.servers.clear();
    let answers = Answers::of(&made);
    assert_eq!((answers.decides, answers.foreign), (None, None));
    assert_eq!(answers.reliability.grade, Grade::Invalid);
    let mut short = example::two_percent();
    for start in &mut short.starts {
        start.servers.truncate(1);
        start.blocks.iter_mut().for_each(|block| {
            block
                .cycles
                .iter_mut()
                .for_each(|cycle| cycle.slices.truncate(1))
        });
    }
    assert_eq!(Answers::of(&short).headlines()[0].said, Said::TooFewStarts);
    short.plan.servers.truncate(1);
    assert!(Answers::of(&short).headlines().is_empty());
    short.plan.servers.clear();
    assert_eq!(Answers::of(&short).decides, None);
}
