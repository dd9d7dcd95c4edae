//! Builds: where they run, what they are given, how they fail, and that the user's repository is left alone.

use crate::repository::{Repository, file, git_in, is_alive, is_gone};
use campaign::{BisectExit, BuildCommand, BuildError, Built, Checkout, WORKING_TREE};
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use units::Nanos;

/// Builds nothing, but shows what is there.
const SHOW: &str = "cp version built; git describe --tags --always > described";

#[test]
fn two_commits_are_built_side_by_side_and_the_repository_is_left_alone() {
    let repository = Repository::of_two();
    repository.write(&[("version", "uncommitted"), ("new", "uncommitted")]);
    let before = repository.state();
    let one = repository.build("one", SHOW).unwrap();
    let two = repository.build("main", SHOW).unwrap();
    let short = repository.git("rev-parse --short=7 main");
    for (built, text, described) in [
        (&one, "one\n", "one\n"),
        (&two, "two\n", &*format!("one-1-g{short}\n")),
    ] {
        assert_eq!(
            (&*file(built, "version"), &*file(built, "built")),
            (text, text)
        );
        assert_eq!(file(built, "described"), described);
        assert!(!built.folder().join("new").exists() && !built.reused());
    }
    assert_ne!(one.folder(), two.folder());
    let length = |built: &Built| built.folder().as_os_str().len();
    assert_eq!(length(&one), length(&two));
    assert_eq!(two.name(), repository.checkout("main").name());
    repository.assert_untouched(&before);
}

#[test]
fn the_working_tree_is_built_as_it_is_and_left_alone() {
    let repository = Repository::of_two();
    repository.commit(
        "three",
        &[
            (".gitignore", "*.o\n"),
            ("old", "1\n"),
            ("run", "#!/bin/sh\n"),
        ],
    );
    repository.write(&[
        ("version", "changed\n"),
        ("new/file", "new\n"),
        ("a.o", "ignored"),
    ]);
    repository.git("rm --quiet old");
    repository.git("update-index --chmod=+x run");
    repository.git("config core.splitIndex true");
    repository.git("status"); // settles the index
    let before = repository.state();
    let checkout = Checkout::of(&repository.path().join("new"), WORKING_TREE).unwrap();
    assert!(checkout.is_working_tree() && checkout.uncommitted() == 0);
    assert_eq!(checkout.commit(), repository.git("rev-parse HEAD"));
    assert_eq!(
        checkout.name(),
        format!("working tree {}", &checkout.tree()[..7])
    );
    assert!(checkout.same_as(&repository.checkout("HEAD")).is_none());
    let built = repository
        .build(WORKING_TREE, "git status --porcelain > status")
        .unwrap();
    assert_eq!(file(&built, "version"), "changed\n");
    assert_eq!(file(&built, "new/file"), "new\n");
    assert_eq!(file(&built, "status"), "?? status\n");
    assert!(
        ["old", "a.o"]
            .iter()
            .all(|name| !built.folder().join(name).exists())
    );
    repository.assert_not_written(&before);
}

#[test]
fn a_build_and_its_server_run_in_the_folder_in_which_weigh_was_called() {
    let repository = Repository::of_two();
    repository.commit("three", &[("services/api/name", "api\n")]);
    let stop = AtomicBool::new(false);
    let build = |revision: &str| {
        let checkout = Checkout::of(&repository.path().join("services/api"), revision).unwrap();
        let command = BuildCommand::new("cat name > built");
        checkout.build(&command, &repository.cache(), &stop, &mut |_| ())
    };
    let built = build("main").unwrap();
    assert!(built.folder().ends_with("tree/services/api"));
    assert_eq!(file(&built, "built"), "api\n");
    let refused = build("one").unwrap_err();
    assert!(refused.is_of_commit());
    let wanted = "has no folder `services/api/`, in which it was to be built";
    assert!(refused.to_string().ends_with(wanted), "{refused}");
}

#[test]
fn worktrees_bare_and_shallow_repositories_will_do() {
    let repository = Repository::of_two();
    let path = |name: &str| repository.beside(name).display().to_string();
    repository.git(&format!(
        "worktree add --quiet --detach {} one",
        path("worktree")
    ));
    git_in(
        &repository.beside("worktree"),
        "commit --quiet --allow-empty -m unreachable",
    );
    repository.git(&format!("clone --quiet --bare . {}", path("bare")));
    let source = format!("file://{}", repository.path().display());
    repository.git(&format!(
        "clone --quiet --depth 1 {source} {}",
        path("shallow")
    ));
    let stop = AtomicBool::new(false);
    let before = repository.state();
    for (name, text) in [
        ("worktree", "one\n"),
        ("bare", "two\n"),
        ("shallow", "two\n"),
    ] {
        let checkout = Checkout::of(&repository.beside(name), "HEAD").unwrap();
        let command = BuildCommand::new(format!("cp version {name}"));
        let built = checkout.build(&command, &repository.cache(), &stop, &mut |_| ());
        assert_eq!(file(&built.unwrap(), name), text);
    }
    repository.assert_untouched(&before);
}

#[test]
fn a_build_that_fails_says_what_it_printed_and_is_not_kept() {
    let repository = Repository::of_two();
    let command = "for i in $(seq 1000); do echo line $i; done; echo no semicolon >&2; exit 3";
    let failed = repository.build("one", command).unwrap_err();
    let name = repository.checkout("one").name();
    let said = failed.to_string();
    let begin =
        format!("the build of {name} failed: `{command}` exited with status 3; it printed:\n");
    assert!(said.starts_with(&begin), "{said}");
    assert!(
        said.contains("line 1000\nno semicolon\n(its whole output is in "),
        "{said}"
    );
    let BuildError::Failed { log, .. } = &failed else {
        panic!("{failed:?}")
    };
    let log = fs::read_to_string(log).unwrap();
    assert!(log.starts_with("line 1\nline 2\n") && log.ends_with("no semicolon\n"));
    assert_eq!(repository.builds(), 0);
    assert_eq!(BisectExit::of_build(&failed, false), BisectExit::Skip);
    assert_eq!(BisectExit::of_build(&failed, true), BisectExit::Abort);
    let killed = repository
        .build("one", "kill -KILL $$")
        .unwrap_err()
        .to_string();
    assert!(
        killed.contains("was killed by SIGKILL; it printed nothing"),
        "{killed}"
    );
}

#[test]
fn a_build_that_takes_too_long_or_prints_too_much_is_ended() {
    let repository = Repository::of_two();
    let stop = AtomicBool::new(false);
    let mut command = repository.command("echo $$ > BESIDE/pid; exec sleep 1000");
    command.within = Nanos::from_secs(1);
    let checkout = repository.checkout("one");
    let late = checkout
        .build(&command, &repository.cache(), &stop, &mut |_| ())
        .unwrap_err();
    assert!(
        late.to_string()
            .contains("was stopped after 1 s, its time limit"),
        "{late}"
    );
    assert!(late.is_of_commit() && !is_alive(repository.left("pid").trim()));
    let loud = repository.build("one", "exec yes").unwrap_err().to_string();
    assert!(
        loud.contains("was stopped when it had printed more than 64.0 MiB"),
        "{loud}"
    );
    assert_eq!(repository.builds(), 0);
}

#[test]
fn an_interrupt_ends_a_build_and_all_that_it_has_started() {
    let repository = Repository::of_two();
    let stop = AtomicBool::new(false);
    let command =
        "(setsid sleep 1000 & echo $! >> BESIDE/pids); sleep 1000 & echo $! >> BESIDE/pids
        echo $$ >> BESIDE/pids; echo up > BESIDE/up; wait";
    let interrupted = std::thread::scope(|scope| {
        scope.spawn(|| {
            repository.wait_for("up");
            stop.store(true, Ordering::Relaxed);
        });
        let checkout = repository.checkout("one");
        let command = repository.command(command);
        checkout.build(&command, &repository.cache(), &stop, &mut |_| ())
    });
    let interrupted = interrupted.unwrap_err();
    assert!(matches!(interrupted, BuildError::Interrupted));
    assert_eq!(BisectExit::of_build(&interrupted, false), BisectExit::Abort);
    let pids = repository.left("pids");
    assert_eq!(pids.lines().count(), 3);
    assert!(pids.lines().all(|pid| !is_alive(pid)));
    assert_eq!(repository.builds(), 0);
}

#[test]
fn what_a_build_leaves_running_ends_with_it() {
    let repository = Repository::of_two();
    let command = "setsid sleep 1000 & echo $! > BESIDE/pid";
    let _built = repository.build("one", command).unwrap();
    is_gone(&repository.wait_for("pid"));
}

#[test]
fn submodules_are_said_to_be_missing() {
    let repository = Repository::of_two();
    repository.commit(
        "three",
        &[(
            ".gitmodules",
            "[submodule \"x\"]\n\tpath = x\n\turl = ../x\n",
        )],
    );
    let (stop, mut said) = (AtomicBool::new(false), Vec::new());
    let mut say = |line: &str| said.push(line.to_owned());
    let command = BuildCommand::new("exit 1");
    let checkout = repository.checkout("main");
    let failed = checkout
        .build(&command, &repository.cache(), &stop, &mut say)
        .unwrap_err();
    let wanted = "its submodules are not checked out: `git submodule update --init` in the build command does it";
    let name = checkout.name();
    assert_eq!(said, [format!("{name}: building it by `exit 1`; {wanted}")]);
    assert!(failed.to_string().contains(wanted), "{failed}");
}
