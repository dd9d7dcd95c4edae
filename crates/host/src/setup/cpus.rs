//! The CPUs: sockets, cores, NUMA nodes, caches and frequency.

use super::Files;
use crate::cpus;
use crate::files::fact;
use record::Setup;
use std::collections::BTreeSet;

const CPUS: &str = "/sys/devices/system/cpu";

/// Topology, caches and frequency of the CPUs that are online; all other facts are left out.
pub(super) fn cpus(files: &Files<'_>) -> Setup {
    let online = cpus::online(files.root).unwrap_or_default();
    let topology =
        |cpu: &u32, name: &str| files.number(&format!("{CPUS}/cpu{cpu}/topology/{name}"));
    let places: Option<BTreeSet<(u64, u64)>> = online
        .iter()
        .map(|cpu| {
            Some((
                topology(cpu, "physical_package_id")?,
                topology(cpu, "core_id")?,
            ))
        })
        .collect();
    let places = places.filter(|places| !places.is_empty());
    let sockets = |places: &BTreeSet<(u64, u64)>| {
        places
            .iter()
            .map(|(socket, _)| socket)
            .collect::<BTreeSet<_>>()
            .len()
    };
    let governors: BTreeSet<String> = online
        .iter()
        .filter_map(|cpu| files.fact(&format!("{CPUS}/cpu{cpu}/cpufreq/scaling_governor")))
        .collect();
    let nodes = files.fact("/sys/devices/system/node/online");
    Setup {
        sockets: places.as_ref().map(|places| sockets(places) as u32),
        cores: places.as_ref().map(|places| places.len() as u32),
        smt: files
            .fact(&format!("{CPUS}/smt/active"))
            .map(|value| value == "1"),
        numa_nodes: nodes.and_then(|nodes| Some(cpus::parse_list(&nodes)?.len() as u32)),
        caches: caches(files),
        frequency_driver: files.fact(&format!("{CPUS}/cpu0/cpufreq/scaling_driver")),
        governors: governors.into_iter().collect(),
        turbo: files
            .switch(&format!("{CPUS}/intel_pstate/no_turbo"), "0")
            .or_else(|| files.switch(&format!("{CPUS}/cpufreq/boost"), "1")),
        ..Setup::default()
    }
}

/// The first CPU's caches, each as `L1d 48K, 1 CPU`.
fn caches(files: &Files<'_>) -> Vec<String> {
    let folder = format!("{CPUS}/cpu0/cache");
    let cache = |name: String| {
        let fact = |of: &str| files.fact(&format!("{folder}/{name}/{of}"));
        let kind = match fact("type")?.as_str() {
            "Data" => "d",
            "Instruction" => "i",
            _ => "",
        };
        let shared = cpus::parse_list(&fact("shared_cpu_list")?)?.len() as u64;
        let (level, size) = (fact("level")?, fact("size")?);
        Some(format!(
            "L{level}{kind} {size}, {}",
            units::number(shared, "CPU")
        ))
    };
    let names = files.entries(&folder).into_iter();
    names
        .filter(|name| name.starts_with("index"))
        .filter_map(cache)
        .filter_map(|text| fact(&text))
        .collect()
}
