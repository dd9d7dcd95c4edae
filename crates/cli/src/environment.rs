//! What plans need to know of this machine.

use plan::{Environment, Plan, PlanError, Requirement};
use std::fs::File;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::Path;

/// The machine on which weigh runs.
pub struct ThisMachine;

impl Environment for ThisMachine {
    fn addresses(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, PlanError> {
        let found = kernel::resolve::resolve(host, port);
        found.map_err(|error| PlanError(format!("{error}; is the name right?")))
    }

    fn file_length(&self, option: &str, path: &Path) -> Result<u64, PlanError> {
        let shown = path.display();
        let unread = |error| PlanError(format!("{option} @{shown} cannot be read: {error}"));
        // Looked at first: to open a pipe would wait for its writer.
        let facts = std::fs::metadata(path).map_err(unread)?;
        if !facts.is_file() {
            return Err(PlanError(format!("{option} @{shown} is no file")));
        }
        File::open(path).map_err(unread)?;
        Ok(facts.len())
    }

    fn cpus(&self) -> u32 {
        let allowed = kernel::affinity::allowed().len().max(1) as u32;
        let quota = kernel::quota::own().map_or(allowed, |quota| quota.ceil().max(1.0) as u32);
        allowed.min(quota)
    }

    fn open_files(&self) -> u64 {
        kernel::limits::open_files().hard
    }

    fn seed(&self) -> u64 {
        kernel::clock::realtime().as_nanos() as u64
    }

    fn owns(&self, address: IpAddr) -> bool {
        UdpSocket::bind((address, 0)).is_ok()
    }

    fn lacks_io_uring(&self) -> Option<String> {
        kernel::Uring::new().err().map(|errno| errno.to_string())
    }

    fn requests_to_judge(&self, plan: &Plan) -> u64 {
        record::Capacity::exchanges_a_vote(plan)
    }

    fn cannot_judge(&self, requirement: &Requirement) -> Option<String> {
        let judged = campaign::check(requirement);
        judged.err().map(|error| error.to_string())
    }
}
