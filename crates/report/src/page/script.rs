//! What the script that made the requests has written.

use super::{Block, Item};
use crate::phrase::clean;
use record::Run;

/// The most lines that are shown, and their longest.
const LINES_MOST: usize = 40;
const LONGEST: usize = 200;

/// Returns what was written in the last round of a run; empty where nothing was, and of a sweep.
pub(super) fn block(run: &Run) -> Block {
    let [point] = &run.points[..] else {
        return Block::Lines(Vec::new());
    };
    let round = point
        .rounds
        .iter()
        .rev()
        .find(|round| round.script.is_some());
    let Some((round, script)) = round.and_then(|round| Some((round, round.script.as_ref()?)))
    else {
        return Block::Lines(Vec::new());
    };
    let title = match point.rounds.len() {
        1 => "the script wrote".to_owned(),
        _ => format!("the script wrote in round {}", round.index + 1),
    };
    let written = script.out.lines().chain(script.err.lines());
    let rest = written.clone().count().saturating_sub(LINES_MOST) as u64;
    let shown = written
        .take(LINES_MOST)
        .map(|line| vec![Item::plain(clean(line, LONGEST))]);
    let rest = (rest > 0).then(|| {
        vec![Item::dim(format!(
            "{} in the record",
            units::number(rest, "more line")
        ))]
    });
    let title = std::iter::once(vec![Item::strong(title)]);
    Block::Lines(title.chain(shown).chain(rest).collect())
}

#[cfg(test)]
mod tests {
    use crate::{Look, page_text};
    use record::{ScriptOutput, example};

    #[test]
    fn what_the_script_wrote_last_is_shown_below_the_results() {
        let mut run = example::ok();
        let output = |out: String| {
            let err = String::new();
            Some(Box::new(ScriptOutput { out, err }))
        };
        let rounds = &mut run.points[0].rounds;
        rounds[0].script = output("first\n".into());
        let last = rounds.len();
        let many = (0..50).map(|line| format!("line {line}\u{1b}\n")).collect();
        rounds[last - 1].script = output(many);
        let text = page_text(
            &super::super::Page::at(&run, crate::Detail::Brief),
            &Look::default(),
        );
        let shown = text
            .split(&format!("the script wrote in round {last}\n"))
            .nth(1)
            .unwrap();
        assert!(
            shown.starts_with("line 0") && !shown.contains('\u{1b}'),
            "{shown}"
        );
        assert!(
            shown.trim_end().ends_with("10 more lines in the record"),
            "{shown}"
        );
        assert!(!text.contains("first"));
    }
}
