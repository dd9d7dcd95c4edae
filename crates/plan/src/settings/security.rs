//! Encryption: what an https target must prove to be, and what we prove to it.

use super::Takes::{Value, Word};
use super::{Choice, Group, Setting, broken, keep, put, yes};
use crate::{Plan, PlanError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// How connections to an https target are secured.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Security {
    /// The name that the certificate must be valid for, and that the server is told (SNI): the host of the URL.
    pub name: String,
    /// Whether any certificate is accepted: then nothing proves that it was this server that was measured.
    #[serde(default, skip_serializing_if = "crate::campaign::is_default")]
    pub insecure: bool,
    /// The file of certificates of issuers that are trusted, in PEM; those of the system where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cacert: Option<PathBuf>,
    /// The file of our own certificate and those up to its issuer, in PEM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cert: Option<PathBuf>,
    /// The file of its private key, in PEM; that of the certificate where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<PathBuf>,
    /// Whether a connection goes on from an earlier one's handshake.
    #[serde(default, skip_serializing_if = "crate::campaign::is_default")]
    pub resume: Resume,
}

impl Security {
    /// That of a target called `name`, reached by `scheme`: none without encryption.
    ///
    /// # Errors
    /// Something is said of it that without encryption has no effect.
    pub(crate) fn of(self, scheme: &str, name: &str) -> Result<Option<Security>, PlanError> {
        if scheme == "https" {
            let name = name.to_owned();
            return Ok(Some(Security { name, ..self }));
        }
        match self.given() {
            None => Ok(None),
            Some(option) => Err(PlanError(format!(
                "{option} has no effect on a target without encryption; write https:// in the URL"
            ))),
        }
    }

    /// The first option that only matters with encryption.
    pub fn given(&self) -> Option<&'static str> {
        let given = [
            (self.insecure, "--insecure"),
            (self.cacert.is_some(), "--cacert"),
            (self.cert.is_some(), "--cert"),
            (self.key.is_some(), "--key"),
            (self.resume != Resume::On, "--tls-resume"),
        ];
        let given = given.iter().find(|(is_given, _)| *is_given);
        given.map(|(_, option)| *option)
    }
}

/// Whether handshakes are resumed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Resume {
    /// Where the server offers it, as browsers do.
    #[default]
    On,
    /// Never: each handshake is a full one.
    Off,
}

impl Choice for Resume {
    const CHOICES: &'static [(Resume, &'static str, &'static str)] = &[
        (
            Resume::On,
            "on",
            "Where the server offers it, as browsers do.",
        ),
        (Resume::Off, "off", "Never: each handshake is a full one."),
    ];
}

/// What all rows of the group have in common.
const ROW: Setting = Setting {
    group: Group::Security,
    ..Setting::BASE
};

/// What is shown of the security of a plan that has one.
fn shown(plan: &Plan, show: fn(&Security) -> String) -> String {
    plan.security.as_ref().map_or(String::new(), show)
}

fn file(path: Option<&PathBuf>) -> String {
    path.map_or(String::new(), |path| path.display().to_string())
}

#[rustfmt::skip]
pub(super) static ROWS: &[Setting] = &[
    Setting { name: "cacert", takes: Value("FILE"), excludes: &["insecure"],
        help: "Trust certificates signed by those in FILE (PEM), and no others.",
        long: "A certificate that is itself in FILE is trusted too, whatever its dates are.",
        computed: "the system's",
        parse: |draft, text| put(&mut draft.security.cacert, text),
        show: |plan| shown(plan, |security| file(security.cacert.as_ref())),
        ..ROW },
    Setting { name: "insecure",
        help: "Accept any certificate.",
        long: "Nothing then proves that it was this server that was measured; the result says so (of a comparison with -v).",
        parse: |draft, _| keep(&mut draft.security.insecure, Ok(true)),
        show: |plan| shown(plan, |security| yes(security.insecure)),
        ..ROW },
    Setting { name: "cert", takes: Value("FILE"),
        help: "Client certificate, followed by those up to its issuer (PEM).",
        parse: |draft, text| put(&mut draft.security.cert, text),
        show: |plan| shown(plan, |security| file(security.cert.as_ref())),
        ..ROW },
    Setting { name: "key", takes: Value("FILE"), needs: &["cert"],
        help: "Private key of --cert (PEM), if it is in a file of its own.",
        parse: |draft, text| put(&mut draft.security.key, text),
        show: |plan| shown(plan, |security| file(security.key.as_ref())),
        ..ROW },
    Setting { name: "tls-resume", takes: Word(Resume::words), default: "on",
        help: "Whether a new connection resumes an earlier TLS session.",
        long: "It matters where connections are opened during the load: --no-keepalive, --connection-rate. Full and resumed \
               handshakes have figures of their own.",
        parse: |draft, text| keep(&mut draft.security.resume, Resume::read(text)),
        show: |plan| shown(plan, |security| security.resume.word().to_owned()),
        check: |plan| broken(plan.security.as_ref().is_some_and(|security| security.name.is_empty()),
            "the URL names no host, so no certificate could be checked; write https://host/path"),
        ..ROW },
];
