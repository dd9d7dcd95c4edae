//! A child of the main thread does not outlive us, however we die. Tried on a process of its own: this program,
//! started again.

use kernel::process::{Child, Start};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, pipe, stdout};
use std::os::fd::AsFd;
use std::process::Command;
use std::time::{Duration, Instant};

const AGAIN: &str = "KERNEL_TEST_OUTLIVE";

fn main() {
    if std::env::var_os(AGAIN).is_some() {
        be_killed();
    }
    let (reader, writer) = pipe().unwrap();
    let mut again = Command::new(std::env::current_exe().unwrap())
        .env(AGAIN, "1")
        .stdout(writer)
        .spawn()
        .unwrap();
    let mut output = BufReader::new(reader);
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "up\n");
    again.kill().unwrap();
    again.wait().unwrap();
    let killed = Instant::now();
    // The pipe ends when nobody holds it any more.
    output.read_to_string(&mut line).unwrap();
    assert!(
        killed.elapsed() < Duration::from_secs(10),
        "the child has lived on"
    );
    println!("a_child_of_the_main_thread_does_not_outlive_us ... ok");
}

/// Starts a child that shares our output, and does not come back.
fn be_killed() -> ! {
    let output = stdout().as_fd().try_clone_to_owned().unwrap();
    let start = Start {
        command: ["sh", "-c", "echo up; exec sleep 20"]
            .map(Into::into)
            .into(),
        output: Some(File::from(output)),
        ..Start::default()
    };
    let _child = Child::start(start).unwrap();
    loop {
        std::thread::park();
    }
}
