//! The plan of each command line in `tests/plans/plans.ndjson`, or the sentence with which it is refused, unchanged.
//!
//! A line holds the words as typed and, of the plan, what differs from the plan of the first line. What follows from the
//! machine or the clock where the words do not say it (seed, threads, the most connections of an open loop) is left out.
//! A file rather than Rust, because it must not change when the code that reads flags does.
//! `WEIGH_UPDATE_GOLDEN=1 cargo test -p cli --bin weigh golden` writes the file anew.

use crate::args::{Cli, Verb, commands};
use crate::shorthand::{Meaningless, complete};
use clap::Parser;
use plan::Plan;
use serde_json::{Map, Value, json};
use std::ffi::OsString;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/plans/plans.ndjson");

/// The plan that these words ask for, or why there is none.
fn plan(words: &[String]) -> Result<Plan, String> {
    let argv: Vec<OsString> = ["weigh"]
        .into_iter()
        .chain(words.iter().map(String::as_str))
        .map(OsString::from)
        .collect();
    let argv = complete(argv, &commands()).map_err(|refused| match refused {
        Meaningless::Unknown(why) => why,
        Meaningless::Empty => panic!("no words at all"),
    })?;
    let cli = Cli::try_parse_from(argv);
    let cli = cli.map_err(|error| first_paragraph(&error.to_string()))?;
    let made = match cli.verb {
        Verb::Run(flags) => flags.0.plan(),
        Verb::Sweep(flags) => flags.0.plan(),
        _ => panic!("{words:?} ask for no load"),
    };
    made.map_err(|error| format!("{error:#}"))
}

/// What clap says before it comes to usage and tips.
fn first_paragraph(text: &str) -> String {
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .take_while(|line| !line.is_empty())
        .collect();
    lines.join(" ")
}

/// The words of a line as a shell takes them, of which only single quotes matter here.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![];
    for (index, part) in line.split('\'').enumerate() {
        match index % 2 {
            1 => words.push(part.to_owned()),
            _ => words.extend(part.split_whitespace().map(str::to_owned)),
        }
    }
    words
}

/// The plan as JSON, without what neither the words nor their defaults say.
fn told(plan: &Plan, words: &[String]) -> Map<String, Value> {
    let is_given = |names: &[&str]| {
        let mut words = words.iter().take_while(|word| *word != "--");
        words.any(|word| names.iter().any(|name| word.starts_with(name)))
    };
    let Ok(Value::Object(mut plan)) = serde_json::to_value(plan) else {
        panic!("a plan is an object");
    };
    if !is_given(&["--seed"]) {
        plan.remove("seed");
    }
    if !is_given(&["-t", "--threads"]) {
        plan.remove("threads");
    }
    if !is_given(&["-c", "--connections"])
        && let Some(Value::Object(open)) = plan["load"].get_mut("open")
    {
        open.remove("connections");
    }
    plan
}

#[test]
fn command_lines_mean_the_plans_that_they_meant() {
    let known = std::fs::read_to_string(FILE).unwrap();
    let mut written = String::new();
    let mut base = Map::new();
    for line in known.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let argv = line["argv"].as_str().unwrap();
        let words = words(argv);
        let told = match plan(&words) {
            Err(refusal) => json!({ "argv": argv, "refused": refusal }),
            Ok(plan) => {
                let plan = told(&plan, &words);
                let differs = |(name, value): &(&String, &Value)| base.get(*name) != Some(value);
                let differing: Map<String, Value> = plan
                    .iter()
                    .filter(differs)
                    .map(|(name, value)| (name.clone(), value.clone()))
                    .collect();
                if base.is_empty() {
                    base = plan;
                }
                json!({ "argv": argv, "plan": differing })
            }
        };
        written.push_str(&format!("{told}\n"));
    }
    if std::env::var_os("WEIGH_UPDATE_GOLDEN").is_some() {
        std::fs::write(FILE, &written).unwrap();
        return;
    }
    let lacks_ring = |line: &str| line.contains("--ring io_uring cannot be had here");
    for (known, made) in known.lines().zip(written.lines()) {
        assert!(made == known || lacks_ring(made), "{made}\n{known}");
    }
}
