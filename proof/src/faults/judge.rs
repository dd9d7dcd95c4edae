//! Whether a tool counted what happened: one rule for all tools, by numbers alone.

use super::rows::Nature;
use crate::catalogue::reports::Claim;

/// What happened in one run, by the server's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Truth {
    /// Exchanges answered as they should be.
    pub right: u64,
    /// Those that met the misbehaviour.
    pub spoilt: u64,
    /// How many of either the clock may have cut off, where it is that which stops the tool.
    pub cut_off: u64,
}

/// How a tool's process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// By itself, with what it claims.
    Claimed(Claim),
    /// By itself, without figures; its last words.
    Silent(String),
    /// By a signal of its own doing; its last words.
    Crashed(i32, String),
    /// By us, after so many seconds.
    Hung(u64),
}

/// What is wrong with how the tool ended and what it claims; nothing where it is right.
pub fn wrongs(nature: Nature, truth: &Truth, end: &End) -> Vec<String> {
    match end {
        End::Claimed(claim) => wrong_counts(nature, truth, claim),
        End::Silent(last) => vec![format!("no figures: `{last}`")],
        End::Crashed(signal, last) => vec![format!("crashed by signal {signal}: `{last}`")],
        End::Hung(seconds) => vec![format!("hung, killed after {seconds} s")],
    }
}

fn wrong_counts(nature: Nature, truth: &Truth, claim: &Claim) -> Vec<String> {
    let (right, spoilt, all) = (truth.right, truth.spoilt, truth.right + truth.spoilt);
    // Ok at least and at most; failures at most; failures and strays together at least.
    let (ok_least, ok_most, failed_most, noticed) = match nature {
        Nature::Right => (all, all, 0, 0),
        Nature::Last => (all, all, spoilt, 0),
        Nature::Either => (right, all, spoilt, 0),
        Nature::Stray => (right, all, spoilt, spoilt),
        Nature::Broken => (right, right, spoilt, spoilt),
    };
    // How many are missing of so many that are not cut off.
    let missing = |least: u64, found: u64| least.saturating_sub(truth.cut_off + found);
    let not_ok = claim.ok.saturating_sub(ok_most);
    let unnoticed = missing(noticed, claim.failed + claim.strays);
    let found = [
        (not_ok, "not answered right, counted ok"),
        (
            missing(ok_least, claim.ok),
            "answered right, not counted ok",
        ),
        (
            claim.failed.saturating_sub(failed_most),
            "failures too many",
        ),
        // What was counted ok is said already.
        (if unnoticed > not_ok { unnoticed } else { 0 }, "unnoticed"),
    ];
    let lost = [(missing(all, claim.ok + claim.failed), "not counted at all")];
    let is_any = found.iter().any(|(count, _)| *count > 0);
    let found = if is_any { &found[..] } else { &lost[..] };
    let found = found.iter().filter(|(count, _)| *count > 0);
    found
        .map(|(count, what)| format!("{count} {what}"))
        .collect()
}

/// What the tool said beside what there was, for a cell.
pub fn shown(nature: Nature, truth: &Truth, end: &End) -> String {
    let Truth { right, spoilt, .. } = truth;
    let End::Claimed(claim) = end else {
        return format!("(of {right} + {spoilt})");
    };
    let (ok, failed, strays, detail) = (claim.ok, claim.failed, claim.strays, &claim.detail);
    let mut text = match nature {
        Nature::Broken => format!("{ok} of {right} ok, {failed} of {spoilt} failed"),
        _ => format!("{ok} of {} ok, {failed} failed", right + spoilt),
    };
    if strays > 0 {
        text += &format!(", {strays} strays");
    }
    if !detail.is_empty() {
        text += &format!(" ({detail})");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use Nature::{Broken, Either, Last, Right, Stray};

    fn judged(nature: Nature, cut_off: u64, ok: u64, failed: u64, strays: u64) -> String {
        let truth = Truth {
            right: 48,
            spoilt: 12,
            cut_off,
        };
        let claim = Claim {
            ok,
            failed,
            strays,
            ..Claim::default()
        };
        wrongs(nature, &truth, &End::Claimed(claim)).join("; ")
    }

    #[test]
    fn each_number_is_held_against_the_log() {
        let cases = [
            (Broken, 48, 12, 0, ""),
            (Broken, 60, 0, 0, "12 not answered right, counted ok"),
            (Broken, 48, 11, 0, "1 unnoticed"),
            (Broken, 48, 13, 0, "1 failures too many"),
            (Broken, 47, 12, 0, "1 answered right, not counted ok"),
            (Right, 60, 0, 0, ""),
            (
                Right,
                59,
                1,
                0,
                "1 answered right, not counted ok; 1 failures too many",
            ),
            (Either, 60, 0, 0, ""),
            (Either, 48, 12, 0, ""),
            (Either, 48, 11, 0, "1 not counted at all"),
            (Either, 47, 12, 0, "1 answered right, not counted ok"),
            (Stray, 60, 0, 12, ""),
            (Stray, 48, 12, 0, ""),
            (Stray, 60, 0, 0, "12 unnoticed"),
            (Stray, 72, 0, 0, "12 not answered right, counted ok"),
            (Stray, 48, 0, 12, "12 not counted at all"),
            (Last, 60, 0, 0, ""),
            (Last, 60, 12, 0, ""),
            (Last, 60, 13, 0, "1 failures too many"),
            (Last, 59, 0, 0, "1 answered right, not counted ok"),
        ];
        for (nature, ok, failed, strays, wanted) in cases {
            let found = judged(nature, 0, ok, failed, strays);
            assert_eq!(found, wanted, "{nature:?} {ok} {failed} {strays}");
        }
    }

    #[test]
    fn what_the_clock_cut_off_may_be_missing_but_not_invented() {
        assert_eq!(judged(Broken, 4, 44, 12, 0), "");
        assert_eq!(judged(Broken, 4, 48, 8, 0), "");
        assert_eq!(judged(Broken, 4, 44, 8, 0), "4 not counted at all");
        assert_eq!(
            judged(Broken, 4, 43, 12, 0),
            "1 answered right, not counted ok"
        );
        assert_eq!(judged(Broken, 4, 48, 13, 0), "1 failures too many");
    }

    #[test]
    fn a_tool_that_hangs_crashes_or_says_nothing_is_wrong() {
        let truth = Truth {
            right: 0,
            spoilt: 0,
            cut_off: 0,
        };
        let cases = [
            (End::Hung(8), "hung, killed after 8 s"),
            (
                End::Crashed(11, "oh".to_owned()),
                "crashed by signal 11: `oh`",
            ),
            (End::Silent("oh".to_owned()), "no figures: `oh`"),
        ];
        for (end, wanted) in cases {
            assert_eq!(wrongs(Right, &truth, &end), [wanted]);
        }
    }
}
