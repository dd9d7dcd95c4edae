//! A comparison in every format. What follows from it is [`record::Answers`]; here it is put into words and laid out.
//!
//! ```
//! let comparison = record::example::two_percent();
//! let text = report::comparison::text(&comparison, &report::Look::default());
//! assert!(text.starts_with("b uses 2."), "{text}");
//! ```

use crate::page::comparison::words::{Words, unit};
use crate::page::comparison::{conditions_page, page};
use crate::text::render;
use crate::{Look, csv, markdown};
use figures::{Unit, Value};
use plan::{Deciding, Load};
use record::{Answers, Comparison, FigureAnswers, Handshakes, Rating, Said, Versus};
use serde::Serialize;
use stats::Histogram;

pub use crate::chart::compared as chart;

/// Returns the page as text.
pub fn text(comparison: &Comparison, look: &Look) -> String {
    render(
        &page(
            comparison,
            look.detail,
            if look.is_wide { usize::MAX } else { look.width },
        ),
        look,
    )
}

/// Returns the lines about the conditions of the servers, and about those that are not compared, as text.
pub fn conditions(comparison: &Comparison, look: &Look) -> String {
    render(&conditions_page(comparison), look)
}

/// Returns the page as Markdown, for a pull request or the summary of a job.
pub fn markdown(comparison: &Comparison, look: &Look) -> String {
    markdown::comparison(&page(comparison, look.detail, usize::MAX))
}

/// Returns the first lines without their intervals: what the figure that decides says of each other server.
pub fn headlines(comparison: &Comparison) -> Vec<String> {
    let answers = Answers::of(comparison);
    let lines = Words::of(comparison, &answers).headlines();
    lines.into_iter().map(|(sentence, _)| sentence).collect()
}

/// Returns whether a server is worse than the first by more than is allowed, as a sentence; none where that is not asked.
pub fn regression(comparison: &Comparison) -> Option<String> {
    let answers = Answers::of(comparison);
    let regressed = answers.regression?;
    Some(Words::of(comparison, &answers).regression(regressed))
}

/// The record, and what follows from it.
#[derive(Serialize)]
struct Answered<'a> {
    #[serde(flatten)]
    comparison: &'a Comparison,
    /// The first lines.
    headlines: Vec<String>,
    answers: Answers,
    /// The TLS handshakes of each server, of all starts together; none of one without https.
    handshakes: Vec<Option<Handshakes>>,
}

/// Returns the record on one line as it is saved, with `headlines`, `answers` and `handshakes` beside its own fields, so that it can
/// still be read as a record.
pub fn json(comparison: &Comparison, _: &Look) -> String {
    let answered = Answered {
        comparison,
        headlines: headlines(comparison),
        answers: Answers::of(comparison),
        handshakes: (0..comparison.plan.servers.len())
            .map(|server| comparison.handshakes(server))
            .collect(),
    };
    let text = serde_json::to_string(&answered).expect("a comparison is always JSON");
    text + "\n"
}

/// A column of the table: its name, and what is in it.
type Column = (&'static str, fn(&Row<'_>) -> String);

/// One figure of one server in one block.
struct Row<'a> {
    comparison: &'a Comparison,
    answers: &'a Answers,
    figure: &'a FigureAnswers,
    server: usize,
    versus: Option<&'a Versus>,
}

/// The columns.
const COLUMNS: &[Column] = &[
    ("figure", |row| row.figure.figure.name().to_owned()),
    ("unit", |row| {
        match row.figure.figure {
            Deciding::CpuPerRequest | Deciding::P50 => "us",
            Deciding::Throughput => "1/s",
            Deciding::Memory => "bytes",
        }
        .to_owned()
    }),
    ("block", |row| {
        row.figure
            .block
            .map_or(String::new(), |block| block.to_string())
    }),
    ("connections", |row| {
        row.load()
            .map_or(String::new(), |load| load.connections().to_string())
    }),
    ("rate", |row| match row.load() {
        Some(Load::Open { rate, .. }) => rate.as_f64().to_string(),
        _ => String::new(),
    }),
    ("decides", |row| {
        let decides = row
            .answers
            .deciding()
            .is_some_and(|figure| std::ptr::eq(figure, row.figure));
        u8::from(decides).to_string()
    }),
    ("server", |row| {
        row.comparison.plan.servers[row.server].name.clone()
    }),
    ("value", |row| {
        let value = row.figure.values[row.server];
        let unit = match unit(row.figure.figure) {
            Unit::Bytes => Unit::PerSecond, // a mean is no whole number
            unit => unit,
        };
        value.map_or(String::new(), |value| unit.written(&Value::Number(value)))
    }),
    ("base", |row| {
        let base = row
            .versus
            .map(|versus| row.comparison.plan.servers[versus.base].name.clone());
        base.unwrap_or_default()
    }),
    ("starts", |row| {
        row.of(|versus| Some(versus.starts.to_string()))
    }),
    ("ratio", |row| {
        row.of(|versus| Some(six(versus.ratio?.centre)))
    }),
    ("ratio_low", |row| {
        row.of(|versus| Some(six(versus.ratio?.low)))
    }),
    ("ratio_high", |row| {
        row.of(|versus| Some(six(versus.ratio?.high)))
    }),
    ("confidence", |row| {
        row.of(|versus| versus.ratio.map(|_| six(row.answers.confidence)))
    }),
    ("signed_rank_low", |row| {
        row.of(|versus| Some(six(versus.ratio?.signed_rank?.0)))
    }),
    ("signed_rank_high", |row| {
        row.of(|versus| Some(six(versus.ratio?.signed_rank?.1)))
    }),
    ("detectable", |row| {
        row.of(|versus| Some(six(versus.detectable?)))
    }),
    ("answer", |row| {
        row.of(|versus| Some(said(versus.said).to_owned()))
    }),
    ("largest", |row| row.of(|versus| Some(six(versus.largest?)))),
    ("rating", |row| {
        row.of(|versus| {
            let rating = match versus.rating {
                Rating::Better => "better",
                Rating::Worse => "worse",
                Rating::NoneShown => "none_shown",
            };
            Some(rating.to_owned())
        })
    }),
    ("handshakes_full", |row| {
        row.handshakes(|all| Some(all.full.count().to_string()))
    }),
    ("handshakes_resumed", |row| {
        row.handshakes(|all| Some(all.resumed.count().to_string()))
    }),
    ("handshake_p50_us", |row| {
        row.handshakes(|all| median_us(&all.full))
    }),
    ("handshake_resumed_p50_us", |row| {
        row.handshakes(|all| median_us(&all.resumed))
    }),
    ("handshakes_agreed", |row| {
        row.handshakes(|all| Some(all.agreed_on()))
    }),
];

/// The median in microseconds; none of too few.
fn median_us(times: &Histogram) -> Option<String> {
    let median = times.quantile_if_carried(0.5)?;
    Some(Unit::Micros.written(&Value::Number(median as f64 / 1e3)))
}

impl Row<'_> {
    /// What is known of the server's TLS handshakes; empty without https.
    fn handshakes(&self, show: fn(&Handshakes) -> Option<String>) -> String {
        let handshakes = self.comparison.handshakes(self.server);
        handshakes.as_ref().and_then(show).unwrap_or_default()
    }

    fn load(&self) -> Option<Load> {
        Some(self.comparison.plan.blocks[self.figure.block?].load)
    }

    /// What is known beside the server that it is compared with; empty where there is none.
    fn of(&self, show: impl Fn(&Versus) -> Option<String>) -> String {
        self.versus.and_then(show).unwrap_or_default()
    }
}

fn six(number: f64) -> String {
    format!("{number:.6}")
}

fn said(said: Said) -> &'static str {
    match said {
        Said::More => "more",
        Said::Less => "less",
        Said::NoLargerDifference => "no_larger_difference",
        Said::CannotTell => "cannot_tell",
        Said::TooFewStarts => "too_few_starts",
        Said::NotMeasured => "not_measured",
        Said::Void => "void",
    }
}

/// Returns a row for each figure of each server in each block, with a header row. A server under a second name has the one that it
/// repeats as its base.
pub fn csv(comparison: &Comparison, _: &Look) -> String {
    let answers = Answers::of(comparison);
    let mut text = csv::line(COLUMNS.iter().map(|(name, _)| (*name).to_owned()));
    for figure in &answers.figures {
        for server in 0..comparison.plan.servers.len() {
            let mut all = figure.against_first.iter().chain(&figure.bias);
            let row = Row {
                comparison,
                answers: &answers,
                figure,
                server,
                versus: all.find(|versus| versus.server == server),
            };
            text.push_str(&csv::line(COLUMNS.iter().map(|(_, show)| show(&row))));
        }
    }
    text
}
