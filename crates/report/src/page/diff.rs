//! How two records differ in what they measured with: weigh's version, the machine, the plan, and how the server encrypts. Results
//! are not compared.

use super::disclosure::{Fact, facts};
use super::{Block, Item, Page, Role, Row};
use crate::phrase::clean;
use plan::settings::settings;
use record::{Grade, Run};
use serde::Serialize;

/// The longest value that is shown whole.
const LONGEST: usize = 100;
/// Settings that may differ: where the server is and how it is started, which is what a comparison is about, the seed, and
/// what judges results without changing them.
const MAY_DIFFER: &[&str] = &[
    "abort-if",
    "command",
    "keep-going",
    "max-errors",
    "percentiles",
    "ready-within",
    "require",
    "resolve",
    "seed",
    "server",
    "strict",
    "unix",
    "withhold",
];

/// How two records differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Differences {
    /// Whether no difference forbids comparing the results.
    pub comparable: bool,
    /// Each difference.
    pub differences: Vec<Difference>,
}

/// One setting or fact in which two records differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// What it belongs to: `weigh`, `machine`, `plan` or `server`.
    pub of: &'static str,
    /// Its name.
    pub name: String,
    /// Its value in the first record; empty where it has none.
    pub a: String,
    /// Its value in the second record, likewise.
    pub b: String,
    /// Whether it can change the results, so that they are not to be compared.
    pub forbids: bool,
}

/// Returns how the weigh, machine, plan and encryption of `b` differ from those of `a`. What passes from minute to minute (load, free
/// memory) is left out.
pub fn differences(a: &Run, b: &Run) -> Differences {
    let version = Difference {
        of: "weigh",
        name: "version".into(),
        a: clean(&a.weigh, LONGEST),
        b: clean(&b.weigh, LONGEST),
        forbids: true,
    };
    let mut all = vec![version];
    all.extend(machines(a, b));
    all.extend(plans(a, b));
    all.extend(encryptions(a, b));
    all.retain(|each| each.a != each.b);
    Differences {
        comparable: all.iter().all(|each| !each.forbids),
        differences: all,
    }
}

/// What the first connections agreed on, where both records have one.
fn encryptions(a: &Run, b: &Run) -> Option<Difference> {
    let show = |run: &Run| {
        let encryption = run.probe.as_ref()?.encryption.as_ref();
        let shown = encryption.map_or("none".to_owned(), |agreed| agreed.to_string());
        Some(clean(&shown, LONGEST))
    };
    Some(Difference {
        of: "server",
        name: "encryption".into(),
        a: show(a)?,
        b: show(b)?,
        forbids: true,
    })
}

fn plans(a: &Run, b: &Run) -> impl Iterator<Item = Difference> {
    let has_other_requests = a.plan.requests != b.plan.requests;
    let may_differ = move |name: &str| match name {
        "url" => !has_other_requests, // then the server differs, and not what is requested
        _ => MAY_DIFFER.contains(&name),
    };
    settings().map(move |setting| {
        let show = |run: &Run| clean(&(setting.show)(&run.plan).replace('\n', "; "), LONGEST);
        Difference {
            of: "plan",
            name: setting.name.to_owned(),
            a: show(a),
            b: show(b),
            forbids: !may_differ(setting.name),
        }
    })
}

fn machines(a: &Run, b: &Run) -> Vec<Difference> {
    let (first, second) = (facts(&a.machine), facts(&b.machine));
    // An older record has no setup, of which nothing can be said then.
    let are_whole = a.machine.setup.is_some() == b.machine.setup.is_some();
    let value = |of: &[Fact], fact: &Fact| {
        let mut same = of
            .iter()
            .filter(|it| it.topic == fact.topic && it.name == fact.name);
        same.next().map(|it| clean(&it.value, LONGEST))
    };
    let beside = second.iter().filter(|fact| value(&first, fact).is_none());
    let lasting = first.iter().chain(beside).filter(|fact| fact.lasts);
    let difference = |fact: &Fact| {
        let (a, b) = (value(&first, fact), value(&second, fact));
        let is_told = are_whole || (a.is_some() && b.is_some());
        let name = match fact.topic {
            "settings" => fact.name.clone(),
            topic => format!("{topic}: {}", fact.name),
        };
        is_told.then(|| Difference {
            of: "machine",
            name,
            a: a.unwrap_or_default(),
            b: b.unwrap_or_default(),
            forbids: fact.topic != "not readable",
        })
    };
    let mut all: Vec<Difference> = lasting.filter_map(difference).collect();
    let setup = |run: &Run| match run.machine.setup {
        Some(_) => "recorded".to_owned(),
        None => "not recorded".to_owned(),
    };
    all.push(Difference {
        of: "machine",
        name: "setup".into(),
        a: setup(a),
        b: setup(b),
        forbids: false,
    });
    all
}

/// Returns the page of `all`: whether the records are comparable, then a line for each difference.
pub fn diff(all: &Differences) -> Page {
    let forbidding = all.differences.iter().filter(|each| each.forbids).count() as u64;
    let title = match (all.differences.is_empty(), all.comparable) {
        (true, _) => Item::strong("nothing differs: same weigh, same machine, same plan"),
        (false, true) => Item::strong("comparable: what differs does not change what is measured"),
        (false, false) => Item::wrong(format!(
            "not comparable: {} (*) can change the results",
            units::number(forbidding, "difference")
        )),
    };
    let row = |each: &Difference| {
        let shown = |value: &str| if value.is_empty() { "-" } else { value }.to_owned();
        let values = Item::plain(shown(&each.a))
            .and(Role::Dim, " -> ")
            .and(Role::Plain, shown(&each.b));
        Row::new(&each.name, vec![values]).marked(each.forbids.then_some(Grade::Caveat))
    };
    let mut blocks = vec![Block::Lines(vec![vec![title]])];
    for of in all.differences.chunk_by(|a, b| a.of == b.of) {
        blocks.push(Block::Lines(vec![vec![Item::strong(of[0].of)]]));
        blocks.push(Block::Rows(of.iter().map(row).collect()));
    }
    Page { blocks }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Look, page_text};
    use record::{Encryption, Setup, example};

    fn named(a: &Run, b: &Run) -> Vec<(String, bool)> {
        let all = differences(a, b).differences;
        all.into_iter()
            .map(|each| (each.name, each.forbids))
            .collect()
    }

    #[test]
    fn two_records_of_one_plan_and_machine_do_not_differ_whatever_they_measured() {
        let (a, mut b) = (example::ok(), example::ok());
        b.machine.load_average = Some(9.0);
        b.points[0].rounds.truncate(1);
        let all = differences(&a, &b);
        assert_eq!((all.comparable, all.differences.len()), (true, 0));
        let text = page_text(&diff(&all), &Look::default());
        assert_eq!(
            text,
            "nothing differs: same weigh, same machine, same plan\n"
        );
    }

    #[test]
    fn another_server_may_be_compared_and_another_request_may_not() {
        let (a, mut b) = (example::ok(), example::ok());
        b.plan.target.authority = "127.0.0.1:9".into();
        b.plan.seed += 1;
        assert_eq!(
            named(&a, &b),
            [("url".to_owned(), false), ("seed".to_owned(), false)]
        );
        assert!(differences(&a, &b).comparable);
        b.plan.requests = plan::Requests::Listed(vec![plan::Request::get("/other")]);
        assert_eq!(named(&a, &b)[0], ("url".to_owned(), true));
    }

    #[test]
    fn another_version_of_tls_forbids_comparing() {
        let (mut a, mut b) = (example::ok(), example::ok());
        for (run, version) in [(&mut a, "TLSv1.2"), (&mut b, "TLSv1.3")] {
            run.probe.as_mut().unwrap().encryption = Some(Encryption {
                version: version.into(),
                cipher: "A_CIPHER".into(),
                key_exchange: None,
                certificate_key: None,
            });
        }
        let text = page_text(&diff(&differences(&a, &b)), &Look::default());
        let wanted = "server\n\nencryption *  TLSv1.2 A_CIPHER -> TLSv1.3 A_CIPHER";
        assert!(text.contains(wanted), "{text}");
        assert!(text.starts_with("not comparable: 1 difference"), "{text}");
        b.probe = None;
        assert!(differences(&a, &b).comparable, "of one it is not known");
    }

    #[test]
    fn another_machine_plan_or_version_forbids_comparing_and_each_is_a_line() {
        let (mut a, mut b) = (example::ok(), example::ok());
        let setup = |value: &str| {
            let mut setup = Setup::default();
            setup
                .sysctls
                .insert("net.ipv4.tcp_sack".into(), value.into());
            Some(setup)
        };
        (a.machine.setup, b.machine.setup) = (setup("1"), setup("0"));
        b.weigh = "0.9.0".into();
        b.machine.kernel = Some("9.9".into());
        b.machine.cpu_quota = Some(0.5);
        b.plan.rounds += 1;
        let text = page_text(&diff(&differences(&a, &b)), &Look::default());
        let rounds = a.plan.rounds;
        let wanted = format!(
            "\
not comparable: 5 differences (*) can change the results

weigh

version *            {} -> 0.9.0

machine

kernel: Linux *      6.1.0-example -> 9.9
limits: CPU quota *  none -> 0.50 CPUs
net.ipv4.tcp_sack *  1 -> 0

plan

rounds *             {rounds} -> {}
",
            a.weigh,
            rounds + 1
        );
        assert_eq!(text, wanted);
    }

    #[test]
    fn of_an_older_record_only_what_both_know_is_compared() {
        let (a, mut b) = (example::ok(), example::ok());
        b.machine.setup = Some(Setup {
            microcode: Some("7".into()),
            ..Setup::default()
        });
        assert_eq!(named(&a, &b), [("setup".to_owned(), false)]);
    }
}
