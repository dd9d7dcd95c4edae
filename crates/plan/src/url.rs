//! From URLs to a target: the server, and the addresses at which it is reached.

use crate::{Endpoint, Environment, PlanError, Target};
use http::Uri;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;

/// A URL, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    /// `http` or `https`.
    pub scheme: &'static str,
    /// Host and port as the URL writes them.
    pub authority: String,
    /// The host, without brackets.
    pub host: String,
    /// The port, or the scheme's own.
    pub port: u16,
    /// Path and query.
    pub path: String,
}

/// The scheme of URLs whose connections are secured.
pub const ENCRYPTED: &str = "https";

/// Takes `text` apart; a missing scheme means http.
///
/// # Errors
/// The sentence that says why it is no URL, or none that can be loaded.
pub fn url(text: &str) -> Result<Url, PlanError> {
    let wrong = |why: &str| PlanError(format!("`{text}` is not a URL: {why}"));
    let full = if text.contains("://") {
        text.to_owned()
    } else {
        format!("http://{text}")
    };
    let whole = full.split('#').next().unwrap_or(&full);
    let uri: Uri = whole.parse().map_err(|error: http::uri::InvalidUri| {
        wrong(&format!("{error}; write http://host:port/path"))
    })?;
    let (scheme, usual_port) = match uri.scheme_str() {
        Some("http") => ("http", 80),
        Some(ENCRYPTED) => (ENCRYPTED, 443),
        _ => {
            return Err(wrong(
                "only http and https are spoken; write http://host:port/path",
            ));
        }
    };
    let authority = uri.authority().ok_or_else(|| wrong("it names no host"))?;
    if authority.as_str().contains('@') {
        return Err(wrong("give the credentials with --user NAME:PASSWORD"));
    }
    let host = authority.host().trim_matches(['[', ']']).to_owned();
    if host.is_empty() {
        return Err(wrong("it names no host"));
    }
    let port = match authority.port() {
        Some(port) if port.as_u16() > 0 => port.as_u16(),
        Some(_) => return Err(wrong("port 0 is not a valid target")),
        None if authority.as_str() != authority.host() => {
            return Err(wrong("its port is not a number from 1 to 65535"));
        }
        None => usual_port,
    };
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let slash = if path.starts_with('/') { "" } else { "/" };
    let path = format!("{slash}{path}");
    if !crate::line::path_is_valid(&path) {
        return Err(wrong("its path must be percent-encoded"));
    }
    if let Some(range) = crate::template::broken_range(&path) {
        return Err(PlanError(
            crate::line::LineError::BadRange(range.to_owned()).to_string(),
        ));
    }
    if is_numeric(&host) {
        let has_port = authority.port().is_some();
        return Err(PlanError(numeric_host(&host, has_port, whole)));
    }
    Ok(Url {
        scheme,
        authority: authority.to_string(),
        host,
        port,
        path,
    })
}

/// Whether the system's resolver might read `host` as a number (`8080` as 0.0.31.144, `127.1` as 127.0.0.1): every label
/// is a decimal, octal or hexadecimal number, and it is not the one form that people read in the same way.
fn is_numeric(host: &str) -> bool {
    let is_number = |label: &str| {
        let hexadecimal = label.strip_prefix("0x").or(label.strip_prefix("0X"));
        match hexadecimal {
            Some(digits) => digits.bytes().all(|digit| digit.is_ascii_hexdigit()),
            None => !label.is_empty() && label.bytes().all(|digit| digit.is_ascii_digit()),
        }
    };
    let labels = host.strip_suffix('.').unwrap_or(host);
    labels.split('.').all(is_number) && host.parse::<Ipv4Addr>().is_err()
}

/// Why a numeric host is refused, with the target that was probably meant: a port of this machine.
fn numeric_host(host: &str, has_port: bool, url: &str) -> String {
    let number = host.strip_suffix('.').unwrap_or(host);
    let port = number
        .parse::<u16>()
        .ok()
        .filter(|&port| port > 0 && !has_port);
    let rest = url.split_once(host).map_or("", |(_, rest)| rest);
    let remedy = match port {
        Some(port) => format!("did you mean 127.0.0.1:{port}{rest}?"),
        None => "write its four decimal numbers, such as 127.0.0.1".into(),
    };
    format!("`{host}` is not an IPv4 address; {remedy}")
}

/// The target that all `urls` name, with every address it is known to have.
pub(crate) fn target(
    urls: &[Url],
    resolve: &[String],
    unix: Option<&Path>,
    environment: &dyn Environment,
) -> Result<Target, PlanError> {
    let none = || PlanError("no URL is given; try `weigh run http://127.0.0.1:8080/`".into());
    let first = urls.first().ok_or_else(none)?;
    if let Some(other) = urls.iter().find(|url| url.scheme != first.scheme) {
        return Err(PlanError(format!(
            "the URLs name {}:// and {}://; one run loads one of them",
            first.scheme, other.scheme
        )));
    }
    let is_other = |url: &&Url| (&url.host, url.port) != (&first.host, first.port);
    if let Some(other) = urls.iter().find(is_other) {
        return Err(PlanError(format!(
            "the URLs name two servers, {} and {}; one run weighs one server",
            first.authority, other.authority
        )));
    }
    let endpoints = match unix {
        Some(path) => vec![Endpoint::Unix(path.to_owned())],
        None => endpoints(first, resolve, environment)?,
    };
    Ok(Target {
        scheme: first.scheme.into(),
        authority: first.authority.clone(),
        endpoints,
    })
}

/// The addresses that --resolve gives the server of `url`, in order, or else those that its name has.
fn endpoints(
    url: &Url,
    resolve: &[String],
    environment: &dyn Environment,
) -> Result<Vec<Endpoint>, PlanError> {
    let given = |rule: &String| {
        let wrong = || {
            PlanError(format!(
                "--resolve `{rule}` is not HOST:PORT:ADDR, such as example.org:80:127.0.0.1"
            ))
        };
        let (host, port, address) = resolve_rule(rule).ok_or_else(wrong)?;
        if host.eq_ignore_ascii_case(&url.host) && port == url.port {
            return Ok(SocketAddr::new(address, port));
        }
        let (host, port) = (&url.host, url.port);
        Err(PlanError(format!(
            "--resolve `{rule}` does not match the target {host}:{port}, so it would have no effect; write --resolve \
             {host}:{port}:{address}"
        )))
    };
    let addresses = match resolve {
        [] => environment.addresses(&url.host, url.port)?,
        rules => rules.iter().map(given).collect::<Result<_, _>>()?,
    };
    Ok(addresses.into_iter().map(Endpoint::Ip).collect())
}

/// Takes `HOST:PORT:ADDR` apart.
fn resolve_rule(rule: &str) -> Option<(&str, u16, IpAddr)> {
    let (host, rest) = rule.split_once(':').filter(|(host, _)| !host.is_empty())?;
    let (port, address) = rest.split_once(':')?;
    let address = address.trim_matches(['[', ']']);
    Some((host, port.parse().ok()?, address.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_taken_apart_or_refused() {
        let is = |authority: &str, host: &str, port, path: &str| {
            Some(Url {
                scheme: "http",
                authority: authority.into(),
                host: host.into(),
                port,
                path: path.into(),
            })
        };
        let cases = [
            ("http://a:81/b?c=d", is("a:81", "a", 81, "/b?c=d")),
            ("a", is("a", "a", 80, "/")),
            (
                "localhost:8080/x",
                is("localhost:8080", "localhost", 8080, "/x"),
            ),
            ("http://[::1]:8080", is("[::1]:8080", "::1", 8080, "/")),
            ("http://a?q=1", is("a", "a", 80, "/?q=1")),
            ("http://a/x#part", is("a", "a", 80, "/x")),
            (
                "http://a/{seq}?r={random}",
                is("a", "a", 80, "/{seq}?r={random}"),
            ),
            ("ftp://a/", None),
            ("http://", None),
            ("http://a:0/", None),
            ("http://a:99999/", None),
            ("http://a:/", None),
            ("http://u:p@a/", None),
            ("http://a/b c", None),
            ("http://a/ä", None),
            ("", None),
            ("8080", None),
            ("http://0x7f.1:8080/", None),
            (
                "127.0.0.1:8080",
                is("127.0.0.1:8080", "127.0.0.1", 8080, "/"),
            ),
            ("0x7f.a", is("0x7f.a", "0x7f.a", 80, "/")),
        ];
        for (text, wanted) in cases {
            assert_eq!(url(text).ok(), wanted, "{text}");
        }
    }
}
