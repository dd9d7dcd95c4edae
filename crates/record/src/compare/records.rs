//! Two records of `weigh run` or `weigh sweep` as a comparison, so that one form of answer serves both.
//!
//! A round takes the place of a start: each has the rounds of one record only, with one cycle that has a slice of that record's
//! server and none of the other's. Where the server was started more than once for a point (sweeps over workers), the unit is such a
//! start, and its rounds are its cycles. Nothing pairs a round of one with a round of the other, so ratios come from two groups
//! ([`stats::comparison::Difference::between`]), and what the machine did between the runs is in the ratio and not in its interval.
//!
//! It is made from records and never measured; what is printed as JSON can be read again as a comparison.

use super::{
    BlockOfStart, Comparison, Conditions, Contender, Cycle, FreshStart, Slice, StartedServer,
};
use crate::curve::units;
use crate::{Effect, Figure, Finding, Handshakes, Latency, Point, Probe, Round, Run, Statistic};
use plan::{
    Block, Budget, ComparePlan, Compared, CpuPlacement, Deciding, Level, Nesting, Requests,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Nanos, Percentile};

/// The record that the figures of a server are from, where they are those of a run by itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedRun {
    /// Version of weigh that measured it.
    pub weigh: String,
    /// When it began: seconds since 1970, UTC.
    pub started_unix: u64,
    /// How long it took; none in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed: Option<Nanos>,
    /// Figures that say nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub invalid: Vec<InvalidFigures>,
    /// In what it differs from the first record that can change results, as far as that was allowed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differs: Vec<String>,
}

/// Figures that say nothing, at one load level or at all of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InvalidFigures {
    /// Index of the plan's block; none where it is so in all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<usize>,
    /// The figures.
    pub figures: Vec<Deciding>,
    /// Why: the finding's sentence.
    pub why: String,
}

/// A record, and what it is called in a comparison.
#[derive(Debug, Clone, Copy)]
pub struct NamedRun<'a> {
    /// The name.
    pub name: &'a str,
    /// The record.
    pub run: &'a Run,
}

impl Comparison {
    /// Returns two records side by side, `before` as the first server, at the load levels that both have; two records of one level
    /// each at that, whatever it is. None where they have no level in common.
    ///
    /// It decides on CPU time per request, allows no regression and refuses what is unequal, until the plan is changed.
    pub fn of_records(before: NamedRun<'_>, after: NamedRun<'_>) -> Option<Comparison> {
        let runs = [before.run, after.run];
        let pairs = pairs(runs);
        if pairs.is_empty() {
            return None;
        }
        let blocks = pairs.iter().map(|[place, _]| {
            let level = before.run.points[*place].level;
            Block {
                name: Some(before.run.plan.name(&level)),
                cycles: 1,
                ..Block::of(level.load)
            }
        });
        let compared =
            [before, after].map(|named| Compared::of(named.name, named.run.plan.clone()));
        let mut starts = Vec::new();
        for (server, run) in runs.into_iter().enumerate() {
            let points: Vec<&Point> = pairs.iter().map(|pair| &run.points[pair[server]]).collect();
            starts.extend(starts_of(run, server, &points));
        }
        for (index, start) in (0..).zip(&mut starts) {
            start.index = index;
        }
        let contender = |server: usize| {
            let places: Vec<usize> = pairs.iter().map(|pair| pair[server]).collect();
            contender(runs[server], &places)
        };
        let elapsed = runs.iter().filter_map(|run| run.elapsed).sum();
        Some(Comparison {
            comparison: Comparison::VERSION,
            weigh: after.run.weigh.clone(),
            started_unix: after.run.started_unix,
            plan: ComparePlan {
                servers: compared.into(),
                blocks: blocks.collect(),
                budget: Budget::Time {
                    time: elapsed,
                    starts: Budget::FEWEST,
                },
                threads: threads(runs),
                cpus: CpuPlacement::Shared,
                seed: after.run.plan.seed,
                ..ComparePlan::default()
            },
            machine: after.run.machine.clone(),
            servers: vec![contender(0), contender(1)],
            split: None,
            starts,
            elapsed,
            interrupted: runs.iter().any(|run| run.interrupted),
            broken_off: runs.iter().find_map(|run| run.broken_off.clone()),
        })
    }

    /// Returns whether it is one of records of separate runs, and not of servers that were loaded in turn.
    pub fn is_of_records(&self) -> bool {
        let mut servers = self.servers.iter();
        servers.any(|server| server.record.is_some())
    }

    /// Returns what its intervals are made of: `round` of separate runs with one start of the server for each point, else `start`.
    pub fn unit(&self) -> &'static str {
        let mut plans = self.plan.servers.iter().map(|server| &server.plan);
        let has_starts = plans.any(|plan| {
            let nesting = plan.sweep.as_ref().map(|sweep| sweep.rounds);
            nesting == Some(Nesting::Halves)
        });
        match self.is_of_records() && !has_starts {
            true => "round",
            false => "start",
        }
    }

    /// Returns the starts that are those of `server`: of separate runs its own, else all of them.
    pub fn starts_of(&self, server: usize) -> impl Iterator<Item = &FreshStart> {
        let is_of_records = self.is_of_records();
        let is_its_own = move |start: &FreshStart| {
            let mut cycles = start.blocks.iter().flat_map(|block| &block.cycles);
            cycles.any(|cycle| cycle.slices.get(server).is_some_and(Option::is_some))
        };
        let starts = self.starts.iter();
        starts.filter(move |start| !is_of_records || is_its_own(start))
    }
}

/// The most threads that a generator of the two had.
fn threads(runs: [&Run; 2]) -> u32 {
    let of_run = |run: &Run| {
        let levels = run.points.iter().filter_map(|point| point.level.threads);
        levels.chain([run.plan.threads]).max()
    };
    runs.into_iter().filter_map(of_run).max().unwrap_or(1)
}

/// The places of the points of either run that are compared with each other.
fn pairs(runs: [&Run; 2]) -> Vec<[usize; 2]> {
    let [first, second] = runs.map(|run| &run.points[..]);
    if let ([_], [_]) = (first, second) {
        return vec![[0, 0]];
    }
    let place = |level: &Level| second.iter().position(|point| point.level == *level);
    let pairs = first.iter().enumerate();
    pairs
        .filter_map(|(at, point)| Some([at, place(&point.level)?]))
        .collect()
}

/// The units of `run`, each with what it measured at every point.
fn starts_of(run: &Run, server: usize, points: &[&Point]) -> Vec<FreshStart> {
    let of_server = |slice: Slice| {
        let mut slices = vec![None, None];
        slices[server] = Some(slice);
        slices
    };
    let units = units(&run.plan).into_iter().map(|unit| {
        let rounds_of = |point: &&Point| -> Vec<Round> {
            let rounds = point.rounds.iter().skip(unit.start as usize);
            let rounds = rounds.take(unit.len());
            rounds.filter(|round| !round.partial).cloned().collect()
        };
        let by_point: Vec<Vec<Round>> = points.iter().map(rounds_of).collect();
        let rounds = || by_point.iter().flatten();
        let block = |rounds: &Vec<Round>| BlockOfStart {
            warm_up: 0,
            steady: rounds.iter().all(is_steady),
            cycles: rounds
                .iter()
                .map(|round| Cycle {
                    order: vec![server as u32],
                    slices: of_server(slice(round)),
                })
                .collect(),
        };
        let mut servers = vec![StartedServer::default(), StartedServer::default()];
        servers[server] = StartedServer {
            endpoint: run.probe.as_ref().map(|probe| probe.endpoint.clone()),
            memory: rounds().filter_map(memory).next_back(),
            handshakes: handshakes(rounds()),
            ..StartedServer::default()
        };
        let share = |of: fn(&Round) -> Option<f64>| {
            stats::mean(&rounds().filter_map(of).collect::<Vec<f64>>())
        };
        FreshStart {
            index: 0,
            took: rounds().map(|round| round.took).sum(),
            servers,
            foreign: share(|round| {
                let budget = round.budget.as_ref()?;
                Some(budget.share(budget.other()?))
            }),
            steal: share(|round| {
                let budget = round.budget.as_ref()?;
                Some(budget.share(budget.steal))
            }),
            blocks: by_point.iter().map(block).collect(),
        }
    });
    let is_measured =
        |start: &FreshStart| start.blocks.iter().any(|block| !block.cycles.is_empty());
    units.filter(is_measured).collect()
}

fn handshakes<'a>(rounds: impl Iterator<Item = &'a Round>) -> Option<Handshakes> {
    Handshakes::sum(rounds.filter_map(|round| round.tally.connects.handshakes.as_ref()))
}

fn is_steady(round: &Round) -> bool {
    let settling = round.settling.as_ref();
    settling.is_none_or(|settling| settling.is_steady != Some(false))
}

fn memory(round: &Round) -> Option<u64> {
    round.footprint.as_ref()?.memory?.after
}

/// A round as a slice. Requests are those that ended inside the window, for which CPU time was read.
fn slice(round: &Round) -> Slice {
    let tally = &round.tally;
    let latency = Latency::of(tally);
    let known = |p: Percentile| {
        latency
            .at(p)
            .filter(|_| !latency.is_at_least(Statistic::At(p)))
    };
    let percentile = |p: Percentile| Some(Nanos::from_nanos((known(p)? * 1e3).round() as u64));
    let worked: Option<Nanos> = round.threads.iter().map(|thread| thread.worked()).sum();
    let priced = round.priced();
    Slice {
        ok: tally.ok_in_window,
        errors: tally.errors(),
        in_window: tally.ok_in_window,
        window: round.window.span(),
        server_cpu: priced.map(|print| print.cpu),
        generator_cpu: worked.unwrap_or(Nanos::ZERO),
        latency: [Percentile::P50, Percentile::P90, Percentile::P99].map(percentile),
        received: tally.bytes_received,
        connects: 0,
        body: usual_body(round),
        error: tally
            .faults
            .by_kind()
            .first()
            .map(|(kind, _)| kind.sentence().to_owned()),
        lower_bound: priced.is_some_and(|print| print.lower_bound),
    }
}

/// The usual body of the only request; none of several.
fn usual_body(round: &Round) -> Option<(u64, u32)> {
    let mut requests = round.tally.bodies.iter();
    let (Some((_, only)), None) = (requests.next(), requests.next()) else {
        return None;
    };
    only.bodies.usual().map(|(body, _)| body)
}

/// Bytes that the server wrote into files for each request, in thousandths; none where its files were not seen in every round.
fn logged<'a>(rounds: impl Iterator<Item = &'a Round>) -> Option<u64> {
    let (mut bytes, mut requests) = (0_u64, 0_u64);
    for round in rounds {
        let print = round.footprint.as_ref()?;
        print.descriptors?;
        let grown = print.grown.iter().map(|file| file.bytes);
        bytes = grown.fold(bytes, u64::saturating_add);
        requests = requests.saturating_add(round.sent());
    }
    bytes.saturating_mul(1_000).checked_div(requests)
}

/// What is known of a run's server, of which the points at `places` are compared.
fn contender(run: &Run, places: &[usize]) -> Contender {
    let rounds = || places.iter().flat_map(|place| &run.points[*place].rounds);
    let is_listed = matches!(&run.plan.requests, Requests::Listed(requests) if requests.len() == 1);
    let conditions = match &run.probe {
        Some(probe) => Conditions {
            body: rounds().find_map(usual_body).filter(|_| is_listed),
            logged_millibytes: logged(rounds()),
            ..Conditions::of_probe(probe)
        },
        None => Conditions::default(),
    };
    let invalid = run.findings.iter().flat_map(|finding| {
        let figures = invalid(finding);
        let block = finding
            .point
            .map(|point| places.iter().position(|place| *place == point));
        // One about a point that is not compared says nothing here.
        let is_there = !figures.is_empty() && block != Some(None);
        is_there.then(|| InvalidFigures {
            block: block.flatten(),
            figures,
            why: finding.sentence.clone(),
        })
    });
    Contender {
        probe: run.probe.clone(),
        observed: run.observed.clone(),
        conditions,
        excluded: None,
        record: Some(ComparedRun {
            weigh: run.weigh.clone(),
            started_unix: run.started_unix,
            elapsed: run.elapsed,
            invalid: invalid.collect(),
            differs: Vec::new(),
        }),
    }
}

/// The figures that `finding` makes say nothing. One that makes the interval do so takes all of them.
fn invalid(finding: &Finding) -> Vec<Deciding> {
    let is_void = |figure: Figure| finding.effects.on(figure) == Some(Effect::Void);
    let each = [
        (Deciding::CpuPerRequest, Figure::Counts),
        (Deciding::P50, Figure::Latency),
        (Deciding::Throughput, Figure::Rps),
    ];
    let each = each.into_iter();
    each.filter(|(_, figure)| is_void(*figure) || is_void(Figure::Interval))
        .map(|(figure, _)| figure)
        .collect()
}

impl Conditions {
    /// Returns what the head of the first response says of the conditions: of the body only how it is sent.
    pub fn of_probe(probe: &Probe) -> Conditions {
        let head = probe.response_head.as_deref();
        let protocol = head.and_then(|head| head.split_ascii_whitespace().next());
        let connection = probe.header("connection");
        let closes = connection.is_some_and(|value| value.eq_ignore_ascii_case("close"));
        Conditions {
            status: probe.status,
            protocol: protocol.map(|protocol| match &probe.encryption {
                None => protocol.to_owned(),
                Some(encryption) => format!("{protocol} over {encryption}"),
            }),
            compression: probe.header("content-encoding").map(str::to_owned),
            keep_alive: head.map(|_| !closes && protocol != Some("HTTP/1.0")),
            response_bytes: head.map(|head| head.len() as u64 + probe.body_length),
            ..Conditions::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Answers, Cause, Condition, Effects, Encryption, Grade, Reason, Said, example};
    use stats::comparison::{CONFIDENCE, Difference};

    fn compared(runs: &[Run; 2]) -> Comparison {
        let [before, after] =
            [("before", &runs[0]), ("after", &runs[1])].map(|(name, run)| NamedRun { name, run });
        Comparison::of_records(before, after).unwrap()
    }

    /// CPU time per request of every round, by its logarithm.
    fn cpu_of_rounds(run: &Run) -> Vec<f64> {
        let rounds = run.points[0].rounds.iter();
        let each = rounds.map(|round| {
            let cpu = round.footprint.as_ref().unwrap().cpu;
            (cpu.as_nanos() as f64 / 1e3 / round.tally.ok_in_window as f64).ln()
        });
        each.collect()
    }

    #[test]
    fn another_version_of_tls_is_another_protocol_and_handshakes_are_taken_over() {
        let mut runs = [example::ok(), example::ok()];
        for (run, version) in runs.iter_mut().zip(["TLSv1.2", "TLSv1.3"]) {
            run.probe.as_mut().unwrap().encryption = Some(Encryption {
                version: version.into(),
                cipher: "A_CIPHER".into(),
                key_exchange: Some("X25519".into()),
                certificate_key: Some("P-256".into()),
            });
            for round in &mut run.points[0].rounds {
                let connects = &mut round.tally.connects;
                let handshakes = connects.handshakes.get_or_insert_default();
                handshakes.full.record(1_000_000);
                handshakes.note(version, "A_CIPHER", Some("X25519"));
            }
        }
        let compared = compared(&runs);
        let answers = Answers::of(&compared);
        assert!(answers.conditions.unequal.contains(&Condition::Protocol));
        let handshakes = compared.handshakes(1).unwrap();
        assert_eq!(handshakes.count(), runs[1].points[0].rounds.len() as u64);
        assert_eq!(handshakes.agreed_on(), "TLSv1.3 A_CIPHER X25519");
    }

    #[test]
    fn the_rounds_of_two_records_are_two_groups() {
        let runs = example::separate_runs(1.1);
        let answers = Answers::of(&compared(&runs));
        let cpu = answers.deciding().unwrap();
        let [a, b] = [&runs[0], &runs[1]].map(cpu_of_rounds);
        let wanted = Difference::between(&a, &b, CONFIDENCE).unwrap();
        let only = &cpu.against_first[0];
        let ratio = only.ratio.unwrap();
        let near = |found: f64, wanted: f64| {
            assert!((found / wanted - 1.0).abs() < 1e-9, "{found} {wanted}")
        };
        near(ratio.centre, wanted.ratio());
        near(ratio.low, wanted.ratio_interval().0);
        near(ratio.high, wanted.ratio_interval().1);
        near(cpu.values[0].unwrap(), stats::mean(&a).unwrap().exp());
        near(cpu.values[1].unwrap(), stats::mean(&b).unwrap().exp());
        assert_eq!(
            (cpu.figure, only.said, only.starts),
            (Deciding::CpuPerRequest, Said::More, 5)
        );
        assert!((0.005..0.05).contains(&only.detectable.unwrap()));
        let figures: Vec<Deciding> = answers.figures.iter().map(|it| it.figure).collect();
        let wanted = [
            Deciding::CpuPerRequest,
            Deciding::P50,
            Deciding::Throughput,
            Deciding::Memory,
        ];
        assert_eq!(figures, wanted);
    }

    #[test]
    fn throughput_and_latency_are_those_of_the_record() {
        let runs = example::separate_runs(1.0);
        let answers = Answers::of(&compared(&runs));
        let value = |figure| {
            let mut figures = answers.figures.iter();
            figures.find(|it| it.figure == figure).unwrap().values[0].unwrap()
        };
        let summary = runs[0].summary.as_ref().unwrap();
        let rps = summary.rps.geometric_mean.unwrap();
        assert!((value(Deciding::Throughput) / rps - 1.0).abs() < 1e-9);
        let p50 = summary.latency_us.at(Percentile::P50).unwrap();
        assert!((value(Deciding::P50) / p50 - 1.0).abs() < 0.02, "{p50}");
    }

    #[test]
    fn exchanged_records_negate_the_difference_exactly() {
        let [a, b] = example::separate_runs(1.03);
        let mean = |runs: [Run; 2]| {
            let answers = Answers::of(&compared(&runs));
            answers.headlines()[0].difference.unwrap()
        };
        assert_eq!(mean([b.clone(), a.clone()]), mean([a, b]).reversed());
    }

    #[test]
    fn however_good_two_runs_are_what_they_say_together_is_limited() {
        let answers = Answers::of(&compared(&example::separate_runs(1.1)));
        let reasons: Vec<&Reason> = answers
            .reliability
            .doubts
            .iter()
            .map(|it| &it.reason)
            .collect();
        assert_eq!(reasons, [&Reason::SeparateRuns { seconds: 600 }]);
        assert_eq!(answers.reliability.grade, Grade::Caveat);
    }

    #[test]
    fn a_figure_that_is_void_in_one_record_says_nothing_and_the_others_do() {
        let mut runs = example::separate_runs(1.1);
        let void = |figures: &[Figure]| {
            let mut effects = Effects::default();
            effects.add(Effect::Void, figures);
            Finding {
                check: "paused".into(),
                cause: Cause::Paused,
                effects,
                sentence: "weigh was paused".into(),
                ..Finding::default()
            }
        };
        runs[1].findings = vec![void(&[Figure::Latency])];
        let said = |runs: &[Run; 2]| {
            let answers = Answers::of(&compared(runs));
            let all = answers
                .figures
                .iter()
                .take(3)
                .map(|it| it.against_first[0].said);
            all.map(|said| said == Said::Void).collect::<Vec<bool>>()
        };
        assert_eq!(said(&runs), [false, true, false]);
        let answers = Answers::of(&compared(&runs));
        let is_it = |reason: &Reason| matches!(reason, Reason::InvalidFigures { server: 1, invalid } if invalid.why == "weigh was paused");
        assert!(
            answers
                .reliability
                .doubts
                .iter()
                .any(|doubt| is_it(&doubt.reason))
        );
        assert_eq!(answers.reliability.grade, Grade::Invalid);
        runs[1].findings = vec![void(&[Figure::Interval])];
        assert_eq!(said(&runs), [true, true, true]);
    }

    #[test]
    fn fewer_than_three_whole_rounds_on_a_side_give_no_interval() {
        let mut runs = example::separate_runs(1.1);
        for round in runs[0].points[0].rounds.iter_mut().skip(2) {
            round.partial = true;
        }
        let answers = Answers::of(&compared(&runs));
        let only = &answers.headlines()[0];
        assert_eq!(
            (only.said, only.starts, only.ratio),
            (Said::TooFewStarts, 2, None)
        );
        assert!(
            answers
                .deciding()
                .unwrap()
                .values
                .iter()
                .all(Option::is_some)
        );
    }

    #[test]
    fn sweeps_are_compared_at_the_levels_that_both_have() {
        let mut runs = [example::sweep(), example::sweep()];
        runs[1].points.remove(0);
        let made = compared(&runs);
        let names: Vec<&str> = made
            .plan
            .blocks
            .iter()
            .filter_map(|it| it.name.as_deref())
            .collect();
        assert_eq!(names.len(), 7);
        assert_eq!((names[0], names[6]), ("2 connections", "128 connections"));
        // The first has no scatter between equal rounds of either.
        let answers = Answers::of(&made);
        let first = answers
            .figures
            .iter()
            .find(|it| it.figure == Deciding::Throughput)
            .unwrap();
        assert_eq!((first.block, first.against_first[0].starts), (Some(0), 3));
        for side in &mut runs {
            side.points.truncate(1);
            side.points.push(side.points[0].clone());
        }
        runs[0]
            .points
            .iter_mut()
            .for_each(|point| point.level.pipeline = Some(7));
        let [before, after] = [&runs[0], &runs[1]].map(|run| NamedRun { name: "x", run });
        assert_eq!(Comparison::of_records(before, after), None);
    }

    #[test]
    fn where_the_server_was_started_twice_the_unit_is_a_start() {
        let mut runs = example::separate_runs(1.1);
        let rounds = compared(&runs);
        assert_eq!((rounds.unit(), rounds.starts.len()), ("round", 10));
        for run in &mut runs {
            run.plan.sweep = Some(plan::Sweep {
                rounds: Nesting::Halves,
                ..plan::Sweep::default()
            });
        }
        let made = compared(&runs);
        assert_eq!(
            (made.unit(), made.starts.len(), made.starts_of(1).count()),
            ("start", 4, 2)
        );
        let cycles: Vec<usize> = made
            .starts
            .iter()
            .map(|it| it.blocks[0].cycles.len())
            .collect();
        assert_eq!(cycles, [3, 2, 3, 2]);
    }

    #[test]
    fn what_is_printed_as_json_says_the_same_when_it_is_read_again() {
        let made = compared(&example::separate_runs(1.1));
        let text = serde_json::to_string(&made).unwrap();
        let again: Comparison = serde_json::from_str(&text).unwrap();
        assert!(again.is_sound() && again.is_of_records());
        assert_eq!(Answers::of(&again), Answers::of(&made));
    }
}
