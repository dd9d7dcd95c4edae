//! Real servers, each in a folder of its own, and weigh run against them.
//!
//! A server's log is the other party's account of what happened, and the only one that our counts can be held
//! against. It is read when the server has ended, because some write it late.

mod kind;
mod log;
mod server;
mod site;
mod weighing;

pub use kind::{Counted, Kind};
pub use log::Log;
pub use server::{Server, signal, wait_until};
pub use site::{BIG, SMALL, Site, find_program};
pub use weighing::{Weighing, weigh};

/// The variable that asks for real servers; with it, a missing one is a failure, or said to be missing.
pub const DEMAND: &str = "WEIGH_REAL_SERVERS";

/// Carries `test` out on each of `kinds`, or says that it was skipped.
pub fn on_each(kinds: &[&'static Kind], test: impl Fn(&'static Kind)) {
    let name = std::thread::current().name().unwrap_or("test").to_owned();
    if std::env::var_os(DEMAND).is_none() {
        println!("{name}: skipped; set {DEMAND}=1 to try it on real servers");
        return;
    }
    for kind in kinds {
        if kind.find().is_none() && !kind.is_demanded {
            println!(
                "{name}: skipped on {}, which is not installed",
                kind.program
            );
            continue;
        }
        println!("on {}", kind.program);
        test(kind);
    }
}
