//! The page of `weigh doctor`: what is wrong first, what each finding costs and how it is mended, then all facts.

use super::disclosure::{Fact, facts};
use super::{Block, Column, Item, Page, Role, Row, Span, Table};
use crate::phrase::clean;
use doctor::{CHECKS, Checkup, FOLKLORE, Finding, Folklore};
use record::{Activity, Grade, NetworkPath};
use units::{counted, number, span};

/// The longest name of a program.
const LONGEST: usize = 40;
/// Findings of the answer; the rest stand below it only.
const ANSWERED: usize = 8;

/// Returns the page of a checkup; `verbose` adds every check, and all advice that is refused.
pub fn checkup(checkup: &Checkup, verbose: bool) -> Page {
    let mut blocks = answer(&checkup.findings);
    blocks.extend(checkup.findings.iter().map(details));
    let advice = if verbose { FOLKLORE } else { &checkup.folklore };
    blocks.extend(folklore(advice));
    if verbose {
        blocks.push(checks(&checkup.findings));
    }
    let mut rows: Vec<Row> = checkup.path.iter().map(path).collect();
    rows.extend(checkup.activity.as_ref().map(activity));
    rows.extend(disclosure(&facts(&checkup.machine)));
    blocks.push(Block::Rows(rows));
    blocks.retain(|block| !block.is_empty());
    Page { blocks }
}

/// How many findings there are, and each in a line.
fn answer(findings: &[Finding]) -> Vec<Block> {
    let costly = findings.iter().filter(|it| it.grade > Grade::Note).count() as u64;
    let voids = findings.iter().any(|it| it.grade == Grade::Invalid);
    let title = match costly {
        0 => Item::strong("nothing was found that costs accuracy"),
        _ => {
            let costs = format!(
                "{} cost accuracy",
                counted(costly, "thing will", "things will")
            );
            match voids {
                true => Item::wrong(format!("do not measure here now: {costs}")),
                false => Item::strong(costs),
            }
        }
    };
    let row = |finding: &Finding| {
        let role = match finding.grade {
            Grade::Invalid => Role::Wrong,
            Grade::Caveat => Role::Warning,
            Grade::Note => Role::Plain,
        };
        let headline = Span::new(role, clean(&finding.headline, 2 * LONGEST));
        Row::new(&finding.grade.to_string(), vec![Item(vec![headline])])
    };
    let mut rows: Vec<Row> = findings.iter().take(ANSWERED).map(row).collect();
    let rest = findings.len().saturating_sub(ANSWERED) as u64;
    if rest > 0 {
        rows.push(Row::new(
            "",
            vec![Item::dim(format!(
                "and {}, below",
                number(rest, "more finding")
            ))],
        ));
    }
    vec![Block::Lines(vec![vec![title]]), Block::Rows(rows)]
}

/// What a finding costs, and the commands.
fn details(finding: &Finding) -> Block {
    let source = format!(" ({})", finding.cost.source.words());
    let cost = Item::plain(finding.cost.what.as_str()).and(Role::Dim, source);
    let mut rows = vec![Row::new(finding.check, vec![cost])];
    let command = |label: &str, text: &Option<String>| {
        let text = text.as_ref()?;
        Some(Row::new(label, vec![Item::plain(clean(text, 4 * LONGEST))]))
    };
    rows.extend(command("  mend", &finding.mend));
    rows.extend(command("  undo", &finding.undo));
    Block::Rows(rows)
}

fn folklore(advice: &[Folklore]) -> Vec<Block> {
    if advice.is_empty() {
        return Vec::new();
    }
    let title = vec![Item::strong("advice not to follow")];
    let lines = advice.iter().map(|row| {
        let why = format!(": {}; {}", row.since, row.why);
        vec![Item::plain(row.advice).and(Role::Dim, why)]
    });
    vec![Block::Lines(std::iter::once(title).chain(lines).collect())]
}

/// Every check, and whether it found something.
fn checks(findings: &[Finding]) -> Block {
    let row = |check: &doctor::Check| {
        let found = findings.iter().any(|finding| finding.check == check.name);
        let result = if found { "found" } else { "-" };
        [check.name, result, check.finds]
            .map(|text| Span::new(Role::Plain, text))
            .to_vec()
    };
    Block::Table(Table {
        columns: vec![
            Column::text("check"),
            Column::text(""),
            Column::text("finds"),
        ],
        rows: CHECKS.iter().map(row).collect(),
        rest: None,
    })
}

fn path(path: &NetworkPath) -> Row {
    let link = &path.link;
    let way = if link.loopback { "loopback" } else { "network" };
    let mut items = vec![
        Item::strong(clean(&path.address, LONGEST)),
        Item::plain(way),
    ];
    let named = |name: &str, value: Option<String>| Some(Item::named(name, Role::Plain, value?));
    items.extend(named(
        "interface",
        link.interface.as_deref().map(|name| clean(name, LONGEST)),
    ));
    let speed = link
        .link_mbits
        .map(|mbits| format!("{} Mbit/s", units::count(mbits)));
    let speed = speed.or_else(|| (!link.loopback).then(|| "not known to its driver".into()));
    items.extend(named("speed", speed));
    items.extend(named("MTU", link.mtu.map(|mtu| mtu.to_string())));
    let (shortest, longest) = (path.connects.iter().min(), path.connects.iter().max());
    let times = shortest.zip(longest).map(|(shortest, longest)| {
        let connects = number(path.connects.len() as u64, "connect");
        format!("{} to {} ({connects})", span(*shortest), span(*longest))
    });
    items.extend(named("round trip", times));
    Row::new("target", items)
}

fn activity(activity: &Activity) -> Row {
    let cpus = number(activity.cpus.into(), "CPU");
    let mut items = vec![
        Item::plain(format!(
            "{:.2} of {cpus} busy over {}",
            activity.busy,
            span(activity.span)
        )),
        Item::named("steal", Role::Plain, format!("{:.2}", activity.stolen)),
    ];
    items.extend(activity.programs.iter().map(|program| {
        let name = clean(&program.name, LONGEST);
        Item::named(&name, Role::Plain, format!("{:.2}", program.cpus))
    }));
    Row::new("running", items)
}

/// A row for each topic.
fn disclosure(facts: &[Fact]) -> Vec<Row> {
    let topics = facts.chunk_by(|a, b| a.topic == b.topic);
    let item = |fact: &Fact| Item::named(&fact.name, Role::Plain, fact.value.as_str());
    topics
        .map(|facts| Row::new(facts[0].topic, facts.iter().map(item).collect()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Look, page_text};
    use record::{Link, Machine, Program, Setup};
    use units::Nanos;

    fn shown(checkup: &Checkup, verbose: bool) -> String {
        page_text(&super::checkup(checkup, verbose), &Look::default())
    }

    fn machine(setup: Setup) -> Machine {
        Machine {
            somaxconn: Some(128),
            setup: Some(setup),
            ..record::example::machine()
        }
    }

    #[test]
    fn the_answer_comes_first_and_every_line_fits() {
        let program = Program {
            name: "rustc".into(),
            pids: vec![42],
            cpus: 2.5,
        };
        let activity = Activity {
            span: Nanos::from_secs(1),
            cpus: 4,
            busy: 2.75,
            programs: vec![program],
            ..Activity::default()
        };
        let mut setup = Setup::default();
        setup
            .sysctls
            .insert("net.ipv4.tcp_fin_timeout".into(), "15".into());
        let checkup = Checkup::of(machine(setup), Some(activity), None);
        let text = shown(&checkup, false);
        let wanted = "\
do not measure here now: 2 things will cost accuracy

INVALID         2.75 of 4 CPUs are busy, most rustc 2.50
caveat          only 128 connections may wait to be accepted (somaxconn)

other programs  69 % of the CPU time, which varies (measured)
  mend          kill -STOP 42   # pauses rustc
  undo          kill -CONT 42

accept queue    a connect that finds the queue full takes 1 s longer (RFC 6298:
                first retransmission after 1 s)
  mend          sudo sysctl -w net.core.somaxconn=4096
  undo          sudo sysctl -w net.core.somaxconn=128

advice not to follow
a low net.ipv4.tcp_fin_timeout, to shorten TIME_WAIT: never worked; it limits
FIN_WAIT_2; TIME_WAIT is 60 s, built into the kernel

running         2.75 of 4 CPUs busy over 1.00 s  steal 0.00  rustc 2.50
CPU             model Example CPU at 3.00 GHz  hypervisor none
";
        assert!(text.starts_with(wanted), "{text}");
        let verbose = shown(&checkup, true);
        assert!(
            verbose.contains("tcp_tw_recycle=1: removed in Linux 4.12"),
            "{verbose}"
        );
        for line in text.lines().chain(verbose.lines()) {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }

    #[test]
    fn a_sound_machine_is_called_so() {
        let checkup = Checkup::of(record::example::machine(), None, None);
        let text = shown(&checkup, false);
        assert!(
            text.starts_with("nothing was found that costs accuracy\n\nCPU "),
            "{text}"
        );
    }

    #[test]
    fn a_target_is_shown_with_its_link_and_round_trips() {
        let path = NetworkPath {
            address: "192.0.2.1:80".into(),
            link: Link {
                interface: Some("eth0".into()),
                mtu: Some(1500),
                ..Link::default()
            },
            connects: vec![Nanos::from_micros(300), Nanos::from_micros(200)],
            ..NetworkPath::default()
        };
        let checkup = Checkup::of(record::example::machine(), None, Some(path));
        let wanted = "\
target     192.0.2.1:80  network  interface eth0  speed not known to its driver
           MTU 1500  round trip 200 us to 300 us (2 connects)
";
        let text = shown(&checkup, false);
        assert!(text.contains(wanted), "{text}");
    }
}
