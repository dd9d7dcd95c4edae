//! One start of all servers: started afresh, warmed up, looked at, and loaded in turn.

use super::{Unfinished, Walk};
use crate::compare::arena::{Begun, Lost};
use crate::compare::conditions::unequal;
use crate::compare::cycles::reconsidered;
use crate::compare::steady::{BLOCK, is_steady};
use crate::error::CampaignError;
use plan::{Block, Deciding};
use record::{BlockOfStart, Cycle, FreshStart, Slice, StartedServer};
use units::Nanos;

/// The longest warm-up of a block in a start.
const WARM_UP_MOST: Nanos = Nanos::from_secs(60);
/// A server that takes more of a CPU than this while nothing is asked of it is not compared.
const IDLE_MOST: f64 = 0.02;
/// How often that is looked at, while it is more.
const IDLE_LOOKS: u32 = 3;
/// Measured cycles of windows and of short slices in which the reference server is loaded as well: so much for orientation takes
/// little of the time of the others.
const OF_REFERENCE: [u32; 2] = [1, 3];
/// Measured cycles of a block take no longer than this in a start of slow servers, unless there would be fewer than so many.
const CYCLES_FOR: Nanos = Nanos::from_secs(30);
const CYCLES_LEAST: u32 = 8;

impl Walk<'_> {
    /// Measures one start of all servers.
    pub(super) fn start(&mut self, only_conditions: bool) -> Result<FreshStart, Unfinished> {
        let index = self.comparison.starts.len() as u32;
        let began = self.arena.now();
        self.view.starting(&self.comparison, index);
        let wanted: Vec<bool> = self
            .comparison
            .servers
            .iter()
            .map(|server| server.excluded.is_none())
            .collect();
        let mut order = Shuffle::of(self.plan.seed, index);
        // What starts first may get the better memory or the better neighbours: that is not to be always the same one.
        let all = 0..wanted.len() as u32;
        let (mut places, last): (Vec<u32>, Vec<u32>) =
            all.partition(|place| !self.plan.servers[*place as usize].reference);
        order.mix(&mut places);
        places.extend(last); // it sends as much as the others do, which is known when they are there
        let begun = self.arena.begin(&self.plan, &wanted, &places)?;
        if index == 0 && self.comparison.split != self.arena.split() {
            self.comparison.split = self.arena.split();
            self.view
                .note("a server runs on CPUs of its own choice, so servers and generator share all of them");
        }
        let mut start = FreshStart {
            index,
            servers: vec![StartedServer::default(); wanted.len()],
            ..FreshStart::default()
        };
        for (place, begun) in begun.into_iter().enumerate() {
            match begun {
                Ok(begun) => self.note_begun(place, begun, &mut start)?,
                Err(why) if index == 0 => self.exclude(place, why, &mut start)?,
                Err(why) => start.servers[place].void = Some(why),
            }
        }
        let blocks = self.plan.blocks.clone();
        for (number, block) in blocks.iter().enumerate() {
            if !self.can_go_on(&start) {
                break;
            }
            let warms = self.arena.now();
            let mut measured = self.warm_up(number, block, &mut start, &mut order)?;
            let planned = reconsidered(&self.comparison, number).unwrap_or(block.cycles);
            let cycles = fitting(planned, self.arena.now() - warms, measured.warm_up);
            if number == 0 {
                self.look_around(&mut start)?;
                if only_conditions {
                    return Ok(start);
                }
            }
            for cycle in 0..cycles {
                if !self.can_go_on(&start) {
                    break;
                }
                let progress = Some((cycle + 1, cycles));
                let cycle = self.cycle(number, progress, &mut start, &mut order)?;
                measured.cycles.push(cycle);
            }
            start.blocks.push(measured);
        }
        let ended = self.arena.end();
        let known = ended.memory.into_iter().zip(ended.handshakes);
        for (server, (memory, handshakes)) in start.servers.iter_mut().zip(known) {
            server.memory = memory.filter(|_| server.void.is_none());
            server.handshakes = handshakes;
        }
        self.void_failures(&mut start);
        (start.foreign, start.steal) = (ended.foreign, ended.steal);
        start.took = self.arena.now() - began;
        Ok(start)
    }

    /// Whether two servers are left of which this start counts.
    fn can_go_on(&self, start: &FreshStart) -> bool {
        let servers = start.servers.iter().zip(&self.plan.servers);
        let left = servers.filter(|(server, planned)| server.void.is_none() && !planned.reference);
        left.count() >= 2
    }

    /// Whether a server that never counts ends the comparison.
    pub(super) fn may_end(&self, place: usize) -> bool {
        !self.plan.servers[place].reference && !self.comparison.is_excluded(place)
    }

    /// Whether the server at `place` is compared.
    pub(super) fn is_contender(&self, place: usize) -> bool {
        self.plan.servers[place].is_contender()
    }

    /// Writes down what a server is; of the first start in which it is there also its conditions.
    fn note_begun(
        &mut self,
        place: usize,
        begun: Begun,
        start: &mut FreshStart,
    ) -> Result<(), Unfinished> {
        start.servers[place].endpoint = begun.endpoint;
        let known = &mut self.comparison.servers[place];
        if known.probe.is_none() {
            known.probe = begun.probe;
            known.observed = begun.observed;
            known.conditions = begun.conditions;
        } else if let (Some(now), Some(first)) = (begun.conditions.body, known.conditions.body)
            && now != first
            && !self.plan.unequal
        {
            let why = "its answer is not what it was in the first start".to_owned();
            start.servers[place].void = Some(why);
        }
        Ok(())
    }

    /// Leaves a server out of the whole comparison; with fewer than two there is none.
    fn exclude(
        &mut self,
        place: usize,
        why: String,
        start: &mut FreshStart,
    ) -> Result<(), Unfinished> {
        let name = self.plan.servers[place].name.clone();
        start.servers[place].void = Some(why.clone());
        if self.comparison.servers[place].excluded.is_some() {
            return Ok(());
        }
        self.comparison.servers[place].excluded = Some(why.clone());
        let others = self.comparison.servers.iter().zip(&self.plan.servers);
        let left =
            others.filter(|(server, planned)| server.excluded.is_none() && planned.is_contender());
        if left.count() < 2 || place == 0 {
            return Err(Unfinished::BrokenOff(format!("{name}: {why}")));
        }
        let what = ["compared", "measured"][usize::from(self.plan.servers[place].reference)];
        self.view.note(&format!("{name} is not {what}: {why}"));
        Ok(())
    }

    /// Loads the servers until each is steady, or for as long as that may take.
    fn warm_up(
        &mut self,
        number: usize,
        block: &Block,
        start: &mut FreshStart,
        order: &mut Shuffle,
    ) -> Result<BlockOfStart, Unfinished> {
        let limit = self.arena.now() + WARM_UP_MOST;
        let mut measured = BlockOfStart::default();
        let mut values: Vec<Vec<f64>> = vec![Vec::new(); start.servers.len()];
        // Windows follow short slices, by which servers are warm: one of each lets their queues settle.
        let least = if block.is_short() { 2 * BLOCK } else { 1 };
        loop {
            if !self.can_go_on(start) {
                return Ok(measured);
            }
            let cycle = self.cycle(number, None, start, order)?;
            measured.warm_up += 1;
            if start.index == 0 && number == 0 && measured.warm_up == 1 {
                self.arena.note_written();
                self.asked_before.clone_from(&self.asked);
            }
            for (values, slice) in values.iter_mut().zip(&cycle.slices) {
                let value = slice.as_ref().and_then(|slice| self.warmth(slice));
                values.extend(value.map(f64::ln));
            }
            let is_each = |place: usize| {
                let is_left_out = start.servers[place].void.is_some();
                is_left_out || self.plan.servers[place].reference || is_steady(&values[place])
            };
            measured.steady = !block.is_short() || (0..values.len()).all(is_each);
            if measured.warm_up as usize >= least && measured.steady || self.arena.now() >= limit {
                return Ok(measured);
            }
        }
    }

    /// The figure by which a server's warm-up is followed: what it costs, or else how fast it is.
    fn warmth(&self, slice: &Slice) -> Option<f64> {
        let of_cost = slice.cpu_us();
        let is_cost = self.plan.decide_on == Deciding::CpuPerRequest;
        of_cost.filter(|_| is_cost).or_else(|| slice.throughput())
    }

    /// What is known once servers have had some load: what they take while idle, and what they log. In the first start servers
    /// with unequal conditions are refused.
    fn look_around(&mut self, start: &mut FreshStart) -> Result<(), Unfinished> {
        let idle = self.idle();
        for (place, idle) in idle.into_iter().enumerate() {
            start.servers[place].idle = idle;
            let is_first = start.index == 0 && start.servers[place].void.is_none();
            if let Some(share) = idle.filter(|share| is_first && *share > IDLE_MOST) {
                let why = format!(
                    "it takes {:.0} % of a CPU while nothing is asked of it, which would be counted as its cost of requests",
                    share * 100.0
                );
                self.exclude(place, why, start)?;
            }
        }
        if start.index > 0 {
            return Ok(());
        }
        let watched = self.arena.watch();
        let teams: Vec<Option<(u32, u32)>> = watched.iter().map(|watched| watched.team).collect();
        for (place, watched) in watched.into_iter().enumerate() {
            let asked = self.asked[place] - self.asked_before[place];
            let conditions = &mut self.comparison.servers[place].conditions;
            let written = watched.written.filter(|_| asked > 0);
            conditions.logged_millibytes = written.map(|bytes| bytes * 1_000 / asked);
            conditions.workers = watched.team.map(|(processes, _)| processes);
        }
        self.count_threads(&teams);
        let found = unequal(&self.comparison);
        match found.is_empty() || self.plan.unequal {
            true => Ok(()),
            false => Err(CampaignError::Incomparable(format!(
                "the conditions are not equal ({}), so the comparison would be one of those; make them equal, or compare all the \
                 same with --unequal",
                found.join("; ")
            ))
            .into()),
        }
    }

    /// What servers take while idle: what they do now and then, such as tidying up after the load, is no work that goes on, so
    /// one that takes much is looked at again.
    fn idle(&mut self) -> Vec<Option<f64>> {
        let mut least = self.arena.idle();
        for _ in 1..IDLE_LOOKS {
            if least.iter().flatten().all(|share| *share <= IDLE_MOST) {
                break;
            }
            let again = self.arena.idle().into_iter();
            least = least
                .into_iter()
                .zip(again)
                .map(|(one, other)| Some(one?.min(other?)))
                .collect();
        }
        least
    }

    /// Servers that are one and the same program, in one process each, are told apart by their threads: of other programs the
    /// number of threads says nothing of how many of them work, and their workers are not known.
    fn count_threads(&mut self, teams: &[Option<(u32, u32)>]) {
        let programs = |place: usize| -> Option<Vec<&str>> {
            let observed = self.comparison.servers[place].observed.as_ref()?;
            Some(
                observed
                    .processes
                    .iter()
                    .map(|process| process.name.as_str())
                    .collect(),
            )
        };
        let counts = |place: &usize| {
            !self.plan.servers[*place].reference && !self.comparison.is_excluded(*place)
        };
        let places: Vec<usize> = (0..teams.len()).filter(counts).collect();
        let first = places.first().and_then(|place| programs(*place));
        let is_single =
            |team: Option<(u32, u32)>| team.is_some_and(|(processes, _)| processes == 1);
        let is_alike = |place: &usize| programs(*place) == first && is_single(teams[*place]);
        let are_alike = first.is_some() && places.iter().all(is_alike);
        for place in places {
            let conditions = &mut self.comparison.servers[place].conditions;
            match teams[place] {
                Some((1, threads)) if are_alike => conditions.threads = Some(threads),
                Some((1, 2..)) => conditions.workers = None,
                _ => {}
            }
        }
    }

    /// Loads every server once, in random order.
    fn cycle(
        &mut self,
        block: usize,
        progress: Option<(u32, u32)>,
        start: &mut FreshStart,
        shuffle: &mut Shuffle,
    ) -> Result<Cycle, Unfinished> {
        let is_short = self.plan.blocks[block].is_short();
        let with_reference =
            progress.is_some_and(|(cycle, _)| cycle <= OF_REFERENCE[usize::from(is_short)]);
        let counts = |place: &u32| {
            let place = *place as usize;
            start.servers[place].void.is_none()
                && (with_reference || !self.plan.servers[place].reference)
        };
        let mut order: Vec<u32> = (0..start.servers.len() as u32).filter(counts).collect();
        shuffle.mix(&mut order);
        let mut slices: Vec<Option<Slice>> = vec![None; start.servers.len()];
        for place in &order {
            let place = *place as usize;
            if self.is_stopped() {
                return Err(Unfinished::Interrupted);
            }
            self.number += 1;
            match self.arena.slice(place, block, self.number) {
                Ok(slice) => {
                    self.asked[place] += slice.ok + slice.errors;
                    start.servers[place].void = self.wrong(place, &slice);
                    slices[place] = Some(slice);
                }
                Err(Lost::Server(why)) => start.servers[place].void = Some(why),
                Err(Lost::Interrupted) => return Err(Unfinished::Interrupted),
                Err(Lost::Generator(why)) => return Err(Unfinished::BrokenOff(why)),
            }
            self.view.sliced(&self.comparison, start.index, progress);
        }
        Ok(Cycle { order, slices })
    }

    /// Why what a server answered in a slice is not what it is compared for, if so.
    fn wrong(&self, place: usize, slice: &Slice) -> Option<String> {
        if slice.ok == 0 {
            let why = slice.error.as_deref().unwrap_or("nothing ended in time");
            return Some(format!("no request of a slice succeeded: {why}"));
        }
        let first = self.comparison.servers[place].conditions.body;
        match (slice.body, first) {
            (Some(now), Some(first)) if now != first && !self.plan.unequal => {
                let change = match first.0 == now.0 {
                    true => format!("to other {} bytes", now.0),
                    false => format!("from {} to {} bytes", first.0, now.0),
                };
                Some(format!(
                    "its answer changed midway, {change} (--unequal compares all the same)"
                ))
            }
            _ => None,
        }
    }

    /// Voids the servers of which more requests failed than may.
    fn void_failures(&self, start: &mut FreshStart) {
        for place in 0..start.servers.len() {
            if start.servers[place].void.is_some() {
                continue;
            }
            let cycles = start.blocks.iter().flat_map(|block| &block.cycles);
            let slices = || {
                cycles
                    .clone()
                    .filter_map(|cycle| cycle.slices[place].as_ref())
            };
            let (ok, errors) = slices().fold((0, 0), |(ok, errors), slice| {
                (ok + slice.ok, errors + slice.errors)
            });
            let limit = &self.plan.servers[place].plan.max_errors;
            if !limit.allows_errors(errors, ok + errors) {
                let first = slices().find_map(|slice| slice.error.clone());
                let share = errors as f64 * 100.0 / (ok + errors) as f64;
                let why = first.unwrap_or_default();
                start.servers[place].void =
                    Some(format!("{share:.1} % of its requests failed: {why}"));
            }
        }
    }
}

/// How many of `planned` cycles a start has, by the time that those of its warm-up took.
fn fitting(planned: u32, took: Nanos, cycles: u32) -> u32 {
    let each = took.as_secs_f64() / f64::from(cycles.max(1));
    let fit = (CYCLES_FOR.as_secs_f64() / each.max(f64::MIN_POSITIVE)) as u32; // saturates
    planned.min(fit.max(CYCLES_LEAST))
}

/// A random order that follows from a seed (SplitMix64; Fisher and Yates).
struct Shuffle(u64);

impl Shuffle {
    fn of(seed: u64, start: u32) -> Shuffle {
        Shuffle(seed ^ u64::from(start).wrapping_mul(0xA24B_AED4_963E_E407))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn mix(&mut self, places: &mut [u32]) {
        for last in (1..places.len()).rev() {
            let other = (self.next() % (last as u64 + 1)) as usize;
            places.swap(last, other);
        }
    }
}
