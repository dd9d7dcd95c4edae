//! The head of a response, made once and sent many times.
//!
//! Between two responses with the same head only the Date differs, and what is said about the connection. So a head is
//! kept as for a connection that goes on; the Date is written over its copy, and the few that close get one line more.

use crate::date;
use crate::prebuilt::{Form, date_place};

/// What stands for the Date in heads that are kept.
const NO_DATE: &str = "Thu, 01 Jan 1970 00:00:00 GMT";
/// What ends every head.
const END: &[u8] = b"\r\n";

/// A head without its Date.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    bytes: Box<[u8]>,
    /// Where the Date belongs.
    date: usize,
}

impl Head {
    /// A head with these header lines, and Content-Length where there is a length.
    pub(crate) fn new(status: u16, length: Option<u64>, headers: &[(&str, &str)]) -> Head {
        let mut bytes = Vec::new();
        Form::Kept.encode(status, NO_DATE, length, headers, &mut bytes);
        Head {
            date: date_place(&bytes),
            bytes: bytes.into(),
        }
    }

    /// Appends it as it is sent now.
    #[inline]
    pub(crate) fn append(&self, form: Form, date: &str, out: &mut Vec<u8>) {
        let start = out.len() + self.date;
        out.extend_from_slice(&self.bytes);
        out[start..start + date::LENGTH].copy_from_slice(date.as_bytes());
        if form != Form::Kept {
            out.truncate(out.len() - END.len());
            out.extend_from_slice(match form {
                Form::KeptOld => b"Connection: keep-alive\r\n",
                Form::Close | Form::Kept => b"Connection: close\r\n",
            });
            out.extend_from_slice(END);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_says_the_date_and_what_becomes_of_the_connection() {
        const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
        let head = Head::new(200, Some(5), &[("A", NO_DATE)]);
        let forms = [
            (Form::Kept, ""),
            (Form::KeptOld, "Connection: keep-alive\r\n"),
            (Form::Close, "Connection: close\r\n"),
        ];
        for (form, line) in forms {
            let mut out = b"before".to_vec();
            head.append(form, DATE, &mut out);
            let wanted = format!(
                "beforeHTTP/1.1 200 OK\r\nDate: {DATE}\r\nA: {NO_DATE}\r\nContent-Length: 5\r\n{line}\r\n"
            );
            assert_eq!(String::from_utf8(out).unwrap(), wanted);
        }
    }
}
