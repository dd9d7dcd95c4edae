//! The checks as a page of the manual, from the same rows that judge.

use crate::{CHECKS, Check};

/// Returns `docs/checks.md`.
pub fn manual() -> String {
    let index = CHECKS.iter().map(|check| {
        let Check { name, question, .. } = check;
        format!("| [`{name}`](#{name}) | {question} |\n")
    });
    let index: String = index.collect();
    let sections: String = CHECKS.iter().map(section).collect();
    format!("{HEAD}\n| Check | Question |\n|---|---|\n{index}{sections}")
}

const HEAD: &str = "\
# Validity checks

weigh checks every measurement. What a check finds is a finding: its root cause, its effect on figures, one sentence with
the numbers, and a remedy. Other figures are not affected. With several findings a figure has the strongest effect:

| Effect | Grade | In the text |
|---|---|---|
| none | note | the sentence |
| caveat | caveat | the figure with `*`, and the reason |
| lower bound | caveat | requests/s as `>= X (generator-bound)`, or `(link-bound)` |
| void | invalid | `INVALID` in place of the figure |

The worst grade is the reliability of the result: GOOD (notes only), LIMITED (caveats) or INVALID. `--require reliable`
is met unless it is INVALID. The record keeps every number, with the findings beside it ([record.md](record.md),
`findings[]`).

A threshold is what a value is compared with. \"A guess\" as its source means that it was not derived or measured.

False alarms are findings in a sound run, power is how often the check finds what it looks for: computed, simulated or counted
in real runs, as it says; \"not measured\" means that the rate is not known.

This page is generated from the checks; `WEIGH_UPDATE_GOLDEN=1 cargo test -p audit` writes it.
";

fn section(check: &Check) -> String {
    let rows = check.thresholds.iter().map(|threshold| {
        let value = (threshold.value)();
        format!("| {} | {value} | {} |\n", threshold.of, threshold.source)
    });
    let rows: String = rows.collect();
    let thresholds = match rows.as_str() {
        "" => String::new(),
        rows => format!("\n| Threshold | Value | Source |\n|---|---|---|\n{rows}"),
    };
    format!(
        "\n## `{}`\n\n{}\n\n**Looks at.** {}\n{thresholds}\n**False alarms.** {}.\n\n**Power.** {}.\n\n\
         **Effect.** {}\n\n**Remedy.** {}\n",
        check.name,
        check.question,
        check.looks_at,
        upper(check.false_alarms),
        upper(check.power),
        check.effect,
        check.remedy
    )
}

/// Returns `text` with an upper-case first letter.
fn upper(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manuals_page_is_this_one() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/checks.md");
        if std::env::var_os("WEIGH_UPDATE_GOLDEN").is_some() {
            std::fs::write(path, manual()).unwrap();
        }
        let page = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            page == manual(),
            "WEIGH_UPDATE_GOLDEN=1 cargo test -p audit writes it anew"
        );
    }
}
