//! The answers that have nothing to do with a file's contents: that there is none, what may be asked, what went wrong.

use super::heads::Head;
use super::paths::BadPath;
use crate::headers::Headers;
use crate::prebuilt::Form;
use kernel::Errno;

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FixedResponse {
    /// 204 to OPTIONS.
    Options,
    /// 400: the target is no path.
    Malformed,
    /// 403: the file may not be read.
    Forbidden,
    /// 404: there is no such file, or none that is served.
    Missing,
    /// 405: a known method that files do not have.
    NotAllowed,
    /// 412: the client's conditions do not hold.
    Failed,
    /// 500: the file cannot be read.
    Broken,
    /// 501: an unknown method.
    Unknown,
    /// 503: not now: descriptors or memory are used up, or the file changes while it is read.
    Busy,
}

const TEXT: (&str, &str) = ("Content-Type", "text/plain");
const ALLOW: (&str, &str) = ("Allow", "GET, HEAD, OPTIONS");

/// Status, header lines, body.
type Row = (u16, &'static [(&'static str, &'static str)], &'static str);

/// In the order of [`FixedResponse`].
#[rustfmt::skip]
const ROWS: [Row; 9] = [
    (204, &[ALLOW], ""),
    (400, &[TEXT], "The path is malformed.\n"),
    (403, &[TEXT], "This may not be read.\n"),
    (404, &[TEXT], "Nothing is here.\n"),
    (405, &[TEXT, ALLOW], "Files can be asked for with GET and HEAD.\n"),
    (412, &[TEXT], "The condition does not hold.\n"),
    (500, &[TEXT], "The file cannot be read.\n"),
    (501, &[TEXT, ALLOW], "The method is not known here.\n"),
    (503, &[TEXT], "This cannot be answered now; please try again.\n"),
];

impl FixedResponse {
    /// What is said when a file cannot be opened. What leads out of the root, through a link or otherwise, is not there.
    pub(crate) fn of(error: Errno) -> FixedResponse {
        match error {
            Errno::EACCES | Errno::EPERM => FixedResponse::Forbidden,
            Errno::EMFILE | Errno::ENFILE | Errno::ENOMEM | Errno::EAGAIN => FixedResponse::Busy,
            Errno::EIO | Errno::ESTALE => FixedResponse::Broken,
            _ => FixedResponse::Missing,
        }
    }

    pub(crate) fn status(self) -> u16 {
        ROWS[self as usize].0
    }

    /// How long the body is, when there is one.
    pub(crate) fn length(self) -> u64 {
        ROWS[self as usize].2.len() as u64
    }
}

impl From<BadPath> for FixedResponse {
    fn from(bad: BadPath) -> FixedResponse {
        match bad {
            BadPath::Malformed => FixedResponse::Malformed,
            BadPath::NamesNothing => FixedResponse::Missing,
        }
    }
}

/// All of them as bytes.
#[derive(Debug)]
pub(crate) struct FixedResponses([Head; ROWS.len()]);

impl FixedResponses {
    pub(crate) fn new(extra: &Headers) -> FixedResponses {
        FixedResponses(ROWS.map(|(status, headers, body)| {
            let length = (status != 204).then_some(body.len() as u64);
            Head::new(status, length, &extra.with(status, headers))
        }))
    }

    /// Appends a fixed response; to HEAD without its body.
    pub(crate) fn append(
        &self,
        fixed: FixedResponse,
        is_head: bool,
        form: Form,
        date: &str,
        out: &mut Vec<u8>,
    ) {
        self.0[fixed as usize].append(form, date, out);
        if !is_head {
            out.extend_from_slice(ROWS[fixed as usize].2.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fixed_response_is_in_its_row() {
        use FixedResponse::*;
        let rows = [
            (Options, 204),
            (Malformed, 400),
            (Forbidden, 403),
            (Missing, 404),
            (NotAllowed, 405),
            (Failed, 412),
            (Broken, 500),
            (Unknown, 501),
            (Busy, 503),
        ];
        assert_eq!(rows.len(), ROWS.len());
        for (fixed, status) in rows {
            assert_eq!(fixed.status(), status);
        }
    }

    #[test]
    fn a_fixed_response_to_head_is_the_same_without_its_body() {
        const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
        let fixed = FixedResponses::new(&Headers::default());
        let text = |response, is_head| {
            let mut out = Vec::new();
            fixed.append(response, is_head, Form::Kept, DATE, &mut out);
            String::from_utf8(out).unwrap()
        };
        let head = format!(
            "HTTP/1.1 404 Not Found\r\nDate: {DATE}\r\nContent-Type: text/plain\r\nContent-Length: 17\r\n\r\n"
        );
        assert_eq!(text(FixedResponse::Missing, true), head);
        assert_eq!(
            text(FixedResponse::Missing, false),
            head + "Nothing is here.\n"
        );
        assert_eq!(
            text(FixedResponse::Options, false),
            format!("HTTP/1.1 204 No Content\r\nDate: {DATE}\r\nAllow: GET, HEAD, OPTIONS\r\n\r\n")
        );
    }

    #[test]
    fn what_the_kernel_says_is_told_without_telling_what_is_outside() {
        let cases = [
            (Errno::ENOENT, FixedResponse::Missing),
            (Errno::ENOTDIR, FixedResponse::Missing),
            (Errno::EACCES, FixedResponse::Forbidden),
            (Errno::ENAMETOOLONG, FixedResponse::Missing),
            (Errno::EMFILE, FixedResponse::Busy),
            (Errno::EIO, FixedResponse::Broken),
            (Errno::EXDEV, FixedResponse::Missing),
            (Errno::ELOOP, FixedResponse::Missing),
            (Errno(6), FixedResponse::Missing),
        ];
        for (error, fixed) in cases {
            assert_eq!(FixedResponse::of(error), fixed, "{error:?}");
        }
    }
}
