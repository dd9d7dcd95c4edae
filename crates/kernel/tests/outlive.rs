//! Nothing that a child has started outlives us, however we die. Tried on a process of its own: this program, started
//! again.

use kernel::process::{Child, Start};
use std::fs::File;
use std::io::{BufRead, BufReader, PipeReader, Read, pipe, stdout};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};

const AGAIN: &str = "KERNEL_TEST_OUTLIVE";
/// Far more than ever needed; the processes that are to be ended would stay for longer.
const PATIENCE: Duration = Duration::from_secs(100);

/// A process that ends when it is told to.
const PLAIN: &str = "echo up; exec sleep 1000";
/// One that has left two others behind: a daemon with a session and an environment of its own, and one that does not
/// listen to SIGTERM.
const FAMILY: &str = "(setsid env -i sh -c 'echo up; exec sleep 1000' &)
    (setsid sh -c 'trap \"\" TERM; echo up; while :; do sleep 1000; done' &)
    echo up; exec sleep 1000";

fn main() {
    if let Ok(script) = std::env::var(AGAIN) {
        be_killed(&script);
    }
    let to_one = |id: u32| id.to_string();
    let to_group = |id: u32| format!("-{id}");
    kill(PLAIN, 1, to_one);
    println!("a_child_of_the_main_thread_does_not_outlive_us ... ok");
    kill(FAMILY, 3, to_one);
    println!("nothing_that_a_child_has_left_behind_outlives_us ... ok");
    kill(FAMILY, 3, to_group);
    println!("nothing_outlives_us_when_our_process_group_is_killed ... ok");
}

/// Has a process start `script` as a child, and kills it when `number` processes have said that they are up: then they
/// end too.
fn kill(script: &str, number: usize, whom: fn(u32) -> String) {
    let (reader, writer) = pipe().unwrap();
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.env(AGAIN, script).stdout(writer).process_group(0);
    let mut process = again.spawn().unwrap();
    drop(again); // and with it our end of the pipe
    let mut output = BufReader::new(reader);
    for _ in 0..number {
        assert_eq!(line(&mut output), "up\n");
    }
    let whom = whom(process.id());
    let kill = Command::new("sh")
        .args(["-c", &format!("kill -s KILL -- {whom}")])
        .status();
    assert!(kill.unwrap().success());
    process.wait().unwrap();
    let killed = Instant::now();
    // The pipe ends when no process holds it any more.
    output.read_to_string(&mut String::new()).unwrap();
    assert!(killed.elapsed() < PATIENCE, "a process has lived on");
}

fn line(output: &mut BufReader<PipeReader>) -> String {
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    line
}

/// Starts a child that shares our output, and does not come back.
fn be_killed(script: &str) -> ! {
    let output = stdout().as_fd().try_clone_to_owned().unwrap();
    let start = Start {
        command: ["sh", "-c", script].map(Into::into).into(),
        output: Some(File::from(output)),
        ..Start::default()
    };
    let _child = Child::start(start).unwrap();
    loop {
        std::thread::park();
    }
}
