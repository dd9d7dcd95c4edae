//! Builds that are kept: used again, shared, removed.

use crate::repository::{Repository, file, is_gone};
use campaign::BuildCache;
use std::fs;
use std::process::Command;
use std::sync::atomic::AtomicBool;

/// Leaves a line behind each time it is run.
const COUNTED: &str = "cat version >> BESIDE/runs";

#[test]
fn a_build_of_the_same_is_used_again_and_of_anything_else_is_not() {
    let repository = Repository::of_two();
    repository.commit("three", &[]); // with the files of two
    for (revision, command, runs) in [
        ("one", COUNTED, "one\n"),
        ("one", COUNTED, "one\n"),
        ("main", COUNTED, "one\ntwo\n"),
        ("main~1", COUNTED, "one\ntwo\n"),
        ("one", COUNTED, "one\ntwo\n"),
        (
            "one",
            "cat version version >> BESIDE/runs",
            "one\ntwo\none\none\n",
        ),
    ] {
        let before = repository.left("runs");
        let built = repository.build(revision, command).unwrap();
        assert_eq!(repository.left("runs"), runs, "{revision}");
        assert_eq!(built.reused(), before == runs);
        assert!(built.built_at() > 1_700_000_000);
    }
    assert_eq!(repository.builds(), 3);
}

#[test]
fn a_build_that_failed_is_tried_again() {
    let repository = Repository::of_two();
    let command = "echo run >> BESIDE/runs; test -e BESIDE/repaired";
    repository.build("one", command).unwrap_err();
    repository.build("one", command).unwrap_err();
    fs::write(repository.beside("repaired"), "").unwrap();
    let built = repository.build("one", command).unwrap();
    assert!(!built.reused() && repository.left("runs") == "run\nrun\nrun\n");
}

#[test]
fn two_that_build_the_same_wait_for_one_another_and_share_the_build() {
    let repository = Repository::of_two();
    let command = "echo run >> BESIDE/runs; while ! [ -e BESIDE/go ]; do sleep 0.01; done";
    let (stop, builder) = (AtomicBool::new(false), repository.checkout("one"));
    let (first, second) = std::thread::scope(|scope| {
        let first = scope.spawn(|| repository.build("one", command).unwrap());
        repository.wait_for("runs");
        let mut said = Vec::new();
        let mut say = |line: &str| {
            said.push(line.to_owned());
            fs::write(repository.beside("go"), "").unwrap();
        };
        let command = repository.command(command);
        let second = builder.build(&command, &repository.cache(), &stop, &mut say);
        let name = builder.name();
        assert_eq!(
            said[0],
            format!("{name}: waiting for another weigh that builds it")
        );
        assert!(
            said[1].starts_with(&format!("{name}: using the build of ")),
            "{said:?}"
        );
        assert_eq!(said.len(), 2);
        (first.join().unwrap(), second.unwrap())
    });
    assert_eq!(repository.left("runs"), "run\n");
    assert_eq!((first.folder(), first.reused()), (second.folder(), false));
    assert!(second.reused());
}

#[test]
fn the_builds_unused_for_longest_are_removed_but_none_in_use() {
    let repository = Repository::of_two();
    let none = BuildCache::new(repository.beside("builds"), 0);
    let stop = AtomicBool::new(false);
    let build = |revision: &str, cache: &BuildCache| {
        let checkout = repository.checkout(revision);
        let command = repository.command(COUNTED);
        checkout.build(&command, cache, &stop, &mut |_| ()).unwrap()
    };
    repository.commit("three", &[("version", "three\n")]);
    let one = build("one", &none);
    let two = build("main~1", &none); // used, and so is `one`
    assert_eq!(repository.builds(), 2);
    drop(two);
    let three = build("main", &none);
    assert_eq!((repository.builds(), &*file(&one, "version")), (2, "one\n"));
    drop((one, three));
    // What one build takes is room for one: the build that is used now, then the one used last before.
    let bytes = 3 << 20;
    let large = "cat version >> BESIDE/runs; head -c 1048576 /dev/zero > large";
    let cache = BuildCache::new(repository.beside("builds"), bytes);
    for (revision, reused) in [
        ("one", false),
        ("main~1", false),
        ("one", true),
        ("main", false),
        ("one", true),
        ("main~1", false),
    ] {
        let checkout = repository.checkout(revision);
        let built = checkout
            .build(&repository.command(large), &cache, &stop, &mut |_| ())
            .unwrap();
        assert_eq!(built.reused(), reused, "{revision}");
    }
}

/// The variable that makes a test the process that is killed; it holds the repository's path.
const VICTIM: &str = "CAMPAIGN_TEST_VICTIM";

#[test]
fn what_a_killed_weigh_leaves_is_ended_and_removed_by_the_next() {
    if let Some(path) = std::env::var_os(VICTIM) {
        let beside = std::path::Path::new(&path).parent().unwrap().to_owned();
        let checkout = campaign::Checkout::of(path.as_ref(), "one").unwrap();
        let script = format!("echo $$ > {}/pid; exec sleep 1000", beside.display());
        let cache = BuildCache::new(beside.join("builds"), u64::MAX);
        let stop = AtomicBool::new(false);
        let _ = checkout.build(
            &campaign::BuildCommand::new(script),
            &cache,
            &stop,
            &mut |_| (),
        );
        unreachable!("it is killed");
    }
    let repository = Repository::of_two();
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "keeping::what_a_killed_weigh_leaves_is_ended_and_removed_by_the_next",
        ])
        .env(VICTIM, repository.path())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let pid = repository.wait_for("pid");
    assert_eq!(repository.builds(), 1);
    victim.kill().unwrap();
    victim.wait().unwrap();
    is_gone(&pid);
    let built = repository.build("main", COUNTED).unwrap();
    assert_eq!(
        (repository.builds(), &*file(&built, "version")),
        (1, "two\n")
    );
}
