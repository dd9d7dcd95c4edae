//! A plan made ready: addresses converted, requests encoded, files read. Shared by all threads, written by none.

use crate::busy_poll::busy_poll;
use crate::{lines, script};
use plan::{Body, Endpoint, Plan, Request, Requests, StatusRange};
use record::{BusyPoll, Requested};
use scripting::{Asked, Script};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;
use wire::{Dialect, Encoded, Method, Security, SecuritySettings, Stack, Trust};

/// Why a plan could not be made ready.
#[derive(Debug, Error)]
pub enum JobError {
    /// A file that the plan names could not be read.
    #[error("`{path}` cannot be read: {error}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// Connections cannot be secured as the plan wants it.
    #[error("{0}")]
    Security(String),
    /// The file of requests holds none (any more).
    #[error("--urls holds no request; the file was changed after it was checked")]
    NoRequest,
    /// The script cannot be run, or not with this plan.
    #[error("{0}")]
    Script(String),
}

/// A plan made ready to be carried out against one address.
#[derive(Debug)]
pub struct Job {
    /// The plan that it carries out.
    pub plan: Plan,
    /// The address that it loads.
    pub endpoint: Endpoint,
    /// How its threads wait. Where it stands for another job, or is a part of it, they are to wait as those of the other.
    pub busy_poll: BusyPoll,
    /// Requests in the order in which they are sent, over and over: each as often as its weight says. Empty where they are
    /// read from a long file.
    pub(crate) prepared: Vec<Prepared>,
    /// What the first requests of the list are called in results.
    pub(crate) labels: Vec<String>,
    pub(crate) statuses: StatusSet,
    pub(crate) expected: Option<Vec<u8>>,
    pub(crate) common_body: Vec<u8>,
    /// What makes the requests, where a script does.
    pub(crate) script: Option<Script>,
    pub(crate) ports: u32,
    pub(crate) nodelay: bool,
    /// What kind of connections it opens.
    pub(crate) stack: Stack,
}

impl Job {
    /// Makes `plan` ready for `endpoint`, one of its target's.
    ///
    /// # Errors
    /// A body's file could not be read.
    pub fn new(plan: Plan, endpoint: Endpoint) -> Result<Job, JobError> {
        let common_body = match &plan.requests {
            Requests::File { common, .. } => body_bytes(common)?,
            Requests::Listed(_) | Requests::Script { .. } => Vec::new(),
        };
        let script = script::load(&plan)?;
        let listed: Vec<(Request, u32)> = match &plan.requests {
            Requests::Listed(requests) => requests.iter().map(|each| (each.clone(), 1)).collect(),
            Requests::File { path, common } => lines::held(path, common, &plan.target),
            Requests::Script { .. } => Vec::new(),
        };
        let protocol = &plan.protocol;
        let stack = Stack {
            dialect: Dialect {
                version: wire::Version::minor(protocol.version.minor()),
                keepalive: protocol.keepalive && protocol.requests_per_connection != Some(1),
            },
            security: plan.security.as_ref().map(secured).transpose()?,
        };
        let mut prepared = prepared(&plan, &stack, &listed)?;
        if let Some(asked) = script.as_ref().map(Script::only_request) {
            let asked = asked.map_err(JobError::Script)?;
            prepared.extend(asked.map(|asked| only(&plan, &stack, asked)));
        }
        let named = listed.iter().take(Requested::MOST);
        let labels = named.map(|(request, _)| request.label(plan.secrets()));
        let labels = labels.collect();
        let expected = plan.expect.body.as_ref().map(|body| read(&body.path));
        let expected = expected.transpose()?;
        let is_long = |each: &Prepared| !each.body.is_empty() || each.head.bytes().len() > SEGMENT;
        let (first, last) = kernel::limits::local_port_range();
        Ok(Job {
            busy_poll: busy_poll(&plan, &endpoint),
            statuses: StatusSet::new(&plan.expect.statuses),
            ports: u32::from(last - first) + 1,
            // The end of a handshake is followed by a request at once.
            nodelay: plan.security.is_some()
                || plan.protocol.pipeline > 1
                || !matches!(plan.requests, Requests::Listed(_))
                || prepared.iter().any(is_long),
            plan,
            endpoint,
            labels,
            prepared,
            expected,
            common_body,
            script,
            stack,
        })
    }

    /// Whether different requests are told apart in results.
    pub(crate) fn has_several(&self) -> bool {
        self.labels.len() > 1
    }
}

/// The longest file of a certificate and those up to its issuer, or of a private key: a hundred times the usual.
const PEM_MOST: u64 = 1 << 20;

/// The longest file of trusted issuers: the system's has a quarter of a MiB.
const ISSUERS_MOST: u64 = 16 << 20;

/// Reads the file that `option` names.
fn pem(option: &str, path: &Path, most: u64) -> Result<Vec<u8>, JobError> {
    kernel::bounded::read(path, most)
        .map_err(|why| JobError::Security(format!("{option} `{}` {why}", path.display())))
}

/// How connections are secured, by the files that the plan names.
fn secured(security: &plan::Security) -> Result<Security, JobError> {
    let trust = match &security.cacert {
        _ if security.insecure => Trust::Anyone,
        None => Trust::System,
        Some(path) => Trust::Issuers(pem("--cacert", path, ISSUERS_MOST)?),
    };
    let identity = match &security.cert {
        None => None,
        Some(cert) => {
            let key = security.key.as_ref();
            let key = key.map(|key| pem("--key", key, PEM_MOST));
            Some((pem("--cert", cert, PEM_MOST)?, key.transpose()?))
        }
    };
    let settings = SecuritySettings {
        name: security.name.clone(),
        trust,
        identity,
        resume: security.resume == plan::Resume::On,
    };
    Security::new(&settings).map_err(JobError::Security)
}

/// What surely goes into one TCP segment; of more than that Nagle's algorithm may hold back the last part.
const SEGMENT: usize = 1200;

fn read(path: &Path) -> Result<Vec<u8>, JobError> {
    fs::read(path).map_err(|error| JobError::File {
        path: path.to_owned(),
        error,
    })
}

fn body_bytes(request: &Request) -> Result<Vec<u8>, JobError> {
    match &request.body {
        None => Ok(Vec::new()),
        Some(Body::Text(text)) => Ok(text.as_bytes().to_vec()),
        Some(Body::File { path, .. }) => read(path),
    }
}

/// Which of the listed requests one is.
///
/// A number below [`Bodies::MOST`](record::Bodies::MOST) is the only request of a run and nothing else: of all others the
/// number lies beyond what is looked up for every response, so that telling them apart costs such a run nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RequestIndex(u32);

impl RequestIndex {
    const ONE_OF_SEVERAL: u32 = 1 << 31;
    const UNCOMPARED: u32 = 1 << 30;
    const TOLD: u32 = 1 << 29;
    /// One of a script that is to be told of the response.
    pub(crate) const TO_BE_TOLD: RequestIndex = RequestIndex(Self::UNCOMPARED | Self::TOLD);
    /// One that is in no list, or whose responses may differ and that is the only one.
    pub(crate) const UNLISTED: RequestIndex = RequestIndex(Self::UNCOMPARED);

    fn new(place: usize, is_one_of_several: bool, is_template: bool) -> RequestIndex {
        let flag = |is_set, flag| if is_set { flag } else { 0 };
        let several = flag(is_one_of_several, Self::ONE_OF_SEVERAL);
        RequestIndex(place as u32 | several | flag(is_template, Self::UNCOMPARED))
    }

    /// Its number, with what else is known of it.
    #[inline]
    pub(crate) fn number(self) -> u32 {
        self.0
    }

    /// Whether its responses are compared with one another.
    #[inline]
    pub(crate) fn is_compared(self) -> bool {
        self.0 & Self::UNCOMPARED == 0
    }

    /// Whether a script is told of the response.
    pub(crate) fn is_told(self) -> bool {
        self.0 & Self::TOLD != 0
    }

    /// Its place in the list, where there are several.
    pub(crate) fn place(self) -> Option<u32> {
        let place = self.0 & !(Self::ONE_OF_SEVERAL | Self::UNCOMPARED | Self::TOLD);
        (self.0 & Self::ONE_OF_SEVERAL != 0).then_some(place)
    }
}

/// A listed request, encoded once.
#[derive(Debug, Clone)]
pub(crate) struct Prepared {
    pub(crate) head: Encoded,
    pub(crate) body: Arc<[u8]>,
    pub(crate) method: Method,
    /// The request where it has holes, which are filled for each exchange.
    pub(crate) template: Option<Arc<Request>>,
    pub(crate) request_index: RequestIndex,
}

/// The requests of `listed` in the order in which they are sent, each as often as its weight says.
fn prepared(
    plan: &Plan,
    stack: &Stack,
    listed: &[(Request, u32)],
) -> Result<Vec<Prepared>, JobError> {
    let mut each: Vec<Prepared> = Vec::new();
    for (place, (request, _)) in listed.iter().enumerate() {
        let bytes = match each.last() {
            Some(last) if listed[place - 1].0.body == request.body => Arc::clone(&last.body),
            _ => body_bytes(request)?.into(),
        };
        let length = request.body.as_ref().map(|_| bytes.len() as u64);
        each.push(Prepared {
            head: stack.encode(&asked(request, &request.path, plan, length)),
            body: bytes,
            method: Method::named(&request.method),
            template: request.is_template().then(|| Arc::new(request.clone())),
            request_index: RequestIndex::new(place, listed.len() > 1, request.is_template()),
        });
    }
    let weights: Vec<u32> = listed.iter().map(|(_, weight)| *weight).collect();
    Ok(turns(&weights)
        .into_iter()
        .map(|place| each[place].clone())
        .collect())
}

/// The only request that a script makes.
fn only(plan: &Plan, stack: &Stack, asked: Asked) -> Prepared {
    let (request, body) = script::request(asked);
    let length = request.body.as_ref().map(|_| body.len() as u64);
    Prepared {
        head: stack.encode(&self::asked(&request, &request.path, plan, length)),
        body: body.into(),
        method: Method::named(&request.method),
        template: None,
        request_index: RequestIndex::new(0, false, false),
    }
}

/// The order in which requests of these weights are sent: each as often as its weight says, at even distances.
fn turns(weights: &[u32]) -> Vec<usize> {
    let at = |time: u32, weight: u32| (u64::from(2 * time + 1) << 32) / u64::from(2 * weight);
    let places = weights.iter().enumerate();
    let mut turns: Vec<(u64, usize)> = places
        .flat_map(|(place, weight)| (0..*weight).map(move |time| (at(time, *weight), place)))
        .collect();
    turns.sort_unstable();
    turns.into_iter().map(|(_, place)| place).collect()
}

/// What `request` asks for at `path`, with a body of this `length`, if it has one.
pub(crate) fn asked<'a>(
    request: &'a Request,
    path: &'a str,
    plan: &'a Plan,
    length: Option<u64>,
) -> wire::Request<'a> {
    wire::Request {
        method: &request.method,
        path,
        authority: &plan.target.authority,
        headers: &request.headers,
        body_length: length,
    }
}

/// The statuses that are right, one bit each.
#[derive(Debug)]
pub(crate) struct StatusSet([u64; 16]);

impl StatusSet {
    fn new(ranges: &[StatusRange]) -> StatusSet {
        let mut bits = [0; 16];
        let each = ranges.iter().map(|range| range.first..=range.last.min(999));
        for status in each.flatten() {
            bits[usize::from(status / 64)] |= 1 << (status % 64);
        }
        StatusSet(bits)
    }

    #[inline]
    pub(crate) fn holds(&self, status: u16) -> bool {
        let bits = self.0.get(usize::from(status / 64));
        bits.is_some_and(|bits| bits >> (status % 64) & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_set_holds_its_ranges_and_nothing_else() {
        let set = StatusSet::new(&[
            StatusRange {
                first: 200,
                last: 399,
            },
            StatusRange {
                first: 404,
                last: 404,
            },
        ]);
        let right: Vec<u16> = (0..=u16::MAX).filter(|&status| set.holds(status)).collect();
        let wanted: Vec<u16> = (200..=399).chain([404]).collect();
        assert_eq!(right, wanted);
    }

    #[test]
    fn requests_are_sent_as_often_as_they_weigh_at_even_distances() {
        let cases: &[(&[u32], &[usize])] = &[
            (&[], &[]),
            (&[1], &[0]),
            (&[1, 1, 1], &[0, 1, 2]),
            (&[3, 1], &[0, 0, 1, 0]),
            (&[1, 4], &[1, 1, 0, 1, 1]),
            (&[2, 2], &[0, 1, 0, 1]),
        ];
        for (weights, wanted) in cases {
            assert_eq!(turns(weights), *wanted, "{weights:?}");
        }
        let many = turns(&[1000, 1, 999]);
        assert_eq!(
            [0, 1, 2].map(|place| many.iter().filter(|each| **each == place).count()),
            [1000, 1, 999]
        );
    }
}
