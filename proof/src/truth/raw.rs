//! The raw data beside the page: every run with what was true and what was said, and its distribution, thinned. Enough
//! to judge again by another rule, and to run any of it again.

use super::case::FIGURES;
use super::outcome::Outcome;
use super::samples::Samples;
use super::trial::Trial;
use std::fmt::Write;
use units::Nanos;

/// A line for each run: what was typed, what was true, what was said; nanoseconds.
pub fn runs(outcomes: &[Outcome]) -> String {
    let mut names = vec!["case", "tool", "round"];
    names.extend(["busy", "steal", "samples"]);
    let mut head: Vec<String> = names.into_iter().map(str::to_owned).collect();
    for what in ["truth", "packets", "said"] {
        head.extend(FIGURES.map(|figure| format!("{what}_{figure}")));
    }
    head.extend(["at_least", "also", "wrong", "server", "command"].map(str::to_owned));
    let lines = trials(outcomes).map(run);
    std::iter::once(head.join("\t"))
        .chain(lines)
        .fold(String::new(), |text, line| text + &line + "\n")
}

/// A line for each run: the truth at each hundredth, and at each thousandth of the last; nanoseconds.
pub fn samples(outcomes: &[Outcome]) -> String {
    let mut text = "# case\ttool\tround\tby\tthousandth:nanoseconds ...\n".to_owned();
    for trial in trials(outcomes) {
        let by = [
            ("log", Some(&trial.truth)),
            ("packets", trial.packets.as_ref()),
        ];
        for (by, samples) in by {
            let Some(samples) = samples else { continue };
            let Trial {
                case, tool, round, ..
            } = trial;
            let line = thinned(samples);
            writeln!(text, "{}\t{tool}\t{}\t{by}\t{line}", case.name, round + 1)
                .expect("writing to a String cannot fail");
        }
    }
    text
}

fn trials(outcomes: &[Outcome]) -> impl Iterator<Item = &Trial> {
    outcomes.iter().flat_map(|outcome| &outcome.trials)
}

fn thinned(samples: &Samples) -> String {
    let points = samples.thinned();
    let points = points.map(|(mille, span)| format!("{mille}:{}", span.as_nanos()));
    points.collect::<Vec<_>>().join(" ")
}

fn run(trial: &Trial) -> String {
    let share = |share: Option<f64>| share.map_or(String::new(), |share| format!("{share:.3}"));
    let mut fields = vec![
        trial.case.name.to_owned(),
        trial.tool.to_owned(),
        (trial.round + 1).to_string(),
        share(trial.noise.busy),
        share(trial.noise.steal),
        trial.truth.count().to_string(),
    ];
    let packets = trial.packets.as_ref().map(Samples::percentiles);
    let figures = [
        trial.truth.percentiles(),
        packets.unwrap_or_default(),
        trial.reported,
    ];
    fields.extend(figures.into_iter().flatten().map(nanos));
    let least = FIGURES
        .iter()
        .zip(trial.at_least)
        .filter(|(_, is_least)| *is_least);
    let least: Vec<&str> = least.map(|(figure, _)| *figure).collect();
    let also = trial.sending.iter().map(|sending| sending.text());
    let also: Vec<String> = also
        .chain(trial.queue.iter().map(|queue| queue.text()))
        .collect();
    fields.extend([
        least.join(" "),
        also.join("; "),
        trial.all_wrongs().join("; "),
    ]);
    fields.extend(trial.typed.clone());
    let plain = |field: String| field.replace(['\t', '\n', '\r'], " ");
    fields.into_iter().map(plain).collect::<Vec<_>>().join("\t")
}

fn nanos(span: Option<Nanos>) -> String {
    span.map_or(String::new(), |span| span.as_nanos().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_is_a_line_with_as_many_fields_as_the_head() {
        let outcomes = [Outcome::example(0, 0), Outcome::example(3, 1_000)];
        let text = runs(&outcomes);
        let lines: Vec<usize> = text.lines().map(|line| line.split('\t').count()).collect();
        assert_eq!(
            lines.len(),
            1 + outcomes.iter().map(|it| it.trials.len()).sum::<usize>()
        );
        assert!(lines.iter().all(|fields| *fields == lines[0]), "{text}");
    }

    #[test]
    fn distributions_keep_their_ends() {
        let text = samples(&[Outcome::example(0, 0)]);
        let line = text.lines().nth(1).unwrap();
        assert!(
            line.starts_with("even-1k\tweigh\t1\tlog\t0:1000 10:"),
            "{line}"
        );
        assert!(line.ends_with(" 1000:20000000"), "{line}");
    }
}
