//! The raw data beside the page: every run with what was true and what was said, and its distribution, thinned. Enough
//! to judge again by another rule, and to run any of it again.

use super::case::FIGURES;
use super::outcome::Outcome;
use super::samples::Samples;
use super::tls::Encrypted;
use super::trial::Trial;
use units::Nanos;

/// A line for each run: what was typed, what was true, what was reported; nanoseconds.
pub fn runs(outcomes: &[Outcome]) -> String {
    let figures = |what: &str| FIGURES.map(|figure| format!("{what}_{figure}")).join("\t");
    let [truth, packets, reported] = ["truth", "packets", "said"].map(figures);
    let head = format!(
        "case\ttool\tround\tbusy\tsteal\tsamples\t{truth}\t{packets}\t{reported}\tat_least\twithheld\talso\twrong\tserver\tcommand\n"
    );
    let line = |(case, trial): (&str, &Trial)| format!("{case}\t{}\n", run(trial));
    head + &trials(outcomes).map(line).collect::<String>()
}

/// A line for each run: the truth at each hundredth, and at each thousandth of the last; nanoseconds.
pub fn samples(outcomes: &[Outcome]) -> String {
    let mut text = "# case\ttool\tround\tby\tthousandth:nanoseconds ...\n".to_owned();
    for (case, trial) in trials(outcomes) {
        let packets = trial.packets.iter().map(|packets| ("packets", packets));
        for (by, samples) in std::iter::once(("log", &trial.truth)).chain(packets) {
            let (tool, round) = (trial.tool, trial.round + 1);
            let points = samples.thinned();
            let points = points.map(|(mille, span)| format!("{mille}:{}", span.as_nanos()));
            let points = points.collect::<Vec<_>>().join(" ");
            text += &format!("{case}\t{tool}\t{round}\t{by}\t{points}\n");
        }
    }
    text
}

fn trials(outcomes: &[Outcome]) -> impl Iterator<Item = (&'static str, &Trial)> {
    outcomes.iter().flat_map(|outcome| {
        let trials = outcome.trials.iter();
        let trials = trials.chain(outcome.encrypted.iter().flat_map(Encrypted::trials));
        trials.map(|trial| (outcome.case.name, trial))
    })
}

/// The fields of a run behind the case's name.
fn run(trial: &Trial) -> String {
    let share = |share: Option<f64>| share.map_or(String::new(), |share| format!("{share:.3}"));
    let mut fields = vec![
        trial.tool.to_owned(),
        (trial.round + 1).to_string(),
        share(trial.noise.busy),
        share(trial.noise.steal),
        trial.truth.count().to_string(),
    ];
    let packets = trial.packets.as_ref().map(Samples::percentiles);
    let (truth, packets) = (trial.truth.percentiles(), packets.unwrap_or_default());
    let nanos = |span: Nanos| span.as_nanos().to_string();
    let figures = [truth, packets, trial.reported].into_iter().flatten();
    fields.extend(figures.map(|span| span.map_or(String::new(), nanos)));
    let named = |which: [bool; 5]| {
        let which = FIGURES.iter().zip(which);
        let names = which.filter_map(|(figure, is_one)| is_one.then_some(*figure));
        names.collect::<Vec<_>>().join(" ")
    };
    fields.extend([
        named(trial.at_least),
        named(trial.withheld),
        trial.notes().collect::<Vec<_>>().join("; "),
        trial.all_wrongs().join("; "),
    ]);
    fields.extend(trial.typed.clone());
    let plain = |field: String| field.replace(['\t', '\n', '\r'], " ");
    fields.into_iter().map(plain).collect::<Vec<_>>().join("\t")
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
