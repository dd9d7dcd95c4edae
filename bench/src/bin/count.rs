//! The thread's real loop on the simulated ring, for counting its instructions: `count CONNECTIONS EXCHANGES`.
//!
//! `cargo xtask count` runs this under callgrind with two numbers of exchanges; the difference is what an exchange
//! costs. The methods of the simulated ring are never inlined: callgrind stops counting when it enters one and goes on when
//! it leaves, so that of the simulation nothing is counted but being called. Everything is fixed, seed and time included,
//! so that the same build gives the same number.
//!
//! It knows the loop as any owner of a thread does, and nothing of how it works.

use engine::{Barrier, Job, Thread, ThreadResult};
use kernel::sim::{Peer, Sim, World};
use plan::{Load, Plan, Stop};
use std::hint::black_box;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use units::{Instant, Nanos};

const USAGE: &str = "usage: count CONNECTIONS EXCHANGES";

/// How long the server takes: as long as the others need for their turn, more or less.
const SERVICE: Nanos = Nanos::from_micros(100);

/// The head that a small server sends, and a body of 100 bytes.
const RESPONSE: &str = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\nConnection: keep-alive\r\n\r\n\
    xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\
    xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";

/// A server that answers whatever comes.
struct Constant;

impl Peer for Constant {
    fn receive(&mut self, at: Instant, conn: u64, _: &[u8], world: &mut World) {
        world.send(conn, at + SERVICE, RESPONSE);
    }
}

/// Everything below this is counted, but for the ring.
#[inline(never)]
fn counted(ring: Sim<Constant>, job: &Job, barrier: &Barrier<'_>) -> ThreadResult {
    Thread::new(ring, job, barrier, 0, 0).run()
}

fn plan(connections: u32, exchanges: u64) -> Plan {
    Plan {
        load: Load::Closed { connections },
        stop: Stop::Requests(exchanges),
        rounds: 1,
        ..Plan::example("192.0.2.1:80".parse().expect("it is an address"))
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize| arguments.get(index).and_then(|word| word.parse().ok());
    let (Some(connections), Some(exchanges)) = (number(0), number(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let plan = plan(connections as u32, exchanges);
    let endpoint = plan.target.endpoints[0].clone();
    let job = Job::new(plan, endpoint).expect("the plan names no file");
    let stop = AtomicBool::new(false);
    let barrier = Barrier::new(1, &stop);
    let result = black_box(counted(Sim::new(1, Constant), &job, &barrier));
    println!("{} ok of {exchanges}", result.tally.ok);
    match result.tally.ok == exchanges {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
