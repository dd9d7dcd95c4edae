//! Findings: answers to the question whether a figure can be believed.

use plan::{Level, Plan};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The longest command that a line of 80 columns holds beside its label.
const LONGEST_COMMAND: usize = 60;

/// The answer of one check.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The name of the check that found it.
    pub check: String,
    /// The root cause that it names.
    #[serde(default)]
    pub cause: Cause,
    /// Index of the point that it is about; none where there is only one point, where it is about all of them, and
    /// where nothing was measured at its level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub point: Option<usize>,
    /// Load level that it is about; none where there is only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    /// What it does to figures.
    #[serde(flatten)]
    pub effects: Effects,
    /// One sentence with the numbers it rests on, without the load level.
    pub sentence: String,
    /// The sentence in at most 60 characters; empty for a note.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub headline: String,
    /// What to do about it.
    pub remedy: Option<String>,
    /// Options that the best next command adds to the one that was run, such as `--rate 60k`; empty where none helps.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub options: String,
    /// The numbers it rests on, by name.
    pub evidence: Vec<(String, f64)>,
}

impl Finding {
    /// Returns the severity, which is that of its strongest effect.
    pub fn grade(&self) -> Grade {
        self.effects.grade()
    }

    /// Returns the headline, or the sentence where it is short.
    pub fn headline(&self) -> &str {
        match self.headline.as_str() {
            "" => &self.sentence,
            headline => headline,
        }
    }

    /// Returns the best next step: a command to paste, where one line of text holds it, or else what to do.
    pub fn next(&self, plan: &Plan) -> Option<String> {
        let options = self.options.as_str();
        if options.is_empty() {
            return self.remedy.clone();
        }
        let command = plan.again_with(options);
        let command = command.filter(|command| command.chars().count() <= LONGEST_COMMAND);
        Some(command.unwrap_or_else(|| format!("repeat with {options}")))
    }

    /// Returns the sentence with the load level before it, where there are several: `at 2 connections: ...`.
    pub fn located(&self, plan: &Plan) -> String {
        match &self.level {
            Some(level) => format!("at {}: {}", plan.name(level), self.sentence),
            None => self.sentence.clone(),
        }
    }

    /// Returns whether it is about the point with index `point`, alone or among others.
    pub fn concerns(&self, point: usize) -> bool {
        self.point.is_none_or(|at| at == point)
    }

    /// Adds an effect on more figures.
    pub fn and(mut self, effect: Effect, figures: &[Figure]) -> Finding {
        self.effects.add(effect, figures);
        self
    }

    /// Replaces the root cause.
    pub fn because(self, cause: Cause) -> Finding {
        Finding { cause, ..self }
    }

    /// Sets the options of the best next command.
    pub fn options(mut self, options: impl Into<String>) -> Finding {
        self.options = options.into();
        self
    }

    /// Sets what to do about it.
    pub fn remedy(mut self, remedy: impl Into<String>) -> Finding {
        self.remedy = Some(remedy.into());
        self
    }

    /// Adds numbers it rests on.
    pub fn evidence<const N: usize>(mut self, evidence: [(&str, f64); N]) -> Finding {
        let named = evidence.map(|(name, value)| (name.to_owned(), value));
        self.evidence.extend(named);
        self
    }

    /// Returns whether `other` has the same root cause, so that one sentence can stand for both.
    pub fn shares_cause(&self, other: &Finding) -> bool {
        self.cause == other.cause && (self.cause != Cause::Other || self.check == other.check)
    }

    /// Returns whether `other` is the same answer of the same check, perhaps about another point.
    pub fn is_alike(&self, other: &Finding) -> bool {
        self.check == other.check && self.grade() == other.grade()
    }
}

/// Returns the strongest effect that `findings` have on `figure`; none where they leave it alone.
pub fn effect_on<'a>(
    findings: impl IntoIterator<Item = &'a Finding>,
    figure: Figure,
) -> Option<Effect> {
    let each = findings.into_iter();
    each.filter_map(|finding| finding.effects.on(figure)).max()
}

/// Root cause of a finding. Findings with one cause tell one story, whichever checks found them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The load generator was the bottleneck.
    GeneratorSaturated,
    /// The server was the bottleneck.
    ServerSaturated,
    /// Generator and server were both short of CPU.
    BothSaturated,
    /// Generator and server can only use the same CPU.
    SharedCpus,
    /// Neither the generator nor the server was saturated.
    NeitherSaturated,
    /// The server or its CPU time was not observed, so that the bottleneck or the cost is unknown.
    ServerUnobserved,
    /// The server under test is weigh's own reference server.
    ReferenceServer,
    /// A CPU quota stopped the generator.
    GeneratorQuota,
    /// A CPU quota stopped the server.
    ServerQuota,
    /// The generator's threads waited for a CPU that something else used.
    GeneratorStarved,
    /// The generator sent or read late, or did not send what was scheduled.
    GeneratorLate,
    /// weigh itself was stopped, or its machine was suspended.
    Paused,
    /// Other programs or other virtual machines used the CPUs.
    CpuTaken,
    /// More requests were scheduled than were served, so that the backlog grew.
    Overload,
    /// The server stalled while a closed loop sent nothing.
    CoordinatedOmission,
    /// The server stalled in an open loop.
    Stall,
    /// Fewer connections were open than were asked for, or requests waited for a free one.
    FewConnections,
    /// The server closed connections.
    ConnectionsClosed,
    /// The network or a full listen queue dropped segments.
    Network,
    /// The network link was the bottleneck.
    LinkSaturated,
    /// Requests failed.
    Errors,
    /// The server sent redirects or unexpected statuses instead of the page.
    UnexpectedResponses,
    /// Responses to the same request differed.
    VaryingResponses,
    /// Requests were cut off before their end was known.
    Censored,
    /// Latency is near the generator's own baseline, or that baseline is unknown.
    Baseline,
    /// There are too few samples.
    FewSamples,
    /// There are too few rounds.
    FewRounds,
    /// The measure window was too short.
    ShortWindow,
    /// The measurement was stopped before the plan was carried out.
    Interrupted,
    /// The server that weigh started ended before its load did.
    ServerEnded,
    /// Figures of the record contradict each other.
    Contradiction,
    /// A cause that only the finding's check knows.
    #[default]
    Other,
}

/// How severe a finding is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// Worth knowing; no figure is affected.
    Note,
    /// Figures stand, with a mark and the reason; a lower bound is marked `>=`.
    #[serde(alias = "qualified")]
    Caveat,
    /// Some figure says nothing.
    Invalid,
}

impl fmt::Display for Grade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Grade::Note => "note",
            Grade::Caveat => "caveat",
            Grade::Invalid => "INVALID",
        })
    }
}

/// A printed figure that a finding can affect.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// Requests per second.
    Rps,
    /// Latency percentiles and mean.
    Latency,
    /// The interval over rounds.
    Interval,
    /// Counts of requests, errors and bytes.
    Counts,
}

/// What a finding does to one figure, the mildest first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// The figure stands, with a mark and the reason.
    Caveat,
    /// The true figure is at least what was measured.
    LowerBound,
    /// The figure says nothing.
    Void,
}

impl Effect {
    /// Returns the severity of a finding with this effect.
    pub fn grade(self) -> Grade {
        match self {
            Effect::Caveat | Effect::LowerBound => Grade::Caveat,
            Effect::Void => Grade::Invalid,
        }
    }
}

/// The effects of a finding, by figure; a note has none.
///
/// A record also holds what follows from them, the grade and the figures, for readers that need no more.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(from = "Stored", into = "Stored")]
pub struct Effects(BTreeMap<Figure, Effect>);

impl Effects {
    /// Returns the effect on `figure`; none where it is left alone.
    pub fn on(&self, figure: Figure) -> Option<Effect> {
        self.0.get(&figure).copied()
    }

    /// Returns the affected figures, in the order in which they are printed.
    pub fn figures(&self) -> Vec<Figure> {
        self.0.keys().copied().collect()
    }

    /// Returns the strongest effect; none for a note.
    pub fn strongest(&self) -> Option<Effect> {
        self.0.values().max().copied()
    }

    /// Returns the severity of the strongest effect.
    pub fn grade(&self) -> Grade {
        self.strongest().map_or(Grade::Note, Effect::grade)
    }

    /// Adds `effect` on each of `figures`; where there is one already, the stronger stays.
    pub fn add(&mut self, effect: Effect, figures: &[Figure]) {
        for figure in figures {
            let known = self.0.entry(*figure).or_insert(effect);
            *known = effect.max(*known);
        }
    }
}

/// Effects as a record holds them.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Stored {
    /// The severity, which is that of the strongest effect.
    grade: Grade,
    /// The figures that are affected.
    #[serde(alias = "touches")]
    figures: Vec<Figure>,
    /// What it does to each of them; older records do not say it.
    #[serde(default)]
    effects: BTreeMap<Figure, Effect>,
}

impl From<Effects> for Stored {
    fn from(effects: Effects) -> Stored {
        Stored {
            grade: effects.grade(),
            figures: effects.figures(),
            effects: effects.0,
        }
    }
}

impl From<Stored> for Effects {
    fn from(stored: Stored) -> Effects {
        let mut effects = Effects(stored.effects);
        let older = match stored.grade {
            Grade::Note => None,
            Grade::Caveat => Some(Effect::Caveat),
            Grade::Invalid => Some(Effect::Void),
        };
        if let Some(effect) = older.filter(|_| effects.0.is_empty()) {
            effects.add(effect, &stored.figures);
        }
        effects
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_finding_may_void_one_figure_and_bound_another_and_is_stored_so() {
        let mut effects = Effects::default();
        effects.add(Effect::Caveat, &[Figure::Rps]);
        effects.add(Effect::LowerBound, &[Figure::Rps]);
        effects.add(Effect::Caveat, &[Figure::Rps]);
        effects.add(Effect::Void, &[Figure::Latency]);
        let stored = serde_json::to_value(effects.clone()).unwrap();
        let wanted = json!({
            "grade": "invalid",
            "figures": ["rps", "latency"],
            "effects": {"rps": "lower_bound", "latency": "void"},
        });
        assert_eq!(stored, wanted);
        assert_eq!(serde_json::from_value::<Effects>(stored).unwrap(), effects);
    }

    #[test]
    fn an_older_record_says_its_effects_by_grade_and_figures() {
        let older = json!({
            "check": "limit", "grade": "qualified", "touches": ["latency"],
            "sentence": "it is so", "remedy": null, "evidence": [["busy", 0.9]],
        });
        let finding: Finding = serde_json::from_value(older).unwrap();
        assert_eq!(finding.effects.on(Figure::Latency), Some(Effect::Caveat));
        assert_eq!(finding.effects.on(Figure::Rps), None);
        assert_eq!(finding.cause, Cause::Other);
    }
}
