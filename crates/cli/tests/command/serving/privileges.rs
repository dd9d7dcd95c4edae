//! As which user it runs, and who may use its sockets.

use super::*;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::process::Command;

/// Debian's user without rights, and its group.
const NOBODY: (&str, u32, u32) = ("nobody", 65534, 65534);

fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

fn get_unix(path: &std::path::Path) -> String {
    let mut stream = UnixStream::connect(path).unwrap();
    stream.write_all(b"GET /hello HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Begins `weigh serve` with these words, by a shell that does `first`; waits until it listens.
fn listens(bench: &Bench, first: &str, words: &str) -> (Child, BufReader<ChildStdout>, String) {
    let mut child = bench
        .under(first, "", &format!("serve {words}"))
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let at = said(&mut out, "listening on ");
    (child, out, at)
}

#[test]
fn a_unix_socket_has_the_permissions_that_it_is_given_whatever_the_umask() {
    let bench = site();
    for (umask, flag, wanted) in [
        ("077", "--listen-mode 0660", 0o660),
        ("0", "--listen-mode 600", 0o600),
        ("0", "--listen-mode 777", 0o777),
        ("022", "", 0o755),
    ] {
        let first = format!("umask {umask}");
        let words = format!("site --listen unix:door {flag}");
        let (mut child, _out, _) = listens(&bench, &first, &words);
        let door = bench.path("door");
        let mode = fs::metadata(&door).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, wanted, "{umask} {flag}: {mode:o}");
        assert!(get_unix(&door).ends_with("not the built-in one\n"));
        signal("TERM", child.id());
        assert_eq!(child.wait().unwrap().code(), Some(0));
        assert!(!door.exists(), "it is removed at the end");
    }
}

#[test]
fn root_is_warned_and_nobody_else() {
    let bench = site();
    let (mut child, ..) = listens(&bench, ":", "site --listen 127.0.0.1:0");
    signal("TERM", child.id());
    let mut err = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut err)
        .unwrap();
    assert!(child.wait().unwrap().success());
    let wanted = "This server runs as root. Use --user NAME to have it run as another user.\n";
    assert_eq!(err, if is_root() { wanted } else { "" });
}

/// The number of the process's threads, of which each has these ids alone and no capability.
fn threads_without_rights(pid: u32, uid: u32, gid: u32) -> usize {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let check = |thread: std::io::Result<fs::DirEntry>| {
        let status = fs::read_to_string(thread.unwrap().path().join("status")).unwrap();
        let line = |name: &str| {
            let found = status.lines().find_map(|line| line.strip_prefix(name));
            found.unwrap_or_else(|| panic!("{name} {status}"))
        };
        let ids = |name: &str| -> Vec<u32> {
            let ids = line(name).split_whitespace();
            ids.map(|id| id.parse().unwrap()).collect()
        };
        assert_eq!(ids("Uid:"), [uid; 4], "{status}");
        assert_eq!(ids("Gid:"), [gid; 4], "{status}");
        assert!(!ids("Groups:").contains(&0), "{status}");
        assert_eq!(line("CapEff:").trim(), "0000000000000000", "{status}");
    };
    threads.map(check).count()
}

#[test]
fn a_server_that_root_starts_runs_as_another_user_on_all_threads() {
    if !is_root() {
        eprintln!("not root: nothing was tested");
        return;
    }
    let bench = site();
    let (name, uid, gid) = NOBODY;
    let open = |path: &str, mode| {
        fs::set_permissions(bench.path(path), PermissionsExt::from_mode(mode)).unwrap()
    };
    open("", 0o755);
    fs::create_dir(bench.path("logs")).unwrap();
    let owner = Command::new("chown")
        .arg(name)
        .arg(bench.path("logs"))
        .status();
    assert!(owner.unwrap().success());
    bench.file("site/private", "root's\n");
    open("site/private", 0o600);
    let words = format!(
        "site -w 3 --user {name} --listen 127.0.0.1:0 --listen unix:logs/door --listen-mode 0600 --log logs/access.log"
    );
    let (mut child, out, at) = listens(&bench, ":", &words);
    let mut lines = out.lines();
    assert!(
        lines
            .next()
            .unwrap()
            .unwrap()
            .starts_with("listening on unix:")
    );

    // What is printed comes after the change of the user.
    let threads = threads_without_rights(child.id(), uid, gid);
    assert!(
        threads >= 4,
        "three workers and the first thread, not {threads}"
    );
    let get = |path: &str| {
        let mut stream = connect(&at);
        write!(stream, "GET {path} HTTP/1.0\r\n\r\n").unwrap();
        Answer::read(stream).status().to_owned()
    };
    assert_eq!(
        (get("/hello"), get("/private")),
        ("200".into(), "403".into())
    );
    assert!(get_unix(&bench.path("logs/door")).starts_with("HTTP/1.1 200 OK"));
    let owner = |path: &str| fs::metadata(bench.path(path)).unwrap().uid();
    assert_eq!((owner("logs/door"), owner("logs/access.log")), (uid, uid));

    // The log is opened anew with the rights that are left.
    fs::rename(bench.path("logs/access.log"), bench.path("logs/old.log")).unwrap();
    signal("HUP", child.id());
    wait_until("a new log", || bench.path("logs/access.log").exists());
    assert_eq!(owner("logs/access.log"), uid);
    signal("TERM", child.id());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(!bench.path("logs/door").exists());
    let mut err = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut err)
        .unwrap();
    assert_eq!(err, "", "there is nothing to warn of");
}

#[test]
fn a_log_that_is_a_link_gives_nobody_the_file_behind_it() {
    if !is_root() {
        eprintln!("not root: nothing was tested");
        return;
    }
    let bench = site();
    bench.file("roots", "root's\n");
    symlink("roots", bench.path("symbolic.log")).unwrap();
    symlink("missing", bench.path("dangling.log")).unwrap();
    fs::hard_link(bench.path("roots"), bench.path("hard.log")).unwrap();
    let name = NOBODY.0;
    for log in ["symbolic.log", "dangling.log", "hard.log"] {
        bench
            .say(&format!(
                "serve site --user {name} --listen 127.0.0.1:0 --log {log}"
            ))
            .refused(&[log, "symbolic link", "hard link", "--user"]);
    }
    assert_eq!(fs::metadata(bench.path("roots")).unwrap().uid(), 0);
    assert!(!bench.path("missing").exists());

    // Where nothing is given away, links are followed.
    let words = "site --listen 127.0.0.1:0 --log symbolic.log";
    let (mut child, _out, at) = listens(&bench, ":", words);
    let mut stream = connect(&at);
    stream.write_all(b"GET /hello HTTP/1.0\r\n\r\n").unwrap();
    assert_eq!(Answer::read(stream).status(), "200");
    signal("TERM", child.id());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let log = fs::read_to_string(bench.path("roots")).unwrap();
    assert!(log.contains("GET /hello"), "{log}");
}

#[test]
fn users_and_modes_that_cannot_be_are_refused() {
    let bench = site();
    let cases: &[(&str, &[&str])] = &[
        (
            "--user no-such-user-here",
            &["there is no user `no-such-user-here`"],
        ),
        (
            "--listen-mode 660",
            &["--listen-mode is for Unix sockets", "--listen unix:"],
        ),
        (
            "--listen unix:door --listen-mode 1777",
            &["--listen-mode", "1777", "octal"],
        ),
        (
            "--listen unix:door --listen-mode 668",
            &["--listen-mode", "668", "octal"],
        ),
        (
            "--listen unix:door --listen-mode rw",
            &["--listen-mode", "rw", "octal"],
        ),
        ("--truth --user nobody", &["--truth", "--user"]),
        ("--truth --header a:b", &["--truth", "--header"]),
    ];
    for (line, words) in cases {
        bench
            .say(&format!("serve --listen 127.0.0.1:0 {line}"))
            .refused(words);
    }
    assert!(!bench.path("door").exists());
}
