//! What a server has done, in numbers that can be held against a client's.

use std::fmt;
use std::ops::AddAssign;

/// What a server has done since it started. Counts of several workers add up.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Connections accepted.
    pub connections: u64,
    /// Times that accepting failed (too many open files, no memory); each is followed by a pause.
    pub accept_errors: u64,
    /// Of `connections`, those cut because their owner sent more than we keep while he did not read our answers.
    pub cut: u64,
    /// Requests read to their end. Each was answered, which is not to say that the answer arrived.
    pub requests: u64,
    /// Requests that were malformed, too large or not spoken here. None of them is in `requests`.
    pub refused: u64,
    /// Responses made, by class. The final ones are as many as `requests` and `refused` together.
    pub responses: Responses,
    /// Bytes received, heads and bodies.
    pub bytes_received: u64,
    /// Bytes that the kernel took for sending, heads and bodies.
    pub bytes_sent: u64,
}

/// Responses by class.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Responses {
    /// 1xx, which are not final: a 100 to each client that expected it.
    pub informational: u64,
    /// 2xx.
    pub success: u64,
    /// 3xx.
    pub redirection: u64,
    /// 4xx.
    pub client_error: u64,
    /// 5xx.
    pub server_error: u64,
}

impl Responses {
    /// Counts a response with this status.
    #[inline]
    pub(crate) fn count(&mut self, status: u16) {
        let class = match status {
            ..200 => &mut self.informational,
            200..300 => &mut self.success,
            300..400 => &mut self.redirection,
            400..500 => &mut self.client_error,
            500.. => &mut self.server_error,
        };
        *class += 1;
    }

    /// All that are not 1xx.
    pub fn total(&self) -> u64 {
        self.success + self.redirection + self.client_error + self.server_error
    }
}

impl AddAssign for Responses {
    fn add_assign(&mut self, other: Responses) {
        self.informational += other.informational;
        self.success += other.success;
        self.redirection += other.redirection;
        self.client_error += other.client_error;
        self.server_error += other.server_error;
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.connections += other.connections;
        self.accept_errors += other.accept_errors;
        self.cut += other.cut;
        self.requests += other.requests;
        self.refused += other.refused;
        self.responses += other.responses;
        self.bytes_received += other.bytes_received;
        self.bytes_sent += other.bytes_sent;
    }
}

impl Counts {
    /// Every count with its name, in the order in which they are shown. Names never change.
    pub fn rows(&self) -> [(&'static str, u64); 12] {
        [
            ("connections", self.connections),
            ("accept_errors", self.accept_errors),
            ("cut", self.cut),
            ("requests", self.requests),
            ("refused", self.refused),
            ("responses_1xx", self.responses.informational),
            ("responses_2xx", self.responses.success),
            ("responses_3xx", self.responses.redirection),
            ("responses_4xx", self.responses.client_error),
            ("responses_5xx", self.responses.server_error),
            ("bytes_received", self.bytes_received),
            ("bytes_sent", self.bytes_sent),
        ]
    }
}

impl fmt::Display for Counts {
    /// One count a line, `name number`, for people and for scripts; no line end after the last.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, count)) in self.rows().into_iter().enumerate() {
            let end = if index == 0 { "" } else { "\n" };
            write!(f, "{end}{name} {count}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adding_and_showing_leave_no_count_out() {
        let mut one = Counts {
            connections: 1,
            accept_errors: 2,
            cut: 3,
            requests: 4,
            refused: 5,
            responses: Responses::default(),
            bytes_received: 11,
            bytes_sent: 12,
        };
        for (times, status) in [(6, 100), (7, 200), (8, 304), (9, 404), (10, 503)] {
            (0..times).for_each(|_| one.responses.count(status));
        }
        let mut sum = one;
        sum += one;
        let numbers = |counts: Counts| counts.rows().map(|row| row.1);
        assert_eq!(numbers(one), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
        assert_eq!(numbers(sum), numbers(one).map(|count| 2 * count));
        assert_eq!(sum.responses.total(), 2 * (7 + 8 + 9 + 10));
        let shown = one.to_string();
        assert!(shown.starts_with("connections 1\naccept_errors 2\n"));
        assert!(shown.ends_with("\nbytes_sent 12"));
    }
}
