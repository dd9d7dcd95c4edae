//! What follows from a comparison: ratios with their intervals, answers, ranks.
//!
//! Everything is computed from the slices, whenever it is needed, and never recorded beside them. The statistics are those of
//! [`stats::comparison`]: a start is one value (the median over its cycles), an interval is one over starts. Which figure decides is
//! fixed by the plan; where it was not observed the next one does, whatever either says.

use super::Comparison;
use super::conditions::Equality;
use super::reliability::{Reliability, of_servers};
use super::seen::Seen;
use plan::{Budget, Deciding};
use serde::Serialize;
use stats::comparison::{Difference, Regression};
use units::Nanos;

/// Everything that follows from a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answers {
    /// Confidence of each interval against the first server: 95 %; 99 % of a comparison that looked several times.
    pub confidence: f64,
    /// Confidence of each interval of every pair, with which all of them hold at once at 95 %.
    pub pairs_confidence: f64,
    /// The place of the figure that decides among `figures`; none where nothing was measured of the servers that are compared.
    pub decides: Option<usize>,
    /// The figures of each block of the plan, those of the first block first; memory last.
    pub figures: Vec<FigureAnswers>,
    /// CPU per request less the generator's own, of each block and each other server. It never decides.
    pub controls: Vec<Control>,
    /// The ranks that each server may have in the figure that decides, the best 1; empty unless every pair is compared.
    pub ranks: Vec<Rank>,
    /// Whether a server is worse than the first by more than is allowed; none where that is not asked.
    pub regression: Option<Regressed>,
    /// Which conditions the servers have in common.
    pub conditions: Equality,
    /// Mean over the starts of the CPU time of other programs, as a share of all CPUs.
    pub foreign: Option<f64>,
    /// The same of the time that the hypervisor gave to others.
    pub steal: Option<f64>,
    /// How far the answers can be trusted.
    pub reliability: Reliability,
}

/// One figure in one block.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FigureAnswers {
    /// The figure.
    pub figure: Deciding,
    /// Index of the plan's block; none of memory, which is that after all of them.
    pub block: Option<usize>,
    /// The value of each server, in microseconds, requests a second or bytes: the geometric mean over its starts of the median over
    /// their cycles. None of a server that has no such figure.
    pub values: Vec<Option<f64>>,
    /// Of each server, whether its value says nothing; the reason is one of those of the reliability.
    pub void: Vec<bool>,
    /// Of each server the value in each start.
    pub by_start: Vec<Vec<Option<f64>>>,
    /// Each other server that is compared, against the first; none where that is excluded.
    pub against_first: Vec<Versus>,
    /// Every pair of compared servers, at the confidence with which all intervals hold at once; empty unless asked for.
    pub pairs: Vec<Versus>,
    /// Each server under a second name, against itself: the bias of the method.
    pub bias: Vec<Versus>,
    /// The first server against weigh's own, from the few cycles in which that was loaded; none where it was not. It is for
    /// orientation and ranks nothing.
    pub against_reference: Option<Versus>,
}

/// How one server compares with another in a figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Versus {
    /// The server, by its place in the plan.
    pub server: usize,
    /// The server that it is compared with.
    pub base: usize,
    /// `ln server - ln base` in each start: the median over its cycles. None of a start that does not count for both.
    pub log_ratios: Vec<Option<f64>>,
    /// How many starts count.
    pub starts: u32,
    /// The ratio over all starts; none of fewer than three.
    pub ratio: Option<StartsRatio>,
    /// How much the ratio scatters; none of records of separate runs and of what is known once a start.
    pub scatter: Option<RatioScatter>,
    /// The smallest difference that so many starts find with a probability of 80 %, as a share.
    pub detectable: Option<f64>,
    /// What is said of the two.
    pub said: Said,
    /// The largest difference in either direction that may be, as a share.
    pub largest: Option<f64>,
    /// Whether the server is better or worse than the base.
    pub rating: Rating,
    /// How long a comparison would take that can probably tell, where this one, of a fixed time, cannot.
    pub time_needed: Option<Nanos>,
    /// The smallest difference that could have been decided, as a share, where this comparison looked for the last time and could not.
    pub decidable: Option<f64>,
    /// What the answers were made of.
    #[serde(skip)]
    pub(super) difference: Option<Difference>,
}

/// A ratio with its interval over starts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct StartsRatio {
    /// The geometric mean over the starts.
    pub centre: f64,
    /// Lower end of Student's interval.
    pub low: f64,
    /// Upper end of it.
    pub high: f64,
    /// The sample standard deviation of the starts' log ratios.
    pub sd: f64,
    /// The ends of the signed-rank interval, where its width differs from that of Student's by more than 20 %.
    pub signed_rank: Option<(f64, f64)>,
}

/// How much the ratio of two servers scatters, as shares: standard deviations of its logarithm ([`stats::comparison::Scatter`]).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RatioScatter {
    /// From one pair of slices to another in the same start.
    pub pair: f64,
    /// What the fresh start of a server adds.
    pub start: f64,
}

/// What is said of two servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    /// The server has more than the base, by more than the margin.
    More,
    /// The server has less than the base, by more than the margin.
    Less,
    /// The two do not differ by more than `largest`.
    NoLargerDifference,
    /// A difference of `largest` is not excluded.
    CannotTell,
    /// Fewer than three starts count for both.
    TooFewStarts,
    /// Fewer than three of the starts that count have this figure of both.
    NotMeasured,
    /// What was measured of one of them says nothing; the reason is one of those of the reliability.
    Void,
}

/// Which of two servers is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rating {
    /// The server is better than the base.
    Better,
    /// The server is worse than the base.
    Worse,
    /// No difference beyond the margin is shown.
    NoneShown,
}

/// CPU per request less the generator's own for the same requests: what disturbs both cancels out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Control {
    /// Index of the plan's block.
    pub block: usize,
    /// The generator's CPU time per request with the server, against that with the first.
    pub generator: Versus,
    /// The server's by the generator's, likewise.
    pub less_generator: Versus,
    /// Whether it says anything of the servers: the generator costs the same with both, so that its interval lies within 1 %.
    pub is_valid: bool,
}

/// The ranks that a server may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Rank {
    /// The server, by its place in the plan.
    pub server: usize,
    /// One more than the number of servers that are surely better.
    pub best: usize,
    /// The number of servers less those that are surely worse.
    pub worst: usize,
}

/// The answer to what a server may be worse than the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Regressed {
    /// The server that the answer is about: the first that is beyond, or else the first of which it cannot be told.
    pub server: Option<usize>,
    /// The answer.
    pub answer: RegressionAnswer,
}

/// Where an interval lies beside what is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RegressionAnswer {
    /// Within, wholly.
    Within,
    /// The limit lies in the interval, or there is none.
    CannotTell,
    /// Beyond, wholly.
    Beyond,
}

impl Answers {
    /// Returns what follows from `comparison`.
    pub fn of(comparison: &Comparison) -> Answers {
        let reasons = of_servers(comparison);
        let seen = Seen::of(comparison, &reasons);
        let blocks = 0..comparison.plan.blocks.len();
        let mut figures: Vec<FigureAnswers> =
            blocks.clone().flat_map(|block| seen.block(block)).collect();
        figures.extend(seen.figure(Deciding::Memory, None));
        let decides = seen.decides(&figures);
        if let (Some(place), Budget::Until(difference)) = (decides, comparison.plan.budget) {
            seen.decide(&mut figures[place], difference);
        }
        let mut answers = Answers {
            confidence: seen.confidence,
            pairs_confidence: seen.pairs_confidence(),
            ranks: decides.map_or(Vec::new(), |place| seen.ranks(&figures[place])),
            regression: None,
            decides,
            controls: blocks.flat_map(|block| seen.controls(block)).collect(),
            figures,
            conditions: Equality::of(comparison),
            foreign: mean(comparison.starts.iter().map(|start| start.foreign)),
            steal: mean(comparison.starts.iter().map(|start| start.steal)),
            reliability: Reliability::default(),
        };
        answers.reliability = Reliability::of(comparison, &answers, reasons);
        answers.regression = comparison
            .plan
            .max_regression
            .map(|limit| answers.regressed(comparison, limit));
        answers
    }

    /// Returns the figure that decides.
    pub fn deciding(&self) -> Option<&FigureAnswers> {
        self.figures.get(self.decides?)
    }

    /// Returns the answers of the figure that decides, one for each other server.
    pub fn headlines(&self) -> &[Versus] {
        self.deciding().map_or(&[], |figure| &figure.against_first)
    }

    /// Returns the largest of the differences that the figure that decides can detect; none where one server's is not known.
    pub fn detectable(&self) -> Option<f64> {
        let all = self.headlines().iter().map(|versus| versus.detectable);
        all.reduce(|one, other| Some(one?.max(other?)))?
    }

    /// The answer for the worst of the other servers. Of one that is excluded it cannot be told.
    fn regressed(&self, comparison: &Comparison, limit: f64) -> Regressed {
        let versus = |server: usize| {
            self.headlines()
                .iter()
                .find(|versus| versus.server == server)
        };
        let others = comparison.plan.others().map(|(server, _)| Regressed {
            server: Some(server),
            answer: versus(server).map_or(RegressionAnswer::CannotTell, |versus| {
                let more_is_better = self
                    .deciding()
                    .is_some_and(|figure| figure.figure.more_is_better());
                versus.beside(limit, more_is_better)
            }),
        });
        // Of equal ones the first.
        let worst = others.reduce(|one, other| {
            if other.answer > one.answer {
                other
            } else {
                one
            }
        });
        worst.unwrap_or(Regressed {
            server: None,
            answer: RegressionAnswer::CannotTell,
        })
    }
}

impl Versus {
    /// Where the interval lies beside `limit`, the share by which the server may be worse.
    fn beside(&self, limit: f64, more_is_better: bool) -> RegressionAnswer {
        let Some(difference) = self.difference.filter(|_| self.said != Said::Void) else {
            return RegressionAnswer::CannotTell;
        };
        let difference = if more_is_better {
            difference.reversed()
        } else {
            difference
        };
        match Regression::of(&difference, limit) {
            Regression::Within => RegressionAnswer::Within,
            Regression::Beyond => RegressionAnswer::Beyond,
            Regression::CannotTell => RegressionAnswer::CannotTell,
        }
    }
}

/// The mean of those that are known.
pub(super) fn mean(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    stats::mean(&values.flatten().collect::<Vec<f64>>())
}
