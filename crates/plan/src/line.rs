//! One request a line: `[weight=N] [METHOD] PATH-OR-URL [BODY]`, as files of URLs hold them.
//!
//! Blank lines and lines that begin with `#` say nothing. A URL must name the server under test; a body is the rest of the
//! line. A request of weight 3 is sent three times as often as one of weight 1.

use crate::{Body, Request, Target};
use thiserror::Error;

/// The most requests of a file that are held in memory, and so may have weights; a longer file is read as it is needed.
pub const HELD_MOST: usize = 4096;
/// The highest weight of a request.
pub const WEIGHT_MOST: u32 = 1000;
/// The most that the weights of a file may add up to.
pub const WEIGHTS_MOST: u64 = 100_000;

/// Why a line is no request; the caller adds file and line number.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LineError {
    /// No path follows the method.
    #[error("there is no path; write `/path`, `http://host/path` or `METHOD /path BODY`")]
    NoPath,
    /// The weight is no number, 0 or too high.
    #[error(
        "`weight={0}` is no weight; write a whole number from 1 to {WEIGHT_MOST}, such as weight=3"
    )]
    BadWeight(String),
    /// The URL names another server.
    #[error("it names `{other}`, but this run weighs `{target}`; one run weighs one server")]
    OtherServer {
        /// What the line names.
        other: String,
        /// What is weighed.
        target: String,
    },
    /// The path holds something that may not stand in a request line.
    #[error("`{0}` is no path; it must begin with `/` and be percent-encoded")]
    BadPath(String),
    /// What begins like a range of numbers is none.
    #[error("`{0}` is no range; write {{n:FROM..TO}} with FROM up to TO, such as {{n:1..10000}}")]
    BadRange(String),
    /// The first word is neither path nor URL nor method.
    #[error("`{0}` is no method; write it in capitals, such as POST")]
    BadMethod(String),
}

/// Reads a line; none for blank ones and comments. What the line leaves open comes from `common`.
///
/// # Errors
/// See [`LineError`].
pub fn request(
    line: &str,
    common: &Request,
    target: &Target,
) -> Result<Option<Request>, LineError> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let (first, rest) = split(weight(line)?.1);
    let is_url = |word: &str| word.starts_with('/') || word.contains("://");
    let (method, url, body) = if is_url(first) {
        (common.method.clone(), first, rest)
    } else {
        let is_part = |byte: u8| byte.is_ascii_uppercase() || byte == b'-';
        if !first.bytes().all(is_part) {
            return Err(LineError::BadMethod(first.to_owned()));
        }
        let (url, body) = split(rest);
        (first.to_owned(), url, body)
    };
    if url.is_empty() {
        return Err(LineError::NoPath);
    }
    let body = match body {
        "" => common.body.clone(),
        text => Some(Body::Text(text.to_owned())),
    };
    Ok(Some(Request {
        method,
        path: path(url, target)?,
        body,
        ..common.clone()
    }))
}

/// Returns the weight that a line begins with, 1 where there is none, and the rest of the line.
///
/// # Errors
/// [`LineError::BadWeight`].
pub fn weight(line: &str) -> Result<(u32, &str), LineError> {
    let (first, rest) = split(line.trim());
    let Some(number) = first.strip_prefix("weight=") else {
        return Ok((1, line));
    };
    match number.parse() {
        Ok(weight @ 1..=WEIGHT_MOST) => Ok((weight, rest)),
        _ => Err(LineError::BadWeight(number.to_owned())),
    }
}

fn split(line: &str) -> (&str, &str) {
    let (first, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    (first, rest.trim_start())
}

/// The path and query of `url`, which may be a path already.
fn path(url: &str, target: &Target) -> Result<String, LineError> {
    let path = match url.split_once("://") {
        Some((scheme, rest)) if !url.starts_with('/') => {
            let end = rest.find(['/', '?']).unwrap_or(rest.len());
            let (authority, path) = rest.split_at(end);
            if scheme != target.scheme || authority != target.authority {
                return Err(LineError::OtherServer {
                    other: format!("{scheme}://{authority}"),
                    target: format!("{}://{}", target.scheme, target.authority),
                });
            }
            match path.chars().next() {
                Some('/') => path.to_owned(),
                _ => format!("/{path}"),
            }
        }
        _ => url.to_owned(),
    };
    let path = path.split('#').next().unwrap_or("/").to_owned();
    match (path_is_valid(&path), crate::template::broken_range(&path)) {
        (true, None) => Ok(path),
        (true, Some(range)) => Err(LineError::BadRange(range.to_owned())),
        (false, _) => Err(LineError::BadPath(path)),
    }
}

/// Whether `path` may stand in a request line: it begins with `/` and is all visible ASCII.
pub fn path_is_valid(path: &str) -> bool {
    path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Option<(String, String, Option<Body>)>, LineError> {
        let common = Request {
            method: "GET".into(),
            ..Request::get("/")
        };
        let target = Target {
            scheme: "http".into(),
            authority: "h:81".into(),
            endpoints: Vec::new(),
        };
        let read = request(line, &common, &target)?;
        Ok(read.map(|request| (request.method, request.path, request.body)))
    }

    #[test]
    fn lines_are_read_or_refused() {
        let is = |method: &str, path: &str, body: Option<&str>| {
            Ok(Some((
                method.into(),
                path.into(),
                body.map(|text| Body::Text(text.into())),
            )))
        };
        let cases = [
            ("", Ok(None)),
            ("  # POST /x", Ok(None)),
            ("/a?b=c", is("GET", "/a?b=c", None)),
            ("http://h:81/a", is("GET", "/a", None)),
            ("http://h:81", is("GET", "/", None)),
            ("http://h:81?q=1", is("GET", "/?q=1", None)),
            ("/a#part", is("GET", "/a", None)),
            (
                "POST /a  {\"n\": {seq}} ",
                is("POST", "/a", Some("{\"n\": {seq}}")),
            ),
            ("/r?to=http://x/", is("GET", "/r?to=http://x/", None)),
            ("weight=3 /a", is("GET", "/a", None)),
            (
                "weight=1000 POST /a weight=2",
                is("POST", "/a", Some("weight=2")),
            ),
            ("weight=3", Err(LineError::NoPath)),
            ("weight= /a", Err(LineError::BadWeight("".into()))),
            ("weight=0 /a", Err(LineError::BadWeight("0".into()))),
            ("weight=1001 /a", Err(LineError::BadWeight("1001".into()))),
            ("weight=1.5 /a", Err(LineError::BadWeight("1.5".into()))),
            ("POST", Err(LineError::NoPath)),
            ("post /a", Err(LineError::BadMethod("post".into()))),
            ("/ä", Err(LineError::BadPath("/ä".into()))),
            (
                "http://other/a",
                Err(LineError::OtherServer {
                    other: "http://other".into(),
                    target: "http://h:81".into(),
                }),
            ),
        ];
        for (line, wanted) in cases {
            assert_eq!(read(line), wanted, "{line}");
        }
    }
}
