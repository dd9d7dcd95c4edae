//! What `-v` adds: how each start came out, what the generator cost, and everything that was measured beside.

use super::table::{self, LINE_NAME_MOST, shortened};
use super::words::{self, Words, plus_zero};
use crate::page::load::{LONGEST, unchecked};
use crate::page::{Block, Column, Item, Role, Row, Span, Table, machine};
use crate::phrase::clean;
use plan::{Budget, Load, shell_word};
use record::{Control, FigureAnswers, FreshStart, Said, Versus};
use std::borrow::Cow;
use std::collections::BTreeSet;
use units::{count, exact, number, percent};

/// The most starts that are listed.
const STARTS_MOST: usize = 40;
/// The longest command line that is shown whole.
const COMMAND_LONGEST: usize = 2_000;

/// Per cent of each start by which each other server differs from the first, a table for each.
pub(super) fn starts(words: &Words<'_>) -> Vec<Block> {
    let ranked = words.comparison.ranked();
    if words.comparison.is_of_records() {
        let records = ranked.iter();
        return records
            .map(|server| Block::Table(rounds_of(words, *server)))
            .collect();
    }
    let others = ranked.iter().skip(1);
    others
        .map(|server| Block::Table(starts_of(words, *server)))
        .collect()
}

fn starts_of(words: &Words<'_>, server: usize) -> Table {
    let deciding = words.answers.deciding();
    let block = deciding.and_then(|figure| figure.block).unwrap_or(0);
    let figures = words.answers.figures.iter();
    let figures = figures.filter(|figure| figure.block.is_none_or(|it| it == block));
    let figures: Vec<(&FigureAnswers, &Versus)> = figures
        .filter_map(|figure| {
            Some((
                figure,
                figure.against_first.iter().find(|it| it.server == server)?,
            ))
        })
        .collect();
    let name = shortened(words.name(server), 10);
    let place = deciding.and_then(|figure| words.place_of(figure));
    let titles = figures.iter().map(|(figure, _)| Column {
        title: Cow::Borrowed(words::figure_name(figure.figure)),
        priority: Some(0),
        ..Column::number("")
    });
    let head = [
        Column {
            title: Cow::Owned(format!("{name}, start")),
            ..Column::number("")
        },
        Column::number("warm-up"),
    ];
    let row = |(at, start): (usize, &FreshStart)| {
        let of_block = start.blocks.get(block);
        let warm_up = of_block.map_or("-".to_owned(), |it| count(it.warm_up.into()));
        let mut row = vec![
            Span::new(Role::Dim, count(u64::from(start.index) + 1)),
            Span::new(Role::Dim, warm_up),
        ];
        row.extend(figures.iter().map(|(_, versus)| {
            let share = versus
                .log_ratios
                .get(at)
                .copied()
                .flatten()
                .map(f64::exp_m1);
            let shown = share.map_or("-".to_owned(), |share| {
                let shown = plus_zero(format!("{:.2}", share * 100.0));
                format!("{shown} %")
            });
            Span::new(Role::Plain, shown)
        }));
        row.push(Span::new(Role::Warning, note(words, start, server, block)));
        row
    };
    let all = words.comparison.starts.iter().enumerate();
    let rest = words.comparison.starts.len().saturating_sub(STARTS_MOST) as u64;
    let rest = (rest > 0).then(|| number(rest, "more start"));
    let place = place.map(|place| format!("at {place}"));
    let notes: Vec<String> = place.into_iter().chain(rest).collect();
    Table {
        columns: head
            .into_iter()
            .chain(titles)
            .chain([Column::text("")])
            .collect(),
        rows: all.take(STARTS_MOST).map(row).collect(),
        rest: (!notes.is_empty()).then(|| notes.join("; ")),
    }
}

/// The figures of each round of one of two records.
fn rounds_of(words: &Words<'_>, server: usize) -> Table {
    let deciding = words.answers.deciding();
    let block = deciding.and_then(|figure| figure.block).unwrap_or(0);
    let figures = words.answers.figures.iter();
    let figures = figures.filter(|figure| figure.block.is_none_or(|it| it == block));
    let figures: Vec<&FigureAnswers> = figures.collect();
    let titles = figures.iter().map(|figure| Column {
        title: Cow::Borrowed(words::figure_name(figure.figure)),
        priority: Some(0),
        ..Column::number("")
    });
    let name = shortened(words.name(server), LINE_NAME_MOST);
    let unit = Column {
        title: Cow::Owned(format!("{name}, {}", words.comparison.unit())),
        ..Column::number("")
    };
    let row = |(at, start): (usize, &FreshStart)| {
        let mut row = vec![Span::new(Role::Dim, count(at as u64 + 1))];
        row.extend(figures.iter().map(|figure| {
            let value = figure.by_start[server]
                .get(start.index as usize)
                .copied()
                .flatten();
            let shown = value.map_or("-".to_owned(), |value| words::value(figure.figure, value));
            Span::new(Role::Plain, shown)
        }));
        row
    };
    let all = || words.comparison.starts_of(server);
    let rest = all().count().saturating_sub(STARTS_MOST) as u64;
    let rest = (rest > 0).then(|| format!("{rest} more {}s", words.comparison.unit()));
    let place = deciding.and_then(|figure| words.place_of(figure));
    let place = place.map(|place| format!("at {place}"));
    let notes: Vec<String> = place.into_iter().chain(rest).collect();
    Table {
        columns: std::iter::once(unit).chain(titles).collect(),
        rows: all().take(STARTS_MOST).enumerate().map(row).collect(),
        rest: (!notes.is_empty()).then(|| notes.join("; ")),
    }
}

/// What was wrong with a start.
fn note(words: &Words<'_>, start: &FreshStart, server: usize, block: usize) -> String {
    let void = [0, server]
        .into_iter()
        .find(|it| start.servers.get(*it).is_some_and(|it| it.void.is_some()));
    let not_steady = start.blocks.get(block).is_some_and(|block| !block.steady);
    match void {
        Some(void) => format!("void: {}", shortened(words.name(void), 10)),
        None if not_steady => "not steady".to_owned(),
        None => String::new(),
    }
}

/// Everything else.
pub(super) fn rows(words: &Words<'_>) -> Vec<Row> {
    let comparison = words.comparison;
    let mut rows: Vec<Row> = (0..comparison.plan.servers.len())
        .map(|server| self::server(words, server))
        .collect();
    let arguments = comparison.plan.arguments.iter();
    let command = arguments.fold("weigh compare".to_owned(), |line, word| {
        format!("{line} {}", shell_word(word))
    });
    let command = Row::new(
        "command",
        vec![Item::plain(clean(&command, COMMAND_LONGEST))],
    );
    rows.extend((!comparison.plan.arguments.is_empty()).then_some(command));
    if comparison.is_of_records() {
        rows.push(Row::new("CPUs", vec![Item::plain(taken(words))]));
        rows.extend(controls(words));
        rows.extend(machine::rows(
            &comparison.machine,
            &comparison.weigh,
            comparison.started_unix,
        ));
        return rows;
    }
    rows.push(Row::new("starts", vec![Item::plain(measured(words))]));
    rows.extend(
        comparison
            .plan
            .blocks
            .iter()
            .enumerate()
            .map(|(place, block)| {
                let load = match block.load {
                    Load::Closed { connections } => {
                        format!("closed loop, {}", number(connections.into(), "connection"))
                    }
                    Load::Open {
                        rate, connections, ..
                    } => {
                        let connections = number(connections.into(), "connection");
                        format!(
                            "open loop, {} requests/s, up to {connections}",
                            units::rate(rate.as_f64())
                        )
                    }
                };
                let (slice, cycles) = (exact(block.slice), cycles(words, place));
                Row::new(
                    "",
                    vec![Item::plain(format!(
                        "{load}; slices of {slice}, {cycles} a start"
                    ))],
                )
            }),
    );
    rows.push(Row::new(
        "CPUs",
        vec![Item::plain(cpus(words)), Item::plain(taken(words))],
    ));
    rows.extend(scatter(words));
    rows.extend(signed_ranks(words));
    rows.extend(controls(words));
    rows.push(Row::new("kept", vec![Item::plain(KEPT)]));
    rows.extend(machine::rows(
        &comparison.machine,
        &comparison.weigh,
        comparison.started_unix,
    ));
    rows
}

/// `25 cycles`, or `8 to 25 cycles` where starts have different numbers of them.
fn cycles(words: &Words<'_>, place: usize) -> String {
    let starts = words.comparison.starts.iter();
    let all = starts.filter_map(|start| Some(start.blocks.get(place)?.cycles.len() as u64));
    let all: BTreeSet<u64> = all.collect();
    let planned = words.comparison.plan.blocks[place].cycles.into();
    match (all.first(), all.last()) {
        (Some(least), Some(most)) if least < most => {
            format!("{} to {}", count(*least), number(*most, "cycle"))
        }
        (least, _) => number(least.copied().unwrap_or(planned), "cycle"),
    }
}

/// What a fresh start does not renew.
const KEPT: &str = "over fresh starts: the page cache and other caches of the kernel, the files that servers wrote, and the state of \
                    the CPUs (clock speed, temperature)";

/// How a server was started, from what, and what is known of it.
fn server(words: &Words<'_>, place: usize) -> Row {
    let compared = &words.comparison.plan.servers[place];
    let command = compared
        .plan
        .server
        .as_ref()
        .map(|server| server.argv.join(" "));
    let url = || {
        format!(
            "{}://{}",
            compared.plan.target.scheme, compared.plan.target.authority
        )
    };
    let mut items = vec![Item::plain(clean(&command.unwrap_or_else(url), LONGEST))];
    items.extend(unchecked(&compared.plan));
    items.extend(compared.source.as_ref().map(|source| {
        let commit: String = source.commit.chars().take(12).collect();
        Item::plain(clean(&format!("{} {commit}", source.revision), LONGEST))
    }));
    items.extend(
        compared
            .repeats
            .map(|base| Item::plain(format!("the same as {}", words.name(base as usize)))),
    );
    items.extend(
        compared
            .reference
            .then(|| Item::plain("the reference server, never ranked")),
    );
    if let Some(known) = words.comparison.servers.get(place) {
        let name = known.probe.as_ref().and_then(|probe| probe.server_name());
        items.extend(name.map(|name| Item::plain(clean(name, 60))));
        items.extend(
            known
                .observed
                .as_ref()
                .map(|observed| match &observed.why_not {
                    Some(why) => Item::dim(format!("not observed: {}", clean(why, LONGEST))),
                    None => Item::dim(number(observed.count.into(), "process")),
                }),
        );
    }
    let starts = words.comparison.starts.iter();
    let idle = starts.filter_map(|start| start.servers.get(place)?.idle);
    let idle = idle.reduce(f64::max).filter(|share| *share > 0.0);
    items.extend(
        idle.map(|share| Item::dim(format!("up to {} of a CPU while idle", percent(share)))),
    );
    Row::new(&shortened(words.name(place), LINE_NAME_MOST), items)
}

/// How many starts of how long, and when it was to end.
fn measured(words: &Words<'_>) -> String {
    let comparison = words.comparison;
    let starts = number(comparison.starts.len() as u64, "start");
    let until = match comparison.plan.budget {
        Budget::Time { time, starts } => {
            format!(
                "planned: {}, at least {}",
                exact(time),
                number(starts.into(), "start")
            )
        }
        Budget::Until(share) => {
            format!("until a difference of {} is decided", words::at_most(share))
        }
        Budget::Precision(share) => format!(
            "until the interval is as narrow as {} needs",
            words::at_most(share)
        ),
    };
    format!(
        "{starts} in {}; {until}; seed {}",
        words::seconds(comparison.elapsed),
        comparison.plan.seed
    )
}

fn cpus(words: &Words<'_>) -> String {
    let list = |cpus: &[u32]| {
        cpus.iter()
            .map(u32::to_string)
            .collect::<Vec<String>>()
            .join(",")
    };
    match &words.comparison.split {
        Some(split) if split.is_one() => format!(
            "servers and generator together on {} in short slices: throughput and latency are those of both",
            list(&split.servers)
        ),
        Some(split) => format!(
            "servers on {}, generator on {}",
            list(&split.servers),
            list(&split.generator)
        ),
        None => "servers and generator share all: throughput is that of both together".to_owned(),
    }
}

/// What other programs and the hypervisor took in the mean.
fn taken(words: &Words<'_>) -> String {
    let share = |share: Option<f64>| share.map_or("not known".to_owned(), percent);
    let (foreign, steal) = (share(words.answers.foreign), share(words.answers.steal));
    format!("other programs {foreign}, hypervisor {steal}")
}

/// The signed-rank intervals that differ from Student's.
fn signed_ranks(words: &Words<'_>) -> Vec<Row> {
    let row = |figure: &FigureAnswers, versus: &Versus| {
        let ratio = versus.ratio?;
        let ends = words::ends(&ratio, ratio.signed_rank?);
        let what = what(
            words,
            words::figure_name(figure.figure),
            words.place_of(figure),
            versus,
        );
        Some(Row::new(
            "signed rank",
            vec![Item::plain(format!("{what}: {ends}"))],
        ))
    };
    let figures = words.answers.figures.iter();
    let rows = figures.flat_map(|figure| {
        figure
            .against_first
            .iter()
            .map(move |versus| row(figure, versus))
    });
    rows.flatten().collect()
}

/// How much the ratios of the figure that decides scatter.
fn scatter(words: &Words<'_>) -> Vec<Row> {
    let Some(figure) = words.answers.deciding() else {
        return Vec::new();
    };
    let row = |versus: &Versus| {
        let scatter = versus.scatter?;
        let name = words::figure_name(figure.figure);
        let what = what(words, name, words.place_of(figure), versus);
        let [pair, start] = [scatter.pair, scatter.start].map(percent);
        let text = format!("{what}: {pair} from slice to slice, {start} by a fresh start");
        Some(Row::new("scatter", vec![Item::plain(text)]))
    };
    figure.against_first.iter().filter_map(row).collect()
}

/// The generator's CPU per request with each server, and the server's less the generator's.
fn controls(words: &Words<'_>) -> Vec<Row> {
    let is_told = |control: &&Control| control.less_generator.said != Said::Void;
    let controls = words.answers.controls.iter().filter(is_told);
    controls
        .flat_map(|control| {
            let blocks = &words.comparison.plan.blocks;
            let place = (blocks.len() > 1).then(|| table::short(&blocks[control.block]));
            let shown = |label: &str, name: &str, versus: &Versus, note: &str| {
                let ratio = versus.ratio?;
                let what = what(words, name, place.clone(), versus);
                let text = format!(
                    "{what}: {} ({}){note}",
                    words::ratio(&ratio),
                    words::interval(&ratio)
                );
                Some(Row::new(label, vec![Item::plain(text)]))
            };
            let note = match control.is_valid {
                true => "",
                false => "; not valid: the generator's own may differ by more than 1 %",
            };
            [
                shown("generator", "its CPU per request", &control.generator, ""),
                shown(
                    "control",
                    "CPU per request less the generator's",
                    &control.less_generator,
                    note,
                ),
            ]
        })
        .flatten()
        .collect()
}

/// `p50 latency at c = 64, b / a`.
fn what(words: &Words<'_>, name: &str, place: Option<String>, versus: &Versus) -> String {
    let place = place.map_or(String::new(), |place| format!(" at {place}"));
    {
        let [server, base] =
            [versus.server, versus.base].map(|it| shortened(words.name(it), LINE_NAME_MOST));
        format!("{name}{place}, {server} / {base}")
    }
}
