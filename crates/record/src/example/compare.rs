//! Comparisons: servers of a known cost, measured in slices that scatter as recorded ones do.
//!
//! Noise is that of a small virtual machine: each cycle is slow or quick as a whole (4 %), each slice by itself (2 %), each start of a
//! server a little (0.2 %), and one slice in fifty is disturbed by half its time.

use super::{BODY_BYTES, BODY_CRC, Draw, machine};
use crate::observed::{Known, Process};
use crate::{
    BlockOfStart, Comparison, Conditions, Contender, CpuSplit, Cycle, FreshStart, Memory, Observed,
    Run, Slice, StartedServer,
};
use plan::{Arrivals, Arriving, Block, ComparePlan, Compared, Load, Plan, ServerCommand};
use units::{Nanos, Rate};

/// CPU time of the first server for each request, in microseconds, and the generator's.
const CPU_US: f64 = 14.5;
const GENERATOR_US: f64 = 9.2;
/// Median latency in a closed loop, in microseconds.
const P50_US: f64 = 141.0;
/// Requests a second of a closed loop.
const RATE: f64 = 69_100.0;
/// Memory after the load.
const MEMORY_BYTES: f64 = 12.5e6;

/// Two servers that are equal.
pub fn equal_servers() -> Comparison {
    comparison(&[1.0, 1.0], 8)
}

/// Two servers, of which the second uses 2 % more CPU per request.
pub fn two_percent() -> Comparison {
    comparison(&[1.0, 1.02], 8)
}

/// Three servers, every pair compared: the second is equal to the first, the third uses 10 % more CPU per request.
pub fn three_servers() -> Comparison {
    let mut made = comparison(&[1.0, 1.0, 1.1], 8);
    made.plan.all_pairs = true;
    made
}

/// Two servers, of which the second uses 2 % more CPU per request, beside the reference server.
pub fn beside_reference() -> Comparison {
    let costs = [1.0, 1.02, 0.25];
    let mut plan = plan(&costs);
    plan.servers[2].name = "weigh serve".into();
    plan.servers[2].reference = true;
    let mut made = played(plan, &costs, 8);
    made.split = Some(CpuSplit {
        servers: vec![1],
        generator: vec![1],
    });
    for block in made.starts.iter_mut().flat_map(|start| &mut start.blocks) {
        block
            .cycles
            .iter_mut()
            .skip(3)
            .for_each(|cycle| cycle.slices[2] = None);
    }
    made
}

/// Two servers, of which the second died in the third start.
pub fn one_void_start() -> Comparison {
    let mut made = two_percent();
    let start = &mut made.starts[2];
    start.servers[1].void = Some("it was ended by signal 11 (SIGSEGV)".into());
    let cycles = start.blocks.iter_mut().flat_map(|block| &mut block.cycles);
    cycles.skip(9).for_each(|cycle| cycle.slices[1] = None);
    made
}

/// Two servers elsewhere, of which neither is observed; the second takes 3 % longer for a request.
pub fn not_observed() -> Comparison {
    let mut made = comparison(&[1.0, 1.06], 8);
    for (server, known) in made.plan.servers.iter_mut().zip(&mut made.servers) {
        server.plan.server = None;
        known.observed = Some(Observed::none(
            "it runs on another host; name its process with --server",
        ));
        (known.conditions.workers, known.conditions.logged_millibytes) = (None, None);
    }
    for start in &mut made.starts {
        start
            .servers
            .iter_mut()
            .for_each(|server| (server.idle, server.memory) = (None, None));
        let cycles = start.blocks.iter_mut().flat_map(|block| &mut block.cycles);
        let slices = cycles.flat_map(|cycle| cycle.slices.iter_mut().flatten());
        slices.for_each(|slice| slice.server_cpu = None);
    }
    made
}

/// Two servers at two numbers of connections and in an open loop; the second uses 2 % more CPU per request.
pub fn several_blocks() -> Comparison {
    let mut plan = plan(&[1.0, 1.02]);
    let open = Load::Open {
        rate: Rate::per_second(10_000),
        of: Arriving::Exchanges,
        arrivals: Arrivals::Poisson,
        connections: 64,
    };
    plan.blocks = vec![
        Block::of(Load::Closed { connections: 4 }),
        Block::of(Load::Closed { connections: 64 }),
        Block::of(open),
    ];
    played(plan, &[1.0, 1.02], 8)
}

/// Servers called a, b, c, ... that cost so many times as much as the first, in a closed loop of 10 connections.
pub fn comparison(costs: &[f64], starts: u32) -> Comparison {
    played(plan(costs), costs, starts)
}

/// Two runs of five rounds, one ten minutes after the other, whose rounds scatter by 1 %; the second uses so many times as much CPU per
/// request as the first.
pub fn separate_runs(cost: f64) -> [Run; 2] {
    let mut noise = Noise(Draw(3));
    [(1.0, 0), (cost, 600)].map(|(cost, later)| {
        let mut run = super::ok();
        let rounds = run.points.iter_mut().flat_map(|point| &mut point.rounds);
        for print in rounds.filter_map(|round| round.footprint.as_mut()) {
            let cpu = print.cpu.as_nanos() as f64 * cost * noise.factor(0.01);
            print.cpu = Nanos::from_nanos(cpu as u64);
            print.memory = Some(Memory {
                after: Some((MEMORY_BYTES * noise.factor(0.004)) as u64),
                ..Memory::default()
            });
        }
        run.summarise();
        run.elapsed = Some(Nanos::from_secs(31));
        run.started_unix += later;
        run
    })
}

fn plan(costs: &[f64]) -> ComparePlan {
    let server = |(place, port): (u8, u16)| {
        let name = char::from(b'a' + place).to_string();
        let mut plan = Plan::example(([127, 0, 0, 1], port).into());
        plan.load = Load::Closed { connections: 10 };
        plan.server = Some(ServerCommand {
            argv: vec![format!("./server-{name}"), "{port}".into()],
            ready_within: Nanos::from_secs(10),
            reference_server: false,
        });
        Compared::of(&name, plan)
    };
    ComparePlan {
        servers: (0..costs.len() as u8).zip(8081..).map(server).collect(),
        blocks: vec![Block::of(Load::Closed { connections: 10 })],
        seed: 7,
        ..ComparePlan::default()
    }
}

fn played(plan: ComparePlan, costs: &[f64], starts: u32) -> Comparison {
    let mut noise = Noise(Draw(1));
    let known = |place: usize| Contender {
        probe: None,
        observed: Some(Observed {
            by: Known::Started,
            processes: vec![Process {
                pid: 4_000 + place as u32,
                name: plan.servers[place].name.clone(),
                threads: 2,
                ..Process::default()
            }],
            count: 1,
            ..Observed::default()
        }),
        conditions: Conditions {
            body: Some((BODY_BYTES, BODY_CRC)),
            status: Some(200),
            protocol: Some("HTTP/1.1".into()),
            compression: None,
            keep_alive: Some(true),
            workers: Some(2),
            threads: None,
            logged_millibytes: Some(0),
            response_bytes: Some(238 + BODY_BYTES),
        },
        excluded: None,
        record: None,
    };
    let starts: Vec<FreshStart> = (0..starts)
        .map(|index| start(&plan, costs, index, &mut noise))
        .collect();
    Comparison {
        comparison: Comparison::VERSION,
        weigh: "0.1.0-example".into(),
        started_unix: 1_750_000_000,
        machine: machine(),
        servers: (0..costs.len()).map(known).collect(),
        split: Some(CpuSplit {
            servers: vec![2, 3],
            generator: vec![0, 1],
        }),
        elapsed: starts.iter().map(|start| start.took).sum(),
        starts,
        interrupted: false,
        broken_off: None,
        plan,
    }
}

fn start(plan: &ComparePlan, costs: &[f64], index: u32, noise: &mut Noise) -> FreshStart {
    let costs: Vec<f64> = costs
        .iter()
        .map(|cost| cost * noise.factor(0.002))
        .collect();
    let server = |compared: &Compared| StartedServer {
        endpoint: compared.plan.target.endpoints.first().cloned(),
        idle: Some(0.0),
        memory: Some((MEMORY_BYTES * noise.factor(0.004)) as u64),
        ..StartedServer::default()
    };
    let servers: Vec<StartedServer> = plan.servers.iter().map(server).collect();
    let took = Nanos::from_millis(7_300 + noise.0.below(400));
    let foreign = Some(0.01 + 0.000_1 * noise.0.below(100) as f64);
    let block = |block: &Block| BlockOfStart {
        warm_up: 20,
        steady: true,
        cycles: (0..block.cycles)
            .map(|_| cycle(block, &costs, noise))
            .collect(),
    };
    FreshStart {
        index,
        took,
        servers,
        blocks: plan.blocks.iter().map(block).collect(),
        foreign,
        steal: Some(0.0),
    }
}

fn cycle(block: &Block, costs: &[f64], noise: &mut Noise) -> Cycle {
    let mut order: Vec<u32> = (0..costs.len() as u32).collect();
    order.rotate_left(noise.0.below(costs.len() as u64) as usize);
    let moment = noise.factor(0.04);
    let slices = costs
        .iter()
        .map(|cost| Some(slice(block, *cost, moment, noise)));
    Cycle {
        slices: slices.collect(),
        order,
    }
}

fn slice(block: &Block, cost: f64, moment: f64, noise: &mut Noise) -> Slice {
    let disturbed = if noise.0.below(50) == 0 { 1.5 } else { 1.0 };
    let slow = moment * disturbed;
    let latency = slow * (1.0 + (cost - 1.0) / 2.0);
    let (rate, p50) = match block.load {
        Load::Closed { connections } => {
            // Four connections keep it busy; more only wait longer.
            let queue = f64::from(connections.max(4)) / 10.0;
            (
                RATE / latency / noise.factor(0.03),
                P50_US * latency * queue,
            )
        }
        Load::Open { rate, .. } => (rate.as_f64(), 0.4 * P50_US * latency),
    };
    let p50 = p50 * noise.factor(0.01);
    let ok = rate * block.slice.as_secs_f64();
    let micros = |micros: f64| Nanos::from_nanos((micros * 1e3) as u64);
    Slice {
        ok: ok as u64 + 8,
        errors: 0,
        in_window: ok as u64,
        window: block.slice,
        server_cpu: Some(micros(ok * CPU_US * cost * slow * noise.factor(0.02))),
        generator_cpu: micros(ok * GENERATOR_US * slow * noise.factor(0.02)),
        latency: [1.0, 1.6, 3.1].map(|factor| Some(micros(p50 * factor))),
        received: (ok as u64 + 8) * (238 + BODY_BYTES),
        body: Some((BODY_BYTES, BODY_CRC)),
        ..Slice::default()
    }
}

/// Factors whose logarithms are about normal: of twelve uniform numbers each.
struct Noise(Draw);

impl Noise {
    /// A factor that scatters by this standard deviation on the log scale.
    fn factor(&mut self, deviation: f64) -> f64 {
        let sum: u64 = (0..12).map(|_| self.0.below(1 << 20)).sum();
        let normal = sum as f64 / f64::from(1 << 20) - 6.0;
        (deviation * normal).exp()
    }
}
