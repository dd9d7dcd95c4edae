//! The arena in use: this machine, with real servers, sockets and clocks.

use super::arena::{Arena, Begun, Ended, Lost, Watched, share};
use crate::error::CampaignError;
use crate::generator::{Lane, Lanes, SliceOrder};
use crate::observer::ObservedServer;
use crate::processes::Slicer;
use crate::server::{self, Ready, Running};
use engine::{Shown, SliceLength};
use host::{CpuSpan, Team, WrittenFiles};
use kernel::affinity;
use plan::{Block, ComparePlan, Compared, Connect, Endpoint, Plan, Request, Requests};
use record::{Conditions, CpuSplit, Handshakes, Machine, Slice};
use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering};
use units::{Instant, Nanos};

/// For how long servers are watched while nothing is asked of them: 2 % of a CPU are then 6 ms, which clocks of processes tell.
const IDLE_FOR: Nanos = Nanos::from_millis(300);

/// This machine.
pub(crate) struct LocalArena<'a> {
    /// The command that starts a generator process.
    generator: &'a [OsString],
    /// When it becomes true the comparison ends.
    stop: &'a AtomicBool,
    split: Option<CpuSplit>,
    /// Whether nothing is measured where a server does not let itself be placed so.
    is_split_wanted: bool,
    /// Whether servers and generator are on one CPU now.
    is_on_one: bool,
    /// The servers of the start, by their place in the plan.
    servers: Vec<Option<There>>,
    slicer: Option<Slicer>,
    lanes: Vec<Vec<Option<PlacedLane>>>,
    /// The TLS handshakes of each server in the start.
    handshakes: Vec<Option<Handshakes>>,
    /// When the start began, what the machine had done until then, and what servers and generator took since.
    begun: Option<(Instant, record::Budget)>,
    own: Nanos,
}

/// A server that is there.
struct There {
    /// What it was started by, and is asked for.
    plan: Plan,
    server: ObservedServer,
    written: Option<WrittenFiles>,
}

/// Where a server's load under one block is in the generator.
#[derive(Debug, Clone, Copy)]
struct PlacedLane {
    lane: usize,
    length: SliceLength,
    timeout: Nanos,
    is_short: bool,
}

impl<'a> LocalArena<'a> {
    /// Nothing is started. Servers and generator are to run as `split` says; unless that `is_wanted`, they share all CPUs where a
    /// server does not let itself be placed.
    pub(crate) fn new(
        split: Option<CpuSplit>,
        is_wanted: bool,
        generator: &'a [OsString],
        stop: &'a AtomicBool,
    ) -> LocalArena<'a> {
        LocalArena {
            generator,
            stop,
            split,
            is_split_wanted: is_wanted,
            is_on_one: false,
            servers: Vec::new(),
            slicer: None,
            lanes: Vec::new(),
            handshakes: Vec::new(),
            begun: None,
            own: Nanos::ZERO,
        }
    }

    /// Which CPUs are whose from the beginning, where servers and generator are kept apart.
    fn apart(&self) -> Option<&CpuSplit> {
        self.split.as_ref().filter(|split| !split.is_one())
    }

    /// The processes of all servers.
    fn pids(&mut self) -> Vec<u32> {
        let servers = self.servers.iter_mut().flatten();
        let pids = servers.filter_map(|there| Some(there.server.monitored()?.pids()));
        pids.flatten().collect()
    }

    /// Finds out whether all servers run where they are to, and can be brought together where that is planned. A server that chooses
    /// its CPUs itself, or that is not ours to move, would not be measured under the conditions of the others.
    ///
    /// # Errors
    /// One does not, and that is what is wanted: a sentence.
    fn settle(&mut self) -> Result<(), String> {
        let Some(split) = self.split.clone() else {
            return Ok(());
        };
        let all = affinity::allowed();
        let pids = self.pids();
        let are_on = |cpus: &[u32]| {
            pids.iter()
                .all(|pid| host::allowed(*pid).is_none_or(|own| own == cpus))
        };
        let move_to = |cpus: &[u32]| pids.iter().for_each(|pid| host::move_to(*pid, cpus));
        let is_settled = match split.is_one() {
            true => {
                are_on(&all) && {
                    move_to(&split.servers);
                    let is_moved = are_on(&split.servers);
                    move_to(&all);
                    is_moved
                }
            }
            false => are_on(&split.servers),
        };
        if is_settled {
            return Ok(());
        }
        if self.is_split_wanted {
            return Err(
                "a server runs on CPUs of its own choice, or may not be moved, so that not all can be placed alike; \
                 let it run anywhere, or compare with --cpus shared"
                    .to_owned(),
            );
        }
        if !split.is_one() {
            move_to(&all);
        }
        self.split = None;
        Ok(())
    }

    /// Brings servers and generator together on their one CPU for short slices, and lets them run on all for others. They are
    /// started on all, so that a server that counts CPUs finds what it would find in use.
    fn place(&mut self, is_short: bool) {
        let Some(split) = self.split.clone().filter(CpuSplit::is_one) else {
            return;
        };
        if self.is_on_one == is_short {
            return;
        }
        let cpus = match is_short {
            true => split.servers,
            false => affinity::allowed(),
        };
        let pids = self.pids().into_iter();
        let pids = pids.chain(self.slicer.as_ref().map(Slicer::id));
        pids.for_each(|pid| host::move_to(pid, &cpus));
        self.is_on_one = is_short;
    }

    /// Starts one server, or finds that it answers.
    fn start(&self, plan: Plan) -> Result<(There, Begun), String> {
        let (running, ready) = match &plan.server {
            Some(command) => {
                let cpus = self.apart().map(|split| split.servers.clone());
                let started = Running::start_on(command, &plan, 0, cpus, self.stop);
                let (running, ready) = started.map_err(|error| error.to_string())?;
                (Some(running), ready)
            }
            None => (
                None,
                server::probe(&plan, 0, self.stop).map_err(|error| error.to_string())?,
            ),
        };
        if let Some(why) = ready.unexpected_at_all(&plan) {
            return Err(why);
        }
        let endpoint = ready.probe.endpoint.clone();
        let (server, observed) =
            ObservedServer::of(&plan, running, &endpoint).map_err(|error| error.to_string())?;
        let begun = Begun {
            endpoint: Some(endpoint),
            conditions: conditions(&plan, &ready),
            observed: Some(observed),
            probe: Some(ready.probe),
        };
        let there = There {
            plan,
            server,
            written: None,
        };
        Ok((there, begun))
    }

    /// Lays out the loads of all servers that are there in one generator.
    fn lay_out(&mut self, plan: &ComparePlan, begun: &[Result<Begun, String>]) -> Vec<Lane> {
        let mut lanes = Vec::new();
        self.lanes = vec![vec![None; plan.blocks.len()]; plan.servers.len()];
        for (place, (begun, there)) in begun.iter().zip(&self.servers).enumerate() {
            let endpoint = begun.as_ref().ok().and_then(|begun| begun.endpoint.clone());
            let (Some(endpoint), Some(there)) = (endpoint, there) else {
                continue;
            };
            for (number, block) in plan.blocks.iter().enumerate() {
                let lane = lane(&there.plan, (block, plan.threads), &endpoint);
                self.lanes[place][number] = Some(PlacedLane {
                    lane: lanes.len(),
                    length: SliceLength {
                        least: block.slice,
                        requests: block.requests,
                        most: Block::LONGEST.max(block.slice),
                    },
                    timeout: lane.plan.timeouts.exchange,
                    is_short: block.is_short(),
                });
                lanes.push(lane);
            }
        }
        lanes
    }
}

/// Why two servers cannot be told apart, if so: the same processes serve both.
fn one_process(plan: &ComparePlan, begun: &[Result<Begun, String>]) -> Option<String> {
    let mut known: Vec<(u32, &str)> = Vec::new();
    for (compared, begun) in plan.servers.iter().zip(begun) {
        let observed = begun
            .as_ref()
            .ok()
            .and_then(|begun| begun.observed.as_ref());
        let Some(observed) = observed.filter(|_| compared.repeats.is_none()) else {
            continue;
        };
        for process in &observed.processes {
            if let Some((_, other)) = known.iter().find(|(pid, _)| *pid == process.pid) {
                return Some(format!(
                    "{other} and {} are served by the same process ({}, {}), whose CPU time cannot be told apart; give each a server of \
                     its own, or compare without it by --server none",
                    compared.name, process.name, process.pid
                ));
            }
        }
        known.extend(
            observed
                .processes
                .iter()
                .map(|process| (process.pid, compared.name.as_str())),
        );
    }
    None
}

/// What `compared` is started by and asked for: the reference server for a body as long as that of the first server that is there.
fn plan_of(compared: &Compared, begun: &[Result<Begun, String>]) -> Plan {
    let mut plan = compared.plan.clone();
    if compared.reference {
        let mut probes = begun
            .iter()
            .flatten()
            .filter_map(|begun| begun.probe.as_ref());
        let length = probes.next().map_or(0, |probe| probe.body_length);
        plan.requests = Requests::Listed(vec![Request::get(&format!("/bytes/{length}"))]);
    }
    plan
}

/// The load of a block, by so many threads, on a server of `plan` at `endpoint`.
fn lane(plan: &Plan, (block, threads): (&Block, u32), endpoint: &Endpoint) -> Lane {
    let plan = Plan {
        load: block.load,
        threads,
        connect: match block.load.is_open() {
            true => Connect::Lazy,
            false => Connect::Eager,
        },
        server: None,
        ..plan.clone()
    };
    Lane {
        plan,
        endpoint: endpoint.clone(),
    }
}

/// What the first response says of the conditions.
fn conditions(plan: &Plan, ready: &Ready) -> Conditions {
    let probe = &ready.probe;
    let is_listed = matches!(&plan.requests, Requests::Listed(requests)
        if requests.iter().all(|request| !request.is_template()));
    let first = ready.shown.first();
    let whole = |shown: &&Shown| shown.body_length == shown.response_body.len() as u64;
    let body = first.filter(whole).filter(|_| is_listed);
    Conditions {
        body: body.map(|shown| (shown.body_length, crc32fast::hash(&shown.response_body))),
        ..Conditions::of_probe(probe)
    }
}

impl Arena for LocalArena<'_> {
    fn machine(&self) -> Machine {
        host::machine()
    }

    fn split(&self) -> Option<CpuSplit> {
        self.split.clone()
    }

    fn now(&self) -> Instant {
        kernel::clock::now()
    }

    fn begin(
        &mut self,
        plan: &ComparePlan,
        wanted: &[bool],
        order: &[u32],
    ) -> Result<Vec<Result<Begun, String>>, CampaignError> {
        self.clear(); // ports have to be free before the next servers want them
        let mut results: Vec<Result<Begun, String>> = Vec::new();
        results.resize_with(plan.servers.len(), || Err("it is not compared".into()));
        self.servers.resize_with(plan.servers.len(), || None);
        let order = order.iter().map(|place| *place as usize);
        for place in order.filter(|place| wanted[*place]) {
            if self.stop.load(Ordering::Relaxed) {
                return Err(CampaignError::Interrupted);
            }
            let plan = plan_of(&plan.servers[place], &results);
            results[place] = self.start(plan).map(|(there, begun)| {
                self.servers[place] = Some(there);
                begun
            });
        }
        if let Some(why) = one_process(plan, &results) {
            return Err(CampaignError::Incomparable(why));
        }
        self.settle().map_err(CampaignError::Incomparable)?;
        let lanes = self.lay_out(plan, &results);
        let cpus = self.apart().map(|split| split.generator.clone());
        self.is_on_one = false;
        let slicer = Slicer::start(self.generator, Lanes { lanes, cpus }, self.stop);
        self.slicer = slicer.map_err(CampaignError::Incomparable)?;
        if self.slicer.is_none() {
            return Err(CampaignError::Interrupted);
        }
        self.begun = host::cpu_time().map(|time| (self.now(), time));
        self.own = Nanos::ZERO;
        self.handshakes = vec![None; plan.servers.len()];
        Ok(results)
    }

    fn slice(&mut self, server: usize, block: usize, number: u32) -> Result<Slice, Lost> {
        let placed = self.lanes[server][block];
        self.place(placed.is_some_and(|placed| placed.is_short));
        let (Some(there), Some(placed), Some(slicer)) =
            (self.servers[server].as_mut(), placed, self.slicer.as_mut())
        else {
            return Err(Lost::Server("it is not there".into()));
        };
        let span = there.server.monitored().map(CpuSpan::open);
        let order = SliceOrder {
            lane: placed.lane,
            length: placed.length,
            number,
        };
        let slice = slicer.slice(order, placed.timeout, self.stop);
        let slice = slice.map_err(Lost::Generator)?;
        let (mut slice, handshakes) = slice.ok_or(Lost::Interrupted)?;
        if let Some(handshakes) = handshakes {
            let all = &mut self.handshakes[server];
            all.get_or_insert_default().merge(&handshakes);
        }
        if let (Some(span), Some(server)) = (span, there.server.monitored()) {
            let (cpu, is_less) = span.close(server);
            (slice.server_cpu, slice.lower_bound) = (Some(cpu), is_less);
        }
        self.own += slice.generator_cpu + slice.server_cpu.unwrap_or_default();
        match there.server.ended() {
            Some(how) => Err(Lost::Server(format!("it {how}"))),
            None => Ok(slice),
        }
    }

    fn idle(&mut self) -> Vec<Option<f64>> {
        let open = |there: &mut Option<There>| {
            let there = there.as_mut()?;
            there.server.monitored().map(CpuSpan::open)
        };
        let spans: Vec<Option<CpuSpan>> = self.servers.iter_mut().map(open).collect();
        let begun = self.now();
        std::thread::park_timeout(IDLE_FOR.to_std());
        let took = self.now() - begun;
        let each = self.servers.iter_mut().zip(spans);
        each.map(|(there, span)| {
            let server = there.as_mut()?.server.monitored()?;
            let (cpu, _) = span?.close(server);
            Some(share(cpu, took))
        })
        .collect()
    }

    fn note_written(&mut self) {
        for there in self.servers.iter_mut().flatten() {
            there.written = there.server.monitored().map(WrittenFiles::open);
        }
    }

    fn watch(&mut self) -> Vec<Watched> {
        let watch = |there: &mut Option<There>| {
            let Some(there) = there else {
                return Watched::default();
            };
            let team = there
                .server
                .monitored()
                .map(|mut server| Team::of(&mut server));
            Watched {
                written: there.written.as_ref().map(WrittenFiles::grown),
                team: team.map(|team| (team.processes, team.threads)),
            }
        };
        self.servers.iter_mut().map(watch).collect()
    }

    fn end(&mut self) -> Ended {
        let memory = |there: &mut Option<There>| there.as_mut()?.server.monitored()?.memory();
        let memory = self.servers.iter_mut().map(memory).collect();
        let (foreign, steal) = self
            .begun
            .take()
            .zip(host::cpu_time())
            .map(|((at, first), last)| {
                let spent = host::between(&first, &last);
                let all = (self.now() - at) * u64::from(spent.cpus.max(1));
                let others = (spent.user + spent.system + spent.softirq + spent.irq)
                    .saturating_sub(self.own);
                (share(others, all), share(spent.steal, all))
            })
            .unzip();
        Ended {
            memory,
            handshakes: std::mem::take(&mut self.handshakes),
            foreign,
            steal,
        }
    }

    fn clear(&mut self) {
        self.slicer = None;
        self.servers.clear();
    }
}
