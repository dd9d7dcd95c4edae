//! Interrupts, tried on a process of their own: this test's program, started again.

use kernel::signals::{interrupts, measuring};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::low_level::raise;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};

const AGAIN: &str = "KERNEL_TEST_INTERRUPTS";
const NAME: &str = "the_first_interrupt_asks_and_the_second_orders";

/// Raises the signals of these names, and checks after each whether it was taken for an interrupt.
fn be_interrupted(signals: &str) {
    let is_measuring = signals.starts_with("measuring:");
    let interrupts = if is_measuring { measuring } else { interrupts }();
    assert!(!interrupts.raised());
    let mut asked = false;
    for name in signals.rsplit(':').next().unwrap().split(',') {
        let (signal, asks) = match name {
            "int" => (SIGINT, true),
            "term" => (SIGTERM, true),
            "quit" => (SIGQUIT, true),
            "hup" => (SIGHUP, true),
            "usr1" => (SIGUSR1, false),
            "usr2" => (SIGUSR2, false),
            "ignored_hup" => (SIGHUP, false),
            other => panic!("{other}"),
        };
        raise(signal).unwrap();
        asked |= asks;
        assert_eq!(interrupts.raised(), asked, "{name}");
    }
}

/// What becomes of a process that raises `signals`, where the shell has done `first`.
fn end(first: &str, signals: &str) -> ExitStatus {
    Command::new("sh")
        .args(["-c", &format!("{first}; exec \"$0\" --exact {NAME}")])
        .arg(std::env::current_exe().unwrap())
        .env(AGAIN, signals)
        .output()
        .unwrap()
        .status
}

#[test]
fn the_first_interrupt_asks_and_the_second_orders() {
    if let Ok(signals) = std::env::var(AGAIN) {
        return be_interrupted(&signals);
    }
    let cases = [
        ("int", 0),
        ("term", 0),
        ("quit", 0),
        ("int,int", 130),
        ("term,int", 130),
        ("quit,quit", 130),
        ("measuring:hup", 0),
        // By the kernel and by the shell, when a terminal closes.
        ("measuring:hup,hup,hup", 0),
        ("measuring:term,hup", 0),
        // The terminal closes, and our parent sends SIGINT too; only then it is an order.
        ("measuring:hup,term", 0),
        ("measuring:hup,int", 0),
        ("measuring:hup,term,hup,term", 130),
        ("measuring:usr1,usr2,usr1,int", 0),
    ];
    for (signals, status) in cases {
        assert_eq!(end(":", signals).code(), Some(status), "{signals}");
    }
}

#[test]
fn what_was_ignored_when_we_were_started_stays_ignored() {
    let ignoring = "trap '' HUP USR1";
    let signals = "measuring:ignored_hup,usr1,usr2,term";
    assert_eq!(end(ignoring, signals).code(), Some(0));
}

#[test]
fn interrupts_are_caught_although_a_script_ignores_them_for_its_background_jobs() {
    for signal in ["int", "quit"] {
        assert_eq!(end("trap '' INT QUIT", signal).code(), Some(0), "{signal}");
    }
}

#[test]
fn a_hangup_is_left_to_whoever_does_not_measure() {
    assert_eq!(end(":", "hup").signal(), Some(SIGHUP));
}
