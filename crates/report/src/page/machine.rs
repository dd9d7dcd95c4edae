//! Where and when it was measured.

use super::{Item, Row};
use crate::phrase::clean;
use record::Machine;

/// The longest name that is shown whole.
const LONGEST: usize = 80;

/// What a record says of a hypervisor that gives no name.
const UNNAMED: &str = "a hypervisor without a name";

/// The rows about `on`, and about the version of weigh and the time.
pub(super) fn rows(on: &Machine, weigh: &str, started_unix: u64) -> Vec<Row> {
    let facts = machine(on).into_iter().map(Item::dim).collect();
    let (weigh, when) = (clean(weigh, LONGEST), units::date::minute(started_unix));
    let written = format!("weigh {weigh}, {when}");
    vec![
        Row::new("machine", facts),
        Row::new("measured", vec![Item::dim(written)]),
    ]
}

fn machine(machine: &Machine) -> Vec<String> {
    let named = |fact: &Option<String>| fact.as_deref().map(|fact| clean(fact, LONGEST));
    let mut facts: Vec<String> = named(&machine.cpu_model).into_iter().collect();
    let allowed = units::count(machine.cpus_allowed.len() as u64);
    let online = units::count(machine.cpus_online.into());
    facts.push(format!("{allowed} of {online} CPUs"));
    let quota = machine.cpu_quota;
    facts.extend(quota.map(|quota| format!("limited to {quota:.2} CPUs' time")));
    facts.extend(named(&machine.kernel).map(|kernel| format!("Linux {kernel}")));
    facts.extend(named(&machine.distribution));
    let virtualised = named(&machine.virtualised).filter(|by| by != "none");
    facts.extend(virtualised.map(|by| match by.as_str() {
        UNNAMED => "virtual machine".to_owned(),
        _ => format!("virtual machine ({by})"),
    }));
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fact_that_is_not_known_is_left_out() {
        let bare = Machine {
            cpus_online: 4,
            cpus_allowed: vec![0, 1],
            ..Machine::default()
        };
        assert_eq!(machine(&bare), ["2 of 4 CPUs"]);
        let known = Machine {
            cpu_model: Some("Example 1000".into()),
            cpu_quota: Some(1.5),
            kernel: Some("6.1.0".into()),
            virtualised: Some("none".into()),
            ..bare
        };
        assert_eq!(
            machine(&known),
            [
                "Example 1000",
                "2 of 4 CPUs",
                "limited to 1.50 CPUs' time",
                "Linux 6.1.0"
            ]
        );
    }

    #[test]
    fn a_virtual_machine_is_named_where_it_has_a_name() {
        for (by, wanted) in [
            ("none", None),
            (UNNAMED, Some("virtual machine")),
            (
                "QEMU Standard PC",
                Some("virtual machine (QEMU Standard PC)"),
            ),
        ] {
            let facts = machine(&Machine {
                virtualised: Some(by.into()),
                ..Machine::default()
            });
            assert_eq!(facts.get(1).map(String::as_str), wanted);
        }
    }
}
