//! Everything that checks may look at.

use record::{Activity, Machine, NetworkPath, Setup};

/// Facts about a machine and, where they were looked for, what else runs and the path to a target.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The machine, as a record discloses it.
    pub machine: &'a Machine,
    /// What ran while weigh was at rest.
    pub activity: Option<&'a Activity>,
    /// The path to the target.
    pub path: Option<&'a NetworkPath>,
}

impl<'a> Facts<'a> {
    /// Returns the facts of `machine` alone.
    pub fn of(machine: &'a Machine) -> Facts<'a> {
        Facts {
            machine,
            activity: None,
            path: None,
        }
    }

    /// The setup; none in older records.
    pub(crate) fn setup(&self) -> Option<&'a Setup> {
        self.machine.setup.as_ref()
    }

    /// The number in the kernel's setting `name`; of several, the one at `index`.
    pub(crate) fn sysctl(&self, name: &str, index: usize) -> Option<u64> {
        self.setup()?.sysctl(name, index)
    }

    /// Whether the kernel is of this version or newer; none where its release cannot be read.
    pub(crate) fn kernel_from(&self, major: u32, minor: u32) -> Option<bool> {
        let mut parts = self.machine.kernel.as_deref()?.split(['.', '-']);
        let (first, second) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        Some((first, second) >= (major, minor))
    }

    /// CPUs' worth of time that this process may use: its CPUs, or its quota where that is less. None where the CPUs are
    /// not known.
    pub(crate) fn usable_cpus(&self) -> Option<f64> {
        let allowed = self.machine.cpus_allowed.len();
        let quota = self.machine.cpu_quota.unwrap_or(f64::INFINITY);
        (allowed > 0).then(|| quota.min(allowed as f64))
    }

    /// Whether the server may run on this machine: it does not where the path leads elsewhere.
    pub(crate) fn is_server_here(&self) -> bool {
        self.path.is_none_or(|path| path.link.loopback)
    }
}
