//! `weigh demo`: a trial of weigh itself. Three worlds of which the truth is known, because weigh makes them: for each it shows
//! what was planted and what was found.

use crate::exit::Exit;
use crate::{compare, generate, output, reference, run};
use anyhow::{Context, Result};
use campaign::Quiet;
use kernel::process::{Child, Start};
use kernel::signals;
use plan::{
    Arrivals, Arriving, Block, Budget, ComparePlan, Compared, Load, Plan, Request, Requests, Stop,
};
use record::{Answers, Cause, Comparison, Run, Versus};
use std::net::SocketAddr;
use units::Nanos;

/// What the third server burns more than the others, and what all of them burn beside what a response costs: together about
/// 10 % more for each request.
const WORK: Nanos = Nanos::from_micros(20);
const WORK_MORE: Nanos = Nanos::from_nanos(2_700);
/// A difference up to this is none that the trial asks about.
const MARGIN: f64 = 0.05;
/// The planted difference has to be found to be more than this.
const FOUND_FROM: f64 = 0.02;
/// The comparison goes on until it finds a difference of this share, but not for longer.
const PRECISION: f64 = 0.03;
const COMPARE_FOR: Nanos = Nanos::from_secs(120);
/// Measured cycles in each start: enough for differences of 5 %.
const CYCLES: u32 = 10;
/// The stalling server stands still for so long in each period.
const STALL: &str = "100ms/1s";

/// Carries the trial out.
pub fn demo() -> Result<Exit> {
    output::message(
        "A trial of weigh on this machine: three worlds of which the truth is known, in at most three minutes.",
    );
    if !compared()? || !stalled()? || !starved()? {
        return Ok(Exit::INTERRUPTED);
    }
    output::message(
        "\nNow your own servers:\n\
         \x20 weigh compare 'a=./server-a {port}' 'b=./server-b {port}'   which costs less\n\
         \x20 weigh http://127.0.0.1:8080/           a server that is running\n\
         \x20 weigh localhost:8080/ -- COMMAND...    one that weigh starts and stops\n\
         \x20 weigh run -h                           the most used options",
    );
    Ok(Exit::YES)
}

fn is_interrupted() -> bool {
    signals::interrupts().raised()
}

fn plan(address: SocketAddr, arguments: &[&str]) -> Result<Plan> {
    let listen = address.to_string();
    let arguments = [&["--listen", listen.as_str()], arguments].concat();
    Ok(Plan {
        requests: Requests::Listed(vec![Request::get("/100.html")]),
        seed: kernel::clock::realtime().as_nanos() as u64,
        server: Some(reference::server(&arguments)?),
        ..Plan::example(address)
    })
}

/// Two equal servers and one that burns more: which is which? False when it was interrupted.
fn compared() -> Result<bool> {
    output::message(
        "\n1. Three servers. a and b are equal, c burns about 10 % more CPU for each request.",
    );
    let comparison = compare_three()?;
    if is_interrupted() {
        return Ok(false);
    }
    let answers = Answers::of(&comparison);
    let found = |server: usize| {
        answers
            .headlines()
            .iter()
            .find(|versus| versus.server == server)
    };
    let (Some(b), Some(c)) = (found(1), found(2)) else {
        output::print("   found    nothing: the servers could not be compared\n")?;
        return Ok(true);
    };
    output::print(&format!(
        "   planted  b / a 1.00            c / a about 1.10\n   found    b / a {}   c / a {}\n   {}\n",
        ratio(b),
        ratio(c),
        verdict(interval(b), interval(c))
    ))?;
    Ok(true)
}

/// Measures the three.
fn compare_three() -> Result<Comparison> {
    let server = |name: &str, work: Nanos| -> Result<Compared> {
        let work = format!("{}ns", work.as_nanos());
        let arguments = ["--truth", "--work", work.as_str()];
        let plan = plan(compare::free_port()?, &arguments)?;
        Ok(Compared::of(name, plan))
    };
    let servers = vec![
        server("a", WORK)?,
        server("b", WORK)?,
        server("c", WORK + WORK_MORE)?,
    ];
    let plan = ComparePlan {
        seed: servers[0].plan.seed,
        servers,
        blocks: vec![Block {
            cycles: CYCLES,
            ..Block::of(Load::Closed { connections: 10 })
        }],
        budget: Budget::Precision(PRECISION),
        limit: Some(COMPARE_FOR),
        ..ComparePlan::default()
    };
    let folder = tempfile::tempdir().context("there is no room for the record of the trial")?;
    let stop = signals::measuring();
    let generator = generate::command()?;
    let mut view = compare::Progress::new(false);
    let path = folder.path().join("demo.json");
    let outcome = campaign::compare(plan, &path, &generator, false, stop.flag(), &mut view)?;
    Ok(outcome.comparison)
}

fn ratio(versus: &Versus) -> String {
    versus.ratio.map_or_else(
        || "not known".into(),
        |ratio| {
            format!(
                "{:.3} ({:.3} .. {:.3})",
                ratio.centre, ratio.low, ratio.high
            )
        },
    )
}

fn interval(versus: &Versus) -> Option<(f64, f64)> {
    versus.ratio.map(|ratio| (ratio.low, ratio.high))
}

/// What the intervals of the two ratios say, in a sentence; that they cannot tell is no failure of the trial, but of the machine.
fn verdict(equal: Option<(f64, f64)>, more: Option<(f64, f64)>) -> String {
    let difference = |(low, high): (f64, f64)| (low - 1.0, high - 1.0);
    let (Some(equal), Some(more)) = (equal.map(difference), more.map(difference)) else {
        return "this machine is too noisy to tell: fewer than three starts could be measured"
            .into();
    };
    let is_tie = equal.0 > -MARGIN && equal.1 < MARGIN;
    let is_wrong = equal.0 > MARGIN || equal.1 < -MARGIN || more.1 < FOUND_FROM;
    match (is_tie && more.0 > FOUND_FROM, is_wrong) {
        (true, _) => "right: b does not differ from a by more than 5 %, and c costs more".into(),
        (_, true) => "WRONG: please report this, with the lines above".into(),
        _ => {
            let width = (equal.1 - equal.0).max(more.1 - more.0) * 50.0;
            format!(
                "this machine is too noisy to tell: intervals of +-{width:.1} % in two minutes; leave it alone and try again"
            )
        }
    }
}

/// Measures one load, and leaves no record.
fn measured(plan: Plan) -> Result<Run> {
    let folder = tempfile::tempdir().context("there is no room for the record of the trial")?;
    let path = folder.path().join("demo.json");
    Ok(run::carry_out(plan, Some(path), &mut Quiet)?.run)
}

/// A server that stands still: what a closed loop does not see, and an open one does. False when it was interrupted.
fn stalled() -> Result<bool> {
    output::message("\n2. A server that stands still for 100 ms in each second.");
    let server = |load: Load| -> Result<Plan> {
        Ok(Plan {
            load,
            stop: Stop::Duration(Nanos::from_secs(3)),
            rounds: 1,
            warmup: Nanos::from_millis(200),
            ..plan(compare::free_port()?, &["--truth", "--stall", STALL])?
        })
    };
    let closed = measured(server(Load::Closed { connections: 4 })?)?;
    if is_interrupted() {
        return Ok(false);
    }
    let open = measured(server(Load::Open {
        rate: "1k".parse().expect("a rate"),
        of: Arriving::Exchanges,
        arrivals: Arrivals::Poisson,
        connections: 500,
    })?)?;
    if is_interrupted() {
        return Ok(false);
    }
    let p95 = |run: &Run| {
        let tally = &run.points.first()?.rounds.first()?.tally;
        let nanos = tally.latency().quantile(0.95)?;
        Some(units::span(Nanos::from_nanos(nanos)))
    };
    let shown = |run: &Run| p95(run).unwrap_or_else(|| "not known".into());
    let is_marked = closed
        .findings
        .iter()
        .any(|finding| finding.cause == Cause::CoordinatedOmission);
    output::print(&format!(
        "   planted  a tenth of the requests waits up to 100 ms: p95 50 ms\n   found    open loop p95 {}; closed loop p95 {}, {}\n",
        shown(&open),
        shown(&closed),
        match is_marked {
            true => "marked: coordinated omission hides the stalls",
            false => "NOT marked",
        }
    ))?;
    Ok(true)
}

/// A generator that gets too little CPU: does it say so? False when it was interrupted.
fn starved() -> Result<bool> {
    output::message("\n3. A generator that is starved: other programs take all the CPU.");
    let cpus = kernel::affinity::allowed().len().max(1);
    let hog = || {
        let command = ["sh", "-c", "while :; do :; done"].map(Into::into).to_vec();
        Child::start(Start {
            command,
            ..Start::default()
        })
    };
    let hogs: Result<Vec<Child>, _> = (0..cpus * 3).map(|_| hog()).collect();
    let hogs = hogs.context("no program could be started to take the CPU")?;
    let run = measured(Plan {
        load: Load::Closed { connections: 10 },
        stop: Stop::Duration(Nanos::from_secs(1)),
        rounds: 3,
        warmup: Nanos::from_millis(200),
        ..plan(compare::free_port()?, &[])?
    })?;
    drop(hogs);
    if is_interrupted() {
        return Ok(false);
    }
    let told = run
        .findings
        .iter()
        .find(|finding| finding.cause == Cause::GeneratorStarved);
    let found = told.map_or("NOTHING of it", |finding| finding.headline.as_str());
    output::print(&format!(
        "   planted  {} endless loops beside it on {}\n   found    {found}\n",
        cpus * 3,
        match cpus {
            1 => "1 CPU".into(),
            several => format!("{several} CPUs"),
        },
    ))?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verdict_is_right_only_where_both_intervals_say_so() {
        let planted = Some((1.08, 1.12));
        let told = |equal, more| verdict(equal, more);
        assert!(told(Some((0.98, 1.02)), planted).starts_with("right"));
        assert!(told(Some((0.94, 1.02)), planted).contains("too noisy"));
        assert!(told(Some((0.98, 1.02)), Some((1.01, 1.2))).contains("too noisy"));
        assert!(told(Some((1.051, 1.2)), planted).starts_with("WRONG"));
        assert!(told(Some((0.98, 1.02)), Some((0.98, 1.019))).starts_with("WRONG"));
        assert!(told(None, planted).contains("too noisy"));
    }
}
