//! Does every request end once, and do the figures follow from the rounds?

use super::prelude::*;
use record::{Curve, Kind, OpenTimes, Run, SentTotal, Summary};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

pub(super) const CHECK: Check = Check {
    name: "conservation",
    question: "Is every request accounted for exactly once?",
    looks_at: "The counts and distributions of every round, and the stored figures. Scheduled requests are those \
               started plus those never sent; started requests are those that ended ok, failed or were cut off. \
               Carried-over requests are errors besides, and were sent in the warm-up. There are at most as many \
               statuses as complete responses, each distribution has one sample for each request of its kind, and \
               every stored figure follows again from the rounds.",
    thresholds: &[threshold(
        "relative difference of stored and computed figures that are not counts",
        || format!("{TOLERANCE:e}"),
        "adding in another order changes the last digits of a floating-point sum",
    )],
    false_alarms: "none: identities of counts",
    power: "every request that is lost or counted twice",
    effect: "Every figure is void, and the exit status is 1: weigh has an error, or the record was changed after it \
             was written.",
    remedy: "Measure again. If it happens again, report it as an error of weigh, with the record.",
    cause: Cause::Contradiction,
    judge,
};

/// What to do with a record whose parts contradict each other.
const CHANGED: &str =
    "Do not use this record: it was changed after it was written, or weigh has an error";

/// Figures that are not counts may differ by this much, so that another order of addition is no forgery.
const TOLERANCE: f64 = 1e-9;

fn judge(evidence: &Evidence<'_>) -> Vec<Finding> {
    let rounds = evidence.rounds.unwrap_or_default();
    let broken = rounds
        .iter()
        .filter(|round| !is_conserved(round))
        .map(unaccounted);
    let surplus = rounds.iter().filter_map(too_many_statuses);
    let torn = rounds.iter().filter_map(torn);
    let splits = evidence.split.map_or(&[][..], |split| &split.rounds);
    let broken_splits = splits.iter().filter(|round| !is_conserved(round));
    broken
        .chain(surplus)
        .chain(torn)
        .chain(broken_splits.map(unaccounted_split))
        .chain(contradicted(evidence))
        .collect()
}

/// Whether every exchange is counted once, and what is carried over was sent before.
fn is_conserved(round: &Round) -> bool {
    round.tally.conserved() && round.tally.carried_over <= round.sent_total.warmup
}

fn unaccounted(round: &Round) -> Finding {
    let tally = &round.tally;
    let ended = tally.ok.saturating_add(tally.errors());
    let headline = format!("round {} does not add up", round.number());
    let sentence = format!(
        "{headline}: {} scheduled, {} started, {} never sent, {} carried over; {} ok, {} errors",
        count(tally.scheduled),
        count(tally.started),
        count(tally.never_sent),
        count(tally.carried_over),
        count(tally.ok),
        count(tally.errors()),
    );
    void(ALL, headline, sentence).evidence([
        ("scheduled", tally.scheduled as f64),
        ("carried over", tally.carried_over as f64),
        ("ended", ended as f64),
    ])
}

/// The same of a round with two generators.
fn unaccounted_split(round: &Round) -> Finding {
    let finding = unaccounted(round);
    Finding {
        sentence: format!("with two generators {}", finding.sentence),
        ..finding
    }
}

/// Responses that were complete, expected or not.
fn complete(tally: &Tally) -> u64 {
    let judged = tally.faults.count(|fault| reasons::is_answer(fault.kind));
    tally.ok.saturating_add(judged)
}

fn too_many_statuses(round: &Round) -> Option<Finding> {
    let (statuses, complete) = (round.tally.statuses.total(), complete(&round.tally));
    (statuses > complete).then(|| {
        let number = round.number();
        let sentence = format!(
            "round {number} has {} statuses but {} complete responses",
            count(statuses),
            count(complete)
        );
        void(ALL, format!("round {number} does not add up"), sentence)
            .evidence([("statuses", statuses as f64), ("complete", complete as f64)])
    })
}

/// The distributions of a round that have not the number of samples that its counts say.
fn torn(round: &Round) -> Option<Finding> {
    let tally = &round.tally;
    let of = |kind: Kind| tally.faults.count(|fault| fault.kind == kind);
    let cut = tally.service.count().checked_sub(tally.ok); // in an open loop some were never sent
    let in_bins = tally.series.ok.iter().copied().fold(0, u64::saturating_add);
    let open = tally.open.as_deref();
    let waits = |open: &OpenTimes| {
        let sent = open.queued.count();
        sent == open.connecting.count() && sent == open.generator_late.count()
    };
    let rows = [
        ("service", cut.is_some_and(|cut| cut <= tally.censored())),
        ("first_byte", tally.first_byte.count() == tally.ok),
        ("lateness", tally.send_delay.count() == tally.ok),
        (
            "service_4xx",
            tally.service_4xx.count() == of(Kind::Status4xx),
        ),
        (
            "service_5xx",
            tally.service_5xx.count() == of(Kind::Status5xx),
        ),
        ("series", in_bins == tally.ok_in_window || in_bins == 0),
        ("send delays", open.is_none_or(waits)),
    ];
    let names = rows.iter().filter(|(_, holds)| !holds);
    let names: Vec<String> = names.map(|(name, _)| (*name).to_owned()).collect();
    (!names.is_empty()).then(|| {
        let number = round.number();
        let headline = format!("round {number} contradicts itself");
        let sentence = format!("{headline}: its counts differ from {}", list(&names));
        let evidence = [("distributions that differ", names.len() as f64)];
        void(ALL, headline, sentence)
            .remedy(CHANGED)
            .evidence(evidence)
    })
}

/// Returns a finding where `run`, summarised again, differs from its file in what was sent or in the curve.
pub(crate) fn stored(run: &Run, sent: SentTotal, curve: Option<&Curve>) -> Option<Finding> {
    let mut names = Vec::new();
    if sent != run.sent_total {
        names.push("sent_total".to_owned());
    }
    if let (Some(stored), Some(computed)) = (curve, &run.curve) {
        let figures = |curve: &Curve| {
            let peak = curve.peak.map(|peak| peak.rps);
            json!([curve.requests, curve.ok, curve.errors, curve.rps, peak])
        };
        let same = alike(&figures(stored), &figures(computed), false);
        names.extend((!same).then(|| "curve".to_owned()));
    }
    (!names.is_empty()).then(|| CHECK.claim(contradiction(&names)))
}

/// The summary as stated against the one that follows from the rounds.
fn contradicted(evidence: &Evidence<'_>) -> Option<Finding> {
    evidence.rounds?;
    let mut names: Vec<String> = Vec::new();
    for stated in &evidence.stated {
        match &evidence.summary {
            Some(computed) => names.extend(differences(stated, computed, evidence.foreign)),
            None => names.push("the whole summary, of no round".to_owned()),
        }
    }
    names.dedup();
    (!names.is_empty()).then(|| contradiction(&names))
}

fn contradiction(names: &[String]) -> Finding {
    let headline = "the stored figures contradict the rounds";
    let sentence = format!("{headline}, in {}", list(names));
    let evidence = [("figures that differ", names.len() as f64)];
    void(ALL, headline, sentence)
        .remedy(CHANGED)
        .evidence(evidence)
}

/// The figures of `stated` that are others in `computed`, by their names in the record. Of a `foreign` version only what
/// both have is compared.
fn differences(stated: &Summary, computed: &Summary, foreign: bool) -> Vec<String> {
    let value = |summary: &Summary| serde_json::to_value(summary).unwrap_or_default();
    let mut names = Vec::new();
    compare("", &value(stated), &value(computed), foreign, &mut names);
    names
}

/// Parts that rest on rules of judgement, and those that other versions compute by rules of their own.
const APART: [&str; 4] = ["coordinated_omission", "per_request", "open", "at_least"];

/// Parts of latency that have the percentiles which were asked for, as latency itself.
const BY_PERCENTILE: [&str; 2] = ["effective_samples", "intervals"];

/// The name of an element of a list, such as the figures of one request.
const ELEMENT: &str = "[]";

/// Adds the names at which two values differ, of which `at` is the name. Percentiles that only one of them lists are not
/// compared.
fn compare(at: &str, stated: &Value, computed: &Value, foreign: bool, names: &mut Vec<String>) {
    let (Value::Object(one), Value::Object(other)) = (stated, computed) else {
        let is_known = !foreign || !(stated.is_null() || computed.is_null());
        if is_known && !alike(stated, computed, foreign) {
            names.push(at.trim_start_matches('.').to_owned());
        }
        return;
    };
    let bounds = |list: &Value| -> Vec<Value> {
        let listed = list.as_array().into_iter().flatten().cloned();
        let is_in_both = |name: &str| one.contains_key(name) && other.contains_key(name);
        let both = listed.filter(|name| name.as_str().is_some_and(is_in_both));
        both.collect()
    };
    let of_latency = |part: &&str| at.ends_with(&format!(".{part}"));
    let has_percentiles = one.contains_key("at_least") || BY_PERCENTILE.iter().any(of_latency);
    let apart = if foreign { &APART[..] } else { &APART[..2] };
    let keys: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    let is_apart =
        |key: &str| apart.contains(&key) || foreign && at == ELEMENT && key == "latency_us";
    for key in keys.into_iter().filter(|key| !is_apart(key)) {
        let name = format!("{at}.{key}");
        match (one.get(key), other.get(key)) {
            (Some(one), Some(other)) if key == "at_least" => {
                let (one, other) = (bounds(one).into(), bounds(other).into());
                compare(&name, &one, &other, foreign, names);
            }
            (Some(one), Some(other)) => compare(&name, one, other, foreign, names),
            (one, other) if BY_PERCENTILE.contains(&key.as_str()) => {
                let none = || Value::Object(Map::new());
                let [one, other] = [one, other].map(|part| part.cloned().unwrap_or_else(none));
                compare(&name, &one, &other, foreign, names);
            }
            _ if has_percentiles && key.parse::<Percentile>().is_ok() => {}
            _ => names.push(name.trim_start_matches('.').to_owned()),
        }
    }
}

/// Whether two values are the same: numbers that are not counts to the last digits of a sum.
fn alike(one: &Value, other: &Value, foreign: bool) -> bool {
    match (one, other) {
        (Value::Number(count), _) if !count.is_f64() => one == other,
        (Value::Number(one), Value::Number(other)) => {
            let (one, other) = (one.as_f64(), other.as_f64());
            let is_near = |(one, other): (f64, f64)| {
                (one - other).abs() <= TOLERANCE * one.abs().max(other.abs())
            };
            one.zip(other).is_some_and(is_near)
        }
        (Value::Array(ones), Value::Array(others)) => {
            let mut pairs = ones.iter().zip(others);
            let is_same = |(one, other): (&Value, &Value)| {
                let mut names = Vec::new();
                compare(ELEMENT, one, other, foreign, &mut names);
                names.is_empty()
            };
            ones.len() == others.len() && pairs.all(is_same)
        }
        _ => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{carry_over, fail, healthy};
    use record::{Grade, Kind, Run, Statistic};

    fn found(run: &Run) -> Vec<Finding> {
        judge(&Evidence::of(run, &run.points[0]))
    }

    #[test]
    fn a_run_that_adds_up_passes_with_faults_too() {
        let mut run = healthy();
        fail(&mut run.points[0].rounds[2].tally, Kind::Reset, 0);
        fail(&mut run.points[0].rounds[2].tally, Kind::Status5xx, 503);
        carry_over(&mut run.points[0].rounds[2].tally, 5);
        run.points[0].rounds[2].sent_total.warmup = 5;
        run.summarise();
        assert_eq!(found(&run), []);
    }

    #[test]
    fn one_exchange_too_many_or_too_few_voids_everything() {
        type Spoil = fn(&mut Tally);
        let cases: &[(&str, Spoil)] = &[
            ("one due was lost", |tally| tally.scheduled += 1),
            ("one was never due", |tally| tally.scheduled -= 1),
            ("one started twice", |tally| tally.started += 1),
            ("one ended twice", |tally| tally.ok += 1),
            ("one ending was dropped", |tally| tally.ok -= 1),
            ("one was never sent", |tally| tally.never_sent += 1),
            ("one was carried over", |tally| tally.carried_over += 1),
            ("one carried over was not sent before", |tally| {
                carry_over(tally, 1)
            }),
            ("one more status", |tally| tally.statuses.add(200, 1)),
        ];
        for (case, spoil) in cases {
            let mut run = healthy();
            spoil(&mut run.points[0].rounds[3].tally);
            run.summarise();
            let found = found(&run);
            assert!(!found.is_empty(), "{case}");
            for finding in found {
                assert_eq!(finding.grade(), Grade::Invalid, "{case}");
                assert_eq!(finding.effects.figures(), ALL, "{case}");
                assert!(
                    finding.sentence.starts_with("round 4 "),
                    "{case}: {}",
                    finding.sentence
                );
            }
        }
    }

    #[test]
    fn rounds_of_two_generators_must_add_up_too() {
        let mut run = healthy();
        let mut round = run.points[0].rounds[1].clone();
        round.tally.scheduled += 1;
        run.points[0].split_mut().rounds = vec![round];
        let found = found(&run);
        assert_eq!((found.len(), found[0].grade()), (1, Grade::Invalid));
        let sentence = &found[0].sentence;
        assert!(
            sentence.starts_with("with two generators round 2 does not add up"),
            "{sentence}"
        );
    }

    #[test]
    fn an_older_record_may_lack_a_percentile_that_is_printed_today() {
        let mut run = healthy();
        run.weigh = env!("CARGO_PKG_VERSION").into();
        run.summarise();
        let stored = run.points[0].summary.as_mut().unwrap();
        stored.latency_us.percentiles.0[3].1 = None;
        assert_eq!(found(&run).len(), 1);
        run.schema -= 1;
        assert_eq!(found(&run), []);
    }

    #[test]
    fn a_summary_that_was_changed_afterwards_is_found_out() {
        type Spoil = fn(&mut Summary);
        let cases: &[(&str, Spoil)] = &[
            ("requests", |summary| summary.requests += 1),
            ("ok", |summary| summary.ok -= 1),
            ("rps.mean", |summary| summary.rps.mean *= 1.000_001),
            ("rps.low", |summary| summary.rps.low = None),
            ("latency_us.p99", |summary| {
                summary.latency_us.percentiles.0[3].1 = Some(1.0)
            }),
            ("latency_us.at_least", |summary| {
                summary.latency_us.at_least.push(Statistic::Max)
            }),
            ("errors.reset", |summary| {
                summary.errors.by_kind.insert("reset".into(), 1);
            }),
            ("errors.p99", |summary| {
                summary.errors.by_kind.insert("p99".into(), 1);
            }),
        ];
        for (name, spoil) in cases {
            let mut run = healthy();
            spoil(run.summary.as_mut().unwrap());
            let found = found(&run);
            assert_eq!(found.len(), 1, "{name}");
            assert!(
                found[0].sentence.ends_with(&format!("in {name}")),
                "{}",
                found[0].sentence
            );
        }
    }

    #[test]
    fn a_summary_of_no_round_is_found_out() {
        let mut run = healthy();
        run.points[0].rounds.clear();
        assert_eq!(found(&run).len(), 1);
    }

    #[test]
    fn another_order_of_addition_is_no_forgery() {
        for (factor, findings) in [(1.0 + 0.9e-9, 0), (1.0 + 1.1e-9, 1)] {
            let mut run = healthy();
            run.summary.as_mut().unwrap().rps.mean *= factor;
            assert_eq!(found(&run).len(), findings, "{factor}");
        }
    }
}
