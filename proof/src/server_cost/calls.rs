//! System calls of an exchange on the server's side: strace is attached to all of its processes while it is asked.
//!
//! It is attached twice, for few exchanges and for many, so that what a connection's begin and end ask of the kernel is
//! not taken for an exchange's. A server under strace is so slow that there are always several requests waiting, and
//! fewer waits than in a timed run.

use super::running::{Running, start_on};
use super::trial::{Ask, Bench};
use crate::catalogue::Server;
use crate::cost::calls::{Calls, read};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};
use units::Nanos;

/// Exchanges on which the counts rest.
const EXCHANGES: u64 = 6_000;
const EXCHANGES_QUICK: u64 = 1_000;
/// How long strace may take to be everywhere, and to say what it counted.
const PATIENCE: Duration = Duration::from_secs(10);
const GRACE: Nanos = Nanos::from_secs(10);

/// Counts the calls of one exchange.
///
/// # Errors
/// strace may not look at the server, or the server fails under it.
pub fn count(bench: &Bench, server: &'static Server, ask: &Ask, quick: bool) -> Result<Calls> {
    let each = ask.connections * ask.depth;
    let wanted = match (ask.is_large, quick) {
        // A large answer has so many calls of its own that few answers show them.
        (true, _) => each,
        (false, true) => EXCHANGES_QUICK,
        (false, false) => EXCHANGES,
    };
    let few = each;
    let many = few + wanted.div_ceil(each) * each;
    let mut running = bench.start(server, ask, 1)?;
    bench.load(server, &running, ask, few)?;
    let before = attached(bench, server, &mut running, ask, few)?;
    let after = attached(bench, server, &mut running, ask, many)?;
    Ok(Calls::between(server.name, (before, few), (after, many)))
}

/// The calls that the server makes for `exchanges`.
fn attached(
    bench: &Bench,
    server: &'static Server,
    running: &mut Running,
    ask: &Ask,
    exchanges: u64,
) -> Result<BTreeMap<String, u64>> {
    running.cpu_at_rest();
    let home = bench.site.borrow_mut().home()?;
    let (words, summary) = (home.join("words"), home.join("summary"));
    let pids = running.pids();
    let mut command: Vec<OsString> = ["strace", "-f", "-c", "-o"].map(OsString::from).to_vec();
    command.push(summary.clone().into_os_string());
    for pid in &pids {
        command.extend(["-p".into(), pid.to_string().into()]);
    }
    let mut strace = start_on(bench.cpus.client, bench.cpus, command, &words)?;
    wait_for_all(&words, pids.len())?;
    let load = bench.load(server, running, ask, exchanges);
    running.cpu_at_rest();
    strace.stop(GRACE);
    load?;
    let text = fs::read_to_string(&summary)?;
    let calls = read(&text);
    ensure!(!calls.is_empty(), "strace counted nothing:\n{text}");
    Ok(calls)
}

/// Waits until strace says that it sees so many processes.
fn wait_for_all(words: &Path, processes: usize) -> Result<()> {
    let begun = Instant::now();
    loop {
        let text = fs::read_to_string(words).context("strace has no words")?;
        if attachments(&text) >= processes {
            return Ok(());
        }
        let refused = text.contains("Operation not permitted");
        ensure!(!refused, "strace may not look at a server: {}", text.trim());
        ensure!(begun.elapsed() < PATIENCE, "strace hangs: {}", text.trim());
        // strace says in a file when it is there, and there is nothing to wait on.
        thread::sleep(Duration::from_millis(2));
    }
}

fn attachments(text: &str) -> usize {
    let mut lines = text.lines().collect::<Vec<_>>();
    lines.retain(|line| line.starts_with("strace: Process ") && line.contains(" attached"));
    lines.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strace_is_there_when_it_has_named_every_process() {
        let text = "strace: Process 17 attached\nstrace: Process 18 attached with 3 threads\n\
                    strace: Process 17 detached\n";
        assert_eq!(attachments(text), 2);
        assert_eq!(attachments(""), 0);
    }
}
