//! One comparison by `weigh compare`, and what it printed.

use super::case::Case;
use super::{Compared, Outcome, Ratio};
use crate::programs::last_words;
use crate::serving::site::Site;
use crate::serving::to_end;
use anyhow::{Context, Result, bail};
use kernel::signals;
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use units::Nanos;

/// How long a comparison may take beyond the time that it was given: at least three starts of servers that are slow.
const LIMIT: Duration = Duration::from_secs(600);
/// Pause between two looks whether it has ended: so long that looking takes no CPU.
const LOOK: Duration = Duration::from_millis(50);

/// How all comparisons are carried out.
pub struct How {
    /// The program weigh.
    pub program: PathBuf,
    /// The time of each comparison; none: what weigh takes by itself.
    pub time: Option<Nanos>,
}

/// What `weigh compare --json` prints, as far as it is needed.
#[derive(Debug, Deserialize)]
struct Printed {
    headlines: Vec<String>,
    answers: Answers,
}

#[derive(Debug, Deserialize)]
struct Answers {
    decides: Option<usize>,
    foreign: Option<f64>,
    figures: Vec<Figure>,
}

#[derive(Debug, Deserialize)]
struct Figure {
    figure: String,
    values: Vec<Option<f64>>,
    against_first: Vec<Versus>,
}

#[derive(Debug, Deserialize)]
struct Versus {
    starts: u32,
    ratio: Option<Ratio>,
    detectable: Option<f64>,
    said: String,
}

impl How {
    /// The command of the comparison of servers with these commands, whose files go to `home`.
    pub fn command(&self, case: &Case, [a, b]: &[String; 2], home: &Path) -> Vec<String> {
        let mut words = vec![self.program.display().to_string(), "compare".into()];
        words.extend([format!("a={a}"), format!("b={b}")]);
        words.extend(["--path".into(), case.path.clone()]);
        words.extend(["--json", "--quiet", "--output"].map(str::to_owned));
        words.push(home.join("record.json").display().to_string());
        if case.unequal {
            words.push("--unequal".into());
        }
        if let Some(time) = self.time {
            words.extend(["--time".into(), format!("{}ns", time.as_nanos())]);
        }
        words
    }

    /// Compares servers with these commands once.
    ///
    /// # Errors
    /// weigh could not be started, or this chore was interrupted.
    pub fn compare(&self, case: &Case, sides: &[String; 2], site: &mut Site) -> Result<Outcome> {
        let home = site.home()?;
        let words = home.join("words");
        let limit = LIMIT + self.time.unwrap_or_default().to_std();
        let command = self.command(case, sides, &home);
        let ended = to_end(&command, &words, limit, LOOK, uninterrupted)?;
        let is_done = ended.is_some_and(|status| status.success());
        let text = fs::read_to_string(&words)?;
        let printed = text.lines().rfind(|line| line.starts_with('{'));
        Ok(match (is_done, printed) {
            (true, Some(printed)) => Outcome::Compared(compared(printed)?),
            _ => Outcome::Failed(last_words(&words)),
        })
    }
}

/// Fails when this chore is asked to end.
///
/// # Errors
/// It is.
pub fn uninterrupted() -> Result<()> {
    if signals::interrupts().raised() {
        bail!("interrupted; what is complete is in the journal, and the same command goes on");
    }
    Ok(())
}

/// Reads what was printed of two servers.
fn compared(text: &str) -> Result<Compared> {
    let printed: Printed =
        serde_json::from_str(text).context("weigh compare printed something else than a record")?;
    let headline = printed.headlines.into_iter().next().unwrap_or_default();
    let figures = &printed.answers.figures;
    let figure = printed.answers.decides.and_then(|place| figures.get(place));
    let versus = figure.and_then(|figure| figure.against_first.first());
    let cost = figure.filter(|figure| figure.figure == "cpu_per_request");
    Ok(Compared {
        headline,
        figure: figure
            .map(|figure| figure.figure.clone())
            .unwrap_or_default(),
        said: versus.map(|versus| versus.said.clone()).unwrap_or_default(),
        starts: versus.map_or(0, |versus| versus.starts),
        cost_us: cost.and_then(|figure| *figure.values.first()?),
        ratio: versus.and_then(|versus| versus.ratio),
        detectable: versus.and_then(|versus| versus.detectable),
        foreign: printed.answers.foreign,
        planted: None,
        beside: None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::case::CASES;
    use super::*;

    #[test]
    fn what_is_printed_of_the_figure_that_decides_is_read() {
        let text = r#"{"weigh": "0.2.0", "headlines": ["b uses 2.3 % more CPU per request than a"], "answers": {"decides": 1, "foreign": 0.07,
            "figures": [{"figure": "p50", "values": [1.5, null], "against_first": [{"starts": 7, "ratio": null, "detectable": null, "said": "void"}]},
            {"figure": "cpu_per_request", "values": [27.5, 28.1, 5.9], "against_first": [{"server": 1, "starts": 7, "detectable": 0.011, "said": "more",
            "ratio": {"centre": 1.023, "low": 1.021, "high": 1.025, "sd": 0.002, "signed_rank": null}}]}]}}"#;
        let found = compared(text).unwrap();
        let ratio = found.ratio.unwrap();
        assert_eq!((ratio.centre, ratio.low, ratio.high), (1.023, 1.021, 1.025));
        assert_eq!((found.starts, found.detectable), (7, Some(0.011)));
        assert_eq!(found.cost_us, Some(27.5));
        assert_eq!(found.foreign, Some(0.07));
        assert_eq!((&*found.figure, &*found.said), ("cpu_per_request", "more"));
        assert_eq!(found.headline, "b uses 2.3 % more CPU per request than a");
        assert!(compared(r#"{"weigh": "0.2.0"}"#).is_err());
    }

    #[test]
    fn a_comparison_of_which_nothing_is_known_has_no_ratio() {
        let text = r#"{"headlines": [], "answers": {"decides": null, "figures": []}}"#;
        let found = compared(text).unwrap();
        assert_eq!((found.ratio, found.starts, &*found.said), (None, 0, ""));
    }

    #[test]
    fn the_command_has_what_the_case_and_the_chore_say() {
        let case = CASES.iter().find(|case| case.name == "log").unwrap();
        let sides = ["one {port}", "two {port}"].map(str::to_owned);
        let mut how = How {
            program: "/opt/weigh".into(),
            time: None,
        };
        let words = |how: &How| how.command(case, &sides, Path::new("/h")).join(" ");
        let wanted = "/opt/weigh compare a=one {port} b=two {port} --path /file.html --json --quiet --output /h/record.json \
                      --unequal";
        assert_eq!(words(&how), wanted);
        how.time = Some(Nanos::from_secs(5));
        assert_eq!(words(&how), format!("{wanted} --time 5000000000ns"));
    }
}
