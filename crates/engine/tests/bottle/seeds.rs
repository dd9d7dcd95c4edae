//! Random plans against random servers: no exchange is lost or invented, and a seed always comes to the same.
//!
//! `SEEDS=10000 cargo test -p engine --test bottle seeds -- --nocapture` prints what each comes to as one number, before a change of the
//! engine's shape and after it: such a change changes none of them. `SEED=7` prints everything that came of one.

use super::*;
use plan::{Arrivals, Arriving, Body, Request, Requests};

/// Numbers that follow from a seed (SplitMix64).
struct Draws(u64);

impl Draws {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % limit
    }

    fn one_in(&mut self, number: u64) -> bool {
        self.below(number) == 0
    }

    fn some<T>(&mut self, number: u64, value: impl FnOnce(&mut Draws) -> T) -> Option<T> {
        self.one_in(number).then(|| value(self))
    }
}

fn plan_of(draws: &mut Draws) -> Plan {
    let connections = 1 + draws.below(8) as u32;
    let stop = match draws.one_in(2) {
        true => Stop::Requests(1 + draws.below(200)),
        false => Stop::Duration(MS * (20 + draws.below(200))),
    };
    let mut plan = closed(connections, stop);
    if draws.one_in(3) {
        plan.load = Load::Open {
            rate: units::Rate::per_second(50 + draws.below(3_000)),
            of: match draws.one_in(3) {
                true => Arriving::Connections,
                false => Arriving::Exchanges,
            },
            arrivals: match draws.one_in(2) {
                true => Arrivals::Poisson,
                false => Arrivals::Constant,
            },
            connections,
        };
    } else {
        plan.protocol.pipeline = 1 + draws.below(5) as u32;
    }
    plan.warmup = MS * draws.below(3) * 20;
    plan.timeouts.exchange = MS * (20 + draws.below(300));
    plan.timeouts.connect = MS * (20 + draws.below(300));
    plan.connect = [Connect::Eager, Connect::Lazy][draws.below(2) as usize];
    plan.protocol.requests_per_connection = draws.some(3, |draws| 1 + draws.below(9));
    if plan.load.is_of_connections() {
        plan.protocol.requests_per_connection.get_or_insert(1);
    }
    if draws.one_in(2) {
        let post = Request {
            method: "POST".into(),
            body: Some(Body::Text("x".repeat(draws.below(5_000) as usize))),
            ..Request::get("/post")
        };
        plan.requests = Requests::Listed(vec![Request::get("/{seq}"), post, Request::get("/")]);
    }
    plan
}

fn script_of(draws: &mut Draws) -> Script {
    let services = 1 + draws.below(6);
    Script {
        service: (0..services)
            .map(|_| MS / 10 * (1 + draws.below(300)))
            .collect(),
        close_after: draws.some(3, |draws| 1 + draws.below(12)),
        drop_every: draws.some(5, |draws| 2 + draws.below(30)),
        silent_from: draws.some(6, |draws| draws.below(150)),
        dead_from: draws.some(8, |draws| draws.below(150)),
        refuse: draws.one_in(40),
        deaf: draws.one_in(40),
        fails: draws.one_in(12),
    }
}

fn options_of(draws: &mut Draws) -> Options {
    Options {
        faults: Faults {
            reads: [Reads::Whole, Reads::OneByte, Reads::Random][draws.below(3) as usize],
            short_writes: [0.0, 0.0, 0.4][draws.below(3) as usize],
            ..Faults::default()
        },
        ..Options::default()
    }
}

#[test]
fn seeds() {
    let number: u64 = std::env::var("SEEDS").map_or(200, |seeds| seeds.parse().unwrap());
    let only = std::env::var("SEED")
        .ok()
        .map(|seed| seed.parse::<u64>().unwrap());
    for seed in only.map_or(0..number, |only| only..only + 1) {
        let mut draws = Draws(seed);
        let (plan, script, options) = (
            plan_of(&mut draws),
            script_of(&mut draws),
            options_of(&mut draws),
        );
        let (round, seen, _) = bottle(&plan, script.clone(), options.clone());
        assert!(round.tally.conserved(), "seed {seed}");
        assert!(round.tally.ok <= seen, "seed {seed}: {seen}");
        let text = format!("{:?} {:?} {seen}", round.tally, round.sent_total);
        let (again, seen, _) = bottle(&plan, script.clone(), options);
        let same = format!("{:?} {:?} {seen}", again.tally, again.sent_total);
        assert_eq!(text, same, "seed {seed}");
        let hash = crc32fast::hash(text.as_bytes());
        println!("seed {seed} {hash:08x} {}", round.tally.scheduled);
        if only.is_some() {
            println!("{plan:?} {script:?}\n{text}");
        }
    }
}
