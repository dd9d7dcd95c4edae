//! `weigh serve --truth`: the server whose behaviour is known exactly.

use crate::choice::one_of;
use crate::exit::Exit;
use crate::output;
use crate::serve::tell_addresses;
use anyhow::{Result, ensure};
use clap::Args;
use kernel::{Address, signals};
use refserver::Certificate;
use std::path::PathBuf;
use testserver::misbehaviour::{Rule, Script};
use testserver::truth::{Capacity, Service, Stall};
use testserver::{BusyPoll, Config, TruthServer, WORK_MAX};
use units::Nanos;

/// The flags of `weigh serve --truth`.
#[derive(Debug, Args)]
#[command(next_help_heading = "Truth")]
pub struct TruthFlags {
    /// Be the server whose behaviour is known exactly, to check load generators with: /delay?law=..., /fault?kind=...
    /// and the built-in resources, by one thread. docs/truth.md explains all of it.
    #[arg(long, conflicts_with_all = ["dir", "listen_mode", "user", "log", "headers", "cache", "admin", "LimitFlags"])]
    pub truth: bool,
    /// Seed of everything that is drawn.
    #[arg(long, value_name = "N", default_value = "0", requires = "truth")]
    pub seed: u64,
    /// Stand still at the beginning of each period, such as 100ms/1s; the first begins with the server.
    #[arg(long, value_name = "LENGTH/PERIOD", requires = "truth")]
    pub stall: Option<Stall>,
    /// Burn that much processor time more for each request.
    #[arg(long, value_name = "TIME", default_value = "0s", requires = "truth")]
    pub work: Nanos,
    /// Serve at most so many requests a second, in one queue, such as 5k/s.
    #[arg(long, value_name = "RATE", requires = "truth")]
    pub capacity: Option<Capacity>,
    /// How long the queue takes for each request.
    #[arg(long, default_value = "fixed", value_parser = one_of(SERVICES), requires = "capacity")]
    pub service: Service,
    /// Have half the capacity at the first request, and evenly more until so long after it.
    #[arg(long, value_name = "TIME", default_value = "0s", requires = "capacity")]
    pub cold: Nanos,
    /// Misbehave towards connections or requests: NAME:every=K, NAME:share=0.01, NAME:first=N or NAME:only=N. May be
    /// given several times.
    #[arg(long = "fault", value_name = "NAME:HOW", requires = "truth")]
    pub faults: Vec<Rule>,
    /// How late the fault `late` answers.
    #[arg(long, value_name = "TIME", default_value = "100ms", requires = "truth")]
    pub late: Nanos,
    /// The pause after each byte of the fault `drip`.
    #[arg(long, value_name = "TIME", default_value = "1s", requires = "truth")]
    pub drip: Nanos,
    /// How long faults of the whole server last, such as `die` and `freeze`.
    #[arg(long, value_name = "TIME", default_value = "1s", requires = "truth")]
    pub outage: Nanos,
    /// How waits end: asleep, or awake for the last 100 us of each (auto: if there is more than one CPU), or always
    /// awake.
    #[arg(long, default_value = "auto", value_parser = one_of(SPINS), requires = "truth")]
    pub spin: BusyPoll,
    /// Write down every request, in the binary form that docs/truth.md describes. Best in /dev/shm.
    #[arg(long, value_name = "FILE", requires = "truth")]
    pub truth_log: Option<PathBuf>,
}

/// The words of `--service`.
const SERVICES: [(Service, &str, &str); 2] = [
    (Service::Fixed, "fixed", "Always the same time"),
    (
        Service::Exponential,
        "exponential",
        "Exponentially distributed, drawn by id",
    ),
];

/// The words of `--spin`.
const SPINS: [(BusyPoll, &str, &str); 3] = [
    (
        BusyPoll::Auto,
        "auto",
        "The last 100 us of each wait, if there is more than one CPU",
    ),
    (BusyPoll::Always, "always", "Never asleep, but in stalls"),
    (BusyPoll::Never, "never", "Asleep to the end of each wait"),
];

/// Tells the truth until SIGTERM or Ctrl-C, then tells what was done.
pub fn serve(
    flags: &TruthFlags,
    listen: &[Address],
    certificate: Option<Certificate>,
    workers: Option<u32>,
) -> Result<Exit> {
    let workers = workers.unwrap_or(1);
    ensure!(
        workers == 1,
        "--workers is {workers}, but with --truth there is one thread, because the order is the point; remove it"
    );
    ensure!(
        flags.work <= WORK_MAX,
        "--work is longer than {}; that is a stall: use --stall",
        units::span(WORK_MAX)
    );
    let stop = signals::serving().stop; // it has no log that could be opened anew
    let _ = kernel::limits::raise_open_files(); // with fewer, connections wait in the kernel
    let config = Config {
        certificate,
        ..config(flags, listen)
    };
    let server = TruthServer::bind(&config)?;
    tell_addresses(server.addresses(), config.certificate.is_some())?;
    let (start, seed) = (server.start().as_nanos(), flags.seed);
    output::print(&format!("start {start}\nseed {seed}\n"))?;
    let counts = server.run(stop.flag());
    output::print(&format!("{counts}\n"))?;
    Ok(Exit::YES)
}

fn config(flags: &TruthFlags, listen: &[Address]) -> Config {
    Config {
        listen: listen.to_vec(),
        seed: flags.seed,
        stall: flags.stall,
        work: flags.work,
        capacity: flags.capacity.map(|capacity| (capacity, flags.service)),
        cold: flags.cold,
        script: Script {
            delay: flags.late,
            interval: flags.drip,
            outage: flags.outage,
            rules: flags.faults.clone(),
        },
        busy_poll: flags.spin,
        log: flags.truth_log.clone(),
        complain: |sentence| output::message(&format!("weigh: {sentence}")),
        ..Config::default()
    }
}
