//! Header lines that the operator adds to responses.
//!
//! As nginx's `add_header` without `always`: they are in every response that sends or names something that is there
//! (200, 204, 206, 301, 304) and in no error, so that a `Cache-Control` meant for files does not have a 404 cached.
//! They become part of heads that are made once, so they cost a request nothing but their bytes.

use crate::ServeError;
use std::sync::Arc;
use wire::header_is_valid;

/// Bytes of all lines together. Browsers take some 100 KB of head, curl 300 KB; other clients less.
const LIMIT: usize = 8 * 1024;

/// What only the server can say: how the connection and the message are framed, and what the content is.
#[rustfmt::skip]
const OWN: [&str; 18] = [
    "Accept-Ranges", "Allow", "Connection", "Content-Encoding", "Content-Length", "Content-Range", "Content-Type", "Date",
    "ETag", "Keep-Alive", "Last-Modified", "Location", "Proxy-Authenticate", "Proxy-Connection", "TE", "Trailer",
    "Transfer-Encoding", "Upgrade",
];

/// Header lines of the operator, name and value each. Clones share them.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Headers(Arc<[(String, String)]>);

impl Headers {
    /// From the operator's list.
    ///
    /// # Errors
    /// One of them cannot be sent, would contradict what the server says by itself, or all are too many.
    pub(crate) fn new(lines: &[(String, String)]) -> Result<Headers, ServeError> {
        let wrong = |name: &str, why: &str| {
            ServeError::new(format!("the header `{name}` cannot be added: {why}"))
        };
        let mut length = 0;
        for (name, value) in lines {
            if !header_is_valid(name, value) {
                return Err(wrong(
                    name,
                    "a name is a word, a value has no control characters",
                ));
            }
            if OWN.iter().any(|own| own.eq_ignore_ascii_case(name)) {
                return Err(wrong(name, "the server says that by itself"));
            }
            length += name.len() + value.len() + ": \r\n".len();
            if length > LIMIT {
                return Err(wrong(name, "all together are over 8 KiB"));
            }
        }
        Ok(Headers(lines.into()))
    }

    /// What a response of this status has: `own` and, where they belong, the operator's lines.
    pub(crate) fn with<'a>(
        &'a self,
        status: u16,
        own: &[(&'a str, &'a str)],
    ) -> Vec<(&'a str, &'a str)> {
        let mut all = own.to_vec();
        if matches!(status, 200 | 204 | 206 | 301 | 304) {
            all.extend(self.0.iter().map(|(name, value)| (&**name, &**value)));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&str, &str)]) -> Result<Headers, String> {
        let owned = lines
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_string()));
        Headers::new(&owned.collect::<Vec<_>>()).map_err(|error| error.to_string())
    }

    #[test]
    fn lines_go_to_what_is_there_and_to_no_error() {
        let extra = headers(&[("Cache-Control", "no-cache"), ("X-A", "b")]).unwrap();
        for status in [200, 204, 206, 301, 304] {
            let wanted = [("A", "b"), ("Cache-Control", "no-cache"), ("X-A", "b")];
            assert_eq!(extra.with(status, &[("A", "b")]), wanted, "{status}");
        }
        for status in [400, 403, 404, 405, 408, 412, 416, 500, 501, 503] {
            assert_eq!(extra.with(status, &[("A", "b")]), [("A", "b")], "{status}");
        }
    }

    #[test]
    fn what_would_break_a_response_or_contradict_it_is_refused() {
        let long = "x".repeat(LIMIT);
        let cases = [
            ("X-A", "b\r\nX-C: d", "a name is a word"),
            ("X-A", "b\n", "a name is a word"),
            ("X-A", "b\0", "a name is a word"),
            ("X A", "b", "a name is a word"),
            ("", "b", "a name is a word"),
            ("content-length", "5", "the server says that by itself"),
            (
                "Transfer-Encoding",
                "chunked",
                "the server says that by itself",
            ),
            ("CONNECTION", "close", "the server says that by itself"),
            ("Keep-Alive", "timeout=5", "the server says that by itself"),
            ("ETag", "\"a\"", "the server says that by itself"),
            ("X-A", &long, "all together are over 8 KiB"),
        ];
        for (name, value, why) in cases {
            let refused = headers(&[("X-B", "c"), (name, value)]).unwrap_err();
            assert!(refused.contains(why), "{name}: {refused}");
        }
        for (name, value) in [("Server", "weigh"), ("X-A", ""), ("X-A", "é\t\"a\"")] {
            assert!(headers(&[(name, value)]).is_ok(), "{name}");
        }
    }
}
