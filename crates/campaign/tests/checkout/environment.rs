//! Strange surroundings: variables that hooks have, hooks and settings of the user, no git. Tried on a process of its own,
//! which is this program, started again with other variables.

use crate::repository::{Repository, file, git_in};
use campaign::{Checkout, CheckoutError};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// The variable that holds the path of the repository for a process that was started again.
const AGAIN: &str = "CAMPAIGN_TEST_AGAIN";

/// The repository's path, if this process was started again.
fn again() -> Option<std::path::PathBuf> {
    std::env::var_os(AGAIN).map(Into::into)
}

/// Starts the test `name` again with other variables, in which it must pass.
fn start_again(name: &str, repository: &Path, variables: &[(&str, &OsStr)]) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", &format!("environment::{name}")]);
    command
        .env(AGAIN, repository)
        .envs(variables.iter().copied());
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}"
    );
}

/// Builds `HEAD` of the repository at `path` by `command`; returns the build's file `built`.
fn build(path: &Path, command: &str) -> String {
    let cache = campaign::BuildCache::new(path.with_file_name("builds"), u64::MAX);
    let stop = std::sync::atomic::AtomicBool::new(false);
    let command = campaign::BuildCommand::new(command);
    let checkout = Checkout::of(path, "HEAD").unwrap();
    let built = checkout.build(&command, &cache, &stop, &mut |_| ());
    file(&built.unwrap(), "built")
}

#[test]
fn variables_that_lead_git_elsewhere_lead_neither_weigh_nor_the_build_there() {
    if let Some(path) = again() {
        assert_eq!(Checkout::of(&path, "HEAD").unwrap().uncommitted(), 0);
        Checkout::of(&path, ".").unwrap();
        assert_eq!(
            build(&path, "git show HEAD:version > built; git status"),
            "two\n"
        );
        return;
    }
    let (repository, other) = (Repository::of_two(), Repository::new());
    other.write(&[("version", "uncommitted")]);
    let before = (repository.state(), other.state());
    let (folder, git) = (other.path(), other.path().join(".git"));
    let (index, objects) = (git.join("index"), git.join("objects"));
    start_again(
        "variables_that_lead_git_elsewhere_lead_neither_weigh_nor_the_build_there",
        &repository.path(),
        &[
            ("GIT_DIR", git.as_os_str()),
            ("GIT_WORK_TREE", folder.as_os_str()),
            ("GIT_INDEX_FILE", index.as_os_str()),
            ("GIT_OBJECT_DIRECTORY", objects.as_os_str()),
            ("GIT_PREFIX", OsStr::new("nowhere/")),
        ],
    );
    repository.assert_not_written(&before.0);
    other.assert_untouched(&before.1);
}

#[test]
fn hooks_of_the_user_are_not_run() {
    const ALL: [&str; 3] = [
        "post-checkout",
        "post-index-change",
        "reference-transaction",
    ];
    let name = "hooks_of_the_user_are_not_run";
    if let Some(path) = again() {
        Checkout::of(&path, ".").unwrap();
        let git = "git checkout --quiet HEAD~1 && git checkout --quiet -";
        assert_eq!(build(&path, &format!("{git} && cp version built")), "two\n");
        return;
    }
    let repository = Repository::of_two();
    let (hooks, templates) = (repository.beside("hooks"), repository.beside("templates"));
    let ran = repository.beside("ran");
    for folder in [
        &hooks,
        &templates.join("hooks"),
        &repository.path().join(".git/hooks"),
    ] {
        fs::create_dir_all(folder).unwrap();
        for hook in ALL {
            let path = folder.join(hook);
            fs::write(
                &path,
                format!("#!/bin/sh\necho {hook} >> {}\n", ran.display()),
            )
            .unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }
    let settings = repository.beside("settings");
    for (key, folder) in [("core.hooksPath", &hooks), ("init.templateDir", &templates)] {
        let text = format!(
            "config --file {} {key} {}",
            settings.display(),
            folder.display()
        );
        repository.git(&text);
        start_again(
            name,
            &repository.path(),
            &[("GIT_CONFIG_GLOBAL", settings.as_os_str())],
        );
        assert_eq!(repository.left("ran"), "", "{key}");
        fs::remove_dir_all(repository.beside("builds")).unwrap();
    }
    // They would have been run otherwise.
    git_in(&repository.path(), "checkout --quiet one");
    assert!(ALL.iter().all(|hook| repository.left("ran").contains(hook)));
}

#[test]
fn a_build_gets_the_users_variables() {
    if let Some(path) = again() {
        let text = build(
            &path,
            "echo $COLOUR $GIT_SSH_COMMAND ${GIT_DIR-none} > built",
        );
        assert_eq!(text, "blue ssh -x none\n");
        return;
    }
    let repository = Repository::of_two();
    start_again(
        "a_build_gets_the_users_variables",
        &repository.path(),
        &[
            ("COLOUR", OsStr::new("blue")),
            ("GIT_SSH_COMMAND", OsStr::new("ssh -x")),
            ("GIT_DIR", OsStr::new("/nowhere")),
        ],
    );
}

#[test]
fn without_git_it_is_said_that_git_is_missing() {
    if let Some(path) = again() {
        let refused = Checkout::of(&path, "HEAD").unwrap_err();
        assert!(matches!(refused, CheckoutError::NoGit));
        let wanted = "comparing commits needs git, which is not in PATH; install it";
        assert_eq!(refused.to_string(), wanted);
        return;
    }
    let repository = Repository::of_two();
    start_again(
        "without_git_it_is_said_that_git_is_missing",
        &repository.path(),
        &[("PATH", OsStr::new("/nowhere"))],
    );
}
