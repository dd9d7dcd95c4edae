//! The observed processes: how a server that weigh did not start is named, or that none is observed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use thiserror::Error;

/// Server on this machine, by one of the ways in which it can be named.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Observe {
    /// This process and all that descends from it.
    Pid(u32),
    /// The processes of this name, and all that descends from them.
    Name(String),
    /// The processes that listen on this TCP port of this machine, whatever port the target has.
    Port(u16),
    /// Everything in this control group and in those below it.
    Cgroup(PathBuf),
    /// No process, though one may be found where the target is.
    #[serde(rename = "none", alias = "nobody")]
    Off,
}

/// What was given names no server.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ObserveError {
    /// A number that no process or port has.
    #[error(
        "`{0}` is neither a process (1234), a name (nginx), a port (:8080), a control group (cgroup:PATH) nor none"
    )]
    Unknown(String),
    /// A control group of which everything is part.
    #[error("`{0}` names every process of the machine; name the server's own control group")]
    Everything(String),
}

impl FromStr for Observe {
    type Err = ObserveError;

    fn from_str(text: &str) -> Result<Observe, ObserveError> {
        let unknown = || ObserveError::Unknown(text.to_owned());
        if text == "none" {
            return Ok(Observe::Off);
        }
        if let Some(path) = text.strip_prefix("cgroup:") {
            return match path.trim_matches('/') {
                "" | "sys/fs/cgroup" => Err(ObserveError::Everything(text.to_owned())),
                _ => Ok(Observe::Cgroup(path.into())),
            };
        }
        if let Some(port) = text.strip_prefix(':') {
            let port = port.parse().ok().filter(|port| *port > 0);
            return port.map(Observe::Port).ok_or_else(unknown);
        }
        match text.bytes().all(|byte| byte.is_ascii_digit()) {
            true => {
                let pid = text.parse().ok().filter(|pid| *pid > 0);
                pid.map(Observe::Pid).ok_or_else(unknown)
            }
            false => Ok(Observe::Name(text.to_owned())),
        }
    }
}

impl fmt::Display for Observe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Observe::Pid(pid) => write!(f, "{pid}"),
            Observe::Name(name) => f.write_str(name),
            Observe::Port(port) => write!(f, ":{port}"),
            Observe::Cgroup(path) => write!(f, "cgroup:{}", path.display()),
            Observe::Off => f.write_str("none"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_of_naming_a_server_is_told_from_the_others_and_shown_as_it_was_given() {
        let cases: &[(&str, Observe)] = &[
            ("1234", Observe::Pid(1234)),
            ("nginx", Observe::Name("nginx".into())),
            ("7zip", Observe::Name("7zip".into())),
            (
                "php-fpm: pool (www)",
                Observe::Name("php-fpm: pool (www)".into()),
            ),
            (":8080", Observe::Port(8080)),
            ("cgroup:/web", Observe::Cgroup("/web".into())),
            ("none", Observe::Off),
        ];
        for (text, wanted) in cases {
            assert_eq!(text.parse().as_ref(), Ok(wanted));
            assert_eq!(wanted.to_string(), *text);
        }
    }

    #[test]
    fn what_names_no_process_or_all_of_them_is_refused() {
        for text in ["", "0", ":0", ":", ":65536", ":http", "99999999999"] {
            assert_eq!(
                text.parse::<Observe>(),
                Err(ObserveError::Unknown(text.into()))
            );
        }
        for text in ["cgroup:", "cgroup:/", "cgroup:/sys/fs/cgroup/"] {
            assert_eq!(
                text.parse::<Observe>(),
                Err(ObserveError::Everything(text.into()))
            );
        }
    }
}
