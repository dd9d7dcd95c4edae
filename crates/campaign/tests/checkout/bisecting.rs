//! The exit statuses, as git understands them.

use crate::repository::Repository;
use campaign::BisectExit::{Abort, Bad, Good, Skip};
use campaign::{BisectExit, Checkout};
use std::process::Command;

/// Bisects 16 commits, of which the first is good and the last is bad. Each has the exit status of its comparison in the
/// file `status`. Returns whether git was content, and what it said.
fn bisect(exits: [BisectExit; 16]) -> (bool, String) {
    let repository = Repository::new();
    for (number, exit) in exits.iter().enumerate() {
        let (status, version) = (exit.status().to_string(), number.to_string());
        repository.commit(
            &format!("number-{number}"),
            &[("status", &status), ("version", &version)],
        );
    }
    repository.git("bisect start main main~15");
    let mut run = Command::new("git");
    run.args(["bisect", "run", "sh", "-c", "exit $(cat status)"]);
    let output = run.current_dir(repository.path()).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    // What is checked out is what HEAD is in the next step.
    let head = Checkout::of(&repository.path(), "HEAD").unwrap();
    assert_eq!(head.commit(), repository.git("rev-parse HEAD"));
    (output.status.success(), String::from_utf8(said).unwrap())
}

#[test]
fn git_finds_the_commit_and_skips_those_that_cannot_be_told() {
    let mut exits = [Good; 16];
    exits[11..].fill(Bad);
    exits[7] = Skip; // the first that git tries
    let (is_content, said) = bisect(exits);
    assert!(is_content && said.contains("number-11"), "{said}");
    assert!(said.contains("is the first bad commit"), "{said}");
}

#[test]
fn git_gives_up_when_it_is_told_to() {
    let (is_content, said) = bisect([Abort; 16]);
    assert!(!is_content && !said.contains("first bad commit"), "{said}");
    assert!(said.contains("128"), "{said}");
}

#[test]
fn a_baseline_that_cannot_be_measured_ends_it_and_a_commit_is_skipped() {
    assert_eq!(BisectExit::of_unusable(true), Abort);
    assert_eq!(BisectExit::of_unusable(false), Skip);
}
