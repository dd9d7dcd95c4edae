//! `cargo xtask servers`: weigh against real servers, whose own counts ours must equal.
//!
//! The tests are ordinary ones of `cli`, which `cargo test` skips. Here a missing nginx, lighttpd or Apache is a failure, and of another
//! missing server a line says so: a check that silently did not run is worth less than none. The dev profile serves, because
//! counts do not depend on speed and nothing has to be built again.

use crate::cargo::{cargo, run};
use anyhow::Result;

/// The variable that asks for real servers.
const DEMAND: &str = "WEIGH_REAL_SERVERS";

/// Runs the tests.
///
/// # Errors
/// One failed, or nginx, lighttpd or Apache is missing.
pub fn run_demanding() -> Result<()> {
    let tests = ["test", "--workspace", "--test", "real_servers"];
    run(cargo(tests).args(["--", "--nocapture"]).env(DEMAND, "1"))
}
