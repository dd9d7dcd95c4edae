//! The record itself. Nothing is left out or rounded: numbers that findings demote keep their findings beside them.

use crate::Look;
use record::Run;

/// The document of each Run on a line of its own, byte for byte what a saved record holds; of several that is NDJSON.
pub(crate) fn render(runs: &[Run], _: &Look) -> String {
    runs.iter().map(document).collect()
}

fn document(run: &Run) -> String {
    let mut bytes = Vec::new();
    run.write_json(&mut bytes)
        .expect("a Run is always JSON, and writing to a Vec cannot fail");
    String::from_utf8(bytes).expect("JSON is UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::example;

    #[test]
    fn one_run_is_its_document_and_comes_back_the_same() {
        let run = example::errors();
        let shown = render(std::slice::from_ref(&run), &Look::default());
        let read: Run = serde_json::from_str(&shown).unwrap();
        assert_eq!(read, run);
    }

    #[test]
    fn several_runs_have_a_line_each_and_none_has_no_line() {
        let runs = [example::ok(), example::empty()];
        let shown = render(&runs, &Look::default());
        let read = shown
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        assert_eq!(read.collect::<Vec<Run>>(), runs);
        assert_eq!(render(&[], &Look::default()), "");
    }
}
