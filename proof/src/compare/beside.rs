//! The same two servers compared without weigh: another load generator loads them in turn, and their CPU time is read
//! from the clocks of their processes.
//!
//! Of each start one value, as of a start of `weigh compare`, so that the two intervals speak of the same: of fresh
//! starts of these servers on this machine.

use super::Ratio;
use super::case::Case;
use super::trial::{How, uninterrupted};
use crate::catalogue::reports::ToolOutput;
use crate::catalogue::{Tool, Values, read, tool};
use crate::cost::series::in_turn;
use crate::serving::running::Running;
use crate::serving::site::Site;
use crate::serving::{LOOK, to_end};
use anyhow::{Context, Result, ensure};
use stats::comparison::{CONFIDENCE, Difference, median_of_cycles};
use std::time::Duration;

/// Starts of both servers, and rounds of each server in a start: about a minute of load.
const STARTS: u32 = 8;
const ROUNDS: u32 = 4;
/// The same of a look.
const STARTS_LOOK: u32 = 3;
const ROUNDS_LOOK: u32 = 2;
/// Connections, as many as `weigh compare` has where none are given.
const CONNECTIONS: u32 = 10;
/// Length of a round.
const SECONDS: u32 = 1;
/// How long a round may take.
const LIMIT: Duration = Duration::from_secs(60);

/// Returns the ratio of b's CPU time per request to a's with its 95 % interval over starts; none of a case that has no
/// other load generator.
///
/// # Errors
/// A server or the load generator could not be started, or requests failed.
pub fn measure(case: &Case, how: &How, site: &mut Site) -> Result<Option<Ratio>> {
    let Some(name) = &case.beside else {
        return Ok(None);
    };
    let (starts, rounds) = match how.time {
        None => (STARTS, ROUNDS),
        Some(_) => (STARTS_LOOK, ROUNDS_LOOK),
    };
    let mut values = Vec::new();
    for start in 0..starts {
        let mut running = Vec::new();
        for side in [&case.a, &case.b] {
            let server = side.row().context("a server of the catalogue")?;
            running.push(Running::start_anywhere(server, site, &case.path)?);
        }
        let [a, b] = running.as_mut_slice() else {
            unreachable!("two sides make two servers");
        };
        values.push(one_start(start, rounds, |is_b| {
            let server = if is_b { &mut *b } else { &mut *a };
            round(tool(name), server, &case.path, site)
        })?);
    }
    let difference = Difference::of(&values, CONFIDENCE).context("too few starts")?;
    let (low, high) = difference.ratio_interval();
    Ok(Some(Ratio {
        centre: difference.ratio(),
        low,
        high,
    }))
}

/// The value of a start, of which `round` measures a round of b or of a: each comes first in turn. The first rounds are
/// warm-up.
fn one_start(start: u32, rounds: u32, mut round: impl FnMut(bool) -> Result<f64>) -> Result<f64> {
    let mut pairs = Vec::new();
    for number in 0..=rounds {
        let is_first = (start + number).is_multiple_of(2);
        let round = std::cell::RefCell::new(&mut round);
        let one = |is_b| (round.borrow_mut())(is_b);
        let pair = in_turn(is_first, || one(false), || one(true))?;
        if number > 0 {
            pairs.push(pair);
        }
    }
    median_of_cycles(&pairs).context("a server took no CPU time")
}

/// CPU time per request of one round, in microseconds.
fn round(tool: &Tool, server: &mut Running, path: &str, site: &mut Site) -> Result<f64> {
    let folder = site.home()?;
    let values = Values::of_load(server.at, path, &folder)
        .with("connections", CONNECTIONS)
        .with("seconds", SECONDS)
        .keeping(true);
    let command = tool.command(&values, &folder)?;
    let words = folder.join("words");
    let before = server.cpu_at_rest();
    let ended = to_end(&command, &words, LIMIT, LOOK, uninterrupted)?;
    let cpu = server.cpu_at_rest().saturating_sub(before);
    let text = read(&words)?;
    let claim = tool.claim(&ToolOutput {
        text: &text,
        folder: &folder,
    });
    let claim = claim.filter(|_| ended.is_some_and(|status| status.success()));
    let claim = claim.with_context(|| format!("{} did not do its work: {text}", tool.name))?;
    ensure!(claim.failed == 0, "requests failed: {}", claim.detail);
    Ok(cpu.as_secs_f64() * 1e6 / claim.ok as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_the_median_of_its_rounds_without_the_first() {
        let mut order = String::new();
        // Of b the first round takes ten times as much, and one of the others is disturbed.
        let mut of_b = [100.0, 11.0, 90.0, 11.0].into_iter();
        let value = one_start(0, 3, |is_b| {
            order.push(if is_b { 'b' } else { 'a' });
            Ok(if is_b { of_b.next().unwrap() } else { 10.0 })
        });
        assert_eq!(value.unwrap(), 11.0_f64.ln() - 10.0_f64.ln());
        assert_eq!(order, "abbaabba");
    }
}
