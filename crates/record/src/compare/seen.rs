//! How answers follow from the slices: figure by figure, server by server.

use super::answers::{
    Control, FigureAnswers, Rank, Rating, RatioScatter, Said, StartsRatio, Versus, mean,
};
use super::readings::Source;
use super::reliability::Reason;
use super::{Comparison, FreshStart, Slice};
use plan::{Budget, Deciding};
use stats::comparison::{
    Answer, CONFIDENCE, Difference, FixedBudget, MARGIN, Power, Sequential, margin, rank_ranges,
    simultaneous_confidence,
};
use units::Nanos;

/// How far the generator's CPU per request may differ between two servers for it to be a control. Where it differs by more, it does
/// other work for one of them, and taking it off would hide a difference or make one.
const CONTROL_WITHIN: f64 = 0.01;

/// A comparison, and what holds for all of its figures.
pub(super) struct Seen<'a> {
    comparison: &'a Comparison,
    /// Why what was measured of single servers is doubtful.
    reasons: &'a [Reason],
    /// The servers that may be ranked.
    ranked: Vec<usize>,
    /// Confidence of each interval.
    pub confidence: f64,
}

/// What answers of a figure have in common.
#[derive(Clone, Copy)]
struct Terms {
    figure: Deciding,
    source: Source,
    confidence: f64,
    /// A difference counts beyond this share.
    margin: f64,
}

impl Terms {
    /// The block that the figure is of; none of memory.
    fn block(&self) -> Option<usize> {
        match self.source {
            Source::Slices(block, _) => Some(block),
            Source::Memory => None,
        }
    }
}

impl<'a> Seen<'a> {
    pub fn of(comparison: &'a Comparison, reasons: &'a [Reason]) -> Seen<'a> {
        Seen {
            comparison,
            reasons,
            ranked: comparison.ranked(),
            confidence: match comparison.plan.budget {
                Budget::Until(difference) => Sequential::new(difference).look_confidence(),
                Budget::Time { .. } | Budget::Precision(_) => CONFIDENCE,
            },
        }
    }

    /// The figures of a block. Requests/s of an open loop are what was asked for, and none.
    pub fn block(&self, block: usize) -> impl Iterator<Item = FigureAnswers> {
        let is_open = self.comparison.plan.blocks[block].load.is_open();
        let all = [Deciding::CpuPerRequest, Deciding::P50, Deciding::Throughput].into_iter();
        let all = all.filter(move |figure| !is_open || *figure != Deciding::Throughput);
        all.filter_map(move |figure| self.figure(figure, Some(block)))
    }

    /// One figure; none where no server has it.
    pub fn figure(&self, figure: Deciding, block: Option<usize>) -> Option<FigureAnswers> {
        let source = Source::of(figure, block.unwrap_or_default());
        let servers = 0..self.comparison.plan.servers.len();
        let by_start = servers.map(|server| source.values(self.comparison, server));
        let by_start: Vec<Vec<Option<f64>>> = by_start.collect();
        let values: Vec<Option<f64>> = by_start
            .iter()
            .map(|starts| geometric_mean(starts))
            .collect();
        let is_known = |server: &usize| values[*server].is_some();
        self.ranked.iter().any(is_known).then_some(())?;

        let mut terms = Terms {
            figure,
            source,
            confidence: self.confidence,
            margin: MARGIN,
        };
        let bias = self
            .arms()
            .map(|(base, server)| self.versus(&terms, base, server));
        let bias: Vec<Versus> = bias.collect();
        let arms = bias.iter().map(|arm| margin(arm.difference.as_ref()));
        terms.margin = arms.fold(terms.margin, f64::max);
        let others = self.others().map(|server| self.versus(&terms, 0, server));
        let reference = self.comparison.reference();
        let reference = reference.filter(|_| self.ranked.first() == Some(&0));
        Some(FigureAnswers {
            against_reference: reference.map(|reference| self.versus(&terms, reference, 0)),
            figure,
            block,
            void: (0..values.len())
                .map(|server| self.is_void(server, figure, block))
                .collect(),
            values,
            by_start,
            against_first: others.collect(),
            pairs: self.pairs(terms),
            bias,
        })
    }

    /// The servers that are there under two names: the first name and the second.
    fn arms(&self) -> impl Iterator<Item = (usize, usize)> {
        let servers = self.comparison.plan.servers.iter().enumerate();
        let arms = servers.filter_map(|(place, server)| Some((server.repeats? as usize, place)));
        arms.filter(|(base, server)| {
            ![base, server]
                .iter()
                .any(|it| self.comparison.is_excluded(**it))
        })
    }

    /// The servers that are compared with the first; none where that is excluded.
    fn others(&self) -> impl Iterator<Item = usize> {
        let is_first_there = self.ranked.first() == Some(&0);
        let others = self.ranked.iter().copied().skip(1);
        others.filter(move |_| is_first_there)
    }

    /// Confidence of the interval of a pair where every pair is compared.
    pub fn pairs_confidence(&self) -> f64 {
        simultaneous_confidence(self.ranked.len() as u32).max(self.confidence)
    }

    /// Every pair, where that is asked for.
    fn pairs(&self, terms: Terms) -> Vec<Versus> {
        if !self.comparison.plan.all_pairs {
            return Vec::new();
        }
        let terms = Terms {
            confidence: self.pairs_confidence(),
            ..terms
        };
        let bases = self.ranked.iter().enumerate();
        let pairs = bases
            .flat_map(|(at, base)| self.ranked[at + 1..].iter().map(|server| (*base, *server)));
        pairs
            .map(|(base, server)| self.versus(&terms, base, server))
            .collect()
    }

    /// The answers about `server` beside `base`, by the rule of a number of starts that was fixed beforehand.
    fn versus(&self, terms: &Terms, base: usize, server: usize) -> Versus {
        let log_ratios = terms.source.log_ratios(self.comparison, base, server);
        let (known, difference) = match self.comparison.is_of_records() {
            true => self.between(terms, base, server),
            false => {
                let known: Vec<f64> = log_ratios.iter().flatten().copied().collect();
                (known.len(), Difference::of(&known, terms.confidence))
            }
        };
        let difference = difference.filter(|_| known >= Budget::FEWEST as usize);
        let power = Power {
            confidence: terms.confidence,
            ..Power::default()
        };
        let mut versus = Versus {
            server,
            base,
            starts: known as u32,
            log_ratios,
            ratio: difference.map(|difference| StartsRatio::of(&difference)),
            scatter: self.scatter(terms, base, server),
            detectable: difference.and_then(|it| power.detectable_by(&it)),
            said: Said::TooFewStarts,
            largest: None,
            rating: Rating::NoneShown,
            time_needed: None,
            decidable: None,
            difference,
        };
        let Some(difference) = difference else {
            let comparison = self.comparison;
            let both =
                |it: &&FreshStart| [base, server].iter().all(|at| comparison.counts(it, *at));
            let counted = comparison.starts.iter().filter(both).count();
            if counted >= Budget::FEWEST as usize && !comparison.is_of_records() {
                versus.said = Said::NotMeasured;
            }
            return versus;
        };
        let rule = FixedBudget {
            margin: terms.margin,
            ..FixedBudget::default()
        };
        let answer = match rule.answer(&difference) {
            // What lies within the margin may be bias.
            Answer::NoDifferenceLargerThan(share) => {
                Answer::NoDifferenceLargerThan(share.max(terms.margin))
            }
            answer => answer,
        };
        versus.say(answer, terms.figure);
        if let (Answer::CannotTell { .. }, Budget::Time { .. } | Budget::Precision(_)) =
            (answer, self.comparison.plan.budget)
            && !self.comparison.is_of_records()
        {
            versus.time_needed = self.time_needed(&difference, power, &rule);
        }
        if [base, server]
            .into_iter()
            .any(|it| self.is_void(it, terms.figure, terms.block()))
        {
            versus.said = Said::Void;
            versus.rating = Rating::NoneShown;
            versus.time_needed = None;
        }
        versus
    }

    /// How much the ratio of two servers that were loaded in turn scatters.
    fn scatter(&self, terms: &Terms, base: usize, server: usize) -> Option<RatioScatter> {
        (!self.comparison.is_of_records()).then_some(())?;
        let scatter = terms.source.scatter(self.comparison, base, server)?;
        Some(RatioScatter {
            pair: scatter.pair,
            start: scatter.start,
        })
    }

    /// Whether `figure` of `server` in a block says nothing.
    fn is_void(&self, server: usize, figure: Deciding, block: Option<usize>) -> bool {
        let mut reasons = self.reasons.iter();
        reasons.any(|reason| reason.voids(server, figure, block))
    }

    /// The difference of two servers whose starts have nothing in common, and how many starts the one with fewer has.
    fn between(&self, terms: &Terms, base: usize, server: usize) -> (usize, Option<Difference>) {
        let [a, b] = [base, server].map(|server| -> Vec<f64> {
            let values = terms.source.values(self.comparison, server);
            values.iter().flatten().map(|value| value.ln()).collect()
        });
        let difference = Difference::between(&a, &b, terms.confidence);
        (a.len().min(b.len()), difference)
    }

    /// How long it would take to tell, if the servers differ as much as it seems and starts scatter as they did: until the interval
    /// lies either beyond the margin or within the bound. At least half again as long as it took.
    fn time_needed(
        &self,
        difference: &Difference,
        power: Power,
        rule: &FixedBudget,
    ) -> Option<Nanos> {
        let seems = difference.mean.abs();
        let beyond = seems - rule.margin.ln_1p();
        let within = rule.bound.ln_1p() - seems;
        let starts = power.starts_needed(difference.sd, beyond.max(within).exp_m1())?;
        let starts = starts.max(difference.n * 3 / 2);
        let took = mean(
            self.comparison
                .starts
                .iter()
                .map(|start| Some(start.took.as_secs_f64())),
        )?;
        Some(Nanos::from_nanos((took * f64::from(starts) * 1e9) as u64))
    }

    /// The place of the figure that decides: the one that the plan names, or median latency where it is not known of all servers that
    /// were loaded. Of several blocks latency decides under equal load (an open loop), and everything else in the first closed loop.
    pub fn decides(&self, figures: &[FigureAnswers]) -> Option<usize> {
        let is_open = |figure: &FigureAnswers| {
            let block = figure
                .block
                .map(|block| &self.comparison.plan.blocks[block]);
            block.is_some_and(|block| block.load.is_open())
        };
        let wanted = [self.comparison.plan.decide_on, Deciding::P50];
        wanted.into_iter().find_map(|wanted| {
            let is_it = |figure: &FigureAnswers| {
                figure.figure == wanted && self.is_known_of_all(figures, figure)
            };
            let places = figures
                .iter()
                .enumerate()
                .filter(|(_, figure)| is_it(figure));
            let prefers = |figure: &FigureAnswers| is_open(figure) == (wanted == Deciding::P50);
            let place = places.min_by_key(|(_, figure)| !prefers(figure));
            place.map(|(place, _)| place)
        })
    }

    /// Whether every server of which anything is known in this figure's block has this figure.
    fn is_known_of_all(&self, figures: &[FigureAnswers], figure: &FigureAnswers) -> bool {
        let beside = |server: usize| {
            let mut beside = figures
                .iter()
                .filter(|it| it.block == figure.block || figure.block.is_none());
            beside.any(|it| it.values[server].is_some())
        };
        let mut ranked = self.ranked.iter();
        ranked.all(|server| figure.values[*server].is_some() || !beside(*server))
    }

    /// Answers once more, by the rule of a comparison that looks several times; the first look that can tell stands.
    pub fn decide(&self, figure: &mut FigureAnswers, difference: f64) {
        let rule = Sequential::new(difference);
        let arm: Option<Vec<f64>> = figure
            .bias
            .first()
            .map(|arm| arm.log_ratios.iter().flatten().copied().collect());
        for versus in figure.against_first.iter_mut() {
            let (Some(whole), false) = (versus.difference, versus.said == Said::Void) else {
                continue;
            };
            let values: Vec<f64> = versus.log_ratios.iter().flatten().copied().collect();
            let looks = std::iter::successors(Sequential::next_look(0), |look| {
                Sequential::next_look(*look)
            });
            let mut answers = looks
                .take_while(|look| *look <= values.len())
                .filter_map(|look| {
                    let arm = arm.as_ref().map(|arm| &arm[..look.min(arm.len())]);
                    let arm = arm.and_then(|arm| Difference::of(arm, self.confidence));
                    rule.answer(&values[..look], arm.as_ref())
                });
            let hidden = whole.largest();
            let answer = answers.next().unwrap_or(Answer::CannotTell { hidden });
            versus.say(answer, figure.figure);
            let is_last = Sequential::next_look(self.comparison.starts.len()).is_none();
            if matches!(answer, Answer::CannotTell { .. }) && is_last {
                versus.decidable =
                    Sequential::smallest_decidable(values.len(), whole.sd, CONFIDENCE);
            }
        }
    }

    /// The ranks that every pair leaves open in `figure`.
    pub fn ranks(&self, figure: &FigureAnswers) -> Vec<Rank> {
        let place = |server: usize| self.ranked.iter().position(|it| *it == server);
        let better = figure.pairs.iter().filter_map(|pair| {
            let (base, server) = (place(pair.base)?, place(pair.server)?);
            match pair.rating {
                Rating::Better => Some((server, base)),
                Rating::Worse => Some((base, server)),
                Rating::NoneShown => None,
            }
        });
        let better: Vec<(usize, usize)> = better.collect();
        let ranges = rank_ranges(self.ranked.len(), &better).into_iter();
        let ranks = ranges.zip(&self.ranked).map(|(range, server)| Rank {
            server: *server,
            best: *range.start(),
            worst: *range.end(),
        });
        ranks.filter(|_| self.comparison.plan.all_pairs).collect()
    }

    /// CPU per request less the generator's own, of each other server; none where either is not known.
    pub fn controls(&self, block: usize) -> impl Iterator<Item = Control> {
        let terms = move |read| Terms {
            figure: Deciding::CpuPerRequest,
            source: Source::Slices(block, read),
            confidence: self.confidence,
            margin: MARGIN,
        };
        self.others().filter_map(move |server| {
            let generator = self.versus(&terms(Slice::generator_us), 0, server);
            let less_generator = self.versus(&terms(less_generator), 0, server);
            less_generator.ratio?;
            let within = generator
                .largest
                .is_some_and(|largest| largest <= CONTROL_WITHIN);
            Some(Control {
                block,
                is_valid: within && less_generator.said != Said::Void,
                generator,
                less_generator,
            })
        })
    }
}

/// The server's CPU time for each microsecond of the generator's.
fn less_generator(slice: &Slice) -> Option<f64> {
    Some(slice.cpu_us()? / slice.generator_us()?)
}

/// The geometric mean of those that are known.
fn geometric_mean(values: &[Option<f64>]) -> Option<f64> {
    let logarithms: Vec<f64> = values.iter().flatten().map(|value| value.ln()).collect();
    stats::mean(&logarithms).map(f64::exp)
}

impl StartsRatio {
    fn of(difference: &Difference) -> StartsRatio {
        let (low, high) = difference.ratio_interval();
        let differs = difference.differs_by_ranks();
        StartsRatio {
            centre: difference.ratio(),
            low,
            high,
            sd: difference.sd,
            signed_rank: difference
                .signed_rank
                .filter(|_| differs)
                .map(|(low, high)| (low.exp(), high.exp())),
        }
    }
}

impl Versus {
    /// Takes over an answer.
    fn say(&mut self, answer: Answer, figure: Deciding) {
        let whole = self.difference.map(|difference| difference.largest());
        (self.said, self.largest) = match answer {
            Answer::More => (Said::More, whole),
            Answer::Less => (Said::Less, whole),
            Answer::NoDifferenceLargerThan(largest) => (Said::NoLargerDifference, Some(largest)),
            Answer::CannotTell { hidden } => (Said::CannotTell, Some(hidden)),
        };
        self.rating = match (self.said, figure.more_is_better()) {
            (Said::More, true) | (Said::Less, false) => Rating::Better,
            (Said::More, false) | (Said::Less, true) => Rating::Worse,
            _ => Rating::NoneShown,
        };
    }
}
