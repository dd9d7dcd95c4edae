//! `cargo xtask truth --tls`: the cases over TLS, and how far off they may be then.
//!
//! Over TLS the log's instants are those of the bytes inside, so what encrypting and decrypting takes lies between them and
//! weigh's. How much that is follows from no law: it is measured, beside each case, as the difference of p50 with TLS and
//! without, at a tenth of the rate, where nothing queues for it. Both have the same seed, so the same schedule and the same
//! delays: these cancel. Twice the median difference may be added to every bound, because at the case's own rate one
//! request can wait for another's encryption.

use super::case::{Case, FIGURES};
use super::judge::{micros, signed};
use super::outcome::Outcome;
use super::page::{self, Setting, WITHHELD};
use super::table::{self, OUTSIDE};
use super::trial::{Order, Trial};
use crate::columns::markdown;
use crate::cost::series::in_turn;
use anyhow::Result;
use units::Nanos;

/// The page, and how it is made.
pub const COMMAND: &str = "cargo xtask truth --tls";
pub const PAGE: &str = "docs/accuracy-tls.md";
/// The rate of the case, divided by that of the runs that show what TLS takes.
const PART: u64 = 10;
/// The longest of these runs: p50 needs twenty samples.
const SECONDS: u32 = 3;
/// How often the difference may be added to a bound.
const TIMES: u64 = 2;
/// What these runs are called in the raw data.
const NAMES: [&str; 2] = ["weigh, a tenth, plain", "weigh, a tenth, TLS"];

/// What TLS takes in a case, as far as it was looked at.
#[derive(Debug, Default)]
pub struct Encrypted {
    /// By round: the case at a tenth of its rate, without TLS and with it. None of an overload, which has no figures.
    pub pairs: Vec<[Trial; 2]>,
}

impl Order<'_> {
    /// Lets weigh run `case` at a tenth of its rate, without TLS and with it, each first in turn.
    ///
    /// # Errors
    /// As [`Order::weigh`].
    pub fn at_a_tenth(&self, case: &Case) -> Result<[Trial; 2]> {
        let slow = Case {
            rate: case.rate / PART,
            packets: false,
            ..case.clone()
        };
        let run = |tls: bool| {
            let order = Order {
                tls,
                seconds: self.seconds.min(SECONDS),
                ..*self
            };
            let tool = NAMES[usize::from(tls)];
            Ok(Trial {
                tool,
                ..order.weigh(&slow)?
            })
        };
        let plain_first = self.round.is_multiple_of(2);
        let (plain, tls) = in_turn(plain_first, || run(false), || run(true))?;
        Ok([plain, tls])
    }
}

impl Encrypted {
    /// All runs at a tenth of the rate.
    pub fn trials(&self) -> impl Iterator<Item = &Trial> {
        self.pairs.iter().flatten()
    }

    /// By how much more than the plain bounds a figure may be off: twice the median difference of p50, and never less than
    /// nothing.
    pub fn allowance(&self) -> Nanos {
        let nanos = self.difference().unwrap_or(0).max(0);
        Nanos::from_nanos(nanos as u64) * TIMES
    }

    /// The median over the rounds of p50 over TLS less p50 without, in nanoseconds.
    fn difference(&self) -> Option<i64> {
        let of_round = |pair: &[Trial; 2]| {
            let [plain, tls] = pair.each_ref().map(|trial| trial.reported[0]);
            Some(tls?.as_nanos() as f64 - plain?.as_nanos() as f64)
        };
        let all: Vec<f64> = self.pairs.iter().filter_map(of_round).collect();
        stats::median(&all).map(|nanos| nanos as i64)
    }

    /// The median over the rounds of p50 without TLS, or with it.
    fn p50(&self, tls: bool) -> Option<Nanos> {
        let p50s = self
            .pairs
            .iter()
            .map(|pair| pair[usize::from(tls)].reported[0]);
        let p50s: Vec<f64> = p50s.flatten().map(|span| span.as_nanos() as f64).collect();
        stats::median(&p50s).map(|nanos| Nanos::from_nanos(nanos as u64))
    }

    /// What is wrong with the runs at a tenth of the rate: a count, or no p50.
    pub fn wrongs(&self) -> Vec<String> {
        let of_trial = |trial: &Trial| {
            let unknown = trial.reported[0].is_none();
            let unknown = unknown.then(|| "it reports no p50".to_owned());
            let wrongs = trial.wrongs.iter().cloned().chain(unknown);
            let tool = trial.tool;
            let named = wrongs.map(|wrong| format!("{tool}: {wrong}"));
            named.collect::<Vec<String>>()
        };
        self.trials().flat_map(of_trial).collect()
    }

    /// For people; none where there is nothing to tell.
    pub fn text(&self) -> Option<String> {
        let [plain, tls] = [false, true].map(|tls| self.p50(tls).map(micros));
        let (plain, tls, allowance) = (plain?, tls?, micros(self.allowance()));
        let difference = signed(self.difference()?);
        Some(format!(
            "at a tenth of the rate p50 is {plain} µs, over TLS {tls} µs, median difference {difference} µs: the bounds are {allowance} µs wider"
        ))
    }

    /// The cells of the page: p50 at a tenth of the rate, without TLS and with it, and the allowance.
    fn cells(&self) -> [String; 3] {
        let shown = |span: Option<Nanos>| span.map_or("–".to_owned(), micros);
        let is_known = self.difference().is_some();
        let allowance = is_known.then(|| self.allowance());
        [self.p50(false), self.p50(true), allowance].map(shown)
    }
}

/// The whole page.
pub fn text(setting: &Setting, outcomes: &[Outcome]) -> String {
    let parts = [
        introduction(setting),
        figures(outcomes),
        page::wrongs(outcomes),
        page::sending(outcomes),
        page::queues(outcomes),
        page::cases(),
        page::commands(outcomes),
    ];
    parts.join("\n")
}

fn introduction(setting: &Setting) -> String {
    let Setting {
        machine,
        commit,
        priority,
        rounds,
        ..
    } = setting;
    format!(
        "# Accuracy over TLS\n\n\
         Generated by `{COMMAND}`; do not edit. The raw data are in [accuracy/](accuracy/): `runs-tls.tsv` and \
         `samples-tls.tsv`.\n\n\
         ## How it was measured\n\n\
         The cases of [accuracy.md](accuracy.md), which says how the truth is found, with weigh alone: the truth server with \
         `--tls self-signed`, weigh with an https URL and `--insecure`. The log's instants are those of the bytes inside: a \
         request comes when its record is opened, an answer leaves when the socket has taken its record. Packets are not \
         looked at, since nothing can be read in them.\n\n\
         Each case was run {rounds} times, with other seeds; the run with the median error at p99 is shown and decides. In \
         each round it was also run at a tenth of its rate, without TLS and with it, by the same seed, one right after the \
         other. The bounds are those without TLS (2 % or 40 µs, whichever is larger, at p50, p90 and p99; 3 % or 200 µs at \
         p99.9), plus {TIMES} times the median difference of p50 between these two. {OUTSIDE} marks what is outside. {WITHHELD}\n\n\
         - machine: {machine}\n\
         - priority over everything else: {priority}\n\
         - source: {commit}\n"
    )
}

fn figures(outcomes: &[Outcome]) -> String {
    let row = |outcome: &Outcome| {
        let name = format!("`{}`", outcome.case.name);
        let encrypted = outcome.encrypted.as_ref();
        let of_tls = encrypted.map(Encrypted::cells).unwrap_or_default();
        let mut rows = table::rows(outcome);
        [vec![name], rows.swap_remove(0), of_tls.to_vec()].concat()
    };
    let head = [
        &["Case", ""][..],
        &FIGURES,
        &["a tenth: plain p50", "a tenth: TLS p50", "wider by"],
    ];
    format!(
        "## The figures\n\nMicroseconds: the truth, and in brackets by how much weigh is off. Behind them p50 as weigh \
         reports it at a tenth of the rate, medians over the rounds, and by how much the bounds are wider.\n\n{}",
        markdown(&head.concat(), outcomes.iter().map(row))
    )
}

#[cfg(test)]
mod tests {
    use super::super::case::CASES;
    use super::*;

    /// Runs at a tenth of the rate in which p50 is so much, without TLS and with it, in microseconds.
    fn encrypted(p50s: &[[Option<u64>; 2]]) -> Encrypted {
        let trial = |tls: usize, us: Option<u64>| Trial {
            tool: NAMES[tls],
            reported: [us.map(Nanos::from_micros), None, None, None, None],
            ..Trial::default()
        };
        let pair = |[plain, tls]: &[Option<u64>; 2]| [trial(0, *plain), trial(1, *tls)];
        Encrypted {
            pairs: p50s.iter().map(pair).collect(),
        }
    }

    #[test]
    fn twice_the_median_difference_is_allowed_and_never_less_than_nothing() {
        let rounds = [
            [Some(30), Some(50)],
            [Some(40), Some(45)],
            [Some(30), Some(900)],
        ];
        assert_eq!(encrypted(&rounds).allowance(), Nanos::from_micros(40));
        assert_eq!(encrypted(&[[Some(50), Some(30)]]).allowance(), Nanos::ZERO);
        assert_eq!(encrypted(&[]).allowance(), Nanos::ZERO);
    }

    #[test]
    fn an_outcome_over_tls_has_wider_bounds_and_needs_no_packets() {
        let with_tls = |off_us| Outcome {
            encrypted: Some(encrypted(&[[Some(30), Some(50)]])),
            ..Outcome::example(3, off_us)
        };
        let mut wide = with_tls(80);
        for trial in &mut wide.trials {
            trial.packets = None;
            // The bound is 40 µs at each of these.
            trial.truth = (0..20_000).map(|_| Nanos::from_micros(100)).collect();
            trial.reported = [Some(Nanos::from_micros(180)); 5];
        }
        assert_eq!(wide.wrongs(), Vec::<String>::new());
        for trial in &mut wide.trials {
            trial.reported[0] = Some(Nanos::from_micros(181));
        }
        assert_eq!(wide.wrongs(), ["p50 is outside its bound"]);
    }

    #[test]
    fn a_tenth_without_p50_and_a_wrong_count_there_are_wrong() {
        let mut one = encrypted(&[[Some(30), None]]);
        assert_eq!(one.wrongs(), ["weigh, a tenth, TLS: it reports no p50"]);
        one.pairs[0][0].wrongs = vec!["2 came twice".to_owned()];
        assert_eq!(one.wrongs()[0], "weigh, a tenth, plain: 2 came twice");
    }

    fn check(text: &str) -> Result<()> {
        page::check(PAGE, COMMAND, text)
    }

    fn page(off_us: u64) -> String {
        let outcome = |case| Outcome {
            encrypted: Some(encrypted(&[[Some(30), Some(50)]])),
            ..Outcome::example(case, off_us)
        };
        let outcomes: Vec<Outcome> = (0..CASES.len()).map(outcome).collect();
        text(&Setting::example(), &outcomes)
    }

    #[test]
    fn the_page_has_every_case_and_marks_what_is_outside() {
        check(&page(10)).unwrap();
        let text = page(10);
        let row = text
            .lines()
            .find(|line| line.starts_with("| `even-1k` | weigh |"));
        let wanted = "| 20000 (+10.00) | 30.00 | 50.00 | 40.00 |";
        assert!(row.unwrap().ends_with(wanted), "{row:?}");
        let error = check(&page(3_000)).unwrap_err().to_string();
        assert!(error.contains("shows weigh outside its bounds"), "{error}");
        let short = page(10).replace("| `stopped` |", "| `halted` |");
        let error = check(&short).unwrap_err().to_string();
        assert!(error.contains("(missing: stopped)"), "{error}");
    }
}
