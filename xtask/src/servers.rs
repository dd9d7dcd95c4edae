//! `cargo xtask servers`: weigh against real nginx, lighttpd and Apache, whose own counts ours must equal.
//!
//! The tests are ordinary ones of `cli`, which `cargo test` skips where a server is not installed. Here a missing
//! server is a failure: a check that silently did not run is worth less than none. The dev profile serves, because
//! counts do not depend on speed and nothing has to be built again.

use crate::cargo::{cargo, run};
use anyhow::Result;

/// The variable that makes a missing server a failure.
const DEMAND: &str = "WEIGH_REAL_SERVERS";

/// Runs the tests.
///
/// # Errors
/// One failed, or a server is missing.
pub fn run_demanding() -> Result<()> {
    let tests = ["test", "--workspace", "--test", "real_servers"];
    run(cargo(tests).args(["--", "--nocapture"]).env(DEMAND, "1"))
}
