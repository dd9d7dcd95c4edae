//! Whether a target may be loaded that does not respond as the plan expects: it may not be the one that was meant.

use crate::server::Ready;
use engine::Unexpected;
use plan::Plan;
use thiserror::Error;

/// No probed request got an expected response, so no load was sent.
#[derive(Debug, Error)]
#[error("{authority}: {}, so no load was sent; {}", found(.first, *.requests), remedy(.first))]
pub struct UnexpectedError {
    /// The target.
    pub authority: String,
    /// How many requests were probed.
    pub requests: u64,
    /// What the first of them got.
    pub first: Unexpected,
}

impl UnexpectedError {
    /// The reason not to load `plan`'s target, if there is one.
    pub(crate) fn of(ready: &Ready, plan: &Plan) -> Option<UnexpectedError> {
        let first = ready.shown.first()?.unexpected.clone()?;
        let all = ready.probe.errors == ready.probe.requests;
        (all && !plan.keep_going).then(|| UnexpectedError {
            authority: plan.target.authority.clone(),
            requests: ready.probe.requests,
            first,
        })
    }
}

fn found(first: &Unexpected, requests: u64) -> String {
    match requests {
        1 => format!("the probe got no expected response ({first})"),
        _ => format!(
            "none of the {requests} probed requests got an expected response (the first: {first})"
        ),
    }
}

fn remedy(first: &Unexpected) -> String {
    let remedy = match first {
        Unexpected::Status(status) => format!("use --expect {status} if it is right"),
        Unexpected::Body(_) => "correct the file".into(),
        Unexpected::Failed(_) => "check the target".into(),
    };
    format!("{remedy}, or --keep-going to load it all the same")
}
