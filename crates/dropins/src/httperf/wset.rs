//! `--wset N,X`: requests of N files, with a new one in the share X of them.

use crate::printf::{decimal, whole};

/// A list of requests that weigh holds in memory has at most so many.
const MOST_PATHS: u64 = 4096;
/// Sums of shares such as 0.1 are off by less.
const ROUNDING: f64 = 1e-9;

/// The files and the share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct WorkingSet {
    pub(super) files: u64,
    pub(super) miss_rate: f64,
}

impl WorkingSet {
    /// Reads the option's value; the error is httperf's sentence.
    pub(super) fn read(text: &str) -> Result<WorkingSet, String> {
        let wrong = |what: &str, rest: &str| format!("{what} in --wset arg (rest: `{rest}')");
        let (files, rest) = match text.split_once(',') {
            Some((files, rest)) => (files, Some(rest)),
            None => (text, None),
        };
        let files = whole(files).filter(|files| *files > 0);
        let files = files.ok_or_else(|| wrong("bad working set size (1st parameter)", text))?;
        let bad_rate = |rest| wrong("bad target miss rate (2nd parameter)", rest);
        let rest = rest.ok_or_else(|| bad_rate(text))?;
        let miss_rate = decimal(rest).filter(|rate| (0.0..=1.0).contains(rate));
        let miss_rate = miss_rate.ok_or_else(|| bad_rate(rest))?;
        Ok(WorkingSet { files, miss_rate })
    }

    /// The paths of `requests` requests, or those after which they begin anew. `client` is the number of this client and that of all.
    pub(super) fn paths(
        &self,
        prefix: &str,
        client: (u64, u64),
        requests: u64,
    ) -> Result<Vec<String>, String> {
        let length = match requests <= MOST_PATHS {
            true => Some(requests),
            false => (1..=MOST_PATHS).find(|length| self.is_cycle(*length, client.1)),
        };
        let length = length.ok_or_else(|| {
            format!(
                "weigh does not take --wset {},{}: its requests repeat only after more than {MOST_PATHS}; write them into a \
                 file for weigh run --urls FILE",
                self.files, self.miss_rate
            )
        })?;
        let paths = (1..=length).map(|request| {
            let file = (client.0 + client.1 * self.misses(request)) % self.files;
            self.path(prefix, file)
        });
        Ok(paths.collect())
    }

    /// How many of the first requests were for a new file.
    fn misses(&self, requests: u64) -> u64 {
        (requests as f64 * self.miss_rate + ROUNDING) as u64
    }

    /// Whether everything is as at the beginning after so many requests.
    fn is_cycle(&self, length: u64, clients: u64) -> bool {
        let misses = length as f64 * self.miss_rate;
        let is_whole = (misses - misses.round()).abs() < ROUNDING;
        is_whole && (self.misses(length) * clients).is_multiple_of(self.files)
    }

    /// The file's number with as many digits as the last has, each a folder.
    fn path(&self, prefix: &str, file: u64) -> String {
        let mut digits = String::new();
        let (mut below, mut rest) = (1, file);
        while below < self.files {
            digits.insert_str(0, &format!("/{}", rest % 10));
            (below, rest) = (below.saturating_mul(10), rest / 10);
        }
        format!("{}{digits}.html", prefix.trim_end_matches('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(value: &str, prefix: &str, client: (u64, u64), requests: u64) -> Vec<String> {
        let set = WorkingSet::read(value).unwrap();
        set.paths(prefix, client, requests).unwrap()
    }

    #[test]
    fn files_are_numbered_by_folders_and_the_share_says_how_often_there_is_a_new_one() {
        assert_eq!(
            paths("1024,1", "/wset1024", (102, 1024), 1),
            ["/wset1024/0/1/0/2.html"]
        );
        assert_eq!(
            paths("20,0.5", "/", (0, 1), 4),
            ["/0/0.html", "/0/1.html", "/0/1.html", "/0/2.html"]
        );
        assert_eq!(paths("10,0", "/a/", (3, 4), 2), ["/a/3.html", "/a/3.html"]);
    }

    #[test]
    fn a_long_load_repeats_its_cycle() {
        let cycle = paths("100,0.25", "/", (0, 1), 1_000_000);
        assert_eq!(cycle.len(), 400);
        assert_eq!(cycle[3], "/0/1.html");
        assert_eq!(cycle[399], "/0/0.html");
        assert_eq!(paths("100,0.1", "/", (0, 1), 1_000_000).len(), 1000);
        let set = WorkingSet::read("5000,1").unwrap();
        let why = set.paths("/", (0, 1), 10_000).unwrap_err();
        assert!(why.contains("--urls FILE"), "{why}");
    }
}
