//! All runs of one case, and what they come to.

use super::case::{Case, Nature, Percentiles};
use super::judge::{BOUND_OF_PACKETS, Cell, Verdict, cells, deciding};
use super::samples::Samples;
use super::trial::Trial;

/// All runs of a case.
#[derive(Debug)]
pub struct Outcome {
    /// Which.
    pub case: &'static Case,
    /// In the order in which they ran.
    pub trials: Vec<Trial>,
}

/// What one tool's runs come to, in the order of [`super::case::FIGURES`].
pub type Row = [Option<Cell>; 5];

impl Outcome {
    /// The runs of one tool.
    pub fn of<'a>(&'a self, tool: &'a str) -> impl Iterator<Item = &'a Trial> {
        self.trials.iter().filter(move |trial| trial.tool == tool)
    }

    /// Whose runs there are, weigh's first.
    pub fn tools(&self) -> Vec<&'static str> {
        let mut tools: Vec<&'static str> = Vec::new();
        for trial in &self.trials {
            if !tools.contains(&trial.tool) {
                tools.push(trial.tool);
            }
        }
        tools.sort_by_key(|tool| *tool != "weigh");
        tools
    }

    /// The deciding cells of a tool. An overload has none.
    pub fn row(&self, tool: &str) -> Row {
        if self.case.nature == Nature::Overload {
            return [None; 5];
        }
        self.decided(tool, |trial| Some(&trial.truth))
    }

    /// The same against packets; none where they were not looked at.
    pub fn row_by_packets(&self, tool: &str) -> Option<Row> {
        let looked = self.of(tool).any(|trial| trial.packets.is_some());
        looked.then(|| self.decided(tool, |trial| trial.packets.as_ref()))
    }

    fn decided(&self, tool: &str, truth: impl Fn(&Trial) -> Option<&Samples>) -> Row {
        let runs = self.of(tool).filter_map(|trial| {
            let truth: Percentiles = truth(trial)?.percentiles();
            Some(cells(&truth, &trial.said))
        });
        let runs: Vec<[Cell; 5]> = runs.collect();
        [0, 1, 2, 3, 4].map(|figure| deciding(runs.iter().map(|cells| cells[figure]).collect()))
    }

    /// What is wrong with weigh's runs: a figure is outside its bound, or most runs have something else.
    pub fn wrongs(&self) -> Vec<String> {
        let mut wrongs = Vec::new();
        for (figure, cell) in self.row("weigh").iter().enumerate() {
            let is_outside = cell.is_some_and(|cell| cell.verdict(figure) == Verdict::Outside);
            if is_outside {
                wrongs.push(format!(
                    "{} is outside its bound",
                    super::case::FIGURES[figure]
                ));
            }
        }
        let median = self.row_by_packets("weigh").and_then(|row| row[0]);
        let error = median.and_then(|cell| cell.error());
        if error.is_some_and(|error| error.unsigned_abs() > BOUND_OF_PACKETS.as_nanos()) {
            wrongs.push("p50 is outside its bound by packets".to_owned());
        }
        wrongs.extend(self.frequent());
        wrongs
    }

    /// What most of weigh's runs have shown to be wrong beside the figures, as the last of them has it.
    fn frequent(&self) -> Vec<String> {
        let runs: Vec<Vec<String>> = self.of("weigh").map(Trial::all_wrongs).collect();
        let bad = runs.iter().filter(|wrongs| !wrongs.is_empty()).count();
        match bad * 2 > runs.len() {
            true => runs
                .into_iter()
                .rfind(|wrongs| !wrongs.is_empty())
                .unwrap_or_default(),
            false => Vec::new(),
        }
    }
}

impl Trial {
    /// All that is wrong with the run beside its figures.
    pub fn all_wrongs(&self) -> Vec<String> {
        let sending = self
            .sending
            .iter()
            .flat_map(super::sending::Sending::wrongs);
        let queue = self.queue.iter().flat_map(super::lindley::Queue::wrongs);
        self.wrongs
            .iter()
            .cloned()
            .chain(sending)
            .chain(queue)
            .collect()
    }
}
