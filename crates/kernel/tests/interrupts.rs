//! Interrupts, tried on a process of their own: this test's program, started again.

use kernel::signals::interrupts;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::low_level::raise;
use std::process::Command;

const AGAIN: &str = "KERNEL_TEST_INTERRUPTS";

/// What the process that is to be interrupted does.
fn be_interrupted(signals: &str) {
    assert!(!interrupts().raised());
    for signal in signals.split(',') {
        raise(if signal == "int" { SIGINT } else { SIGTERM }).unwrap();
        assert!(interrupts().raised());
    }
}

#[test]
fn the_first_interrupt_asks_and_the_second_orders() {
    if let Ok(signals) = std::env::var(AGAIN) {
        return be_interrupted(&signals);
    }
    let cases = [("int", 0), ("term", 0), ("int,int", 130), ("term,int", 130)];
    for (signals, status) in cases {
        let again = Command::new(std::env::current_exe().unwrap())
            .env(AGAIN, signals)
            .output()
            .unwrap();
        assert_eq!(again.status.code(), Some(status), "{signals}: {again:?}");
    }
}
