//! A command line that cannot be read: one sentence that names the option and the remedy.
//!
//! The parser's own text has usage and tips as well; one of them, to put `--` before an option, is wrong here, since what
//! follows `--` is the command that starts a server.

use crate::exit::Exit;
use crate::output;
use clap::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::process::ExitCode;

/// Options of wrk, hey, ab, k6, oha and curl that no verb here has, and what to write instead.
#[rustfmt::skip]
const FOREIGN: &[(&[&str], &str)] = &[
    (&["-z"], "write -d 10s for the duration"),
    (&["-k"], "connections are kept alive by default (-k of ab); write --insecure to accept any certificate (-k of curl)"),
    (&["-E"], "write --cert FILE and --key FILE for a client certificate"),
    (&["--latency"], "percentiles of latency are always printed"),
    (&["--slo"], "`weigh sweep --slo` searches the highest rate at which it holds; `weigh run --require` judges one run"),
    (&["--workers", "--size", "--order", "--interleaved", "--resume", "--wide"], "`weigh run` measures one load; `weigh sweep` has it"),
    (&["-R", "--rps"], "write --rate 1k for requests per second"),
    (&["-m", "--request"], "write -X POST for the method"),
    (&["-p", "--data", "--data-binary", "-D"], "write --body TEXT or --body @FILE for the request body"),
    (&["-T"], "write -H 'Content-Type: text/plain' for the type of the body"),
    (&["-C"], "write --cookie NAME=VALUE for a cookie"),
    (&["-a", "-A", "-u"], "write --user NAME:PASSWORD for basic authentication"),
    (&["-i", "-I", "--head"], "write -X HEAD for HEAD requests"),
    (&["-s"], "write --script FILE for a Lua script of wrk; {seq} and {random} in URL and body make each request different without one"),
    (&["--vus"], "write -c 10 for ten connections, each with one request after the other"),
    (&["--iterations"], "write -n 10k for the number of requests"),
    (&["--stages"], "`weigh sweep --rate 1k..10k:1k` measures one load after the other"),
    (&["-L", "--location"], "redirects are not followed; name the final URL"),
    (&["--disable-keepalive"], "write --no-keepalive for a connection per request"),
    (&["--disable-compression", "--compressed"], "write -H 'Accept-Encoding: gzip' for compressed responses; none are requested by default"),
];

/// Says on standard error why the command line cannot be read. Help and version, which are no errors here, go to
/// standard output.
pub fn report(error: &Error) -> ExitCode {
    if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let _ = error.print(); // there is no other place to say it
        return match error.use_stderr() {
            true => Exit::COULD_NOT.report(),
            false => Exit::YES.report(),
        };
    }
    output::complain(&anyhow::anyhow!(sentence(error)));
    Exit::COULD_NOT.report()
}

/// Returns why the command line cannot be read.
pub fn sentence(error: &Error) -> String {
    let unknown = (error.kind() == ErrorKind::UnknownArgument)
        .then(|| error.get(ContextKind::InvalidArg))
        .flatten();
    if let Some(ContextValue::String(option)) = unknown {
        let known = FOREIGN
            .iter()
            .find(|(names, _)| names.contains(&option.as_str()));
        if let Some((_, instead)) = known {
            return format!("there is no option {option}: {instead}");
        }
    }
    plain(&error.to_string())
}

/// The parser's text without usage, false tips and line breaks.
fn plain(text: &str) -> String {
    let text = text.split("\nUsage:").next().unwrap_or_default();
    let mut sentence = String::new();
    for line in text.lines().map(str::trim) {
        let line = line.strip_prefix("error: ").unwrap_or(line);
        if line.is_empty() || line.starts_with("For more") || line.starts_with("tip: to pass") {
            continue;
        }
        match line.split_once("exists: ") {
            Some((_, similar)) => sentence.push_str(&format!("; did you mean {similar}?")),
            None if sentence.is_empty() => sentence.push_str(line),
            None => sentence.push_str(&format!(" {line}")),
        }
    }
    sentence
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::Parser;

    fn refused(line: &str) -> String {
        let words = line.split('~');
        sentence(&Cli::try_parse_from(["weigh"].into_iter().chain(words)).unwrap_err())
    }

    #[test]
    fn options_of_other_tools_are_refused_with_what_to_write_instead() {
        for (names, instead) in FOREIGN {
            for name in *names {
                let wanted = format!("there is no option {name}: {instead}");
                assert_eq!(refused(&format!("run~{name}~x~localhost:1/")), wanted);
            }
        }
    }

    #[test]
    fn a_sentence_has_no_usage_and_no_tip_about_dashes() {
        let cases = [
            (
                "run~--conections~3",
                "unexpected argument '--conections' found; did you mean '--connections'?",
            ),
            (
                "sweep~-n~3~-d~4s",
                "the argument '--requests <N>' cannot be used with '--duration <TIME>'",
            ),
            (
                "run~-c~x",
                "--connections: `x` is not a count; write a whole number such as 1000, 10k, 1.5m or 2g",
            ),
            (
                "run~-d~{\"x\":1}",
                "--duration: `{\"x\":1}` is not a duration; for a request body write --body",
            ),
            (
                "run~--spin~maybe",
                "invalid value 'maybe' for '--spin <SPIN>' [possible values: auto, always, never]",
            ),
            (
                "completions",
                "the following required arguments were not provided: <SHELL>",
            ),
        ];
        for (line, wanted) in cases {
            assert_eq!(refused(line), wanted);
        }
    }
}
