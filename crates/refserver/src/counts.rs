//! What a server has done, in numbers that can be compared with a client's.
//!
//! One table says what is counted: from it come the sums of several workers, the text at the end, and what the admin
//! listener shows as JSON and for Prometheus. Names never change; new ones come at the end.

use std::fmt::{self, Write};
use std::ops::AddAssign;

/// Every count in the order in which it is shown, with the sentence that documents it everywhere.
macro_rules! counts {
    ($($name:ident $says:literal),* $(,)?) => {
        /// What a server has done since it started. Counts of several workers add up. The final responses are as many as
        /// `requests`, `refused`, `over_limit` and `over_limit_per_address` together.
        #[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
        pub struct Counts {
            $(#[doc = $says] pub $name: u64,)*
        }

        impl AddAssign for Counts {
            fn add_assign(&mut self, other: Counts) {
                $(self.$name += other.$name;)*
            }
        }

        impl Counts {
            /// Every count with its name and its sentence, in the order in which they are shown.
            fn rows(&self) -> impl Iterator<Item = (&'static str, u64, &'static str)> + use<> {
                let Counts { $($name),* } = *self;
                [$((stringify!($name), $name, $says)),*].into_iter()
            }
        }
    };
}

counts! {
    connections "Connections accepted.",
    accept_errors "Times that accepting failed (too many open files, no memory); each is followed by a pause.",
    cut "Connections closed by the server's own decision, for any of the reasons below that begin with cut.",
    requests "Requests read to their end. Each got a response, which may not have arrived.",
    refused "Requests that were malformed, too large, too slow or not spoken here. None of them is in requests.",
    responses_1xx "Responses made, by class of their status.",
    responses_2xx "Responses made, by class of their status.",
    responses_3xx "Responses made, by class of their status.",
    responses_4xx "Responses made, by class of their status.",
    responses_5xx "Responses made, by class of their status.",
    bytes_received "Bytes received, heads and bodies.",
    bytes_sent "Bytes that the kernel took for sending, heads and bodies.",
    cut_first_request "Connections closed because nothing came after they were accepted.",
    cut_head "Connections closed because a request's head took too long.",
    cut_body "Connections closed because a request's body came too slowly.",
    cut_send "Connections reset because the client read responses too slowly, or let too many wait.",
    cut_idle "Connections closed because they were idle for too long.",
    cut_file "Connections reset because a file changed, or became unreadable, while it was sent.",
    cut_drain "Connections closed unfinished because the server had stopped and their time was over.",
    over_limit "Connections refused with 503 because the server had its maximum.",
    over_limit_per_address "Connections refused with 503 because their address had its maximum.",
    log_lines_lost "Requests that are missing in the log because it could not be written.",
    handshakes_failed "Connections closed before their TLS handshake was complete, by whichever side and for whatever reason.",
}

impl Counts {
    /// Counts a response with this status.
    #[inline]
    pub(crate) fn count_response(&mut self, status: u16) {
        let class = match status {
            ..200 => &mut self.responses_1xx,
            200..300 => &mut self.responses_2xx,
            300..400 => &mut self.responses_3xx,
            400..500 => &mut self.responses_4xx,
            500.. => &mut self.responses_5xx,
        };
        *class += 1;
    }

    /// Returns the number of final responses: all that are not 1xx.
    pub fn responses(&self) -> u64 {
        self.responses_2xx + self.responses_3xx + self.responses_4xx + self.responses_5xx
    }

    /// As one JSON object: names and numbers, with `open`, the connections that are there now.
    pub(crate) fn json(&self, open: u64) -> String {
        let mut text = format!("{{\n  \"open\": {open}");
        for (name, count, _) in self.rows() {
            let _ = write!(text, ",\n  \"{name}\": {count}"); // strings take everything
        }
        text + "\n}\n"
    }

    /// In Prometheus' text format, version 0.0.4; `open` as in [`Counts::json`].
    pub(crate) fn prometheus(&self, open: u64) -> String {
        let mut text = format!(
            "# HELP weigh_connections_open Connections that are there now.\n\
             # TYPE weigh_connections_open gauge\nweigh_connections_open {open}\n"
        );
        for (name, count, says) in self.rows() {
            let _ = write!(
                text,
                "# HELP weigh_{name}_total {says}\n# TYPE weigh_{name}_total counter\nweigh_{name}_total {count}\n"
            ); // strings take everything
        }
        text
    }
}

impl fmt::Display for Counts {
    /// One count a line, `name number`, for people and for scripts; no line end after the last.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = self
            .rows()
            .map(|(name, count, _)| format!("{name} {count}"));
        f.write_str(&lines.collect::<Vec<_>>().join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every count another number.
    fn distinct() -> Counts {
        Counts {
            connections: 1,
            accept_errors: 2,
            cut: 3,
            requests: 4,
            refused: 5,
            responses_1xx: 6,
            responses_2xx: 7,
            responses_3xx: 8,
            responses_4xx: 9,
            responses_5xx: 10,
            bytes_received: 11,
            bytes_sent: 12,
            cut_first_request: 13,
            cut_head: 14,
            cut_body: 15,
            cut_send: 16,
            cut_idle: 17,
            cut_file: 18,
            cut_drain: 19,
            over_limit: 20,
            over_limit_per_address: 21,
            log_lines_lost: 22,
            handshakes_failed: 23,
        }
    }

    fn numbers(counts: &Counts) -> Vec<u64> {
        counts.rows().map(|row| row.1).collect()
    }

    #[test]
    fn a_response_counts_in_the_class_of_its_status() {
        let mut counts = Counts::default();
        for (times, status) in [(6, 100), (7, 200), (8, 304), (9, 404), (10, 503)] {
            (0..times).for_each(|_| counts.count_response(status));
        }
        assert_eq!(numbers(&counts)[5..10], [6, 7, 8, 9, 10]);
    }

    #[test]
    fn adding_and_showing_leave_no_count_out() {
        let one = distinct();
        let mut sum = one;
        sum += one;
        assert_eq!(numbers(&one), (1..=23).collect::<Vec<_>>());
        let doubled: Vec<_> = numbers(&one).iter().map(|count| 2 * count).collect();
        assert_eq!(numbers(&sum), doubled);
        assert_eq!(sum.responses(), 2 * (7 + 8 + 9 + 10));
        let shown = one.to_string();
        assert!(shown.starts_with("connections 1\naccept_errors 2\n"));
        assert!(shown.contains("\nresponses_5xx 10\nbytes_received 11\nbytes_sent 12\n"));
        assert!(shown.ends_with("\nhandshakes_failed 23"));
    }

    #[test]
    fn json_and_prometheus_say_the_same_numbers() {
        let one = distinct();
        let (json, text) = (one.json(99), one.prometheus(99));
        assert!(json.starts_with("{\n  \"open\": 99,\n  \"connections\": 1,\n"));
        assert!(json.ends_with("\"handshakes_failed\": 23\n}\n"));
        assert!(text.contains("\n# TYPE weigh_requests_total counter\nweigh_requests_total 4\n"));
        assert!(text.contains("\nweigh_connections_open 99\n"));
        for (name, count, _) in one.rows() {
            assert!(json.contains(&format!("\"{name}\": {count}")), "{name}");
            assert!(
                text.contains(&format!("\nweigh_{name}_total {count}\n")),
                "{name}"
            );
        }
        // Each line is a comment or a name and a number, and each name has its two comments.
        let lines: Vec<_> = text.lines().collect();
        assert!(lines.chunks(3).all(|it| {
            it[0].starts_with("# HELP ")
                && it[1].starts_with("# TYPE ")
                && it[2].split(' ').count() == 2
        }));
    }
}
