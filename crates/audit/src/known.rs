//! What is known of a figure of a point, by the figure's name: for requirements, and for scripts that ask for one value.

use figures::{Figures, Part, Selected, Unit, Value};
use record::{Effect, Exit, Figure as Class, Finding, Run, Statistic};
use stats::Interval;
use std::fmt;
use thiserror::Error;
use units::{count, percent};

/// A name that is no figure's.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("no figure is called `{name}`; {}", match .near {
    Some(near) => format!("did you mean `{near}`?"),
    None => "docs/columns.md lists the names".to_owned(),
})]
pub struct UnknownFigure {
    name: String,
    near: Option<String>,
}

/// Returns the figure called `name`; kinds of errors also without `errors.` before them.
///
/// # Errors
/// [`UnknownFigure`] with a name that is much like it, if there is one.
pub fn figure(name: &str) -> Result<Selected, UnknownFigure> {
    let found = figures::find(name).or_else(|| figures::find(&format!("errors.{name}")));
    found.ok_or_else(|| {
        let like = |known: String| (strsim::jaro_winkler(&known, name), known);
        let nearest = figures::names()
            .map(like)
            .max_by(|(a, _), (b, _)| a.total_cmp(b));
        let near = nearest.filter(|(likeness, _)| *likeness > 0.8);
        UnknownFigure {
            name: name.to_owned(),
            near: near.map(|(_, known)| known),
        }
    })
}

/// Returns the value of the figure called `name` of a run with one point, as programs write it.
///
/// # Errors
/// The exit status and its reason: 2 where there is no such figure or several points, 3 where the figure is missing, void
/// or only a lower bound.
pub fn value(run: &Run, name: &str) -> Result<String, Exit> {
    let figure = figure(name).map_err(|error| Exit::new(Exit::COULD_NOT, error.to_string()))?;
    if run.points.len() > 1 {
        let points = run.points.len();
        let why = format!(
            "the record has {points} points, each with its own {name}; --format csv has them all"
        );
        return Err(Exit::new(Exit::COULD_NOT, why));
    }
    let unknown = |why| Exit::new(Exit::CANNOT_TELL, why);
    let known = Known::of(run, 0, name, figure).map_err(unknown)?;
    match known.basis {
        Basis::AtLeast(_) => Err(unknown(known.to_string())),
        _ => Ok(figure.figure.unit.written(&known.value)),
    }
}

/// A figure of a point that has a value.
#[derive(Debug)]
pub(crate) struct Known<'a> {
    name: &'a str,
    figure: Selected,
    value: Value,
    pub(crate) basis: Basis<'a>,
    /// All requests that count for it.
    pub(crate) requests: u64,
    /// Whether coordinated omission makes a percentile too small.
    is_affected: bool,
}

/// What decides about a figure.
#[derive(Debug)]
pub(crate) enum Basis<'a> {
    /// Its value, which was counted.
    Counted,
    /// Its 95 % interval.
    Interval(Interval),
    /// Its value, which has no interval for this reason.
    Alone(&'static str),
    /// Its value, at or above which the true one lies for this reason.
    AtLeast(&'a str),
}

impl<'a> Known<'a> {
    /// Returns what is known of `figure`, which the user calls `name`, at the point with index `index`; or why it has no
    /// value that means anything.
    pub(crate) fn of(
        run: &'a Run,
        index: usize,
        name: &'a str,
        figure: Selected,
    ) -> Result<Known<'a>, String> {
        let of = Figures::of(run, index).ok_or("no round is complete")?;
        let effect = worst(&of, figure.figure.class);
        if let Some((Effect::Void, finding)) = effect {
            return Err(format!("{name} {} void: {}", is(name), finding.sentence));
        }
        let value = figure
            .value(&of)
            .ok_or_else(|| format!("{name} {}", figure.missing(&of)))?;
        Ok(Known {
            name,
            figure,
            value,
            basis: Basis::of(&figure, &of, effect),
            requests: match figure
                .request
                .and_then(|index| of.summary.by_request.get(index))
            {
                Some(one) => one.requests,
                None => of.summary.requests,
            },
            is_affected: matches!(figure.part, Part::Statistic(Statistic::At(p)) if figure.figure.name.starts_with("latency") && of.is_affected(p)),
        })
    }

    /// Returns the value as a number; none of words.
    pub(crate) fn number(&self) -> Option<f64> {
        self.value.number()
    }

    fn shown(&self, value: f64) -> String {
        match self.figure.figure.unit {
            Unit::Count => count(value as u64),
            unit => unit.shown(&Value::Number(value)),
        }
    }
}

impl fmt::Display for Known<'_> {
    /// Writes `p99 is 3.10 ms to 3.40 ms (95 % interval over 5 rounds)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.figure.figure.unit.shown(&self.value);
        write!(f, "{} {} ", self.name, is(self.name))?;
        match &self.basis {
            Basis::Counted if is_of_requests(&self.figure) => {
                let share = self.number().unwrap_or_default() / self.requests.max(1) as f64;
                write!(
                    f,
                    "{value} of {} requests ({})",
                    count(self.requests),
                    percent(share)
                )
            }
            Basis::Counted => f.write_str(&value),
            Basis::Interval(Interval { low, high, n, .. }) => {
                let (low, high) = (self.shown(*low), self.shown(*high));
                write!(f, "{low} to {high} (95 % interval over {n} rounds)")
            }
            Basis::Alone(why) => write!(f, "{value} (no interval: {why})"),
            Basis::AtLeast(why) => write!(f, "at least {value} ({why})"),
        }?;
        match self.is_affected {
            true => f.write_str(", affected by coordinated omission"),
            false => Ok(()),
        }
    }
}

fn is(name: &str) -> &'static str {
    if name.starts_with("errors") || name.ends_with(".errors") {
        "are"
    } else {
        "is"
    }
}

impl<'a> Basis<'a> {
    fn of(figure: &Selected, of: &Figures<'_>, effect: Option<(Effect, &'a Finding)>) -> Basis<'a> {
        if let Some((Effect::LowerBound, finding)) = effect {
            return Basis::AtLeast(&finding.sentence);
        }
        if figure.is_at_least(of) {
            return Basis::AtLeast("a lower bound");
        }
        let is_counted = match figure.figure.unit {
            Unit::Count => true,
            Unit::Bytes | Unit::Share => figure.figure.class == Some(Class::Counts),
            _ => false,
        };
        if is_counted && !figure.figure.repeats {
            return Basis::Counted;
        }
        match figure.interval(of) {
            Some(interval) => Basis::Interval(interval),
            None if !figure.figure.repeats => Basis::Alone("it is one figure of all rounds"),
            None if of.rounds.len() < 3 => Basis::Alone("fewer than three complete rounds"),
            None => Basis::Alone("not every round has one"),
        }
    }
}

/// Returns the strongest effect of a finding about the point on figures of `class`, with the finding.
fn worst<'a>(of: &Figures<'a>, class: Option<Class>) -> Option<(Effect, &'a Finding)> {
    let class = class?;
    let each = of
        .findings()
        .filter_map(|finding| Some((finding.effects.on(class)?, finding)));
    each.max_by_key(|(effect, _)| *effect)
}

/// Whether the figure counts some of all requests, so that its bound may be a share of them.
pub(crate) fn is_of_requests(figure: &Selected) -> bool {
    let name = figure.figure.name;
    [
        "errors.",
        "status.",
        "ok",
        "censored",
        "carried_over",
        "never_sent",
    ]
    .iter()
    .any(|part| name.starts_with(part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{busy_server, busy_thread, healthy};
    use crate::judge;
    use units::Nanos;

    fn planned(run: &Run, name: &str) -> Result<String, (u8, String)> {
        let mut run = run.clone();
        run.summarise();
        run.findings = judge(&run);
        value(&run, name).map_err(|exit| (exit.status, exit.why))
    }

    #[test]
    fn a_value_is_written_for_programs() {
        let run = healthy();
        assert_eq!(planned(&run, "errors"), Ok("0".to_owned()));
        assert_eq!(planned(&run, "latency_us.max"), Ok("199.000".to_owned()));
        assert_eq!(planned(&run, "rps.mean"), Ok("10002.000".to_owned()));
    }

    #[test]
    fn what_means_nothing_is_no_value() {
        let mut run = healthy();
        let wanted = "no figure is called `latency_us.p`; did you mean `latency_us.p99`?";
        assert_eq!(planned(&run, "latency_us.p"), Err((2, wanted.to_owned())));
        let wanted = "no figure is called `speed`; docs/columns.md lists the names";
        assert_eq!(planned(&run, "speed"), Err((2, wanted.to_owned())));
        let wanted = "p99.999 takes 1,000,000 requests, and there are 50,000";
        assert_eq!(planned(&run, "p99.999"), Err((3, wanted.to_owned())));
        for round in &mut run.points[0].rounds {
            round.threads = vec![busy_thread(0.99)];
            round.footprint = Some(busy_server(0.20));
        }
        let (status, why) = planned(&run, "rps").unwrap_err();
        assert_eq!(
            (status, why.starts_with("rps is at least 10,002 (")),
            (3, true),
            "{why}"
        );
        run.points[0].rounds[0].suspended = Nanos::from_secs(1);
        let (status, why) = planned(&run, "rps").unwrap_err();
        assert_eq!(
            (status, why.starts_with("rps is void: ")),
            (3, true),
            "{why}"
        );
        run.points.push(run.points[0].clone());
        let wanted = "the record has 2 points, each with its own rps; --format csv has them all";
        assert_eq!(planned(&run, "rps"), Err((2, wanted.to_owned())));
    }
}
