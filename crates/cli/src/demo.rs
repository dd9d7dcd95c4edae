//! `weigh demo`: starts the reference server as a separate process and loads it, to show what weigh prints.

use crate::exit::Exit;
use crate::progress::Bar;
use crate::settings::Output;
use crate::{output, run};
use anyhow::{Context, Result};
use plan::{Load, Plan, Request, Requests, ServerCommand, Stop};
use std::net::{SocketAddr, TcpListener};
use units::Nanos;

/// Measures the built-in server for about fifteen seconds.
pub fn demo() -> Result<Exit> {
    output::message("Measuring the built-in server for about fifteen seconds.\n");
    let plan = plan(free_port()?)?;
    let outcome = run::carry_out(plan, None, &mut Bar::new(&Output::default()))?;
    let shown = run::show(&outcome, "text", &Output::default());
    output::message(
        "\nThis was weigh's own server. To measure yours:\n\
         \x20 weigh http://127.0.0.1:8080/           a server that is running\n\
         \x20 weigh localhost:8080/ -- COMMAND...    one that weigh starts and stops\n\
         \x20 weigh run -h                           the most used options",
    );
    Ok(Exit::of(&outcome, shown))
}

/// A loopback port that was free a moment ago.
fn free_port() -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").context("no loopback port is free")?;
    Ok(listener.local_addr()?)
}

fn plan(address: SocketAddr) -> Result<Plan> {
    let weigh = std::env::current_exe().context("weigh cannot find its own program file")?;
    let cpus = kernel::affinity::allowed().len().max(1) as u32;
    let threads = (cpus / 2).max(1);
    let workers = (cpus - threads).max(1);
    let argv = [
        weigh
            .to_str()
            .context("the path of weigh's program file is no text")?,
        "serve",
        "--listen",
        &address.to_string(),
        "--workers",
        &workers.to_string(),
    ];
    Ok(Plan {
        requests: Requests::Listed(vec![Request::get("/100.html")]),
        load: Load::Closed {
            connections: 50 * threads,
        },
        stop: Stop::Duration(Nanos::from_millis(2500)),
        warmup: Nanos::from_millis(400),
        threads,
        seed: kernel::clock::realtime().as_nanos() as u64,
        server: Some(ServerCommand {
            argv: argv.map(str::to_owned).to_vec(),
            ready_within: Nanos::from_secs(10),
            reference_server: true,
        }),
        ..Plan::example(address)
    })
}
