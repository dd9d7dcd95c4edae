//! The table of cases: how often a difference was reported, and what could have been.

use super::case::{CASES, Case};
use super::page::NONE;
use super::{Compared, Outcome, Row};
use crate::binomial::share;
use crate::columns::markdown;
use std::collections::BTreeSet;
use units::Nanos;

/// The rows of a case.
pub fn of_case<'a>(rows: &[&'a Row], case: &Case) -> Vec<&'a Row> {
    let of = rows.iter().filter(|row| row.case == case.name);
    of.copied().collect()
}

/// The comparisons of a case that were carried out.
pub fn compared<'a>(rows: &[&'a Row], case: &Case) -> Vec<&'a Compared> {
    let compared = |row: &'a Row| match &row.outcome {
        Outcome::Compared(compared) => Some(compared),
        _ => None,
    };
    of_case(rows, case)
        .into_iter()
        .filter_map(compared)
        .collect()
}

/// The cases that are comparisons to their end.
pub fn cases() -> impl Iterator<Item = &'static Case> {
    CASES.iter().filter(|case| case.kills.is_none())
}

/// The table: a row for each case.
pub fn comparisons(rows: &[&Row]) -> String {
    let head = [
        "case",
        "b has and a has not",
        "planted",
        "comparisons",
        "difference reported",
        "in the right direction",
        "interval holds what was planted",
        "can detect: median (range)",
        "b / a: median",
    ];
    let table = markdown(&head, cases().map(|case| cells(case, rows)));
    table.trim_end().to_owned()
}

/// The table's row of a case.
fn cells(case: &Case, rows: &[&Row]) -> Vec<String> {
    let all = of_case(rows, case).len();
    let done = compared(rows, case);
    let name = vec![
        format!("`{}`", case.name),
        case.differs.clone(),
        planted(case, &done),
    ];
    if done.is_empty() {
        let none = (0..6).map(|cell| if cell == 0 { NONE } else { "" }.to_owned());
        return name.into_iter().chain(none).collect();
    }
    let number = match all - done.len() {
        0 => all.to_string(),
        failed => format!("{} ({failed} more failed)", done.len()),
    };
    let count = |is: &dyn Fn(&Compared) -> bool| {
        let count = done.iter().filter(|compared| is(compared)).count();
        share(count as u32, done.len() as u32)
    };
    let unless = |is: bool, cell: String| if is { cell } else { "-".to_owned() };
    let is_more = case.more || case.planted_on().is_some();
    let ratios = done
        .iter()
        .filter_map(|compared| Some(compared.ratio?.centre));
    let rest = [
        number,
        count(&Compared::differs),
        unless(is_more, count(&|compared| compared.said == MORE)),
        unless(case.planted.is_some(), count(&Compared::holds_planted)),
        range(&effects(&done)).unwrap_or("-".into()),
        stats::median(&ratios.collect::<Vec<f64>>())
            .map_or("-".to_owned(), |median| format!("{median:.4}")),
    ];
    name.into_iter().chain(rest).collect()
}

const MORE: &str = "more";
const LESS: &str = "less";

impl Compared {
    /// Whether the comparison says that b uses more or less, by more than the margin.
    fn differs(&self) -> bool {
        [MORE, LESS].contains(&self.said.as_str())
    }

    /// Whether the interval holds the planted ratio.
    fn holds_planted(&self) -> bool {
        let planted = self.planted.and_then(|planted| planted.ratio);
        let both = self.ratio.zip(planted);
        both.is_some_and(|(ratio, planted)| ratio.holds(planted))
    }
}

/// What is planted in a case: the share, the extra work of its comparisons, and what that was of the cost in each.
fn planted(case: &Case, done: &[&Compared]) -> String {
    let Some(share) = case.planted else {
        return "-".into();
    };
    let extra = done
        .iter()
        .filter_map(|compared| Some(compared.planted?.extra));
    let extra: BTreeSet<Nanos> = extra.filter(|extra| *extra > Nanos::ZERO).collect();
    let (Some(least), Some(most)) = (extra.first(), extra.last()) else {
        return format!("{share} %");
    };
    let ratios = done
        .iter()
        .filter_map(|compared| Some((compared.planted?.ratio? - 1.0) * 100.0));
    let of_it = range(&ratios.collect::<Vec<f64>>()).unwrap_or("not known".into());
    match (least.as_nanos(), most.as_nanos()) {
        (least, most) if least == most => format!("{least} ns: {of_it}"),
        (least, most) => format!("{least} .. {most} ns: {of_it}"),
    }
}

/// What each comparison could detect, in per cent.
fn effects(done: &[&Compared]) -> Vec<f64> {
    let effects = done.iter().filter_map(|compared| compared.detectable);
    effects.map(|share| share * 100.0).collect()
}

/// The median of percentages, and their range; none of none.
pub fn range(values: &[f64]) -> Option<String> {
    let (median, (least, most)) = (stats::median(values)?, stats::min_max(values)?);
    Some(format!("{median:.2} % ({least:.2} .. {most:.2} %)"))
}

/// What each comparison could detect.
pub fn detectable(rows: &[&Row]) -> String {
    let line = |case: &Case| {
        let effects = effects(&compared(rows, case));
        let effects: Vec<String> = effects
            .iter()
            .map(|effect| format!("{effect:.2}"))
            .collect();
        (!effects.is_empty()).then(|| format!("- `{}`: {} %", case.name, effects.join(", ")))
    };
    let lines: Vec<String> = cases().filter_map(line).collect();
    match lines.is_empty() {
        true => String::new(),
        false => format!(
            "The smallest difference that each comparison could detect with a probability of 80 %, in their order:\n\n{}",
            lines.join("\n")
        ),
    }
}
