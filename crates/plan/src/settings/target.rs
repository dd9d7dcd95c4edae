//! Target: the server, and the addresses at which it is reached.

use super::Takes::{Operands, Value, Values};
use super::{Group, Setting, broken, push, put};
use crate::{Body, Endpoint, Plan, Request, Requests, template};

/// The most URLs or addresses that are shown.
const SHOWN: usize = 20;

/// What all rows of the group have in common.
const ROW: Setting = Setting {
    group: Group::Target,
    ..Setting::BASE
};

#[rustfmt::skip]
pub(super) static ROWS: &[Setting] = &[
    Setting { name: "url", takes: Operands("URL"), common: true,
        help: "URL to request; several URLs of one server are requested in turn.",
        long: "A missing scheme means http. In a URL and in --body, {seq} becomes the number of the request, counted from \
               0 over all rounds, probe and warm-up included, {random} becomes 16 random hexadecimal digits, and {n:1..10000} a random number of \
               that range; both follow from --seed.",
        parse: |draft, text| push(&mut draft.urls, text),
        show: urls,
        check: |plan| broken(plan.requests == Requests::Listed(Vec::new()),
            "no request is given; give at least one URL"),
        ..ROW },
    Setting { name: "urls", takes: Value("FILE"),
        help: "Read requests from FILE: one [weight=N] [METHOD] PATH-OR-URL [BODY] a line.",
        long: "They are sent in turn, over and over; with weight=3 a request is sent three times as often as without. Up to \
               4096 requests are held in memory and have figures of their own; a longer file is read as it is needed, \
               without weights. Input from a pipe is copied to disk first (at most 1 GiB).",
        parse: |draft, text| put(&mut draft.requests_file, text),
        show: |plan| match &plan.requests {
            Requests::File { path, .. } => path.display().to_string(),
            Requests::Listed(_) | Requests::Script { .. } => String::new(),
        },
        ..ROW },
    Setting { name: "script", takes: Value("FILE"), excludes: &["urls", "method", "body", "popularity"],
        help: "Have the Lua script FILE make the requests, as with wrk -s.",
        long: "It finds what wrk gives to scripts: the table wrk, and its own functions setup, init, request, response, delay and done are \
               called. Each thread has an interpreter of its own. What it prints is shown after the results. A script that only sets \
               fields of wrk costs nothing for each request; what its functions take is time of the generator.",
        parse: |draft, text| put(&mut draft.script, text),
        show: |plan| match &plan.requests {
            Requests::Script { path, .. } => path.display().to_string(),
            Requests::Listed(_) | Requests::File { .. } => String::new(),
        },
        check: |plan| broken(matches!(plan.requests, Requests::Script { .. }) && plan.two_generators,
            "--two-generators cannot be used with --script: the threads of two generators would each be set up by a script of their own"),
        ..ROW },
    Setting { name: "script-arg", takes: Values("WORD"), needs: &["script"],
        help: "A word for the script's init(args); may be repeated.",
        parse: |draft, text| push(&mut draft.script_arguments, text),
        show: |plan| match &plan.requests {
            Requests::Script { arguments, .. } => arguments.join(" "),
            Requests::Listed(_) | Requests::File { .. } => String::new(),
        },
        ..ROW },
    Setting { name: "popularity", takes: Value("zipf:EXPONENT"),
        help: "Request several URLs, or the numbers of {n:1..10000}, by Zipf's law.",
        long: "The first of a list, or of a range, is the most popular. Without it, URLs are requested in turn and all numbers \
               of a range are equally likely.",
        parse: |draft, text| put(&mut draft.plan.popularity, text),
        show: |plan| plan.popularity.map_or(String::new(), |popularity| popularity.to_string()),
        check: |plan| broken(plan.popularity.is_some() && is_one(&plan.requests),
            "--popularity has no effect on one URL; give several, --urls, or a range such as /{n:1..10000}"),
        ..ROW },
    Setting { name: "resolve", takes: Values("HOST:PORT:ADDR"), excludes: &["unix"],
        help: "Connect to ADDR instead of resolving HOST; may be repeated.",
        long: "HOST and PORT must be those of the URL.",
        parse: |draft, text| push(&mut draft.resolve, text),
        show: |plan| {
            let ip = |endpoint: &Endpoint| match endpoint {
                Endpoint::Ip(address) => Some(address.to_string()),
                Endpoint::Unix(_) => None,
            };
            let endpoints = plan.target.endpoints.iter();
            let addresses: Vec<String> = endpoints.filter_map(ip).take(SHOWN).collect();
            addresses.join(", ")
        },
        ..ROW },
    Setting { name: "unix", takes: Value("PATH"),
        help: "Connect to this Unix-domain socket, whatever host the URL names.",
        parse: |draft, text| put(&mut draft.unix, text),
        show: |plan| match plan.target.endpoints.first() {
            Some(Endpoint::Unix(path)) => path.display().to_string(),
            _ => String::new(),
        },
        ..ROW },
];

/// Whether all that is requested is one thing, or follows no popularity.
fn is_one(requests: &Requests) -> bool {
    let Requests::Listed(listed) = requests else {
        return false;
    };
    let has_range = |request: &Request| match &request.body {
        Some(Body::Text(text)) if template::has_range(text) => true,
        _ => template::has_range(&request.path),
    };
    listed.len() < 2 && !listed.iter().any(has_range)
}

fn urls(plan: &Plan) -> String {
    let site = format!("{}://{}", plan.target.scheme, plan.target.authority);
    let Requests::Listed(listed) = &plan.requests else {
        return site;
    };
    let shown = listed
        .iter()
        .take(SHOWN)
        .map(|request| format!("{site}{}", request.path));
    let more = listed.len().saturating_sub(SHOWN);
    let more = (more > 0).then(|| format!("and {} more", units::count(more as u64)));
    shown.chain(more).collect::<Vec<_>>().join("\n")
}
