//! Which CPUs the servers have, and which the generator.

use plan::{ComparePlan, CpuPlacement, Deciding};
use record::CpuSplit;
use std::collections::BTreeSet;

/// CPUs from which on the generator gets a core of its own: with fewer the servers would lose a third or half of what they
/// have, and be other servers than in use. A guess.
const ENOUGH: usize = 4;

/// Splits the CPUs `allowed` to this process as is planned; none where all are shared. `core` tells the CPUs of the core that a CPU
/// belongs to.
///
/// The generator gets the last cores, one for each thread: the first one is where most machines take their interrupts.
///
/// # Errors
/// Why CPUs that are wanted cannot be had: a sentence.
pub(crate) fn split(
    plan: &ComparePlan,
    allowed: &[u32],
    core: impl Fn(u32) -> Vec<u32>,
) -> Result<Option<CpuSplit>, String> {
    let without = |generator: Vec<u32>| {
        let servers = allowed.iter().filter(|cpu| !generator.contains(cpu));
        CpuSplit {
            servers: servers.copied().collect(),
            generator,
        }
    };
    let one = || {
        allowed.last().map(|last| CpuSplit {
            servers: vec![*last],
            generator: vec![*last],
        })
    };
    let threads = plan.threads;
    match &plan.cpus {
        CpuPlacement::Auto if allowed.len() >= ENOUGH => {
            let mut generator = BTreeSet::new();
            let mut cores = 0;
            for cpu in allowed.iter().rev() {
                if cores < threads && !generator.contains(cpu) {
                    generator.extend(core(*cpu).into_iter().filter(|cpu| allowed.contains(cpu)));
                    cores += 1;
                }
            }
            let split = without(generator.into_iter().collect());
            let is_fair = split.generator.len() <= split.servers.len();
            Ok(Some(split).filter(|_| is_fair && cores == threads))
        }
        CpuPlacement::Auto => {
            let is_cost = plan.decide_on == Deciding::CpuPerRequest && threads == 1;
            Ok(one().filter(|_| is_cost))
        }
        CpuPlacement::One if threads > 1 => {
            Err("--cpus one has no room for several --threads; give only one of the two".to_owned())
        }
        CpuPlacement::One => Ok(one()),
        CpuPlacement::Shared => Ok(None),
        CpuPlacement::Generator(cpus) => {
            if let Some(cpu) = cpus.iter().find(|cpu| !allowed.contains(cpu)) {
                return Err(format!(
                    "--cpus: weigh may not run on CPU {cpu}, only on {}",
                    listed(allowed)
                ));
            }
            if cpus.len() < threads as usize {
                return Err(format!(
                    "--cpus names fewer CPUs than the generator has threads ({threads}); name one for each"
                ));
            }
            let split = without(cpus.clone());
            match split.servers.is_empty() {
                true => Err("--cpus leaves the servers no CPU; name fewer".to_owned()),
                false => Ok(Some(split)),
            }
        }
    }
}

fn listed(cpus: &[u32]) -> String {
    let cpus: Vec<String> = cpus.iter().map(u32::to_string).collect();
    cpus.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cores of two CPUs each: 0 and 4, 1 and 5, ...
    fn core(cpu: u32) -> Vec<u32> {
        vec![cpu % 4, cpu % 4 + 4]
    }

    fn planned(cpus: CpuPlacement, threads: u32) -> ComparePlan {
        ComparePlan {
            cpus,
            threads,
            ..record::example::equal_servers().plan
        }
    }

    fn auto(threads: u32, allowed: &[u32]) -> Option<CpuSplit> {
        split(&planned(CpuPlacement::Auto, threads), allowed, core).unwrap()
    }

    fn on(servers: &[u32], generator: &[u32]) -> Option<CpuSplit> {
        Some(CpuSplit {
            servers: servers.to_vec(),
            generator: generator.to_vec(),
        })
    }

    #[test]
    fn with_enough_cpus_the_generator_has_a_core_for_each_thread() {
        let all: Vec<u32> = (0..8).collect();
        assert_eq!(auto(1, &all), on(&[0, 1, 2, 4, 5, 6], &[3, 7]));
        assert_eq!(auto(2, &all), on(&[0, 1, 4, 5], &[2, 3, 6, 7]));
        assert_eq!(auto(3, &all), None, "servers would have less");
        assert_eq!(
            auto(1, &[0, 1, 2, 3]),
            on(&[0, 1, 2], &[3]),
            "its sibling may not be used"
        );
        let plan = planned(CpuPlacement::Auto, 1);
        let one_core = split(&plan, &[0, 1, 2, 3], |_| vec![0, 1, 2, 3]);
        assert_eq!(one_core, Ok(None), "nothing would be left for the servers");
    }

    #[test]
    fn with_fewer_all_are_on_one_cpu_where_the_cost_of_a_request_decides() {
        assert_eq!(auto(1, &[0, 1]), on(&[1], &[1]));
        assert_eq!(auto(2, &[0, 1, 2]), None, "two threads want two CPUs");
        let mut plan = planned(CpuPlacement::Auto, 1);
        plan.decide_on = Deciding::Throughput;
        assert_eq!(split(&plan, &[0, 1], core), Ok(None));
        plan.cpus = CpuPlacement::One;
        assert_eq!(split(&plan, &[0, 1, 2, 3], core), Ok(on(&[3], &[3])));
        plan.cpus = CpuPlacement::Shared;
        assert_eq!(split(&plan, &[0, 1, 2, 3], core), Ok(None));
    }

    #[test]
    fn cpus_that_are_named_are_the_generators() {
        let these = |cpus: &[u32]| {
            let plan = planned(CpuPlacement::Generator(cpus.to_vec()), 1);
            split(&plan, &[0, 1], core)
        };
        assert_eq!(these(&[1]), Ok(on(&[0], &[1])));
        assert!(these(&[2]).unwrap_err().contains("only on 0,1"));
        assert!(
            these(&[0, 1])
                .unwrap_err()
                .contains("leaves the servers no CPU")
        );
    }
}
