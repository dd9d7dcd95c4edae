//! The whole plan, as `--dry-run` prints it: every setting of the table, and what all of it comes to.

use super::load::{LONGEST, sentence, what};
use super::{Block, Item, Page, Row};
use crate::phrase::clean;
use plan::settings::settings;
use plan::{Axis, Group, Level, Load, Plan, Setting, Stop};
use record::{Capacity, Settling};
use units::{Nanos, number};

/// The page of a plan: a line of summary, the settings group by group, and the totals.
pub(crate) fn page(plan: &Plan) -> Page {
    let summary = vec![
        vec![Item::strong(clean(&what(plan), LONGEST))],
        vec![Item::plain(sentence(plan))],
    ];
    let group = |group: Group| {
        let rows = settings().filter(|row| row.group == group);
        Block::Rows(rows.flat_map(|row| setting(row, plan)).collect())
    };
    let mut blocks = vec![Block::Lines(summary)];
    blocks.extend(Group::ALL.map(group));
    blocks.push(Block::Rows(vec![Row::new("total", total(plan))]));
    blocks.retain(|block| !block.is_empty());
    Page { blocks }
}

/// A row for each line of the setting's value; none where it does not apply.
fn setting(setting: &Setting, plan: &Plan) -> Vec<Row> {
    let shown = (setting.show)(plan);
    let lines = shown.lines().enumerate().map(|(index, line)| {
        let label = if index == 0 { setting.name } else { "" };
        Row::new(label, vec![Item::plain(clean(line, 4 * LONGEST))])
    });
    lines.collect()
}

/// Rounds, requests and time of all points together, connecting and draining not counted.
fn total(plan: &Plan) -> Vec<Item> {
    if plan.is_search() {
        return vec![Item::plain(search_budget(plan))];
    }
    let levels = plan.levels();
    let twice = if plan.two_generators { 2 } else { 1 };
    let rounds = levels.len() as u64 * u64::from(plan.rounds) * twice;
    let each = levels.iter().map(|level| plan.at(level));
    let all = |per_round: fn(&Plan) -> Option<f64>| {
        let sum: Option<f64> = each.clone().map(|plan| per_round(&plan)).sum();
        sum.map(|sum| sum * f64::from(plan.rounds) * twice as f64)
    };
    let requests = match (all(requests), plan.stop) {
        (Some(sum), Stop::Requests(_)) => number(sum as u64, "request"),
        (Some(sum), Stop::Duration(_)) => {
            let sum = number(sum.round() as u64, "request");
            format!("about {sum} and those of the warm-up")
        }
        (None, _) => "as many requests as the server responds to".to_owned(),
    };
    let time = match all(seconds) {
        Some(sum) => {
            let span = Nanos::from_millis((sum * 1e3).round() as u64);
            format!("{} of load", units::exact(span))
        }
        None => "as long as the responses take".to_owned(),
    };
    let mut items = [number(rounds, "round"), requests, time]
        .map(Item::plain)
        .to_vec();
    items.extend(plan.settle.then(|| {
        let [least, most] = [2, Settling::MOST_WINDOWS].map(|windows| lasts(windows, plan));
        let mut axes = plan.sweep.iter().flat_map(|sweep| &sweep.axes);
        let when = match axes.any(|axis| matches!(axis, Axis::Workers(_))) {
            true => "after each start of the server",
            false => "before the first round",
        };
        Item::plain(format!("{least} to {most} more {when}, until steady"))
    }));
    items
}

/// How long the load before the first round lasts, of so many windows.
fn lasts(windows: usize, plan: &Plan) -> String {
    units::exact(Settling::lasts(windows, plan.warmup))
}

/// How long a search of `plan` may take, and of what: the rates of its axis once, the windows between them, of which slow
/// rates need several for one vote, and one long window. Where the first rate is too high or the answer does not hold for
/// long, it takes longer.
pub fn search_budget(plan: &Plan) -> String {
    let each = match plan.stop {
        Stop::Duration(span) => units::exact(span),
        Stop::Requests(requests) => number(requests, "request"),
    };
    let (_, most) = Capacity::windows(plan);
    let levels = plan.levels();
    let rounds = |level: &Level| Capacity::rounds_a_vote(&level.load, plan);
    let listed: u64 = levels.iter().map(rounds).sum();
    let all = listed + most * levels.iter().map(rounds).max().unwrap_or(1);
    let windows = number(all, "window");
    let long = match plan.quick {
        true => String::new(),
        false => match plan.stop.times(Capacity::LONG) {
            Stop::Duration(span) => format!(", then one of {}", units::exact(span)),
            Stop::Requests(requests) => format!(", then one of {}", number(requests, "request")),
        },
    };
    let factor = if plan.quick { 0 } else { Capacity::LONG };
    let time = match plan.stop {
        Stop::Requests(_) => String::new(),
        Stop::Duration(span) => {
            let short = (span + plan.warmup) * all;
            let settling = match plan.settle {
                true => Settling::lasts(Settling::MOST_WINDOWS, plan.warmup),
                false => Nanos::ZERO,
            };
            let most = short + span * u64::from(factor) + plan.warmup + settling;
            format!(
                ": {} of load",
                units::exact(Nanos::from_secs(most.as_secs_f64().ceil() as u64))
            )
        }
    };
    format!("at most {windows} of {each}{long}{time}")
}

/// Requests of a round's window, if the plan says so.
fn requests(plan: &Plan) -> Option<f64> {
    match plan.stop {
        Stop::Requests(requests) => Some(requests as f64),
        Stop::Duration(span) => Some(plan.load.exchange_rate(&plan.protocol)? * span.as_secs_f64()),
    }
}

/// Seconds of a round with its warm-up, if the plan says so.
fn seconds(plan: &Plan) -> Option<f64> {
    let window = match (plan.stop, plan.load) {
        (Stop::Duration(span), _) => span.as_secs_f64(),
        (Stop::Requests(_), Load::Closed { .. }) => return None,
        (Stop::Requests(requests), Load::Open { .. }) => {
            requests as f64 / plan.load.exchange_rate(&plan.protocol)?
        }
    };
    Some(window + plan.warmup.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn totals(change: fn(&mut Plan)) -> String {
        let mut plan = Plan::example("127.0.0.1:80".parse().unwrap());
        change(&mut plan);
        let items = total(&plan);
        let words: Vec<&str> = items.iter().map(|item| item.0[0].text.as_str()).collect();
        words.join("; ")
    }

    fn open(plan: &mut Plan, rate: &str) {
        plan.load = Load::Open {
            rate: rate.parse().unwrap(),
            of: plan::Arriving::Exchanges,
            arrivals: plan::Arrivals::Constant,
            connections: 10,
        };
    }

    #[test]
    fn the_total_says_as_much_as_the_plan_does() {
        let closed = "5 rounds; as many requests as the server responds to; 5 s of load";
        assert_eq!(totals(|_| ()), closed);
        let counted = totals(|plan| plan.stop = Stop::Requests(1_000));
        assert_eq!(
            counted,
            "5 rounds; 5,000 requests; as long as the responses take"
        );
        let scheduled = totals(|plan| {
            open(plan, "100");
            plan.stop = Stop::Requests(1_000);
            plan.two_generators = true;
        });
        assert_eq!(scheduled, "10 rounds; 10,000 requests; 1m40s of load");
        let swept = totals(|plan| {
            open(plan, "1");
            let rates = vec![units::Rate::per_second(100), units::Rate::per_second(300)];
            plan.warmup = Nanos::from_millis(500);
            plan.sweep = Some(plan::Sweep {
                axes: vec![Axis::Rate(rates)],
                ..plan::Sweep::default()
            });
        });
        let wanted = "10 rounds; about 2,000 requests and those of the warm-up; 15 s of load";
        assert_eq!(swept, wanted);
    }
}
