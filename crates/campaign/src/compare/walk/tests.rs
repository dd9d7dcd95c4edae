//! Comparing in an arena that measures nothing: slices are made up, and time passes as they say.

use super::super::Unseen;
use super::super::arena::{Begun, Ended, Lost, Watched};
use super::*;
use plan::{Compared, Plan};
use record::{Condition, Conditions, CpuSplit, Machine, Observed, Reason, Slice, example};
use std::sync::atomic::AtomicBool;

/// What comes of a slice: of a server, in a start, by the number of slices that the server has had in it.
type Answer = Box<dyn FnMut(usize, u32, u32) -> Result<Slice, Lost>>;

/// An arena whose slices are made up.
struct Fake {
    answer: Answer,
    conditions: Vec<Conditions>,
    idle: Vec<Option<f64>>,
    /// Bytes that each server writes for a request.
    writes: Vec<u64>,
    asked: Vec<u64>,
    teams: Vec<(u32, u32)>,
    /// Whether a server comes up, by the start.
    comes_up: Box<dyn Fn(usize, u32) -> bool>,
    is_observed: bool,
    time: Instant,
    slice_takes: Nanos,
    starts: u32,
    /// The order in which servers were started, of each start.
    orders: Vec<Vec<u32>>,
    had: Vec<u32>,
    is_cleared: bool,
}

impl Fake {
    fn new(servers: usize) -> Fake {
        Fake {
            answer: Box::new(|_, _, _| Ok(slice(15_000))),
            conditions: vec![known(); servers],
            idle: vec![Some(0.0); servers],
            writes: vec![0; servers],
            asked: vec![0; servers],
            teams: vec![(1, 1); servers],
            comes_up: Box::new(|_, _| true),
            is_observed: true,
            time: Instant::from_nanos(1_000_000_000),
            slice_takes: Nanos::from_millis(101),
            starts: 0,
            orders: Vec::new(),
            had: vec![0; servers],
            is_cleared: false,
        }
    }
}

fn known() -> Conditions {
    Conditions {
        body: Some((5, 1)),
        status: Some(200),
        protocol: Some("HTTP/1.1".into()),
        keep_alive: Some(true),
        ..Conditions::default()
    }
}

/// A slice of a thousand requests, each of which cost the server so many nanoseconds.
fn slice(cost: u64) -> Slice {
    Slice {
        ok: 1_000,
        in_window: 990,
        window: Nanos::from_millis(100),
        server_cpu: Some(Nanos::from_nanos(cost * 1_000)),
        generator_cpu: Nanos::from_millis(5),
        latency: [Some(Nanos::from_micros(100)), None, None],
        body: Some((5, 1)),
        ..Slice::default()
    }
}

impl Arena for Fake {
    fn machine(&self) -> Machine {
        example::machine()
    }

    fn split(&self) -> Option<CpuSplit> {
        None
    }

    fn now(&self) -> Instant {
        self.time
    }

    fn begin(
        &mut self,
        _: &ComparePlan,
        wanted: &[bool],
        order: &[u32],
    ) -> Result<Vec<Result<Begun, String>>, CampaignError> {
        self.time += Nanos::from_millis(500);
        self.starts += 1;
        self.orders.push(order.to_vec());
        self.had.fill(0);
        let of = |(place, is_wanted): (usize, &bool)| match is_wanted {
            true if (self.comes_up)(place, self.starts - 1) => Ok(Begun {
                conditions: self.conditions[place].clone(),
                probe: example::ok().probe,
                observed: Some(match self.is_observed {
                    true => Observed::default(),
                    false => Observed::none("it is elsewhere"),
                }),
                ..Begun::default()
            }),
            _ => Err("it did not come up".to_owned()),
        };
        Ok(wanted.iter().enumerate().map(of).collect())
    }

    fn slice(&mut self, server: usize, _: usize, _: u32) -> Result<Slice, Lost> {
        self.time += self.slice_takes;
        let number = self.had[server];
        self.had[server] += 1;
        let slice = (self.answer)(server, self.starts - 1, number);
        if let Ok(slice) = &slice {
            self.asked[server] += slice.ok + slice.errors;
        }
        slice
    }

    fn idle(&mut self) -> Vec<Option<f64>> {
        self.idle.clone()
    }

    fn note_written(&mut self) {
        self.asked.fill(0);
    }

    fn watch(&mut self) -> Vec<Watched> {
        let each = self.writes.iter().zip(&self.asked).zip(&self.teams);
        each.map(|((writes, asked), team)| Watched {
            written: Some(writes * asked),
            team: Some(*team),
        })
        .collect()
    }

    fn end(&mut self) -> Ended {
        Ended {
            memory: vec![Some(1 << 20); self.had.len()],
            handshakes: vec![None; self.had.len()],
            foreign: Some(0.1),
            steal: Some(0.0),
        }
    }

    fn clear(&mut self) {
        self.is_cleared = true;
    }
}

fn plan(servers: usize, budget: Budget) -> ComparePlan {
    let compared = |place: usize| {
        let name = char::from(b'a' + place as u8).to_string();
        Compared::of(&name, Plan::default())
    };
    ComparePlan {
        servers: (0..servers).map(compared).collect(),
        blocks: vec![Block::of(Load::Closed { connections: 10 })],
        budget,
        seed: 7,
        ..ComparePlan::default()
    }
}

const MINUTE: Budget = Budget::Time {
    time: Nanos::from_secs(60),
    starts: 3,
};

fn carry_out(arena: &mut Fake, plan: ComparePlan) -> Result<Comparison, CampaignError> {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("compared.json");
    let stop = AtomicBool::new(false);
    let comparison = begun(&plan, arena);
    let outcome = Walk::new(plan, comparison, arena, &stop, &mut Unseen).carry_out(&output, false);
    assert!(arena.is_cleared, "nothing is left running");
    let outcome = outcome?;
    assert_eq!(outcome.saved.unwrap(), output);
    let saved = record::load_comparison(&output).unwrap();
    assert_eq!(saved, outcome.comparison, "the record is what was measured");
    Ok(saved)
}

/// A plan of two servers and the reference server.
fn beside_reference(budget: Budget) -> ComparePlan {
    let mut plan = plan(3, budget);
    plan.servers[2].reference = true;
    plan
}

#[test]
fn the_reference_server_is_started_last_and_loaded_in_a_few_cycles_only() {
    let mut arena = Fake::new(3);
    // What would not do for one that is compared: workers, body, and a cost that never becomes steady.
    arena.teams[2] = (4, 4);
    arena.conditions[2].body = Some((9, 9));
    arena.answer = Box::new(|server, _, number| {
        let cost = if server == 2 {
            1_000 + 500 * u64::from(number)
        } else {
            15_000
        };
        let body = Some(if server == 2 { (9, 9) } else { (5, 1) });
        Ok(Slice {
            body,
            ..slice(cost)
        })
    });
    let comparison = carry_out(&mut arena, beside_reference(MINUTE)).unwrap();
    assert!(comparison.starts.len() > 4);
    assert!(
        arena.orders.iter().all(|order| order[2] == 2),
        "{:?}",
        arena.orders
    );
    for start in &comparison.starts {
        let cycles = &start.blocks[0].cycles;
        let with: Vec<bool> = cycles
            .iter()
            .map(|cycle| cycle.slices[2].is_some())
            .collect();
        assert_eq!(with.iter().filter(|it| **it).count(), 3, "{with:?}");
        assert!(with[..3].iter().all(|it| *it));
    }
    let answers = Answers::of(&comparison);
    assert_eq!(answers.headlines().len(), 1, "it is not ranked");
    assert_eq!(comparison.reference(), Some(2));
    assert!(answers.deciding().unwrap().values[2].is_some());
}

#[test]
fn without_the_reference_server_a_comparison_goes_on() {
    for at in [0, 1] {
        let mut arena = Fake::new(3);
        arena.comes_up = Box::new(move |server, start| server != 2 || start < at);
        let comparison = carry_out(&mut arena, beside_reference(MINUTE)).unwrap();
        assert!(comparison.starts.len() > 4, "it is lost in start {at}");
        assert_eq!(comparison.reference().is_some(), at > 0);
        let doubts = Answers::of(&comparison).reliability.doubts;
        let is_of_servers = |doubt: &&record::Doubt| {
            matches!(
                doubt.reason,
                Reason::Excluded { .. } | Reason::VoidStarts { .. }
            )
        };
        assert_eq!(doubts.iter().find(is_of_servers), None, "{at}");
    }
}

#[test]
fn cycles_are_reconsidered_after_three_starts_of_a_long_comparison() {
    let mut arena = Fake::new(2);
    // Starts that scatter much and cycles that do not: fewer cycles, and more starts.
    arena.answer = Box::new(|server, start, number| {
        let more = if server == 1 {
            start * 7 % 5 * 300 + number % 7 * 5
        } else {
            0
        };
        Ok(slice(15_000 + u64::from(more)))
    });
    let time = Nanos::from_secs(300);
    let comparison = carry_out(&mut arena, plan(2, Budget::Time { time, starts: 3 })).unwrap();
    let cycles: Vec<usize> = comparison
        .starts
        .iter()
        .map(|start| start.blocks[0].cycles.len())
        .collect();
    assert_eq!(cycles[..3], [25; 3]);
    assert!(
        cycles.len() > 20 && cycles[3..].iter().all(|cycles| *cycles == 8),
        "{cycles:?}"
    );
}

#[test]
fn a_comparison_has_whole_starts_for_as_long_as_they_fit_into_its_time() {
    let mut arena = Fake::new(2);
    let comparison = carry_out(&mut arena, plan(2, MINUTE)).unwrap();
    assert!(!comparison.interrupted && comparison.broken_off.is_none());
    // A start of 0.5 s, warm-up of 10 cycles and 25 measured ones of 2 x 101 ms: 7.57 s.
    assert_eq!(comparison.starts.len(), 7);
    assert!(
        comparison.elapsed < Nanos::from_secs(60),
        "{:?}",
        comparison.elapsed
    );
    for start in &comparison.starts {
        assert_eq!(
            (start.blocks[0].warm_up, start.blocks[0].steady),
            (10, true)
        );
        assert_eq!(start.blocks[0].cycles.len(), 25);
        assert!(
            start
                .servers
                .iter()
                .all(|server| server.void.is_none() && server.memory.is_some())
        );
    }
    let mut short = plan(
        2,
        Budget::Time {
            time: Nanos::from_secs(1),
            starts: 3,
        },
    );
    short.seed = 8;
    let comparison = carry_out(&mut Fake::new(2), short).unwrap();
    assert_eq!(comparison.starts.len(), 3, "fewer give no interval");
}

#[test]
fn every_server_comes_once_in_each_cycle_in_an_order_that_the_seed_says() {
    let orders = |seed| -> Vec<Vec<u32>> {
        let plan = ComparePlan {
            seed,
            ..plan(3, MINUTE)
        };
        let comparison = carry_out(&mut Fake::new(3), plan).unwrap();
        let starts = comparison
            .starts
            .iter()
            .flat_map(|start| &start.blocks[0].cycles);
        starts.map(|cycle| cycle.order.clone()).collect()
    };
    let found = orders(1);
    for order in &found {
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 1, 2]);
    }
    let first = |server: u32| found.iter().filter(|order| order[0] == server).count();
    let third = found.len() / 3;
    for server in 0..3 {
        assert!(
            first(server).abs_diff(third) < third / 2,
            "{server} came first {} times",
            first(server)
        );
    }
    assert_eq!(found, orders(1));
    assert_ne!(found, orders(2));
}

#[test]
fn no_server_is_always_started_first() {
    let mut arena = Fake::new(2);
    carry_out(&mut arena, plan(2, MINUTE)).unwrap();
    let first: Vec<u32> = arena.orders.iter().map(|order| order[0]).collect();
    assert!(first.contains(&0) && first.contains(&1), "{first:?}");
}

#[test]
fn cycles_count_from_when_every_server_is_steady() {
    let mut arena = Fake::new(2);
    // The second takes a hundred slices to come down to its cost.
    arena.answer = Box::new(|server, _, number| {
        let extra = if server == 1 {
            15_000.0 * (-f64::from(number) / 15.0).exp()
        } else {
            0.0
        };
        Ok(slice(15_000 + extra as u64))
    });
    let comparison = carry_out(&mut arena, plan(2, MINUTE)).unwrap();
    for start in &comparison.starts {
        assert!(start.blocks[0].warm_up > 40, "{}", start.blocks[0].warm_up);
        assert!(start.blocks[0].steady);
    }
    // One that never comes to rest is measured all the same after a minute, and that is said.
    let mut arena = Fake::new(2);
    arena.answer = Box::new(|server, _, number| {
        let cost = if server == 1 {
            15_000.0 * 1.01f64.powi(number as i32)
        } else {
            15_000.0
        };
        Ok(slice(cost as u64))
    });
    let comparison = carry_out(&mut arena, plan(2, MINUTE)).unwrap();
    assert!(
        comparison
            .starts
            .iter()
            .all(|start| !start.blocks[0].steady)
    );
}

#[test]
fn a_start_in_which_a_server_dies_is_void_for_it_and_the_comparison_goes_on() {
    let mut arena = Fake::new(2);
    arena.answer = Box::new(|server, start, number| match (server, start, number) {
        (1, 1, 20) => Err(Lost::Server("it ended (signal: 11)".into())),
        _ => Ok(slice(15_000)),
    });
    let comparison = carry_out(&mut arena, plan(2, MINUTE)).unwrap();
    let void: Vec<Option<&str>> = comparison
        .starts
        .iter()
        .map(|start| start.servers[1].void.as_deref())
        .collect();
    assert_eq!(void[1], Some("it ended (signal: 11)"));
    assert_eq!(void.iter().flatten().count(), 1);
    assert!(comparison.starts.len() > 6);
    assert!(
        comparison.starts[1].blocks[0].cycles.len() < 25,
        "its start ends at once"
    );
}

#[test]
fn a_server_that_never_counts_ends_the_comparison_with_its_reason() {
    let mut arena = Fake::new(2);
    arena.comes_up = Box::new(|server, start| server == 0 || start == 0);
    let comparison = carry_out(&mut arena, plan(2, MINUTE)).unwrap();
    let why = comparison.broken_off.unwrap();
    assert_eq!(
        why,
        "b: 3 starts in a row did not count, the last because it did not come up"
    );
    assert!(comparison.interrupted);
    assert_eq!(comparison.starts.len(), 4);
}

#[test]
fn one_of_two_servers_that_does_not_come_up_at_first_refuses_the_comparison() {
    let mut arena = Fake::new(2);
    arena.comes_up = Box::new(|server, _| server == 0);
    let refused = carry_out(&mut arena, plan(2, MINUTE)).unwrap_err();
    assert_eq!(refused.to_string(), "b: it did not come up");
    let mut arena = Fake::new(3);
    arena.comes_up = Box::new(|server, _| server != 1);
    let comparison = carry_out(&mut arena, plan(3, MINUTE)).unwrap();
    assert_eq!(
        comparison.servers[1].excluded.as_deref(),
        Some("it did not come up")
    );
    assert!(
        comparison
            .starts
            .iter()
            .all(|start| start.servers[2].void.is_none())
    );
}

#[test]
fn unequal_conditions_are_refused_with_the_difference_unless_they_are_wanted() {
    let changed: [fn(&mut Fake); 4] = [
        |arena| arena.conditions[1].body = Some((6, 1)),
        |arena| arena.writes[1] = 80,
        |arena| arena.teams[1] = (4, 4),
        |arena| arena.conditions[1].compression = Some("gzip".into()),
    ];
    let named = [
        "body: 5 B",
        "logging: off from a, on from b",
        "workers: 1 from a, 4 from b",
        "compression: none",
    ];
    for (change, name) in changed.iter().zip(named) {
        let compared = |unequal| {
            let mut arena = Fake::new(2);
            arena.answer = Box::new(|_, _, _| {
                Ok(Slice {
                    body: None,
                    ..slice(15_000)
                })
            });
            change(&mut arena);
            let plan = plan(2, MINUTE);
            carry_out(&mut arena, ComparePlan { unequal, ..plan })
        };
        let refused = compared(false).unwrap_err().to_string();
        assert!(
            refused.contains(name) && refused.contains("--unequal"),
            "{refused}"
        );
        assert!(compared(true).is_ok(), "{name}");
    }
}

#[test]
fn threads_tell_workers_apart_only_of_one_and_the_same_program() {
    // Both have the same (empty) list of processes.
    let compared = |threads: [u32; 2]| {
        let mut arena = Fake::new(2);
        arena.teams = threads.map(|threads| (1, threads)).into();
        carry_out(&mut arena, plan(2, MINUTE))
    };
    let refused = compared([2, 3]).unwrap_err().to_string();
    let wanted = "workers: 2 threads from a, 3 threads from b";
    assert!(refused.contains(wanted), "{refused}");
    let workers = |threads| Answers::of(&compared(threads).unwrap()).conditions;
    assert!(workers([4, 4]).equal.contains(&Condition::Workers));
    // A runtime starts one more now and then.
    assert!(workers([7, 8]).unknown.contains(&Condition::Workers));
}

#[test]
fn a_server_that_works_while_nothing_is_asked_of_it_is_excluded() {
    for (share, is_refused) in [(0.019, false), (0.021, true)] {
        let mut arena = Fake::new(2);
        arena.idle[1] = Some(share);
        let result = carry_out(&mut arena, plan(2, MINUTE));
        assert_eq!(result.is_err(), is_refused, "{share}");
        if let Err(error) = result {
            assert!(
                error.to_string().starts_with("b: it takes 2 % of a CPU"),
                "{error}"
            );
        }
    }
}

#[test]
fn answers_that_always_change_are_compared_where_conditions_need_not_be_equal() {
    let compared = |unequal| {
        let mut arena = Fake::new(2);
        arena.answer = Box::new(|_, _, number| {
            Ok(Slice {
                body: Some((5, number)),
                ..slice(15_000)
            })
        });
        carry_out(
            &mut arena,
            ComparePlan {
                unequal,
                ..plan(2, MINUTE)
            },
        )
        .unwrap()
    };
    let refused = compared(false);
    assert!(
        refused
            .broken_off
            .unwrap()
            .contains("to other 5 bytes (--unequal")
    );
    let all = compared(true).starts;
    assert!(all.len() > 4 && all.iter().all(|start| start.servers[0].void.is_none()));
}

#[test]
fn an_answer_that_changes_midway_or_fails_too_often_voids_its_start() {
    let mut arena = Fake::new(2);
    arena.answer = Box::new(|server, start, number| {
        Ok(match (server, start, number) {
            (1, 1, 30) => Slice {
                body: Some((7, 2)),
                ..slice(15_000)
            },
            (1, 2, 15..) => Slice {
                errors: 30,
                error: Some("the status was 5xx".into()),
                ..slice(15_000)
            },
            (1, 3, 30) => Slice {
                ok: 0,
                errors: 9,
                error: Some("took longer than --timeout".into()),
                ..slice(1)
            },
            _ => slice(15_000),
        })
    });
    let comparison = carry_out(&mut arena, plan(2, MINUTE));
    // Three in a row end it; what was measured stands.
    let comparison = comparison.unwrap();
    let void: Vec<&str> = comparison
        .starts
        .iter()
        .filter_map(|start| start.servers[1].void.as_deref())
        .collect();
    assert_eq!(
        void[0],
        "its answer changed midway, from 5 to 7 bytes (--unequal compares all the same)"
    );
    assert!(
        void[1].starts_with("2.")
            && void[1].ends_with("% of its requests failed: the status was 5xx"),
        "{}",
        void[1]
    );
    assert_eq!(
        void[2],
        "no request of a slice succeeded: took longer than --timeout"
    );
    assert!(comparison.broken_off.is_some());
}

#[test]
fn latency_under_equal_load_is_added_where_the_cost_of_a_server_is_not_known() {
    let mut arena = Fake::new(2);
    arena.is_observed = false;
    arena.answer = Box::new(|_, _, _| {
        Ok(Slice {
            server_cpu: None,
            ..slice(1)
        })
    });
    let comparison = carry_out(&mut arena, plan(2, MINUTE)).unwrap();
    let Load::Open { rate, .. } = comparison.plan.blocks[1].load else {
        panic!("{:?}", comparison.plan.blocks)
    };
    assert_eq!(rate.as_f64(), 4_950.0, "half of 9,900/s");
    assert_eq!(comparison.starts[0].blocks.len(), 1);
    assert!(
        comparison.starts[1..]
            .iter()
            .all(|start| start.blocks.len() == 2)
    );
    assert_eq!(
        carry_out(&mut Fake::new(2), plan(2, MINUTE))
            .unwrap()
            .plan
            .blocks
            .len(),
        1
    );
}

#[test]
fn slow_servers_have_fewer_cycles_and_starts_and_not_a_comparison_of_hours() {
    let mut arena = Fake::new(2);
    arena.slice_takes = Nanos::from_secs(3);
    let comparison = carry_out(
        &mut arena,
        plan(
            2,
            Budget::Time {
                time: Nanos::from_secs(60),
                starts: 8,
            },
        ),
    )
    .unwrap();
    assert_eq!(comparison.starts.len(), 3);
    for start in &comparison.starts {
        assert_eq!(start.blocks[0].cycles.len(), 8);
    }
    assert!(
        comparison.elapsed < Nanos::from_secs(400),
        "{:?}",
        comparison.elapsed
    );
}

#[test]
fn an_interrupt_keeps_what_is_complete_and_the_rest_can_be_measured_later() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("compared.json");
    let stop = AtomicBool::new(false);
    let raise: &'static AtomicBool = Box::leak(Box::new(AtomicBool::new(false)));
    let mut arena = Fake::new(2);
    arena.answer = Box::new(move |_, start, _| {
        raise.store(start == 2, Ordering::Relaxed);
        match start {
            2 => Err(Lost::Interrupted),
            _ => Ok(slice(15_000)),
        }
    });
    let wanted = plan(2, MINUTE);
    let comparison = begun(&wanted, &arena);
    let outcome = Walk::new(wanted.clone(), comparison, &mut arena, &stop, &mut Unseen)
        .carry_out(&output, false);
    let earlier = outcome.unwrap().comparison;
    assert!(earlier.interrupted && earlier.starts.len() == 2 && raise.load(Ordering::Relaxed));
    let earlier = record::load_comparison(&output).unwrap();
    let mut arena = Fake::new(2);
    let whole =
        Walk::new(wanted, earlier, &mut arena, &stop, &mut Unseen).carry_out(&output, false);
    let whole = whole.unwrap().comparison;
    assert!(!whole.interrupted);
    let numbers: Vec<u32> = whole.starts.iter().map(|start| start.index).collect();
    assert_eq!(numbers, (0..7).collect::<Vec<u32>>());
}

/// Why a comparison is not written over a file that holds this.
fn refused_over(content: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("notes.txt");
    std::fs::write(&output, content).unwrap();
    let stop = AtomicBool::new(false);
    let mut arena = Fake::new(2);
    let wanted = plan(2, MINUTE);
    let comparison = begun(&wanted, &arena);
    let refused =
        Walk::new(wanted, comparison, &mut arena, &stop, &mut Unseen).carry_out(&output, false);
    assert_eq!(std::fs::read(&output).unwrap(), content);
    match refused {
        Err(CampaignError::Save(error)) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_record_is_not_written_over_a_file_that_is_none_or_over_that_of_a_run() {
    let notes = refused_over(b"my notes");
    assert!(
        notes.contains("is a file that is no record of weigh"),
        "{notes}"
    );
    let mut run = Vec::new();
    example::ok().write_json(&mut run).unwrap();
    let of_run = refused_over(&run);
    assert!(
        of_run.contains("holds the record of a run; name another"),
        "{of_run}"
    );
}
