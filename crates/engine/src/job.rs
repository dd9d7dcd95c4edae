//! A plan made ready: addresses converted, requests encoded, files read. Shared by all threads, written by none.

use crate::vigil;

use plan::{Body, Endpoint, Plan, Request, Requests, StatusRange};
use record::Awake;
use std::fs;
use std::path::{Path, PathBuf};
use thiserror::Error;

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
    /// The file of requests holds none (any more).
    #[error("--urls holds no request; the file was changed after it was checked")]
    NoRequest,
}

/// A plan made ready to be carried out against one address.
#[derive(Debug)]
pub struct Job {
    pub(crate) plan: Plan,
    pub(crate) endpoint: Endpoint,
    pub(crate) prepared: Vec<Prepared>,
    pub(crate) statuses: StatusSet,
    pub(crate) expected: Option<Vec<u8>>,
    pub(crate) common_body: Vec<u8>,
    pub(crate) ports: u32,
    pub(crate) nodelay: bool,
    pub(crate) awake: Awake,
}

impl Job {
    /// Makes `plan` ready for `endpoint`, one of its target's.
    ///
    /// # Errors
    /// A body's file could not be read.
    pub fn new(plan: Plan, endpoint: Endpoint) -> Result<Job, JobError> {
        let prepared = match &plan.requests {
            Requests::Listed(requests) => {
                let prepare = |request| Prepared::new(request, &plan);
                requests
                    .iter()
                    .map(prepare)
                    .collect::<Result<Vec<_>, _>>()?
            }
            Requests::File { .. } => Vec::new(),
        };
        let common_body = match &plan.requests {
            Requests::File { common, .. } => body_bytes(common)?,
            Requests::Listed(_) => Vec::new(),
        };
        let expected = plan
            .expect
            .body
            .as_ref()
            .map(|body| read(&body.path))
            .transpose()?;
        let (first, last) = kernel::limits::local_port_range();
        Ok(Job {
            awake: vigil::awake(&plan, &endpoint),
            statuses: StatusSet::new(&plan.expect.statuses),
            ports: u32::from(last - first) + 1,
            nodelay: plan.protocol.pipeline > 1
                || sends_bodies(&plan.requests)
                || prepared
                    .iter()
                    .any(|each: &Prepared| each.head.len() > SEGMENT),
            plan,
            endpoint,
            prepared,
            expected,
            common_body,
        })
    }

    /// The same job, whose threads wait as `awake` says: where it stands for another, or is a part of it, they are to wait
    /// as those of the other.
    pub fn waiting(mut self, awake: Awake) -> Job {
        self.awake = awake;
        self
    }

    /// How its threads wait.
    pub fn awake(&self) -> Awake {
        self.awake
    }

    /// What is carried out.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Whom it asks.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }
}

/// What surely goes into one TCP segment; of more than that Nagle's algorithm may hold back the last part.
const SEGMENT: usize = 1200;

fn sends_bodies(requests: &Requests) -> bool {
    match requests {
        Requests::Listed(requests) => requests.iter().any(|request| request.body.is_some()),
        Requests::File { .. } => true,
    }
}

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

/// A listed request as bytes, encoded once.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) head: Vec<u8>,
    pub(crate) body: Vec<u8>,
    pub(crate) is_head: bool,
    pub(crate) template: Option<Template>,
}

/// Where the holes of a request are: the head is `before` + path + `after` (+ Content-Length) + blank line.
#[derive(Debug)]
pub(crate) struct Template {
    before: Vec<u8>,
    path: Vec<u8>,
    after: Vec<u8>,
    has_body: bool,
}

impl Prepared {
    fn new(request: &Request, plan: &Plan) -> Result<Prepared, JobError> {
        let body = body_bytes(request)?;
        let length = request.body.as_ref().map(|_| body.len() as u64);
        Ok(Prepared {
            head: encode(request, plan, length),
            body,
            is_head: request.method == "HEAD",
            template: request.is_template().then(|| Template::new(request, plan)),
        })
    }
}

/// The head of `request` with Content-Length, where there is a `length`.
pub(crate) fn encode(request: &Request, plan: &Plan, length: Option<u64>) -> Vec<u8> {
    let mut head = Vec::new();
    let encoder = wire::Request {
        method: &request.method,
        path: &request.path,
        authority: &plan.target.authority,
        version: match plan.protocol.version {
            plan::Version::Http10 => wire::Version::Http10,
            plan::Version::Http11 => wire::Version::Http11,
        },
        headers: &request.headers,
        body_length: length,
        keepalive: plan.protocol.keepalive && plan.protocol.requests_per_connection != Some(1),
    };
    encoder.encode(&mut head);
    head
}

impl Template {
    fn new(request: &Request, plan: &Plan) -> Template {
        let head = encode(request, plan, None);
        let path_at = request.method.len() + 1;
        let after_at = path_at + request.path.len();
        Template {
            before: head[..path_at].to_vec(),
            path: head[path_at..after_at].to_vec(),
            after: head[after_at..head.len() - 2].to_vec(),
            has_body: request.body.is_some(),
        }
    }

    /// Writes the head and the body of exchange `seq`.
    pub(crate) fn render(
        &self,
        body: &[u8],
        seq: u64,
        seed: u64,
        head_out: &mut Vec<u8>,
        body_out: &mut Vec<u8>,
    ) {
        use std::io::Write;
        plan::template::render(body, seq, seed, body_out);
        head_out.extend_from_slice(&self.before);
        plan::template::render(&self.path, seq, seed, head_out);
        head_out.extend_from_slice(&self.after);
        if self.has_body {
            write!(head_out, "Content-Length: {}\r\n", body_out.len())
                .expect("writing to a Vec cannot fail");
        }
        head_out.extend_from_slice(b"\r\n");
    }
}

/// The statuses that are right, one bit each.
#[derive(Debug)]
pub(crate) struct StatusSet([u64; 16]);

impl StatusSet {
    fn new(ranges: &[StatusRange]) -> StatusSet {
        let mut bits = [0; 16];
        for status in ranges
            .iter()
            .flat_map(|range| range.first..=range.last.min(999))
        {
            bits[usize::from(status / 64)] |= 1 << (status % 64);
        }
        StatusSet(bits)
    }

    #[inline]
    pub(crate) fn holds(&self, status: u16) -> bool {
        self.0
            .get(usize::from(status / 64))
            .is_some_and(|bits| bits >> (status % 64) & 1 == 1)
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
    fn a_template_counts_its_own_bodys_length() {
        let request = Request {
            method: "POST".into(),
            path: "/a?id={seq}".into(),
            headers: vec![("X-Id".into(), "{seq}".into())],
            body: Some(Body::Text("n={seq}".into())),
        };
        let plan = Plan::example("127.0.0.1:80".parse().unwrap());
        let template = Template::new(&request, &plan);
        let (mut head, mut body) = (Vec::new(), Vec::new());
        template.render(b"n={seq}", 1234, 1, &mut head, &mut body);
        let head = String::from_utf8(head).unwrap();
        assert!(
            head.starts_with("POST /a?id=1234 HTTP/1.1\r\nHost: 127.0.0.1:80\r\n"),
            "{head}"
        );
        assert!(
            head.ends_with("X-Id: {seq}\r\nContent-Length: 6\r\n\r\n"),
            "{head}"
        );
        assert_eq!(body, b"n=1234");
    }
}
