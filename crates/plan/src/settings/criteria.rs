//! Pass and fail criteria: what a response must be, and what the exit status says.

use super::Takes::{Value, Values};
use super::{Group, Setting, broken, keep, push, set, yes};
use crate::{BodyExpectation, Draft, Environment, Expect, Plan, PlanError, Requests, StatusRange};
use std::path::PathBuf;

/// What all rows of the group have in common.
const ROW: Setting = Setting {
    group: Group::Criteria,
    ..Setting::BASE
};

#[rustfmt::skip]
pub(super) static ROWS: &[Setting] = &[
    Setting { name: "expect", takes: Values("STATUS|@FILE"), common: true,
        help: "Expected responses: statuses, or the body in FILE; may be repeated.",
        long: "Statuses are 200, 2xx or 200..204, several with commas. Every other response is an error.",
        computed: "2xx and 3xx",
        parse: |draft, text| push(&mut draft.expect, text),
        show: expected,
        check: |plan| {
            let sends_head = match &plan.requests {
                Requests::Listed(all) => all.iter().any(|request| request.method == "HEAD"),
                Requests::File { common, .. } => common.method == "HEAD",
            };
            broken(
                sends_head && plan.expect.body.is_some(),
                "--expect @FILE contradicts --method HEAD, whose answers have no body; leave one away",
            )
        },
        ..ROW },
    Setting { name: "keep-going",
        help: "Send the load even if the probe gets no expected response.",
        long: "Before the load weigh sends the first request once. Without this option it sends no load unless the \
               response is as expected.",
        parse: |draft, _| keep(&mut draft.plan.keep_going, Ok(true)),
        show: |plan| yes(plan.keep_going),
        ..ROW },
    Setting { name: "max-errors", takes: Value("SHARE|N"), common: true, default: "1%",
        help: "Errors allowed before the exit status is 1.",
        long: "A share of the requests such as 0.5%, or a number; of a sweep at each point.",
        parse: |draft, text| set(&mut draft.plan.tolerance, text),
        show: |plan| plan.tolerance.to_string(),
        ..ROW },
    Setting { name: "strict",
        help: "Exit with status 3 when a validity check makes a figure invalid.",
        parse: |draft, _| keep(&mut draft.plan.strict, Ok(true)),
        show: |plan| yes(plan.strict),
        ..ROW },
];

fn expected(plan: &Plan) -> String {
    let range = |range: &StatusRange| match (range.first, range.last) {
        (first, last) if first == last => first.to_string(),
        (first, last) => format!("{first}..{last}"),
    };
    let statuses: Vec<String> = plan.expect.statuses.iter().map(range).collect();
    let body = plan.expect.body.as_ref().map_or(String::new(), |body| {
        let length = units::bytes(body.length);
        format!(", with the body in {} ({length})", body.path.display())
    });
    format!("status {}{body}", statuses.join(" or "))
}

impl Draft {
    /// Returns the expected responses.
    pub(crate) fn expected(&self, environment: &dyn Environment) -> Result<Expect, PlanError> {
        let mut statuses: Vec<StatusRange> = Vec::new();
        let mut body = None;
        for rule in &self.expect {
            match rule.strip_prefix('@') {
                Some(path) if body.is_none() => {
                    let path = PathBuf::from(path);
                    let length = environment.file_length("--expect", &path)?;
                    body = Some(BodyExpectation { path, length });
                }
                Some(_) => {
                    let two = "--expect names two bodies; only one can be the right one";
                    return Err(PlanError(two.into()));
                }
                None => {
                    for status in rule.split(',') {
                        let range = status.trim().parse();
                        let named = |why: String| PlanError(format!("--expect {why}"));
                        statuses.push(range.map_err(named)?);
                    }
                }
            }
        }
        if statuses.is_empty() {
            statuses = Expect::default().statuses;
        }
        Ok(Expect { statuses, body })
    }
}
