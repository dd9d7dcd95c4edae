//! Pass and fail criteria: what a response must be, and what the exit status says.

use super::Takes::{Value, Values};
use super::{Group, Setting, broken, keep, list, push, yes};
use crate::requirement::{Requirement, requirements};
use crate::{BodyExpectation, Draft, Environment, Expect, Plan, PlanError, StatusRange};
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
            let sends_head = plan.requests.each().iter().any(|request| request.method == "HEAD");
            broken(
                sends_head && plan.expect.body.is_some(),
                "--expect @FILE contradicts --method HEAD, whose responses have no body; remove one of them",
            )
        },
        ..ROW },
    Setting { name: "keep-going",
        help: "Send the load although the first response is not as expected.",
        long: "Before the load, weigh sends one request, the probe. It sends no load if the response is not as expected, \
               and ends the load after a first second of nothing but errors. With this option it goes on in both cases.",
        parse: |draft, _| keep(&mut draft.plan.keep_going, Ok(true)),
        show: |plan| yes(plan.keep_going),
        ..ROW },
    Setting { name: "require", takes: Values("CONDITION"), common: true,
        help: "Condition that the result must meet, such as 'p99<20ms'; may be repeated.",
        long: "Several with commas: 'errors<0.1%,rps>10k,cpu_us_per_request<30,reliable'. The exit status is 0 if all \
               are met, 1 if one is not, 3 if undecided: a figure is invalid or missing, or the bound lies within its \
               95 % confidence interval over the rounds (more --rounds narrow it). A sweep is judged at each point.",
        parse: |draft, text| append(&mut draft.plan.requirements, text),
        show: |plan| list(plan.requirements.iter(), ", "),
        ..ROW },
    Setting { name: "abort-if", takes: Values("CONDITION"),
        help: "End the load early if this holds, such as 'errors>1%'; may be repeated.",
        long: "Error counts are checked ten times a second, error shares too after the first second, other figures after \
               each round. \
               The exit status is 1.",
        parse: |draft, text| append(&mut draft.plan.abort_if, text),
        show: |plan| list(plan.abort_if.iter(), ", "),
        check: |plan| broken(
            plan.abort_if.contains(&Requirement::Reliable),
            "--abort-if reliable would end every load; give a figure, such as 'errors>1%'",
        ),
        ..ROW },
    Setting { name: "max-errors", takes: Value("SHARE|N"), common: true, default: "1%",
        help: "Errors allowed before the exit status is 1.",
        long: "A share of the requests such as 0.5%, or a number; a sweep is judged at each point. The same as --require \
               'errors<=X'. The default gives way to a --require that names errors.",
        parse: |draft, text| keep(&mut draft.plan.max_errors, Requirement::at_most_errors(text)),
        show: |plan| plan.max_errors.to_string().trim_start_matches("errors<=").replace('%', " %"),
        ..ROW },
    Setting { name: "strict",
        help: "Fail if reliability is INVALID; LIMITED passes. The same as --require reliable.",
        parse: |draft, _| keep(&mut draft.plan.strict, Ok(true)),
        show: |plan| yes(plan.strict),
        ..ROW },
];

/// Reads requirements with commas between them.
fn append(place: &mut Vec<Requirement>, text: &str) -> Result<(), String> {
    place.extend(requirements(text).map_err(|error| error.to_string())?);
    Ok(())
}

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
                    let two = "--expect names two bodies; give one";
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
