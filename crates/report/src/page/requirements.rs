//! What was required of the result, and whether it is met.

use super::{Column, Role, Span, Table};
use crate::phrase::clean;
use record::{Compliance, Judged, Run};
use units::number;

/// The most requirements that are listed; a sweep has each at every point.
const MOST: usize = 12;
/// The longest sentence that is shown whole.
const LONGEST: usize = 1000;

/// Returns a row for each requirement, those that are not met first. Errors within what is allowed by default go without
/// saying.
pub(super) fn table(run: &Run) -> Table {
    let implied = run.plan.required().into_iter().next();
    let implied = implied.filter(|first| !run.plan.requirements.contains(first));
    let implied = implied
        .filter(|first| first.limits_errors())
        .map(|first| first.to_string());
    let is_silent = |judged: &&Judged| {
        judged.verdict == Compliance::Met && implied.as_ref() == Some(&judged.text)
    };
    let mut shown: Vec<&Judged> = run
        .requirements
        .iter()
        .filter(|each| !is_silent(each))
        .collect();
    shown.sort_by_key(|each| match each.verdict {
        Compliance::NotMet => 0,
        Compliance::CannotTell => 1,
        Compliance::Met => 2,
    });
    let more = shown.len().saturating_sub(MOST);
    shown.truncate(MOST);
    Table {
        columns: ["required", "verdict", "why"].map(Column::text).to_vec(),
        rows: shown.into_iter().map(row).collect(),
        rest: (more > 0).then(|| format!("and {}", number(more as u64, "other"))),
    }
}

fn row(judged: &Judged) -> Vec<Span> {
    let role = match judged.verdict {
        Compliance::Met => Role::Strong,
        Compliance::NotMet => Role::Wrong,
        Compliance::CannotTell => Role::Warning,
    };
    vec![
        Span::new(Role::Plain, judged.text.as_str()),
        Span::new(role, judged.verdict.to_string()),
        Span::new(Role::Dim, clean(&judged.sentence, LONGEST)),
    ]
}
