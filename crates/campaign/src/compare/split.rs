//! Which CPUs the servers have, and which the generator.

use plan::GeneratorCpus;
use record::CpuSplit;
use std::collections::BTreeSet;

/// CPUs from which on the generator gets a core of its own: with fewer the servers would lose a third or half of what they
/// have, and be other servers than in use. A guess.
const ENOUGH: usize = 4;

/// Splits the CPUs that this process may run on, as is `wanted` for a generator of so many threads; none where all are shared.
/// `core` tells the CPUs of the core that a CPU belongs to.
///
/// The generator gets the last cores, one for each thread: the first one is where most machines take their interrupts.
///
/// # Errors
/// Why CPUs that are wanted cannot be had: a sentence.
pub(crate) fn split(
    (wanted, threads): (&GeneratorCpus, u32),
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
    match wanted {
        GeneratorCpus::Auto if allowed.len() >= ENOUGH => {
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
        GeneratorCpus::Auto | GeneratorCpus::Shared => Ok(None),
        GeneratorCpus::These(cpus) => {
            let split = without(cpus.clone());
            if let Some(cpu) = cpus.iter().find(|cpu| !allowed.contains(cpu)) {
                return Err(format!(
                    "--generator-cpus: weigh may not run on CPU {cpu}, only on {}",
                    listed(allowed)
                ));
            }
            match split.servers.is_empty() {
                true => Err("--generator-cpus leaves the servers no CPU; name fewer".to_owned()),
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

    fn auto(allowed: &[u32]) -> Option<CpuSplit> {
        split((&GeneratorCpus::Auto, 1), allowed, core).unwrap()
    }

    #[test]
    fn with_enough_cpus_the_generator_has_a_core_for_itself() {
        let all: Vec<u32> = (0..8).collect();
        let wanted = CpuSplit {
            servers: vec![0, 1, 2, 4, 5, 6],
            generator: vec![3, 7],
        };
        assert_eq!(auto(&all), Some(wanted));
        let half = CpuSplit {
            servers: vec![0, 1, 2],
            generator: vec![3],
        };
        assert_eq!(
            auto(&[0, 1, 2, 3]),
            Some(half),
            "its sibling may not be used"
        );
        assert_eq!(auto(&[0, 1, 2]), None);
        let one_core = |_| vec![0, 1, 2, 3];
        let none = split((&GeneratorCpus::Auto, 1), &[0, 1, 2, 3], one_core);
        assert_eq!(none, Ok(None), "nothing would be left for the servers");
        let of_two = split((&GeneratorCpus::Auto, 2), &all, core)
            .unwrap()
            .unwrap();
        assert_eq!(of_two.generator, [2, 3, 6, 7]);
        assert_eq!(
            split((&GeneratorCpus::Auto, 3), &all, core),
            Ok(None),
            "servers would have less"
        );
    }

    #[test]
    fn cpus_that_are_named_are_the_generators() {
        let these = |cpus: &[u32]| split((&GeneratorCpus::These(cpus.to_vec()), 1), &[0, 1], core);
        let wanted = CpuSplit {
            servers: vec![0],
            generator: vec![1],
        };
        assert_eq!(these(&[1]), Ok(Some(wanted)));
        assert!(these(&[2]).unwrap_err().contains("only on 0,1"));
        assert!(
            these(&[0, 1])
                .unwrap_err()
                .contains("leaves the servers no CPU")
        );
        assert_eq!(
            split((&GeneratorCpus::Shared, 1), &[0, 1, 2, 3], core),
            Ok(None)
        );
    }
}
