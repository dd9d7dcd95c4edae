//! The short page: the answer first, then how far it can be trusted and what to do next.
//!
//! It selects from the figures of the only point; everything else is on the long page ([`super::Page::of`]). A value is
//! marked only where a reader would decide otherwise with the reason in mind.

use super::findings::bound_by;
use super::{Block, Item, Page, Role, Row, Span, curve, handshakes, load, requirements, tables};
use crate::phrase::clean;
use figures::{Figures, find};
use plan::{Load, Plan, Version};
use record::{Cause, Effect, Figure, Finding, Grade, Probe, Run, effect_on};
use std::cmp::Reverse;
use units::{Percentile, count, number, percent};

/// The longest text from outside that is shown whole.
const LONGEST: usize = 60;
/// The longest URL that is shown whole.
const LONGEST_URL: usize = 160;
/// The longest sentence.
const SENTENCE: usize = 400;
/// The most requests of a list that are all shown.
const REQUESTS_MOST: usize = 8;
/// The most kinds of errors that are named.
const KINDS_MOST: usize = 3;

/// Returns the answer for `run` in some twelve lines; of a sweep its table.
pub(super) fn page(run: &Run) -> Page {
    let mut blocks = vec![Block::Lines(head(run))];
    if run.is_sweep() {
        blocks.push(Block::Table(curve::table(run)));
        blocks.push(Block::Rows(curve::rows(run)));
        blocks.push(Block::Rows(reliability(run)));
    } else {
        blocks.push(Block::Rows(rows(run, ROWS)));
        let requests = Figures::of(run, 0).and_then(|of| tables::requests(&of, REQUESTS_MOST));
        blocks.extend(requests.map(Block::Table));
    }
    required(blocks, run)
}

/// Returns the answer in five lines, without the next step; of a sweep its table.
pub(super) fn quiet(run: &Run) -> Page {
    let mut rows = match run.is_sweep() {
        true => reliability(run),
        false => rows(run, QUIET),
    };
    rows.retain(|row| !row.label.is_empty());
    let unchecked = load::unchecked(&run.plan);
    rows.extend(unchecked.map(|words| Row::new("target", vec![words])));
    let table = run.is_sweep().then(|| Block::Table(curve::table(run)));
    required(table.into_iter().chain([Block::Rows(rows)]).collect(), run)
}

/// Adds what was required, where that does not go without saying.
fn required(mut blocks: Vec<Block>, run: &Run) -> Page {
    blocks.push(Block::Table(requirements::table(run)));
    blocks.retain(|block| !block.is_empty());
    Page { blocks }
}

/// What was loaded, and how.
pub(super) fn head(run: &Run) -> Vec<Vec<Item>> {
    let mut target = vec![Item::strong(clean(&load::what(&run.plan), LONGEST_URL))];
    target.extend(run.probe.as_ref().map(|probe| response(&run.plan, probe)));
    target.extend(load::unchecked(&run.plan));
    let lines = [target, vec![Item::plain(load(&run.plan))]];
    lines.into_iter().chain(load::unfinished(run)).collect()
}

/// `nginx/1.22.1, HTTP/1.1, 200, 100 bytes`.
fn response(plan: &Plan, probe: &Probe) -> Item {
    if let Some(fault) = &probe.fault {
        return Item::wrong(clean(&format!("first response: {fault}"), LONGEST));
    }
    let name = probe.server_name().map(|name| clean(name, LONGEST));
    let version = match plan.protocol.version {
        Version::Http10 => "HTTP/1.0",
        Version::Http11 => "HTTP/1.1",
    };
    let status = probe.status.map(|status| status.to_string());
    let length = number(probe.body_length, "byte");
    let encryption = probe.encryption.as_ref();
    let encryption = encryption.map(|encryption| encryption.version.clone());
    let version = Some(version.to_owned());
    let parts = [name, version, encryption, status, Some(length)];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    Item::plain(parts.join(", "))
}

/// `closed loop, 50 connections, 5 rounds of 3 s; latency is service time`.
fn load(plan: &Plan) -> String {
    let (connections, rounds) = (load::connections(plan), load::rounds(plan));
    match plan.load {
        Load::Closed { .. } => {
            format!("closed loop, {connections}, {rounds}; latency is service time")
        }
        Load::Open { arrivals, .. } => {
            let rate = load::offered(plan);
            let arrivals = arrivals.words();
            format!(
                "open loop, {rate} ({arrivals}), up to {connections}, {rounds}; latency is response time"
            )
        }
    }
}

/// How a row follows from the figures; none where there is nothing to say.
type Make = fn(&Figures<'_>) -> Option<Row>;

/// The rows of the page, in order,
const ROWS: &[Make] = &[
    throughput,
    latency,
    handshakes::row_if_measured,
    errors,
    server,
    bottleneck,
];
/// and those of its shortest form.
const QUIET: &[Make] = &[throughput, latency, errors, server];

fn rows(run: &Run, rows: &[Make]) -> Vec<Row> {
    let nothing = || Row::new("throughput", vec![Item::wrong("nothing was measured")]);
    let mut made: Vec<Row> = match Figures::of(run, 0) {
        Some(figures) => rows.iter().filter_map(|row| row(&figures)).collect(),
        None => vec![nothing()],
    };
    if is_shared(run) {
        // CPU time per request is what sharing CPUs leaves comparable.
        made.sort_by_key(|row| row.label != "server");
    }
    made.extend(reliability(run));
    made
}

/// Returns whether generator and server were short of CPUs that they share.
fn is_shared(run: &Run) -> bool {
    let causes = [Cause::SharedCpus, Cause::BothSaturated];
    let mut findings = run.findings.iter();
    findings.any(|finding| causes.contains(&finding.cause))
}

/// Causes that affect single percentiles, which alone are marked.
const ON_PERCENTILES: [Cause; 2] = [Cause::CoordinatedOmission, Cause::Baseline];

/// The value of the figure called `name`, as people read it.
fn shown(figures: &Figures<'_>, name: &str) -> Option<String> {
    find(name).and_then(|figure| figure.shown(figures))
}

/// The strongest effect that the findings have on `figure`, without those that mark single percentiles.
fn effect(figures: &Figures<'_>, figure: Figure) -> Option<Effect> {
    let others = figures
        .findings()
        .filter(|finding| !ON_PERCENTILES.contains(&finding.cause));
    effect_on(others, figure)
}

fn throughput(figures: &Figures<'_>) -> Option<Row> {
    let mean = format!(
        "{} requests/s",
        shown(figures, "rps.mean").unwrap_or_default()
    );
    let mut items = match effect(figures, Figure::Rps) {
        Some(Effect::Void) => return Some(Row::new("throughput", vec![Item::wrong("INVALID")])),
        Some(Effect::LowerBound) => {
            let bound = Item::strong(format!(">= {mean}"));
            let by = bound_by(&figures.run.findings).unwrap_or_default();
            vec![bound.and(Role::Warning, format!(" ({by})"))]
        }
        other => {
            let mark = if other.is_some() { "*" } else { "" };
            let range = shown(figures, "rps.min").zip(shown(figures, "rps.max"));
            let range = range.filter(|_| figures.summary.rps.rounds > 1);
            let range = range.map(|(min, max)| Item::dim(format!("(rounds: {min} to {max})")));
            let item = Item::strong(mean).and(Role::Warning, mark);
            std::iter::once(item).chain(range).collect()
        }
    };
    let seconds = figures.summary.duration_s;
    if seconds > 0.0 {
        let bytes = (figures.summary.bytes_received as f64 / seconds) as u64;
        items.push(Item::dim(format!("{}/s", units::bytes(bytes))));
    }
    Some(Row::new("throughput", items))
}

fn latency(figures: &Figures<'_>) -> Option<Row> {
    let items = match effect(figures, Figure::Latency) {
        Some(Effect::Void) => {
            let is_overload = |finding: &Finding| {
                finding.cause == Cause::Overload && finding.effects.on(Figure::Latency).is_some()
            };
            let backlog = ": the backlog grew, so latency depends on run length";
            vec![match figures.findings().any(is_overload) {
                true => Item::wrong("OVERLOAD").and(Role::Plain, backlog),
                false => Item::wrong("INVALID"),
            }]
        }
        _ if figures.summary.latency_us.count == 0 => vec![Item::plain("no request ended ok")],
        other => {
            let whole = if other.is_some() { "*" } else { "" };
            percentiles(figures, whole)
        }
    };
    Some(Row::new("latency", items))
}

/// The percentiles of the plan and the max, each with its mark; those that the samples do not carry are named as such.
fn percentiles(figures: &Figures<'_>, whole: &str) -> Vec<Item> {
    let near = near_baseline(figures);
    let mut items = Vec::new();
    for p in figures.plan.percentiles.iter().copied() {
        let Some(value) = shown(figures, &format!("latency_us.{p}")) else {
            let item = Item::named(&p.to_string(), Role::Dim, "too few samples");
            items.push(item);
            break; // higher ones have fewer
        };
        let is_marked = figures.is_affected(p) || near.contains(&p);
        let mark = if is_marked { "*" } else { whole };
        items.push(Item::named(&p.to_string(), Role::Strong, value).and(Role::Warning, mark));
    }
    let max = shown(figures, "latency_us.max");
    items.extend(max.map(|max| Item::named("max", Role::Strong, max)));
    items
}

/// The percentiles that a finding says are near the generator's own baseline.
fn near_baseline(figures: &Figures<'_>) -> Vec<Percentile> {
    let is_one = |finding: &Finding| {
        finding.cause == Cause::Baseline && finding.effects.on(Figure::Latency).is_some()
    };
    let baseline = figures.point.baseline.as_ref();
    let baseline = baseline.filter(|_| figures.findings().any(is_one));
    let near = baseline.map(|baseline| baseline.near(&figures.summary.latency_us));
    near.into_iter().flatten().map(|(p, ..)| p).collect()
}

fn errors(figures: &Figures<'_>) -> Option<Row> {
    let summary = &figures.summary;
    let total = summary.errors.total;
    let requests = number(summary.requests, "request");
    if effect(figures, Figure::Counts) == Some(Effect::Void) {
        return Some(Row::new("errors", vec![Item::wrong("INVALID")]));
    }
    if total == 0 {
        let none = Item::plain(format!("0 of {requests}"));
        return Some(Row::new("errors", vec![none]));
    }
    let share = percent(total as f64 / summary.requests.max(1) as f64);
    let total = count(total);
    let mut items = vec![Item::wrong(format!("{total} of {requests} ({share})"))];
    let kinds = figures.tally().faults.by_kind();
    let named = kinds.iter().take(KINDS_MOST);
    let named =
        named.map(|(kind, sum)| format!("{} {}", count(*sum), kind.name().replace('_', " ")));
    items.extend(named.map(Item::plain));
    if kinds.len() > KINDS_MOST {
        let others = (kinds.len() - KINDS_MOST) as u64;
        items.push(Item::dim(number(others, "other kind")));
    }
    Some(Row::new("errors", items))
}

/// What the server cost, or why that is not known.
fn server(figures: &Figures<'_>) -> Option<Row> {
    let observed = figures.run.observed.as_ref();
    if let Some(why) = observed.and_then(|observed| observed.why_not.as_ref()) {
        let why = format!("not observed: {}", clean(why, LONGEST));
        return Some(Row::new("server", vec![Item::dim(why)]));
    }
    let mut items = Vec::new();
    let cpu = shown(figures, "cpu_us_per_request");
    items.extend(cpu.map(|cpu| Item::strong(cpu).and(Role::Plain, " CPU per request")));
    items.extend(cpus(figures).map(Item::plain));
    items.extend(shown(figures, "pss_bytes.peak").map(Item::plain));
    (!items.is_empty()).then(|| Row::new("server", items))
}

/// `0.99 of 2 CPUs`.
fn cpus(figures: &Figures<'_>) -> Option<String> {
    let used = find("server.cpus")?.number(figures)?;
    let share = find("server.busy")?.number(figures)?;
    let all = number((used / share).round() as u64, "CPU");
    (share > 0.0).then(|| format!("{used:.2} of {all}"))
}

/// The bottleneck, with how busy both sides were.
fn bottleneck(figures: &Figures<'_>) -> Option<Row> {
    let share = |figure: &str| find(figure)?.number(figures).map(percent);
    let name = match figures.findings().find_map(|finding| name(finding.cause)) {
        Some(name) => name,
        None if share("server.busy").is_none() => "unknown: server not observed",
        None => "unknown",
    };
    let sides = [
        share("server.busy").map(|share| format!("server {share} busy")),
        share("generator.busy").map(|share| format!("generator {share}")),
    ];
    let sides: Vec<String> = sides.into_iter().flatten().collect();
    let mut item = Item::strong(name);
    if !sides.is_empty() {
        item = item.and(Role::Plain, format!(" ({})", sides.join(", ")));
    }
    Some(Row::new("bottleneck", vec![item]))
}

/// The name of a bottleneck; none of causes that are about something else.
fn name(cause: Cause) -> Option<&'static str> {
    Some(match cause {
        Cause::GeneratorSaturated => "load generator",
        Cause::ServerSaturated => "server",
        Cause::LinkSaturated => "network link",
        Cause::BothSaturated => "server and load generator",
        Cause::SharedCpus => "one CPU for both sides",
        Cause::NeitherSaturated => "neither side",
        Cause::GeneratorQuota => "CPU quota of the generator",
        Cause::ServerQuota => "CPU quota of the server",
        Cause::ReferenceServer => "not judged: weigh's own server",
        _ => return None,
    })
}

/// The place of a finding among those of its grade, the most decisive first: what changes counts, throughput or the
/// percentiles up to p99, then the rest, last what only the interval or the bottleneck rests on.
fn rank(run: &Run, finding: &Finding) -> u8 {
    let is_affected = |of: Figures<'_>| of.is_affected(Percentile::P99);
    match finding.cause {
        Cause::Errors | Cause::Overload | Cause::Interrupted | Cause::ServerEnded => 0,
        Cause::CoordinatedOmission => {
            let point = Figures::of(run, finding.point.unwrap_or(0));
            u8::from(!point.is_some_and(is_affected))
        }
        Cause::FewRounds | Cause::ServerUnobserved => 2,
        _ => u8::from(finding.effects.strongest() == Some(Effect::Caveat)),
    }
}

/// The grade of the whole, its main cause, and the best next step.
fn reliability(run: &Run) -> Vec<Row> {
    let mut caveats: Vec<&Finding> = Vec::new(); // one for each cause
    // A search is about the rate that it found: at higher ones a server may be overloaded.
    let found = run.curve.as_ref().and_then(|curve| curve.capacity?.holds);
    let is_asked = |finding: &&Finding| found.is_none_or(|point| finding.concerns(point));
    for finding in run.findings.iter().filter(is_asked) {
        let is_known = caveats.iter().any(|known| known.shares_cause(finding));
        if finding.grade() > Grade::Note && !is_known {
            caveats.push(finding);
        }
    }
    let has_ended = |finding: &Finding| finding.cause == Cause::ServerEnded;
    let key = |finding: &&Finding| {
        (
            Reverse((has_ended(finding), finding.grade())),
            rank(run, finding),
        )
    };
    caveats.sort_by_key(key);
    let worst = caveats.iter().map(|finding| finding.grade()).max();
    let Some(main) = caveats.first() else {
        return vec![Row::new("reliability", vec![Item::strong("GOOD")])];
    };
    let (role, grade) = match worst {
        Some(Grade::Invalid) => (Role::Wrong, "INVALID"),
        _ => (Role::Warning, "LIMITED"),
    };
    let headline = clean(main.headline(), SENTENCE);
    let mut item = Item(vec![Span::new(role, grade)]).and(Role::Plain, format!("  * {headline}"));
    let others = caveats.len() as u64 - 1;
    if others > 0 {
        let others = number(others, "other caveat");
        item = item.and(Role::Dim, format!(" ({others})"));
    }
    let next = main.next(&run.plan).map(|next| {
        let next = clean(&next, SENTENCE);
        Row::new("", vec![Item::dim("next: ").and(Role::Plain, next)])
    });
    std::iter::once(Row::new("reliability", vec![item]))
        .chain(next)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Figure, example};

    #[test]
    fn the_end_of_the_server_comes_first_and_the_grade_is_the_worst() {
        let mut run = example::ok();
        let ended = example::finding(&[(Figure::Rps, Effect::Caveat)]).because(Cause::ServerEnded);
        let void = example::finding(&[(Figure::Rps, Effect::Void)]);
        run.findings = vec![
            void,
            Finding {
                headline: "the server exited with status 3".into(),
                ..ended
            },
        ];
        let [Row { items, .. }, ..] = &reliability(&run)[..] else {
            panic!("no reliability");
        };
        let words = items[0].0.iter().map(|span| span.text.as_str());
        assert_eq!(
            words.collect::<String>(),
            "INVALID  * the server exited with status 3 (1 other caveat)"
        );
    }
}
