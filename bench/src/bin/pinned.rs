//! Runs a program on one CPU and says what it has cost: `pinned CPU PROGRAM [ARGUMENT...]`.
//!
//! A program of its own and not a part of the chore that wants to know, for two reasons: the chores have no `unsafe`,
//! and a process inherits the peak memory of the one that started it, so that one must be small.
//!
//! What the program prints passes through; the last line of standard output is the cost, as JSON.

use std::process::{Command, ExitCode};

/// Longer than anything that is measured; a program that hangs is killed by then.
const SECONDS_MAX: u32 = 120;

const USAGE: &str = "usage: pinned CPU PROGRAM [ARGUMENT...]";

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let cpu = arguments
        .next()
        .and_then(|word| word.to_str()?.parse().ok());
    let (Some(cpu), Some(program)) = (cpu, arguments.next()) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let mut command = Command::new(&program);
    command.args(arguments);
    match bench::pin(cpu).and_then(|()| bench::weigh_process(&mut command, SECONDS_MAX)) {
        Ok(cost) => {
            let [wall, user, system] = [cost.wall, cost.user, cost.system].map(|it| it.as_micros());
            let (peak_kb, status) = (cost.peak_kb, cost.status);
            println!(
                "\n{{\"wall_us\": {wall}, \"user_us\": {user}, \"system_us\": {system}, \"peak_kb\": {peak_kb}, \"status\": {status}}}"
            );
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("pinned: {}: {error}", program.to_string_lossy());
            ExitCode::FAILURE
        }
    }
}
