//! What is sent, but never written down: values that look like credentials, by the name of the header, query parameter,
//! option or variable that holds them.
//!
//! Bodies are kept as they are, unless [`BODY`] is among the names: they have no form that could be told for all of them.

mod command;

use crate::template;
use percent_encoding::percent_decode_str;

/// What stands in place of a value that is withheld.
pub const WITHHELD: &str = "(withheld)";
/// The name that stands for the request's body.
pub const BODY: &str = "body";

/// Letters anywhere in a name that make it one of a credential; letters only, in lower case.
const ANYWHERE: [&str; 15] = [
    "apikey",
    "assertion",
    "auth",
    "bearer",
    "cookie",
    "credential",
    "jwt",
    "key",
    "passphrase",
    "passw",
    "pwd",
    "secret",
    "session",
    "signature",
    "token",
];
/// The same, of whole words.
const WORDS: [&str; 5] = ["otp", "pass", "sid", "sig", "csrf"];
/// Names that hold such letters and no credential.
const HARMLESS: [&str; 4] = ["author", "keyboard", "keyword", "monkey"];

/// The names whose values are withheld: those that look like credentials, and others that were given.
#[derive(Debug, Clone, Copy, Default)]
pub struct Secrets<'a>(pub &'a [String]);

impl Secrets<'_> {
    /// Whether values under `name` are withheld.
    pub fn covers(&self, name: &str) -> bool {
        self.0.iter().any(|own| own.eq_ignore_ascii_case(name)) || looks_secret(name)
    }

    /// Returns the value of a header as it may be written down.
    pub fn header(&self, name: &str, value: &str) -> String {
        let scheme = value.split(' ').next().unwrap_or_default();
        match self.covers(name) || is_scheme(scheme) && scheme.len() < value.len() {
            true => WITHHELD.to_owned(),
            false => self.url(value),
        }
    }

    /// Returns a path or URL without the secret values of its query and fragment and without a user's name and password.
    pub fn url(&self, url: &str) -> String {
        // First, for a password may hold a `?`; what follows its first `&` is a query even so.
        let url = without_user(url);
        let (path, mut rest) = url.split_at(url.find(['?', '&', '#']).unwrap_or(url.len()));
        let mut shown = path.to_owned();
        while !rest.is_empty() {
            let (mark, pairs) = rest.split_at(1);
            let (pair, after) = pairs.split_at(pairs.find(['&', '#']).unwrap_or(pairs.len()));
            shown.push_str(mark);
            shown.push_str(&self.pair(pair));
            rest = after;
        }
        shown
    }

    /// `name=value`. What makes a request a template stays.
    fn pair(&self, pair: &str) -> String {
        let decoded = |name| percent_decode_str(name).decode_utf8_lossy();
        match pair.split_once('=') {
            // Decoded, so that `%74oken` is one too.
            Some((name, value)) if !value.is_empty() && self.covers(&decoded(name)) => {
                let holes = ["{seq}", "{random}"]
                    .iter()
                    .filter(|hole| value.contains(**hole));
                let holes: String = holes.copied().collect();
                format!("{name}={WITHHELD}{holes}")
            }
            _ => pair.to_owned(),
        }
    }

    /// Returns the head of a request or response as it may be written down.
    pub fn head(&self, head: &str) -> String {
        let mut lines = head.split_inclusive('\n');
        let mut shown = String::new();
        if let Some(first) = lines.next() {
            let words: Vec<String> = first.split(' ').map(|word| self.url(word)).collect();
            shown.push_str(&words.join(" "));
        }
        for line in lines {
            let (content, end) = line.split_at(line.trim_end_matches(['\r', '\n']).len());
            match content.split_once(':') {
                Some((name, rest)) => {
                    let value = rest.trim_start();
                    let blank = &rest[..rest.len() - value.len()];
                    shown.push_str(&format!("{name}:{blank}{}", self.header(name, value)));
                }
                None => shown.push_str(content),
            }
            shown.push_str(end);
        }
        shown
    }

    /// Returns the arguments of a command without secret values: those of `--name=value`, `NAME=value`, `--name value`
    /// and `Name: value`, also inside of a shell's script.
    pub fn command(&self, argv: &[String]) -> Vec<String> {
        command::shown(*self, argv)
    }

    /// Returns a request's body as it may be written down.
    pub fn body(&self, text: &str) -> String {
        match self.0.iter().any(|own| own == BODY) {
            true if template::has_holes(text) => format!("{WITHHELD}{{seq}}"),
            true => WITHHELD.to_owned(),
            false => text.to_owned(),
        }
    }
}

/// Whether `word` is a way to authenticate, which credentials follow.
fn is_scheme(word: &str) -> bool {
    ["basic", "bearer", "digest", "negotiate"]
        .iter()
        .any(|known| word.eq_ignore_ascii_case(known))
}

/// Whether `name` is what credentials are called.
fn looks_secret(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let mut letters: String = lower.chars().filter(char::is_ascii_alphabetic).collect();
    for word in HARMLESS {
        letters = letters.replace(word, if word == "author" { "" } else { "-" });
    }
    let is_authorization = lower.contains("authoriz") || lower.contains("authoris");
    let mut words = lower.split(|letter: char| !letter.is_ascii_alphanumeric());
    is_authorization
        || ANYWHERE.iter().any(|part| letters.contains(part))
        || words.any(|word| WORDS.contains(&word))
}

/// `user:password@` before a host is left out.
fn without_user(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let end = rest.find('/').unwrap_or(rest.len());
    match rest[..end].rfind('@') {
        Some(at) => format!("{scheme}://{WITHHELD}@{}", &rest[at + 1..]),
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_credentials_are_told_from_others() {
        let secret = [
            "Authorization",
            "Proxy-Authorization",
            "Cookie",
            "Set-Cookie",
            "X-Api-Key",
            "api_key",
            "apikey",
            "key",
            "X-Auth-Token",
            "access_token",
            "client_secret",
            "password",
            "passwd",
            "pass",
            "pwd",
            "sig",
            "signature",
            "X-Amz-Signature",
            "X-Amz-Credential",
            "X-Amz-Security-Token",
            "JSESSIONID",
            "session",
            "sid",
            "X-CSRF-Token",
            "PGPASSWORD",
            "jwt",
            "authentication",
        ];
        for name in secret {
            assert!(Secrets::default().covers(name), "{name}");
        }
        let plain = [
            "Host",
            "User-Agent",
            "Accept",
            "Content-Type",
            "author",
            "keyword",
            "q",
            "id",
            "page",
            "bypass",
            "design",
            "Content-Length",
            "If-None-Match",
            "side",
            "passenger",
        ];
        for name in plain {
            assert!(!Secrets::default().covers(name), "{name}");
        }
        assert!(Secrets(&["X-Mine".to_owned()]).covers("x-mine"));
    }

    #[test]
    fn values_are_withheld_and_everything_else_stays() {
        let own = ["q".to_owned()];
        let secrets = Secrets(&own);
        for (url, shown) in [
            ("/a?b=c", "/a?b=c"),
            ("/a?token=x&b=c", "/a?token=(withheld)&b=c"),
            ("/a?b=c&api%5Fkey=x#end", "/a?b=c&api%5Fkey=(withheld)#end"),
            ("/a?q=x", "/a?q=(withheld)"),
            ("/a?token=", "/a?token="),
            ("/a?token={random}", "/a?token=(withheld){random}"),
            (
                "http://u:p@h/x?key=1",
                "http://(withheld)@h/x?key=(withheld)",
            ),
            ("postgres://u:pa?ss@h", "postgres://(withheld)@h"),
            (
                "x://h/cb#access_token=1&a=b",
                "x://h/cb#access_token=(withheld)&a=b",
            ),
            ("/a?b=c#/d?token=1", "/a?b=c#/d?token=(withheld)"),
            ("x://u:p?s@h?token=1", "x://(withheld)@h?token=(withheld)"),
            ("x://h?a=@b&token=1", "x://(withheld)@b&token=(withheld)"),
        ] {
            assert_eq!(secrets.url(url), shown);
            assert_eq!(secrets.url(shown), shown, "twice");
        }
        for (name, value, shown) in [
            ("Accept", "*/*", "*/*"),
            ("X-Custom", "Bearer abc", WITHHELD),
            ("Referer", "http://h/?token=x", "http://h/?token=(withheld)"),
            ("set-cookie", "a=b; Path=/", WITHHELD),
        ] {
            assert_eq!(secrets.header(name, value), shown, "{name}");
        }
    }

    #[test]
    fn a_head_is_written_down_line_by_line() {
        let head = "GET /a?sig=x HTTP/1.1\r\nHost: h\r\nX-Api-Key: abc\r\n\r\n";
        let shown = "GET /a?sig=(withheld) HTTP/1.1\r\nHost: h\r\nX-Api-Key: (withheld)\r\n\r\n";
        assert_eq!(Secrets::default().head(head), shown);
    }
}
