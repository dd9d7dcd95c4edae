//! All runs of one case, and what they come to.

use super::case::{Case, FIGURES, Nature};
use super::judge::{BOUND_OF_PACKETS, Cell, cells, order};
use super::lindley::Queue;
use super::samples::Samples;
use super::sending::Sending;
use super::tls::Encrypted;
use super::trial::Trial;

/// All runs of a case.
#[derive(Debug)]
pub struct Outcome {
    /// Which.
    pub case: &'static Case,
    /// In the order in which they ran.
    pub trials: Vec<Trial>,
    /// Over TLS: what that takes; none without.
    pub encrypted: Option<Encrypted>,
}

/// What one tool's runs come to, in the order of [`super::case::FIGURES`].
pub type Row = [Option<Cell>; 5];

impl Outcome {
    /// The runs of one tool.
    pub fn of(&self, tool: &str) -> impl Iterator<Item = &Trial> {
        self.trials.iter().filter(move |trial| trial.tool == tool)
    }

    /// The names of the tools, weigh's first, which is the first in each round.
    pub fn tools(&self) -> impl Iterator<Item = &'static str> {
        let first = self.trials.iter().filter(|trial| trial.round == 0);
        first.map(|trial| trial.tool)
    }

    /// The cells of a tool's deciding run. An overload has none.
    pub fn row(&self, tool: &str) -> Row {
        match self.deciding(tool) {
            Some(trial) if self.case.nature != Nature::Overload => {
                let allowance = self.encrypted.as_ref().map(Encrypted::allowance);
                let allowance = allowance.unwrap_or_default();
                let cells = cells_of(trial, &trial.truth);
                cells.map(|cell| Some(Cell { allowance, ..cell }))
            }
            _ => [None; 5],
        }
    }

    /// The same run against packets; none where they were not looked at.
    pub fn row_by_packets(&self, tool: &str) -> Option<Row> {
        let trial = self.deciding(tool)?;
        let packets = trial.packets.as_ref()?;
        Some(cells_of(trial, packets).map(Some))
    }

    /// The run in the middle; of an even number the worse of the two in the middle.
    fn deciding(&self, tool: &str) -> Option<&Trial> {
        let mut trials: Vec<&Trial> = self.of(tool).collect();
        trials.sort_by_key(|trial| order(&cells_of(trial, &trial.truth)));
        trials.get(trials.len() / 2).copied()
    }

    /// What is wrong with weigh's runs: a figure is outside its bound, an exchange was lost or said twice in any of them, or
    /// most were sent otherwise than they were due.
    pub fn wrongs(&self) -> Vec<String> {
        let mut wrongs = Vec::new();
        for (figure, cell) in self.row("weigh").iter().enumerate() {
            if cell.is_some_and(|cell| cell.is_outside(figure)) {
                wrongs.push(format!("{} is outside its bound", FIGURES[figure]));
            }
        }
        let packets = self.row_by_packets("weigh");
        let error = packets.and_then(|row| row[0]?.error());
        if error.is_some_and(|error| error.unsigned_abs() > BOUND_OF_PACKETS.as_nanos()) {
            wrongs.push("p50 is outside its bound by packets".to_owned());
        }
        if self.case.packets && packets.is_none() && self.encrypted.is_none() {
            wrongs.push("its packets were not looked at; is tcpdump installed?".to_owned());
        }
        // No disturbance explains a wrong count: once is too often.
        wrongs.extend(self.of("weigh").flat_map(|trial| trial.wrongs.clone()));
        wrongs.extend(self.frequent());
        wrongs.extend(self.encrypted.iter().flat_map(Encrypted::wrongs));
        wrongs
    }

    /// What is wrong in most of weigh's runs with when requests were sent, as the last of them has it.
    fn frequent(&self) -> Vec<String> {
        let runs: Vec<Vec<String>> = self.of("weigh").map(Trial::ill_sent).collect();
        let mut bad = runs.iter().filter(|wrongs| !wrongs.is_empty());
        let is_frequent = bad.clone().count() * 2 > runs.len();
        let last = bad.next_back().filter(|_| is_frequent);
        last.cloned().unwrap_or_default()
    }
}

/// What a run said, beside `truth`.
fn cells_of(trial: &Trial, truth: &Samples) -> [Cell; 5] {
    cells(
        &truth.percentiles(),
        &trial.reported,
        trial.at_least,
        trial.withheld,
    )
}

impl Trial {
    /// What is wrong with when the requests were sent, which a busy machine can be the reason of.
    fn ill_sent(&self) -> Vec<String> {
        self.sending.iter().flat_map(Sending::wrongs).collect()
    }

    /// All that is wrong with the run beside its figures.
    pub fn all_wrongs(&self) -> Vec<String> {
        [self.wrongs.clone(), self.ill_sent()].concat()
    }

    /// How it was sent, and what went through its queue.
    pub fn notes(&self) -> impl Iterator<Item = String> {
        let sending = self.sending.iter().map(Sending::text);
        sending.chain(self.queue.iter().map(Queue::text))
    }
}

#[cfg(test)]
impl Outcome {
    /// Three runs of weigh's and of a peer's, of samples of 1 to 20,000 µs; weigh is off by so many microseconds, the
    /// peer by twice as many and five.
    pub fn example(case: usize, off_us: u64) -> Outcome {
        use units::Nanos;
        let case = &super::case::CASES[case];
        let trial = |tool: &'static str, round: u32, off_us: u64| {
            let truth: Samples = (1..=20_000).map(Nanos::from_micros).collect();
            let reported = truth.percentiles();
            let reported = reported.map(|span| span.map(|span| span + Nanos::from_micros(off_us)));
            Trial {
                tool,
                round,
                typed: ["weigh serve --truth".to_owned(), format!("{tool} run")],
                packets: case.packets.then(|| truth.clone()),
                truth,
                reported,
                ..Trial::default()
            }
        };
        let trials = (0..3).flat_map(|round| {
            [
                trial("weigh", round, off_us),
                trial("peer", round, off_us * 2 + 5),
            ]
        });
        Outcome {
            case,
            trials: trials.collect(),
            encrypted: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Nanos;

    #[test]
    fn an_error_in_most_runs_is_wrong_and_one_in_a_single_run_is_not() {
        assert_eq!(Outcome::example(0, 39).wrongs(), Vec::<String>::new());
        let far = Outcome::example(0, 3_000).wrongs();
        assert_eq!(far[0], "p50 is outside its bound");
        assert_eq!(far.len(), 4);
        let mut once = Outcome::example(0, 0);
        once.trials[0].reported[0] = Some(Nanos::from_millis(900));
        assert_eq!(once.wrongs(), Vec::<String>::new());
    }

    #[test]
    fn every_figure_of_a_row_is_of_one_run() {
        let mut outcome = Outcome::example(0, 10);
        let micros = Nanos::from_micros;
        let scaled = |by: u64| (1..=20_000).map(|each| micros(each * by)).collect();
        for (trial, by) in outcome.trials.iter_mut().step_by(2).zip([1, 100, 10]) {
            trial.truth = scaled(by);
            let reported = trial.truth.percentiles();
            trial.reported = reported.map(|span| span.map(|span| span + micros(by)));
        }
        // Another run is the middle one at p50 and at the maximum.
        outcome.trials[0].reported[0] = Some(micros(10_050));
        outcome.trials[0].reported[4] = Some(micros(20_050));
        let truth = outcome
            .row("weigh")
            .map(|cell| cell.unwrap().truth.unwrap());
        assert_eq!(truth[0], micros(100_000));
        assert!(truth.is_sorted(), "{truth:?}");
    }

    #[test]
    fn a_wrong_count_in_a_single_run_is_wrong() {
        let mut once = Outcome::example(0, 0);
        once.trials[2].wrongs = vec!["2 came twice".to_owned()];
        assert_eq!(once.wrongs(), ["2 came twice"]);
    }

    #[test]
    fn packets_that_were_not_looked_at_are_no_proof() {
        let mut outcome = Outcome::example(3, 0);
        assert!(outcome.case.packets);
        outcome
            .trials
            .iter_mut()
            .for_each(|trial| trial.packets = None);
        assert!(outcome.wrongs()[0].starts_with("its packets were not looked at"));
    }

    #[test]
    fn packets_have_a_bound_of_their_own_at_the_median() {
        let mut outcome = Outcome::example(3, 15);
        for trial in &mut outcome.trials {
            trial.packets = Some(trial.truth.clone());
        }
        assert_eq!(outcome.wrongs(), Vec::<String>::new());
        let mut outcome = Outcome::example(3, 16);
        for trial in &mut outcome.trials {
            trial.packets = Some(trial.truth.clone());
        }
        assert_eq!(outcome.wrongs(), ["p50 is outside its bound by packets"]);
        assert!(outcome.tools().eq(["weigh", "peer"]));
    }

    #[test]
    fn an_overload_has_no_figures_to_be_wrong() {
        let place = super::super::case::CASES
            .iter()
            .position(|case| case.nature == Nature::Overload);
        let outcome = Outcome::example(place.unwrap(), 9_000);
        assert_eq!(outcome.row("weigh"), [None; 5]);
        assert_eq!(outcome.wrongs(), Vec::<String>::new());
    }
}
