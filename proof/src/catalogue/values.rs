//! Templates of the catalogue, and the values that fill them.
//!
//! `${name}` stands for a value. In command lines, words from `[name` to `]` stand only where there is a value of that
//! name, those from `[!name` to `]` only where there is none. That is all: a condition is a value that is there.

use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::path::Path;

/// Named values.
#[derive(Debug, Clone, Default)]
pub struct Values(BTreeMap<&'static str, String>);

impl Values {
    /// The values of a load on `path` of the server at `at`, by a tool that may write to `folder`.
    pub fn of_load(at: impl ToString, path: &str, folder: &Path) -> Values {
        let at = at.to_string();
        let (host, port) = at.rsplit_once(':').unwrap_or((&at, "80"));
        Values::default()
            .with("host", host)
            .with("port", port)
            .with("path", path)
            .with("url", format!("http://{at}{path}"))
            .with("folder", folder.display())
            .with("root", crate::programs::root().display())
            .with("at", at)
    }

    /// Adds a value.
    pub fn with(mut self, name: &'static str, value: impl ToString) -> Values {
        self.0.insert(name, value.to_string());
        self
    }

    /// Adds a value if there is one.
    pub fn with_some(self, name: &'static str, value: Option<impl ToString>) -> Values {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// Adds what `keep` and `close` stand for: whether connections are kept, or closed by a header.
    pub fn keeping(self, keeps: bool) -> Values {
        match keeps {
            true => self.with("keep", "keep-alive"),
            false => self.with("close", "Connection: close"),
        }
    }

    /// Adds the kind of handshake that is measured, if one is: its name is a value's.
    pub fn with_handshake(self, kind: Option<&'static str>) -> Values {
        match kind {
            Some(kind) => self.with(kind, kind),
            None => self,
        }
    }

    /// The same load over TLS.
    pub fn encrypted(mut self) -> Values {
        if let Some(url) = self.0.get_mut("url") {
            *url = url.replacen("http:", "https:", 1);
        }
        self.with("tls", "https")
    }

    /// Replaces every `${name}` in `text`.
    ///
    /// # Errors
    /// A value is missing.
    pub fn fill(&self, text: &str) -> Result<String> {
        let mut pieces = text.split("${");
        let mut filled = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            let (name, rest) = piece.split_once('}').context("`${` without `}`")?;
            let value = self.0.get(name);
            filled += value.with_context(|| format!("`{name}` has no value"))?;
            filled += rest;
        }
        Ok(filled)
    }

    /// Replaces every `${name}` in the lines of `text` that stand: a line behind `[name]` does where there is such a value, one
    /// behind `[!name]` where there is none.
    ///
    /// # Errors
    /// A value is missing.
    pub fn lines(&self, text: &str) -> Result<String> {
        let line = |line: &str| match line.strip_prefix('[').and_then(|of| of.split_once(']')) {
            None => Some(format!("{line}\n")),
            Some((name, rest)) if self.is_met(name) => Some(format!("{rest}\n")),
            Some(_) => None,
        };
        self.fill(&text.lines().filter_map(line).collect::<String>())
    }

    /// Whether there is a value of that name, or behind `!` none.
    fn is_met(&self, name: &str) -> bool {
        match name.strip_prefix('!') {
            Some(name) => !self.0.contains_key(name),
            None => self.0.contains_key(name),
        }
    }

    /// The words of a command line.
    ///
    /// # Errors
    /// A value is missing.
    pub fn words(&self, line: &str) -> Result<Vec<String>> {
        let mut words = Vec::new();
        let mut stands = true;
        for word in line.split_whitespace() {
            match (word, word.strip_prefix('[')) {
                ("]", _) => stands = true,
                (_, Some(name)) => stands = self.is_met(name),
                _ if stands => words.push(self.fill(word)?),
                _ => {}
            }
        }
        Ok(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_where_their_value_is_there_and_values_stay_one_word() {
        let line = "-n ${n} [close -H ${close} ] [!close -k ] http://${at}/";
        let values = Values::default().with("n", 3).with("at", "a:1");
        let kept = values.words(line).unwrap();
        assert_eq!(kept, ["-n", "3", "-k", "http://a:1/"]);
        let closed = values.keeping(false).words(line).unwrap();
        let wanted = ["-n", "3", "-H", "Connection: close", "http://a:1/"];
        assert_eq!(closed, wanted);
    }

    #[test]
    fn lines_stand_where_their_value_is_there() {
        let text = "a {\n[tls]  key ${tls};\n[!tls] plain;\n}\n";
        let plain = Values::default().lines(text).unwrap();
        assert_eq!(plain, "a {\n plain;\n}\n");
        let secure = Values::default().with("tls", "/k").lines(text).unwrap();
        assert_eq!(secure, "a {\n  key /k;\n}\n");
    }

    #[test]
    fn a_missing_value_is_named() {
        let error = Values::default().fill("a ${b} c").unwrap_err();
        assert_eq!(error.to_string(), "`b` has no value");
        assert_eq!(Values::default().fill("{ a }").unwrap(), "{ a }");
    }
}
