//! The three header fields on which framing hangs: Content-Length, Transfer-Encoding, Connection.
//!
//! The client reads all three here. The server reads Connection here and is stricter with the two lengths (in
//! `head`). All other fields are looked at for their length and left alone.

use crate::Violation;

/// What the fields of one head say together.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fields {
    pub(crate) length: Option<u64>,
    pub(crate) chunked: bool,
    pub(crate) close: bool,
    pub(crate) keep_alive: bool,
}

impl Fields {
    /// Takes one header line into account.
    pub(crate) fn take(&mut self, name: &[u8], value: &[u8]) -> Result<(), Violation> {
        match name.len() {
            10 if is(name, b"Connection") => self.connection(value),
            14 if is(name, b"Content-Length") => self.content_length(value)?,
            17 if is(name, b"Transfer-Encoding") => self.transfer_encoding(value)?,
            _ => {}
        }
        Ok(())
    }

    pub(crate) fn connection(&mut self, value: &[u8]) {
        if is(value, b"keep-alive") {
            self.keep_alive = true;
            return;
        }
        for option in list(value) {
            self.close |= option.eq_ignore_ascii_case(b"close");
            self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
        }
    }

    /// Several equal lengths are one, on one line or on several (RFC 9112 §6.3, 5); nothing else is forgiven.
    fn content_length(&mut self, value: &[u8]) -> Result<(), Violation> {
        if self.length.is_none() {
            self.length = decimal(value);
            if self.length.is_some() {
                return Ok(());
            }
        }
        for number in list(value) {
            let length = decimal(number).ok_or(Violation::BadContentLength)?;
            if self.length.is_some_and(|known| known != length) {
                return Err(Violation::BadContentLength);
            }
            self.length = Some(length);
        }
        Ok(())
    }

    /// `chunked`, once. Other codings would need a decoder, and no TE header asked for them.
    fn transfer_encoding(&mut self, value: &[u8]) -> Result<(), Violation> {
        if self.chunked || !value.trim_ascii().eq_ignore_ascii_case(b"chunked") {
            return Err(Violation::BadTransferEncoding);
        }
        self.chunked = true;
        Ok(())
    }
}

/// The members of a comma-separated list, trimmed; an empty one is a member too.
pub(crate) fn list(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii)
}

/// Digits and nothing else (no sign, no space, not empty), within 64 bits.
pub(crate) fn decimal(digits: &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for &byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    (!digits.is_empty()).then_some(number)
}

/// Whether `given` is `usual`, whatever its case. In its usual spelling, as nearly always, that is two loads.
#[inline]
pub(crate) fn is(given: &[u8], usual: &[u8]) -> bool {
    given == usual || given.eq_ignore_ascii_case(usual)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_lengths_are_digits_within_64_bits_and_agree() {
        let read = |values: &[&str]| {
            let mut fields = Fields::default();
            let read = values
                .iter()
                .try_for_each(|value| fields.take(b"Content-LENGTH", value.as_bytes()));
            read.ok().and(fields.length)
        };
        assert_eq!(read(&["0"]), Some(0));
        assert_eq!(read(&["007"]), Some(7));
        assert_eq!(read(&["18446744073709551615"]), Some(u64::MAX));
        assert_eq!(read(&["5, 5", "5"]), Some(5));
        for bad in [
            "",
            " ",
            "+5",
            "-5",
            "5 5",
            "0x5",
            "5,",
            ",5",
            "5, 6",
            "18446744073709551616",
            "5.0",
        ] {
            assert_eq!(read(&[bad]), None, "{bad:?}");
        }
        assert_eq!(read(&["5", "6"]), None);
    }
}
