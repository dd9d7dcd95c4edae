//! The record itself. Nothing is left out or rounded: numbers that findings demote keep their findings beside them.

use crate::Look;
use record::Run;

/// One Run: its document, byte for byte what a saved record holds. Several: an array of documents.
pub(crate) fn render(runs: &[Run], _: &Look) -> String {
    match runs {
        [only] => document(only),
        _ => {
            let documents: Vec<String> = runs.iter().map(document).collect();
            let documents: Vec<&str> = documents.iter().map(|each| each.trim_end()).collect();
            format!("[\n{}\n]\n", documents.join(",\n"))
        }
    }
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
    fn several_runs_are_an_array_of_them_and_none_is_an_empty_one() {
        let runs = [example::ok(), example::empty()];
        let read: Vec<Run> = serde_json::from_str(&render(&runs, &Look::default())).unwrap();
        assert_eq!(read, runs);
        let none: Vec<Run> = serde_json::from_str(&render(&[], &Look::default())).unwrap();
        assert!(none.is_empty());
    }
}
