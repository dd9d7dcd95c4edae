//! The figures of one load level, each demoted by the findings that touch it.

use super::findings::{bound_by, grade, is_overloaded, is_void};
use super::tables::select;
use super::{Item, Role, Row, Span, cost as costs, handshakes};
use crate::phrase::rate as per_second;
use figures::Figures;
use plan::{Connect, Load};
use record::{BusyPoll, Effect, Figure, Grade, Round, Run, Tally, ThreadAccounts};
use stats::Histogram;
use units::{Nanos, Percentile, number, percent};

/// Under this many samples latencies are indicative.
const SAMPLES_ENOUGH: u64 = 100;
/// The most statuses that are listed.
const STATUSES_MOST: usize = 4;

/// The row that stands where nothing was measured.
pub(super) fn none() -> Vec<Row> {
    let item = Item::wrong("no round was measured");
    vec![Row::new("requests/s", vec![item])]
}

/// Every row that has something to say.
pub(super) fn rows(of: &Figures<'_>) -> Vec<Row> {
    let tally = of.tally();
    let above = [
        Some(rate(of)),
        offered(of),
        Some(latency(of)),
        latency_intervals(of),
        spread(of),
        baseline(of),
    ];
    let below = [
        unwanted(of, "latency 4xx", &tally.service_4xx),
        unwanted(of, "latency 5xx", &tally.service_5xx),
        Some(exchanges(of)),
        Some(bytes(of)),
        connections(of),
        handshakes::row(of),
        settling(of),
        generator(of),
        server(of),
    ];
    let above = above.into_iter().flatten().chain(open(of));
    let above = above.chain(sessions(of));
    let below = below.into_iter().flatten().chain(costs::rows(of));
    above.chain(below).collect()
}

/// A figure by its name; none where nothing carries it, and where findings void it.
fn shown(of: &Figures<'_>, name: &str) -> Option<String> {
    let figure = select(name);
    let is_void = figure.effect(of.findings()) == Some(Effect::Void);
    figure.shown(of).filter(|_| !is_void)
}

/// Figures by their names, each with the words that stand before it; without those that nothing carries.
pub(super) fn listed<const N: usize>(of: &Figures<'_>, names: [(&str, &str); N]) -> Vec<Item> {
    let value = |(label, name)| (label, select(name).shown(of));
    Item::each(Role::Plain, names.map(value))
}

/// A labelled row; where a finding voids the figure, it holds only `INVALID`.
fn demoted(run: &Run, figure: Figure, label: &str, items: Vec<Item>) -> Row {
    let items = if is_void(run, figure) {
        vec![Item::wrong("INVALID")]
    } else {
        items
    };
    Row::new(label, items).marked(grade(run, figure).filter(|grade| *grade > Grade::Note))
}

fn rate(of: &Figures<'_>) -> Row {
    let rps = &of.summary.rps;
    let mut items = vec![Item::strong(per_second(rps.mean))];
    if rps.rounds > 1 {
        let spread = [
            ("min", "rps.min"),
            ("median", "rps.median"),
            ("max", "rps.max"),
        ];
        items.extend(listed(of, spread));
    }
    if let Some(by) = bound_by(&of.run.findings) {
        let bound = Item::wrong(">= ").and(Role::Strong, per_second(rps.mean));
        items[0] = bound.and(Role::Wrong, format!(" ({by})"));
    } else {
        items.extend(interval(of));
    }
    demoted(of.run, Figure::Rps, "requests/s", items)
}

fn interval(of: &Figures<'_>) -> Option<Item> {
    let ends = (select("rps.low").shown(of)?, select("rps.high").shown(of)?);
    let grade = grade(of.run, Figure::Interval);
    if grade == Some(Grade::Invalid) {
        return Some(Item::named("95 % interval", Role::Wrong, "INVALID"));
    }
    let item = Item::interval(ends);
    Some(match grade == Some(Grade::Caveat) {
        true => item.and(Role::Warning, " *"),
        false => item,
    })
}

fn latency(of: &Figures<'_>) -> Row {
    let (run, summary) = (of.run, &of.summary);
    let label = match of.point.level.load {
        Load::Closed { .. } => "service time",
        Load::Open { .. } => "response time",
    };
    if is_overloaded(run) {
        let sustained = format!(": {}/s were sustained", per_second(summary.rps.mean));
        let items = vec![Item::wrong("OVERLOAD").and(Role::Plain, sustained)];
        return Row::new(label, items).marked(grade(run, Figure::Latency));
    }
    let items = match summary.latency_us.count {
        0 => vec![Item::plain("no request ended ok")],
        _ => times(of, "latency_us", |p| of.is_affected(p)),
    };
    demoted(run, Figure::Latency, label, items)
}

/// 95 % intervals of the percentiles that were asked for; none where latency is void or no interval is known.
fn latency_intervals(of: &Figures<'_>) -> Option<Row> {
    let latency = &of.summary.latency_us;
    let known = of.plan.percentiles.iter().filter_map(|p| {
        let (low, high) = latency.intervals.get(&p.key())?;
        let shown = |micros: &f64| units::span(Nanos::from_nanos((micros * 1e3) as u64));
        let interval = format!("{} .. {}", shown(low), shown(high));
        Some(Item::named(&p.to_string(), Role::Plain, interval))
    });
    let items: Vec<Item> = known.collect();
    let is_void = grade(of.run, Figure::Latency) == Some(Grade::Invalid);
    (!items.is_empty() && !is_void).then(|| Row::new("95 % interval", items))
}

/// Offered load of an open loop: target rate, scheduled and sent requests.
fn offered(of: &Figures<'_>) -> Option<Row> {
    let rate = per_second(select("request_rate").number(of)?);
    let mut asked = Item::named("target rate", Role::Plain, format!("{rate}/s"));
    if let Some(arrivals) = select("connection_rate").number(of) {
        let each = of.point.level.load.exchanges_per_arrival(&of.plan.protocol);
        let (arrivals, each) = (per_second(arrivals), units::count(each));
        asked = asked.and(Role::Plain, format!(" ({arrivals} connections/s x {each})"));
    }
    let open = of.tally().open.as_ref();
    let counts = [
        ("scheduled", Some(units::count(of.summary.scheduled()))),
        (
            "sent",
            open.map(|open| units::count(open.generator_late.count())),
        ),
    ];
    let mut items = vec![asked];
    items.extend(Item::each(Role::Plain, counts));
    if of.tally().never_sent > 0 {
        let never = format!("{} never sent", units::count(of.tally().never_sent));
        items.push(Item::wrong(never));
    }
    Some(Row::new("offered", items))
}

/// Figures beside response time in an open loop: service time, and the send delay with its causes.
fn open(of: &Figures<'_>) -> Vec<Row> {
    if is_void(of.run, Figure::Latency) && !is_overloaded(of.run) {
        return Vec::new();
    }
    let of_family = |family: &str, each: &str| select(&format!("{family}.{each}"));
    let is_some = |family: &str| of_family(family, "max").number(of) > Some(0.0);
    let service = is_some("service_us").then(|| times(of, "service_us", |_| false));
    let service = service.map(|items| Row::new("service time", items));
    let waits = [
        ("send delay", "send_delay_us"),
        ("  queued", "queued_us"),
        ("  connecting", "connecting_us"),
        ("  generator", "generator_late_us"),
    ];
    let waits = waits.into_iter().filter(|(_, family)| is_some(family));
    let waits = waits.map(|(label, family)| {
        let value = |each| (each, of_family(family, each).shown(of));
        Row::new(
            label,
            Item::each(Role::Plain, ["p50", "p99", "max"].map(value)),
        )
    });
    service.into_iter().chain(waits).collect()
}

/// Sessions: connections that arrive by a schedule, and how long each took with all its requests.
fn sessions(of: &Figures<'_>) -> Vec<Row> {
    let open = of.summary.open.as_ref();
    let Some(sessions) = open.and_then(|open| open.sessions.as_ref()) else {
        return Vec::new();
    };
    let mut items = vec![
        Item::strong(per_second(sessions.per_second)),
        Item::named("scheduled", Role::Plain, units::count(sessions.scheduled)),
        Item::named("opened", Role::Plain, units::count(sessions.opened)),
    ];
    items.extend((sessions.aborted > 0).then(|| {
        let skipped = number(sessions.skipped, "request");
        Item::wrong(format!("{} ended early", units::count(sessions.aborted)))
            .and(Role::Plain, format!(" ({skipped} skipped)"))
    }));
    let mut rows = vec![demoted(of.run, Figure::Counts, "connections/s", items)];
    let count = sessions.time_us.count;
    if count > 0 && !is_overloaded(of.run) {
        let mut items = times(of, "connection_time_us", |_| false);
        items.push(Item::dim(format!("of {}", units::count(count))));
        rows.push(demoted(of.run, Figure::Latency, "connection time", items));
    }
    rows
}

/// The line below it: what one reads less often, and how many samples it all rests on.
fn spread(of: &Figures<'_>) -> Option<Row> {
    let count = of.summary.latency_us.count;
    if count == 0 || is_void(of.run, Figure::Latency) {
        return None;
    }
    let mut items = listed(of, [("min", "latency_us.min"), ("mean", "latency_us.mean")]);
    let mut rests = Item::dim(format!("of {}", number(count, "request")));
    if count < SAMPLES_ENOUGH {
        rests = rests.and(Role::Warning, ", indicative");
    }
    items.push(rests);
    let mut printed = of.plan.percentiles.iter();
    if printed.any(|p| of.summary.latency_us.at(*p).is_some() && of.is_affected(*p)) {
        let why = Item(vec![Span::new(Role::Warning, "*")])
            .and(Role::Dim, " affected by coordinated omission");
        items.push(why);
    }
    Some(Row::new("", items))
}

/// Response time against the reference server, measured before the load.
fn baseline(of: &Figures<'_>) -> Option<Row> {
    let mut items = listed(of, [("p50", "baseline_us.p50"), ("p99", "baseline_us.p99")]);
    if items.is_empty() {
        return None;
    }
    let rate = per_second(of.point.baseline.as_ref()?.rate.as_f64());
    items.push(Item::dim(format!("of the reference server, at {rate}/s")));
    Some(Row::new("baseline", items))
}

/// The first second of load, and when the server was steady; of a server that weigh started, its cold start.
fn settling(of: &Figures<'_>) -> Option<Row> {
    let settling = of.summary.settling.as_ref()?;
    let label = match of.plan.server {
        Some(_) => "cold start",
        None => "first second",
    };
    let mut items = listed(
        of,
        [
            ("first response", "first_response_us"),
            ("requests/s in the first second", "first_second.rps"),
            ("p99", "first_second.p99_us"),
            ("max", "first_second.max_us"),
        ],
    );
    items.extend(match (settling.is_steady, settling.steady_after) {
        (Some(true), Some(Nanos::ZERO)) => vec![Item::plain("steady from the start")],
        (Some(true), _) => listed(of, [("steady after", "steady_after_s")]),
        (Some(false), _) => vec![Item::wrong("not steady at the end")],
        (None, _) => Vec::new(),
    });
    Some(Row::new(label, items))
}

/// Latency of complete responses with an unexpected status.
fn unwanted(of: &Figures<'_>, label: &str, times: &Histogram) -> Option<Row> {
    let max = times.max()?;
    let carried = of.plan.percentiles.iter().filter_map(|p| {
        let value = times.quantile_if_carried(p.quantile())?;
        Some(Item::named(&p.to_string(), Role::Plain, span(value)))
    });
    let mut items: Vec<Item> = carried.collect();
    items.push(Item::named("max", Role::Plain, span(max)));
    items.push(Item::dim(format!("of {}", units::count(times.count()))));
    Some(demoted(of.run, Figure::Latency, label, items))
}

fn span(nanos: u64) -> String {
    units::span(Nanos::from_nanos(nanos))
}

/// The percentiles of the plan of a distribution, marked where `is_affected`; the names of those that the samples do not
/// carry, and the maximum.
fn times(of: &Figures<'_>, family: &str, is_affected: impl Fn(Percentile) -> bool) -> Vec<Item> {
    let shown = |each: &str| select(&format!("{family}.{each}")).shown(of);
    let (mut items, mut few) = (Vec::new(), Vec::new());
    for p in of.plan.percentiles.iter().copied() {
        let name = p.to_string();
        let Some(value) = shown(&name) else {
            few.push(name);
            continue;
        };
        let item = Item::named(&name, Role::Strong, value);
        items.push(match is_affected(p) {
            true => item.and(Role::Warning, "*"),
            false => item,
        });
    }
    if !few.is_empty() {
        let few = few.join(", ");
        items.push(Item::named(&few, Role::Warning, "too few samples"));
    }
    items.extend(Item::each(Role::Strong, [("max", shown("max"))]));
    items
}

fn exchanges(of: &Figures<'_>) -> Row {
    let (summary, tally) = (&of.summary, of.tally());
    let errors = summary.errors.total;
    let mut items = vec![Item::strong(units::count(summary.ok)).and(Role::Plain, " ok")];
    items.push(match errors {
        0 => Item::plain("0 errors"),
        _ => {
            let share = percent(errors as f64 / summary.requests.max(1) as f64);
            Item::wrong(format!("{} ({share})", number(errors, "error")))
        }
    });
    items.extend(statuses(tally));
    if tally.resent > 0 {
        let resent = units::count(tally.resent);
        items.push(Item::plain(format!(
            "{resent} sent again on a new connection"
        )));
    }
    demoted(of.run, Figure::Counts, "requests", items)
}

fn statuses(tally: &Tally) -> Option<Item> {
    let statuses = tally.statuses.sorted();
    if let [(only, _)] = statuses[..] {
        return Some(Item::dim(format!("status {only}")));
    }
    let named = statuses.iter().take(STATUSES_MOST);
    let named = named.map(|(status, count)| format!("{status}: {}", units::count(*count)));
    let others = statuses.len().saturating_sub(STATUSES_MOST) as u64;
    let others = (others > 0).then(|| number(others, "other"));
    let words: Vec<String> = named.chain(others).collect();
    (!words.is_empty()).then(|| Item::dim(format!("status {}", words.join(", "))))
}

fn bytes(of: &Figures<'_>) -> Row {
    let summary = &of.summary;
    let mut items = listed(of, [("received", "bytes_received"), ("sent", "bytes_sent")]);
    if summary.duration_s > 0.0 {
        let rate = units::bytes((summary.bytes_received as f64 / summary.duration_s) as u64);
        let received = items.remove(0).and(Role::Dim, format!(" ({rate}/s)"));
        items.insert(0, received);
    }
    demoted(of.run, Figure::Counts, "bytes", items)
}

/// What became of connections, where more happened than that all of them were opened before the load and stayed open.
fn connections(of: &Figures<'_>) -> Option<Row> {
    let connects = &of.tally().connects;
    let connections = of.point.level.load.connections();
    let failed = connects.failed.total();
    let is_plain = of.run.plan.connect == Connect::Eager && failed == 0 && connects.in_window == 0;
    if connects.attempted == 0 || (is_plain && connects.open_peak >= connections.into()) {
        return None;
    }
    let counted = |count: u64, words: &str| format!("{} {words}", units::count(count));
    let mut items = vec![Item::plain(counted(connects.established, "opened"))];
    if connects.in_window > 0 {
        let inside = counted(connects.in_window, "of them inside the windows");
        items.push(Item::plain(inside));
    }
    if failed > 0 {
        items.push(Item::wrong(counted(failed, "failed")));
    }
    let peak = format!("at most {}", counted(connects.open_peak, "at a time"));
    items.push(Item::plain(peak));
    let times = [
        ("connect p50", connects.time.quantile_if_carried(0.5)),
        ("connect max", connects.time.max()),
    ];
    let times = times.map(|(name, time)| (name, time.map(span)));
    items.extend(Item::each(Role::Plain, times));
    Some(demoted(of.run, Figure::Counts, "connections", items))
}

/// What the generator itself took; its shares of time as the medians over rounds, where rounds are long enough for them.
fn generator(of: &Figures<'_>) -> Option<Row> {
    let rounds = of.rounds;
    let threads: Vec<&ThreadAccounts> = rounds.iter().flat_map(|round| &round.threads).collect();
    let most = rounds.iter().map(|round| round.threads.len()).max()?;
    if most == 0 {
        return None;
    }
    let many = units::count(most as u64);
    let busiest = shown(of, "generator.busy");
    let mut items = vec![Item::plain(match (most, busiest) {
        (1, Some(busiest)) => format!("1 thread, {busiest} busy"),
        (_, Some(busiest)) => format!("busiest of {many} threads {busiest} busy"),
        (_, None) => number(most as u64, "thread"),
    })];
    items.extend(
        Round::typical(rounds, Round::waited)
            .map(|share| Item::plain(format!("run-queue wait {}", percent(share)))),
    );
    items.extend(Round::typical(rounds, spun).map(|share| spinning(&threads, share)));
    items.extend(shown(of, "generator.cpu_us").map(|each| cost(&threads, &each)));
    Some(Row::new("generator", items))
}

/// The share of all threads' time that they spun on purpose; none where they slept whenever they waited.
fn spun(round: &Round) -> Option<f64> {
    let awake = |thread: &&ThreadAccounts| {
        !thread.busy_poll.is_never() && thread.wall >= Round::SHARES_FROM
    };
    let threads: Vec<&ThreadAccounts> = round.threads.iter().filter(awake).collect();
    let wall = sum(&threads, |thread| thread.wall);
    let spun = sum(&threads, |thread| thread.busy_polled);
    (!threads.is_empty()).then(|| spun.as_secs_f64() / wall.as_secs_f64())
}

fn spinning(threads: &[&ThreadAccounts], share: f64) -> Item {
    let share = percent(share);
    let always = threads
        .iter()
        .any(|thread| thread.busy_poll == BusyPoll::Always);
    Item::plain(match always {
        true => format!("busy-polling all the time, {share}"),
        false => format!("busy-polling {share}"),
    })
}

/// The kernel divides CPU time into own and its own by ticks of some milliseconds: of less than this the shares would be
/// off by more than a few per cent.
const DIVISIBLE: Nanos = Nanos::from_millis(200);

fn cost(threads: &[&ThreadAccounts], each: &str) -> Item {
    let item = Item::plain(format!("{each} CPU per request"));
    let user = sum(threads, |thread| thread.user);
    let system = sum(threads, |thread| thread.system);
    // Of spinning's own share in each nothing is known.
    let has_spun = threads
        .iter()
        .any(|thread| thread.busy_polled > Nanos::ZERO);
    if user + system < DIVISIBLE || has_spun {
        return item;
    }
    let split = costs::split(user.as_secs_f64(), system.as_secs_f64());
    item.and(Role::Dim, format!(" ({split})"))
}

fn sum(threads: &[&ThreadAccounts], time: fn(&ThreadAccounts) -> Nanos) -> Nanos {
    threads.iter().map(|thread| time(thread)).sum()
}

/// What the server's processes took, where they were observed; their share of time where rounds are long enough for it.
fn server(of: &Figures<'_>) -> Option<Row> {
    let mut prints = of
        .rounds
        .iter()
        .filter_map(|round| round.footprint.as_ref());
    let last = prints.next_back()?;
    let cpus = match last.cpus_allowed {
        1.0 => "1 CPU".to_owned(),
        cpus => format!("{cpus} CPUs"),
    };
    let mut items = vec![Item::plain(match shown(of, "server.busy") {
        Some(busy) => format!("{busy} of {cpus} busy"),
        None => cpus,
    })];
    let each = shown(of, "cpu_us_per_request");
    items.extend(each.map(|each| Item::plain(format!("{each} CPU per request"))));
    items.push(Item::plain(number(last.processes.into(), "process")));
    Some(Row::new("server", items))
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::example;

    /// The words of the row with this label.
    fn shown(run: &Run, label: &str) -> String {
        let rows = rows(&Figures::of(run, 0).unwrap());
        let row = rows.iter().find(|row| row.label == label).unwrap();
        let words =
            |item: &Item| -> String { item.0.iter().map(|span| span.text.as_str()).collect() };
        row.items.iter().map(words).collect::<Vec<_>>().join("  ")
    }

    #[test]
    fn what_a_thread_that_only_spun_took_for_an_exchange_is_not_said() {
        let mut run = example::ok();
        for thread in run.points[0]
            .rounds
            .iter_mut()
            .flat_map(|round| &mut round.threads)
        {
            (thread.busy_poll, thread.busy_polled) = (BusyPoll::Always, thread.wall);
        }
        assert!(!shown(&run, "generator").contains("per exchange"));
    }

    #[test]
    fn in_windows_too_short_for_shares_of_time_there_are_none() {
        let mut run = example::ok();
        for round in &mut run.points[0].rounds {
            round
                .threads
                .iter_mut()
                .for_each(|thread| thread.wall = Nanos::from_millis(4));
            let window = round.window;
            let print = round.footprint.as_mut().unwrap();
            (print.wall, print.read) = (Nanos::from_millis(4), Some(window));
        }
        assert!(shown(&run, "generator").starts_with("2 threads  42.9 us CPU per request"));
        assert_eq!(
            shown(&run, "server"),
            "2 CPUs  168 us CPU per request  3 processes"
        );
    }

    #[test]
    fn spinning_is_told_and_is_neither_busy_nor_cost() {
        let cases = [
            (BusyPoll::Never, 0, "run-queue wait 1.0 %  42."),
            (
                BusyPoll::Near(Nanos::from_micros(100)),
                10,
                "busy-polling 10 %  ",
            ),
            (BusyPoll::Always, 20, "busy-polling all the time, 20 %  "),
        ];
        let asleep = shown(&example::ok(), "generator");
        for (awake, percent, wanted) in cases {
            let mut run = example::ok();
            let threads = run.points[0]
                .rounds
                .iter_mut()
                .flat_map(|round| &mut round.threads);
            for thread in threads {
                (thread.busy_poll, thread.busy_polled) = (awake, thread.wall * percent / 100);
                thread.cpu += thread.busy_polled;
            }
            let row = shown(&run, "generator");
            assert!(row.contains(wanted), "{row}");
            assert_eq!(row == asleep, percent == 0, "{row}");
            assert_eq!(row.contains("(user "), percent == 0, "{row}");
        }
    }

    #[test]
    fn one_disturbed_round_does_not_decide_how_long_threads_waited() {
        let mut run = example::ok();
        for thread in &mut run.points[0].rounds[0].threads {
            thread.run_queue_wait = Some(thread.wall);
        }
        assert!(shown(&run, "generator").contains("run-queue wait 1.0 %"));
        run.points[0].rounds[3].threads[0].run_queue_wait = None;
        assert!(shown(&run, "generator").contains("run-queue wait 1.0 %"));
    }
}
