//! Which commit a revision is, and what is said about it.

use crate::repository::{Repository, git_in};
use campaign::{Checkout, CheckoutError, WORKING_TREE};

#[test]
fn a_revision_is_named_as_given_with_digits_of_its_id() {
    let repository = Repository::of_two();
    repository.git("tag -a -m annotated noted one");
    let [one, two] = ["one", "main"].map(|name| repository.git(&format!("rev-parse {name}")));
    let short = |id: &str| id[..5].to_owned();
    let cases = [
        ("main", &two, format!("main {}", short(&two))),
        ("HEAD", &two, format!("HEAD {}", short(&two))),
        ("HEAD~1", &one, format!("HEAD~1 {}", short(&one))),
        ("noted", &one, format!("noted {}", short(&one))),
        (":/one", &one, format!(":/one {}", short(&one))),
        (&two, &two, short(&two)),
        (&two[..9], &two, short(&two)),
    ];
    for (revision, commit, name) in cases {
        let checkout = repository.checkout(revision);
        assert_eq!(checkout.commit(), commit, "{revision}");
        let tree = repository.git(&format!("rev-parse {commit}^{{tree}}"));
        assert_eq!(checkout.tree(), tree);
        // Two ids of two commits share five digits once in a million.
        assert_eq!((checkout.name(), checkout.short()), (name, &commit[..5]));
        assert_eq!(
            (checkout.revision(), checkout.is_working_tree()),
            (revision, false)
        );
    }
}

#[test]
fn what_is_no_commit_is_refused_with_what_could_help() {
    let repository = Repository::of_two();
    repository.git("update-ref refs/remotes/origin/topic one");
    let folder = repository.path().canonicalize().unwrap();
    for (revision, hint) in [
        ("nowhere", ""),
        ("", ""),
        ("-x", ""),
        ("--git-dir", ""),
        ("^main", ""),
        ("one..main", ""),
        ("main:version", ""),
        ("main^{tree}", ""),
        ("topic", "; `origin/topic` is one"),
    ] {
        let refused = Checkout::of(&repository.path(), revision).unwrap_err();
        let wanted = format!("`{revision}` is no commit of `{}`{hint}", folder.display());
        assert_eq!(refused.to_string(), wanted);
    }
    let shallow = repository.beside("shallow");
    let line = format!(
        "clone --quiet --depth 1 file://{} {}",
        folder.display(),
        shallow.display()
    );
    repository.git(&line);
    let refused = Checkout::of(&shallow, "HEAD~1").unwrap_err().to_string();
    assert!(
        refused.ends_with("`git fetch --unshallow` fetches the others"),
        "{refused}"
    );
}

#[test]
fn a_folder_outside_of_repositories_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (path, why) in [("", "not a git repository"), ("nowhere", "No such file")] {
        let path = folder.path().join(path);
        let refused = Checkout::of(&path, "HEAD").unwrap_err();
        assert!(matches!(refused, CheckoutError::NoRepository { .. }));
        let said = refused.to_string();
        assert!(
            said.contains(path.to_str().unwrap()) && said.contains(why),
            "{said}"
        );
    }
    let bare = Repository::of_two();
    let path = bare.path().join(".git");
    let refused = Checkout::of(&path, WORKING_TREE).unwrap_err().to_string();
    assert!(
        refused.ends_with("has no working tree that `.` could name; name a commit"),
        "{refused}"
    );
}

#[test]
fn two_names_for_the_same_files_are_noticed() {
    let repository = Repository::of_two();
    repository.commit("three", &[("version", "one\n")]);
    let [one, three, head, tree] =
        ["one", "main", "HEAD", WORKING_TREE].map(|name| repository.checkout(name));
    let same = format!("`main` and `HEAD` are the same commit, {}", head.short());
    assert_eq!(three.same_as(&head), Some(same));
    assert_eq!(
        one.same_as(&three).unwrap(),
        "`one` and `main` have the same files"
    );
    assert_eq!(
        head.same_as(&tree).unwrap(),
        "`HEAD` and `.` have the same files"
    );
    assert_eq!(one.same_as(&repository.checkout("main~1")), None);
}

#[test]
fn changes_that_are_not_committed_are_counted_where_the_commit_is_checked_out() {
    let repository = Repository::of_two();
    repository.commit("three", &[(".gitignore", "*.o\n"), ("other", "1\n")]);
    let count = |revision: &str| repository.checkout(revision).uncommitted();
    assert_eq!(count("HEAD"), 0);
    repository.write(&[
        ("a.o", "ignored"),
        ("new", "1"),
        ("version", "changed"),
        ("folder/new", "1"),
    ]);
    repository.git("rm --quiet other");
    let before = repository.state();
    assert_eq!(["HEAD", "main", "one"].map(count), [4, 4, 0]);
    repository.assert_untouched(&before);
    assert_eq!(count(WORKING_TREE), 0);
    repository.assert_not_written(&before);
    let bare = repository.beside("bare");
    git_in(
        &repository.path(),
        &format!("clone --quiet --bare . {}", bare.display()),
    );
    assert_eq!(Checkout::of(&bare, "HEAD").unwrap().uncommitted(), 0);
}
