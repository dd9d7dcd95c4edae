//! Load over TLS, for servers that are measured: weigh sends it, because the bare client speaks no TLS.

use super::response::Response;
use super::{LOOK, PATIENCE, pinned, until};
use crate::programs;
use anyhow::{Context, Result, bail, ensure};
use kernel::process::Child;
use record::Tally;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;

/// What all are to agree on: what weigh and OpenSSL choose by themselves.
pub const AGREED: &str = "TLSv1.3 TLS_AES_256_GCM_SHA384 X25519";

/// One load: so many requests over so many kept connections, with full handshakes.
pub struct Loading<'a> {
    /// The CPU of the client.
    pub cpu: u32,
    /// Where the record goes.
    pub folder: &'a Path,
    /// The server.
    pub at: SocketAddr,
    /// What is requested.
    pub path: &'a str,
    /// Connections at a time.
    pub connections: u64,
    /// Requests over all of them.
    pub requests: u64,
}

/// What came of a load.
pub struct Loaded {
    /// From the first request to the last response, in µs.
    pub wall_us: f64,
    /// Bytes of one response inside TLS.
    pub bytes: usize,
}

impl Loading<'_> {
    /// Carries it out. With `body` every response must have the contents of that file.
    ///
    /// # Errors
    /// A request failed, a connection was not kept, or something else was agreed on.
    pub fn carry_out(&self, body: Option<&Path>) -> Result<Loaded> {
        let file = self.folder.join("weigh.json");
        let _ = fs::remove_file(&file); // usually there is none
        let (at, path, connections, requests) =
            (self.at, self.path, self.connections, self.requests);
        let line = format!(
            "run https://{at}{path} --insecure --tls-resume off -n {requests} -c {connections} -t 1 --rounds 1 \
             --server none --connect-timeout 60s --quiet"
        );
        let mut command = vec![programs::path("weigh")?.display().to_string()];
        command.extend(line.split_whitespace().map(str::to_owned));
        command.extend(["--output".to_owned(), file.display().to_string()]);
        if let Some(body) = body {
            command.extend(["--expect".to_owned(), format!("@{}", body.display())]);
        }
        let ended = pinned(&[], self.cpu, command)?;
        let all = || format!("{}{}", ended.text, ended.complaint);
        ensure!(ended.cost.status == 0, "weigh failed:\n{}", all());
        let run = record::load(&file).with_context(all)?;
        let summary = run.summary.as_ref().context("nothing was measured")?;
        let point = run.points.first().context("nothing was measured")?;
        let round = point.rounds.first().context("no round was measured")?;
        let ok = round.tally.ok;
        ensure!(ok == requests, "{ok} of {requests} requests were ok");
        shaken(&round.tally, connections)?;
        Ok(Loaded {
            wall_us: summary.duration_s * 1e6,
            bytes: (summary.bytes_received / requests) as usize,
        })
    }
}

/// Checks that there was a full handshake for each connection, no more, and what they agreed on.
pub fn shaken(tally: &Tally, connections: u64) -> Result<()> {
    let handshakes = tally.connects.handshakes.as_ref();
    let handshakes = handshakes.context("there were no handshakes")?;
    let full = handshakes.full.count();
    let is_once = full == connections && handshakes.resumed.count() == 0;
    ensure!(
        is_once,
        "{full} full handshakes of {connections} connections"
    );
    let agreed = handshakes.agreed.iter().map(|it| it.encryption.to_string());
    match agreed.into_iter().find(|agreed| agreed != AGREED) {
        Some(other) => bail!("it agrees on {other} instead of {AGREED}"),
        None => Ok(()),
    }
}

/// Sends requests over TLS until the server responds with the contents of the file `body`.
///
/// # Errors
/// It has ended, or does not respond in time, or has agreed on something else.
pub fn responding(child: &mut Child, loading: &Loading<'_>, body: &Path) -> Result<Response> {
    let mut complaint = None;
    let found = until(PATIENCE, LOOK, || {
        match loading.carry_out(Some(body)) {
            Ok(loaded) => return Ok(Some(loaded.bytes)),
            Err(error) => complaint = Some(error),
        }
        match child.exited() {
            Some(status) => bail!("it has ended with {status}"),
            None => Ok(None),
        }
    })?;
    let bytes = found.with_context(|| format!("no response over TLS: {complaint:#?}"))?;
    Ok(Response {
        bytes,
        body: fs::metadata(body)?.len() as usize,
    })
}
