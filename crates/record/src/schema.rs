//! The record's form, as JSON Schema, made from the types themselves.

use crate::Run;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// The version of the record's form. It rises when a reader of the old form could misread the new one; a fixture of
/// each version is kept, and [`crate::load`] reads them all.
pub const SCHEMA_VERSION: u32 = 2;

/// The JSON Schema (draft 2020-12) of a record as this version writes it.
pub fn schema() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<Run>();
    schema.insert(
        "title".into(),
        format!("Record of weigh, schema {SCHEMA_VERSION}").into(),
    );
    schema.insert("description".into(), DESCRIPTION.into());
    schema.to_value()
}

const DESCRIPTION: &str = "Everything that was planned, found and counted in one campaign. Spans and instants are whole \
    nanoseconds, instants on a monotonic clock; histograms are in HdrHistogram's V2 compressed form, as base64. A \
    figure that the samples do not carry is null.";

/// [`schema`] as it stands in the documentation.
pub fn schema_text() -> String {
    let text = serde_json::to_string_pretty(&schema()).expect("a schema is plain JSON");
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use std::path::Path;

    fn here(path: &str) -> String {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// For a schema that is not released yet: `cargo test -p record -- --ignored`.
    #[test]
    #[ignore = "writes the fixture of the present schema anew"]
    fn write_the_fixture() {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
        let path = fixtures.join(format!("v{SCHEMA_VERSION}.json"));
        let file = std::fs::File::create(path).unwrap();
        example::errors().write_json(file).unwrap();
    }

    #[test]
    fn examples_and_fixture_keep_the_schema() {
        let validator = jsonschema::draft202012::new(&schema()).unwrap();
        let fixture =
            serde_json::from_str(&here(&format!("fixtures/v{SCHEMA_VERSION}.json"))).unwrap();
        let examples = example::all().map(|run| serde_json::to_value(run).unwrap());
        for run in examples.into_iter().chain([fixture]) {
            let errors: Vec<_> = validator
                .iter_errors(&run)
                .map(|error| error.to_string())
                .collect();
            assert_eq!(errors, Vec::<String>::new());
        }
    }

    #[test]
    fn the_schema_refuses_what_is_no_record() {
        let validator = jsonschema::draft202012::new(&schema()).unwrap();
        let good = serde_json::to_value(example::few_samples()).unwrap();
        type Break = fn(&mut Value);
        let cases: &[Break] = &[
            |run| run["schema"] = "1".into(),
            |run| drop(run.as_object_mut().unwrap().remove("points")),
            |run| run["points"][0]["rounds"][0]["tally"]["ok"] = (-1).into(),
            |run| {
                run["points"][0]["rounds"][0]["tally"]["faults"] =
                    serde_json::json!([{"kind": "bad"}])
            },
            |run| run["summary"]["latency_us"]["p50"] = "fast".into(),
        ];
        for (index, spoil) in cases.iter().enumerate() {
            let mut run = good.clone();
            spoil(&mut run);
            assert!(!validator.is_valid(&run), "case {index}");
        }
    }

    #[test]
    fn the_documented_schema_is_this_one() {
        assert!(
            here("../../docs/record.schema.json") == schema_text(),
            "docs/record.schema.json is out of date; write it again with `cargo xtask schema`"
        );
    }
}
