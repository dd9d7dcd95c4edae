//! Walking, resuming and searching on a bench that measures nothing: rounds are made up, and no socket is opened.

use super::*;
use crate::selftest::BeyondReach;
use crate::server::Ready;
use crate::view::Quiet;
use engine::{Progress, RoundError};
use plan::{Arrivals, Axis, Endpoint, Level, Load, Nesting, ServerCommand, Stop, Sweep};
use record::{During, Observed, ServerEnd, example};
use std::panic::{AssertUnwindSafe, catch_unwind};
use units::{Instant, Nanos, Rate};

/// What comes of the round of a planned.
type Answer = Box<dyn FnMut(&PlannedRound) -> (Result<Round, Unmeasured>, Option<CampaignError>)>;

/// What comes of the self-test of a plan.
type BaselineOf = Box<dyn Fn(&Plan) -> Result<Baseline, SelfTestError>>;

/// A bench whose rounds are made up.
struct Fake {
    machine: Machine,
    answer: Answer,
    baseline: BaselineOf,
    /// What comes of a window before the first round.
    settle: Option<Box<dyn FnMut() -> Round>>,
    /// The rounds that were measured.
    measured: Vec<PlannedRound>,
    /// The first `{seq}` of each round.
    seqs: Vec<u64>,
    /// Errors of each round that the campaign is told while it goes on.
    errors: u64,
    prepared: Option<Plan>,
    is_cleared: bool,
}

/// Each round sends so many requests.
const SENT: u64 = 100;

impl Fake {
    fn new() -> Fake {
        Fake::answering(|planned| (Ok(round(planned)), None))
    }

    fn answering(
        answer: impl FnMut(&PlannedRound) -> (Result<Round, Unmeasured>, Option<CampaignError>)
        + 'static,
    ) -> Fake {
        Fake {
            machine: example::machine(),
            answer: Box::new(answer),
            baseline: Box::new(|_| Err(SelfTestError::Silence)),
            settle: None,
            measured: Vec::new(),
            seqs: Vec::new(),
            errors: 0,
            prepared: None,
            is_cleared: false,
        }
    }

    /// Point and round of each planned that was measured.
    fn places(&self) -> Vec<(usize, u32)> {
        let place = |planned: &PlannedRound| (planned.point, planned.round);
        self.measured.iter().map(place).collect()
    }
}

impl Bench for Fake {
    fn machine(&self) -> Machine {
        self.machine.clone()
    }

    fn baseline(&mut self, plan: &Plan, view: &mut dyn View) -> Result<Baseline, SelfTestError> {
        view.self_test();
        (self.baseline)(plan)
    }

    fn prepare(
        &mut self,
        plan: &Plan,
        _: u64,
        _: &mut dyn View,
    ) -> Result<Option<Ready>, CampaignError> {
        let kept = self.prepared.replace(plan.clone());
        let goes_on = kept.is_some_and(|kept| kept.server == plan.server);
        Ok((!goes_on).then(|| Ready {
            probe: example::ok().probe.unwrap(),
            shown: Vec::new(),
            probes: 1,
        }))
    }

    fn observe(&mut self, _: &Plan, _: &Endpoint) -> Result<Observed, CampaignError> {
        Ok(Observed::none("there is no server"))
    }

    fn lost(&mut self, _: &PlannedRound) -> Option<CampaignError> {
        None
    }

    fn round(
        &mut self,
        seq: u64,
        follower: &mut Follower<'_>,
    ) -> (Result<(Round, u64), Unmeasured>, Option<CampaignError>) {
        if let Some(settle) = self.settle.as_mut().filter(|_| follower.is_settling) {
            return (Ok((settle(), seq + SENT)), None);
        }
        self.measured.push(follower.planned);
        self.seqs.push(seq);
        let early = follower.progress(Progress {
            errors: self.errors,
            window_start: Some(kernel::clock::now()),
            ..Progress::default()
        });
        let (round, lost) = (self.answer)(&follower.planned);
        let lost = lost.or(early.map(CampaignError::Aborted));
        (round.map(|round| (round, seq + SENT)), lost)
    }

    fn clear(&mut self) {
        self.is_cleared = true;
    }
}

/// A whole round of a closed loop, as that of `planned`.
fn round(planned: &PlannedRound) -> Round {
    let mut round = example::ok().points[0].rounds[0].clone();
    round.index = planned.round;
    round
}

/// Two rounds at each of three numbers of connections.
fn sweep() -> Plan {
    Plan {
        sweep: Some(Sweep {
            axes: vec![Axis::Connections(vec![1, 2, 3])],
            ..Sweep::default()
        }),
        rounds: 2,
        ..Plan::example("127.0.0.1:80".parse().unwrap())
    }
}

/// Interrupts a campaign once so many rounds are measured.
struct After<'a> {
    left: u32,
    stop: Option<&'a AtomicBool>,
    points: Vec<usize>,
}

impl<'a> After<'a> {
    fn rounds(left: u32, stop: Option<&'a AtomicBool>) -> After<'a> {
        After {
            left,
            stop,
            points: Vec::new(),
        }
    }
}

impl View for After<'_> {
    fn measured(&mut self, _: &Round) {
        self.left = self.left.saturating_sub(1);
        let is_over = self.left == 0;
        self.stop
            .inspect(|stop| stop.store(is_over, Ordering::Relaxed));
    }

    fn point(&mut self, _: &Run, point: usize, _: &[record::Finding]) {
        self.points.push(point);
    }
}

/// A folder with a record in it.
struct Desk(tempfile::TempDir);

impl Desk {
    fn new() -> Desk {
        Desk(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("run.json")
    }

    fn begin(&self, plan: &Plan, bench: &mut Fake) -> Result<Outcome, CampaignError> {
        self.begin_with(plan, bench, &AtomicBool::new(false), &mut Quiet)
    }

    fn begin_with(
        &self,
        plan: &Plan,
        bench: &mut Fake,
        stop: &AtomicBool,
        view: &mut dyn View,
    ) -> Result<Outcome, CampaignError> {
        let outcome = Campaign::of(plan, bench, stop, view).begin(&self.path());
        assert!(bench.is_cleared, "{outcome:?}");
        outcome
    }

    /// A campaign that was interrupted after so many rounds.
    fn interrupted(&self, plan: &Plan, rounds: u32) -> Run {
        let stop = AtomicBool::new(false);
        let mut view = After::rounds(rounds, Some(&stop));
        let outcome = self.begin_with(plan, &mut Fake::new(), &stop, &mut view);
        outcome.unwrap().saved.unwrap();
        self.load()
    }

    fn resume(&self, plan: &Plan, bench: &mut Fake) -> Result<Outcome, CampaignError> {
        let stop = AtomicBool::new(false);
        let mut view = Quiet;
        let campaign = Campaign::of(plan, bench, &stop, &mut view);
        campaign.resume(self.load(), &self.path())
    }

    fn load(&self) -> Run {
        record::load(&self.path()).unwrap()
    }
}

#[test]
fn each_cell_is_measured_once_and_each_point_told_when_it_is_whole() {
    let cases = [
        (
            Nesting::Nested,
            [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)],
        ),
        (
            Nesting::Interleaved,
            [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)],
        ),
    ];
    for (rounds, order) in cases {
        let mut plan = sweep();
        plan.sweep.as_mut().unwrap().rounds = rounds;
        let (desk, mut bench) = (Desk::new(), Fake::new());
        let mut view = After::rounds(u32::MAX, None);
        let stop = AtomicBool::new(false);
        let outcome = desk.begin_with(&plan, &mut bench, &stop, &mut view);
        let run = outcome.unwrap().run;
        assert_eq!(bench.places(), order);
        assert_eq!(view.points, [0, 1, 2]);
        assert_eq!(bench.seqs, [1, 101, 201, 301, 401, 501], "the probe took 0");
        assert_eq!(run.sent_total.probe, 1);
        assert!(!run.interrupted && run.broken_off.is_none());
        assert_eq!(desk.load(), run);
    }
}

#[test]
fn a_sweep_that_was_interrupted_goes_on_where_it_stopped_and_keeps_what_it_had() {
    let (desk, plan) = (Desk::new(), sweep());
    let before = desk.interrupted(&plan, 3);
    assert!(before.interrupted && before.points.len() == 2);
    let mut bench = Fake::new();
    let after = desk.resume(&plan, &mut bench).unwrap().run;
    assert_eq!(bench.places(), [(1, 1), (2, 0), (2, 1)]);
    assert!(bench.seqs[0] >= 3 * before.points[0].rounds[0].sent_total.sum());
    assert_eq!(after.points[0].rounds, before.points[0].rounds);
    assert_eq!(after.points[1].rounds[0], before.points[1].rounds[0]);
    assert_eq!((after.interrupted, after.resumed_unix.len()), (false, 1));
    assert_eq!(desk.load(), after);
    let complete = desk.resume(&plan, &mut Fake::new());
    assert!(matches!(complete, Err(CampaignError::Complete(_))));
}

#[test]
fn a_sweep_that_was_killed_goes_on_from_its_journal() {
    let (desk, plan) = (Desk::new(), sweep());
    let killed = catch_unwind(AssertUnwindSafe(|| {
        let mut bench = Fake::answering(|planned| {
            assert!(planned.point == 0, "killed");
            (Ok(round(planned)), None)
        });
        desk.begin(&plan, &mut bench)
    }));
    assert!(killed.is_err() && !desk.path().exists());
    let mut bench = Fake::new();
    let run = desk.resume(&plan, &mut bench).unwrap().run;
    assert_eq!(bench.places(), [(1, 0), (1, 1), (2, 0), (2, 1)]);
    assert_eq!(run.elapsed, None, "of one that was killed it is not known");
    let names: Vec<_> = desk.0.path().read_dir().unwrap().collect();
    assert_eq!(names.len(), 1, "its journal is gone");
}

#[test]
fn neither_another_plan_nor_another_machine_goes_on() {
    let (desk, plan) = (Desk::new(), sweep());
    desk.interrupted(&plan, 1);
    let other = Plan {
        warmup: Nanos::from_millis(7),
        ..plan.clone()
    };
    let mut elsewhere = Fake::new();
    elsewhere.machine.kernel = Some("0.99".into());
    let cases = [
        (
            desk.resume(&other, &mut Fake::new()),
            "the plan is not what it was",
        ),
        (
            desk.resume(&plan, &mut elsewhere),
            "the kernel is not what it was",
        ),
    ];
    for (refused, wanted) in cases {
        let said = refused.unwrap_err().to_string();
        assert!(said.starts_with(wanted), "{said}");
    }
    assert_eq!(elsewhere.measured, []);
}

#[test]
fn what_is_withheld_only_when_a_sweep_goes_on_is_withheld_from_its_probe_too() {
    let desk = Desk::new();
    let mut plan = sweep();
    desk.interrupted(&plan, 1);
    let mut run = desk.load();
    let probe = run.probe.as_mut().unwrap();
    probe.request_head = "GET / HTTP/1.1\r\nX-Ticket: 4711\r\n\r\n".into();
    probe.response_head = Some("HTTP/1.1 200 OK\r\nX-Ticket: 4712\r\n\r\n".into());
    run.write_json(std::fs::File::create(desk.path()).unwrap())
        .unwrap();
    plan.withhold = vec!["X-Ticket".into()];
    let run = desk.resume(&plan, &mut Fake::new()).unwrap().run;
    let probe = run.probe.unwrap();
    assert!(!probe.request_head.contains("4711") && probe.request_head.contains("X-Ticket: "));
    assert!(!probe.response_head.unwrap().contains("4712"));
    assert!(
        !std::fs::read_to_string(desk.path())
            .unwrap()
            .contains("X-Ticket: 471")
    );
}

/// The plan of a search over these rates.
fn search() -> Plan {
    let rates = [100, 200, 400, 800, 1_600].map(Rate::per_second);
    Plan {
        load: Load::Open {
            rate: rates[0],
            of: plan::Arriving::Exchanges,
            arrivals: Arrivals::Poisson,
            connections: 10,
        },
        sweep: Some(Sweep {
            axes: vec![Axis::Rate(rates.to_vec())],
            ..Sweep::default()
        }),
        slo: Some("max<60m".parse().unwrap()),
        stop: Stop::Duration(Nanos::from_secs(1_000)),
        ..sweep()
    }
}

/// A server that does 500 requests a second.
fn limited() -> Fake {
    Fake::answering(|planned| {
        let mut round = example::open_loop().points[0].rounds[0].clone();
        round.index = planned.round;
        let growth = &mut round.tally.open.as_mut().unwrap().growth;
        *growth = record::Growth::default();
        if rate_of(&planned.level) > 500.0 {
            round.tally.ok_in_window = round.tally.scheduled / 2;
            for milli in 0..1_000 {
                let scheduled = Instant::ZERO + Nanos::from_millis(milli);
                growth.add(scheduled, Nanos::from_millis(milli));
            }
        }
        (Ok(round), None)
    })
}

fn rate_of(level: &Level) -> f64 {
    Axis::Rate(Vec::new()).value_at(level).unwrap()
}

#[test]
fn a_search_that_was_interrupted_finds_what_it_would_have_found() {
    let (desk, plan) = (Desk::new(), search());
    let mut whole = limited();
    desk.begin(&plan, &mut whole).unwrap();
    let wanted = desk.load();
    let points = wanted.points.iter();
    let places: Vec<(u32, f64)> = points
        .map(|point| (point.level.windows, rate_of(&point.level)))
        .collect();
    assert!(places.is_sorted(), "{places:?}");
    let capacity = wanted.curve.as_ref().unwrap().capacity.as_ref().unwrap();
    let ends = [capacity.holds, capacity.fails].map(|place| places[place.unwrap()]);
    assert!(ends[0].1 <= 500.0 && ends[1].1 > 500.0, "{ends:?}");
    assert_eq!(ends[0].0, record::Capacity::LONG);
    for rounds in [1, 4, 7] {
        let (desk, stop) = (Desk::new(), AtomicBool::new(false));
        let mut view = After::rounds(rounds, Some(&stop));
        desk.begin_with(&plan, &mut limited(), &stop, &mut view)
            .unwrap();
        let mut rest = limited();
        let run = desk.resume(&plan, &mut rest).unwrap().run;
        assert_eq!(rest.measured.len() + rounds as usize, whole.measured.len());
        assert_eq!(run.points, wanted.points);
        let complete = desk.resume(&plan, &mut limited());
        assert!(matches!(complete, Err(CampaignError::Complete(_))));
    }
}

#[test]
fn two_generators_that_fail_cost_no_round_by_one() {
    use Generators::{One, Two};
    let plan = Plan {
        two_generators: true,
        load: Load::Closed { connections: 2 },
        sweep: None,
        rounds: 4,
        ..sweep()
    };
    let mut bench = Fake::answering(|planned| match (planned.by, planned.round) {
        (Two, 1) => (Err(Unmeasured::Two("an unknown message: hm".into())), None),
        _ => (Ok(round(planned)), None),
    });
    let desk = Desk::new();
    desk.begin(&plan, &mut bench).unwrap();
    let by: Vec<Generators> = bench.measured.iter().map(|planned| planned.by).collect();
    assert_eq!(by, [One, Two, Two, One, One, One], "no more are tried");
    let run = desk.load();
    let split = run.points[0].split_generators.as_ref().unwrap();
    assert_eq!((run.points[0].rounds.len(), split.rounds.len()), (4, 1));
    assert!(split.failed.as_ref().unwrap().contains("hm") && !run.interrupted);
}

#[test]
fn when_the_server_ends_what_was_measured_stands() {
    let mut bench = Fake::answering(|planned| {
        let end = ServerEnd {
            status: Some(3),
            signal: None,
            level: planned.level,
            round: planned.round,
            during: During::Window,
            left: 0,
            printed: String::new(),
        };
        let lost = (planned.point == 1).then(|| CampaignError::ServerEnded(Box::new(end)));
        (Ok(round(planned)), lost)
    });
    let desk = Desk::new();
    desk.begin(&sweep(), &mut bench).unwrap();
    assert_eq!(bench.places(), [(0, 0), (0, 1), (1, 0)]);
    let run = desk.load();
    assert_eq!(run.server_end.unwrap().status, Some(3));
    assert!(run.interrupted && run.broken_off.is_none());
    assert_eq!(run.points[1].rounds.len(), 1);
}

#[test]
fn a_campaign_that_is_aborted_while_a_round_goes_on_or_after_it_says_why_in_its_record() {
    for (condition, errors) in [("errors>=5", 5), ("p50>1us", 0)] {
        let (desk, mut bench) = (Desk::new(), Fake::new());
        bench.errors = errors;
        let mut plan = sweep();
        plan.abort_if = plan::requirement::requirements(condition).unwrap();
        let run = desk.begin(&plan, &mut bench).unwrap().run;
        let why = run.aborted.as_deref().unwrap();
        assert!(why.contains(condition), "{why}");
        assert!(run.interrupted && run.broken_off.is_none());
        assert_eq!(bench.measured.len(), 1);
        assert_eq!(desk.load(), run);
    }
}

#[test]
fn an_error_that_breaks_a_campaign_off_is_recorded_without_secrets() {
    let mut plan = sweep();
    plan.server = Some(ServerCommand {
        argv: ["srv", "--token=s3cret"].map(str::to_owned).to_vec(),
        ready_within: Nanos::from_secs(1),
        reference_server: false,
    });
    let mut bench = Fake::answering(|planned| {
        let gone = RoundError("`srv --token=s3cret` is gone".into());
        match planned.point {
            0 => (Ok(round(planned)), None),
            _ => (Err(gone.into()), None),
        }
    });
    let desk = Desk::new();
    desk.begin(&plan, &mut bench).unwrap();
    let why = desk.load().broken_off.unwrap();
    assert!(why.contains("is gone") && !why.contains("s3cret"), "{why}");
}

fn beyond_reach() -> BeyondReach {
    BeyondReach {
        rate: Rate::per_second(400),
        of: plan::Arriving::Exchanges,
        most: 300.0,
        threads: 1,
        cpus: 1.0,
        cpu_per_exchange: Nanos::from_millis(3),
    }
}

#[test]
fn a_rate_beyond_reach_is_refused_only_as_long_as_nothing_is_measured() {
    let plan = Plan {
        slo: None,
        ..search()
    };
    let beyond = |from: f64| {
        let mut bench = limited();
        bench.baseline = Box::new(move |plan| match rate_of(&Level::of(plan.load)) >= from {
            true => Err(SelfTestError::BeyondReach(beyond_reach())),
            false => Err(SelfTestError::Silence),
        });
        bench
    };
    let mut bench = beyond(0.0);
    let refused = Desk::new().begin(&plan, &mut bench);
    assert!(matches!(refused, Err(CampaignError::BeyondReach(_))) && bench.measured.is_empty());
    let mut bench = beyond(400.0);
    Desk::new().begin(&plan, &mut bench).unwrap();
    assert_eq!(bench.measured.len(), 10);
}

#[test]
fn an_interrupt_in_a_later_points_self_test_is_an_interrupt_and_what_was_measured_stands() {
    let plan = Plan {
        slo: None,
        ..search()
    };
    let mut bench = limited();
    bench.baseline = Box::new(|plan| match rate_of(&Level::of(plan.load)) > 100.0 {
        true => Err(SelfTestError::Interrupted),
        false => Err(SelfTestError::Silence),
    });
    let desk = Desk::new();
    let run = desk.begin(&plan, &mut bench).unwrap().run;
    let rounds: Vec<usize> = run.points.iter().map(|point| point.rounds.len()).collect();
    assert_eq!((rounds, run.broken_off), (vec![2], None));
}

/// A window of the load before the first round, whose requests/s rises by `rise` in each 100 ms from the last window's end on.
fn window(number: u64, rise: u64) -> Round {
    let mut round = example::ok().points[0].rounds[0].clone();
    round.window.end = round.window.start + Settling::WINDOW;
    round.tally.series = record::Series::default();
    for bin in 0..10 {
        let ok = 1_000 + rise * (number * 10 + bin);
        round.tally.series.add(Nanos::from_millis(100) * bin, ok, 0);
    }
    round
}

/// A bench that measures windows of that rise before so many rounds; and how many windows it has measured.
fn settling(rise: u64) -> (Fake, std::rc::Rc<std::cell::Cell<u64>>) {
    let windows = std::rc::Rc::new(std::cell::Cell::new(0));
    let measured = std::rc::Rc::clone(&windows);
    let mut bench = Fake::new();
    bench.settle = Some(Box::new(move || {
        measured.set(measured.get() + 1);
        window(measured.get() - 1, rise)
    }));
    (bench, windows)
}

#[test]
fn load_goes_on_before_the_first_round_until_the_server_is_steady_or_to_the_limit() {
    for (rise, windows, is_steady) in [(0, 2, true), (20, 10, false)] {
        let (desk, plan) = (
            Desk::new(),
            Plan {
                settle: true,
                ..sweep()
            },
        );
        let (mut bench, measured) = settling(rise);
        let run = desk.begin(&plan, &mut bench).unwrap().run;
        assert_eq!(measured.get(), windows);
        let rounds = || run.points.iter().flat_map(|point| &point.rounds);
        let settlings: Vec<_> = rounds()
            .filter_map(|round| round.settling.as_ref())
            .collect();
        assert_eq!(settlings.len(), 1, "once a server");
        assert_eq!(settlings[0].is_steady, Some(is_steady));
        let each = window(0, 0).sent_total.sum();
        assert_eq!(settlings[0].sent, windows * each);
        let measured: u64 = rounds().map(|round| round.sent_total.sum()).sum();
        assert_eq!(
            run.sent_total.sum(),
            1 + measured + windows * each,
            "the probe is one"
        );
        assert_eq!(bench.seqs[0], 1 + windows * SENT);
        assert_eq!(
            run.findings.iter().any(|found| found.check == "steady"),
            !is_steady
        );
        assert_eq!(desk.load(), run);
    }
}

#[test]
fn with_a_warm_up_of_its_own_a_plan_begins_with_its_first_round() {
    let (desk, (mut bench, measured)) = (Desk::new(), settling(0));
    let run = desk.begin(&sweep(), &mut bench).unwrap().run;
    assert_eq!(measured.get(), 0);
    assert!(run.points[0].rounds[0].settling.is_none());
}
