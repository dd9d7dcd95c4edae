//! How rows become text: fields separated by commas or by tabs.

/// A way of separating fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sheet {
    /// By commas, with quotes where they must be (RFC 4180).
    Commas,
    /// By tabs, which no field may hold: there a blank stands for them, and for ends of lines.
    Tabs,
}

impl Sheet {
    /// One line.
    pub(super) fn row(self, fields: impl Iterator<Item = String>) -> String {
        match self {
            Sheet::Commas => joined(fields.map(quoted), ","),
            Sheet::Tabs => joined(
                fields.map(|field| field.replace(['\t', '\n', '\r'], " ")),
                "\t",
            ),
        }
    }
}

fn joined(fields: impl Iterator<Item = String>, by: &str) -> String {
    let fields: Vec<String> = fields.collect();
    format!("{}\n", fields.join(by))
}

/// In double quotes where the field holds a comma, a quote or a line's end; quotes in it are doubled.
fn quoted(field: String) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        let cases: &[(&str, &str, &str)] = &[
            ("plain text", "plain text", "plain text"),
            ("a,b", "\"a,b\"", "a,b"),
            ("say \"x\"", "\"say \"\"x\"\"\"", "say \"x\""),
            ("two\nlines", "\"two\nlines\"", "two lines"),
            ("a\tb", "a\tb", "a b"),
            ("", "", ""),
        ];
        for (field, commas, tabs) in cases {
            let row = |sheet: Sheet| sheet.row([*field, "x"].map(str::to_owned).into_iter());
            assert_eq!(row(Sheet::Commas), format!("{commas},x\n"));
            assert_eq!(row(Sheet::Tabs), format!("{tabs}\tx\n"));
        }
    }
}
