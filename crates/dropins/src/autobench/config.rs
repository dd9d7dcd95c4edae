//! The file `.autobench.conf` in the home folder: `key = value`.

use super::options::Values;

/// Its text as it is installed where there is none: with the defaults of autobench.
pub(super) const SHIPPED: &str = "\
# Configuration of autobench

# The servers under test
host1 = testhost1
host2 = testhost2

# What is requested of each
uri1 = /
uri2 = /

# Where each listens
port1 = 80
port2 = 80

# Connections per second: from low_rate to high_rate in steps of rate_step
low_rate = 20
high_rate = 200
rate_step = 10

# Connections of each test, and requests on each of them
num_conn = 5000
num_call = 10

# Seconds to wait for a response
timeout = 5

# tsv or csv
output_fmt = tsv

# Only for autobench_admin, which weigh does not replace
clients = localhost:4600
";

/// Reads its text; the text beside is what is said on standard error.
pub(super) fn read(text: &str) -> (Values, String) {
    let (mut values, mut warnings) = (Values::new(), String::new());
    for line in text.lines() {
        if line.trim().is_empty() || line.trim_start().starts_with('#') {
            continue;
        }
        let pair = line.split_once('=');
        let pair = pair.map(|(key, value)| (key.trim(), value.trim()));
        let Some((key, value)) = pair.filter(|(key, value)| is_key(key) && !value.is_empty())
        else {
            warnings += &format!("AUTOBENCH: Warning - invalid line in config file:'{line}\n'\n");
            continue;
        };
        if values.contains_key(key) {
            warnings += &format!(
                "AUTOBENCH: Warning - parameter '{key}' defined more than once,ignoring '{key}'='{value}'\n"
            );
            continue;
        }
        values.insert(key.to_owned(), value.to_owned());
    }
    (values, warnings)
}

/// A letter, and behind it letters, digits, underscores and dashes.
fn is_key(text: &str) -> bool {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    text.starts_with(|letter: char| letter.is_ascii_alphabetic()) && text.chars().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_pairs_and_the_first_of_a_key_counts() {
        let text = "# a\n\n  # b\nhost1 = a b  \nlow_rate=5\nhost1 = c\n5x = 3\nquiet\nuri1 =\n";
        let (values, warnings) = read(text);
        assert_eq!(values["host1"], "a b");
        assert_eq!(values["low_rate"], "5");
        assert_eq!(values.len(), 2);
        assert_eq!(warnings.matches("invalid line in config file").count(), 3);
        assert!(warnings.contains("'host1' defined more than once,ignoring 'host1'='c'"));
        assert_eq!(read(SHIPPED).1, "");
        assert_eq!(read(SHIPPED).0.len(), 14);
    }
}
