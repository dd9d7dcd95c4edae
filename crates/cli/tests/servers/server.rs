//! A running server.

use crate::servers::log::Log;
use crate::servers::site::{Listen, Site};
use kernel::process::{Child, Start};
use std::fs::File;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// How long a server may take to listen, and to end.
const PATIENCE: Duration = Duration::from_secs(20);

/// How often it is asked whether it does. (Neither gives a sign that one could wait for.)
const GLANCE: Duration = Duration::from_millis(5);

/// A server that runs. Dropped without having been stopped, as in a failed test, it is ended by force.
pub struct Server {
    pub site: Site,
    child: Child,
}

impl Server {
    /// Starts `site`'s server and waits until it listens.
    pub fn start(site: Site) -> Server {
        let output = File::create(site.path("output")).expect("a file for the server's output");
        let start = Start {
            command: site.command().iter().map(Into::into).collect(),
            output: Some(output),
            ..Start::default()
        };
        let child = Child::start(start).expect("the server can be started");
        let mut server = Server { site, child };
        server.wait("listen", |server| server.listens());
        server
    }

    /// All its processes, once there are so many: it listens before it has forked its workers.
    pub fn pids(&mut self, number: usize) -> Vec<u32> {
        self.wait("fork", |server| server.child.pids().len() >= number);
        self.child.pids()
    }

    /// Lets it finish and end, and reads its log.
    pub fn stop(mut self) -> Log {
        signal(self.site.kind.farewell, &[self.child.id()]);
        self.wait("end", |server| server.child.pids().is_empty());
        self.site.log()
    }

    fn listens(&mut self) -> bool {
        let ended = self.child.exited();
        assert!(ended.is_none(), "the server ended: {}", self.output());
        match self.site.listen() {
            Listen::Port(port) | Listen::Tls { port, .. } => {
                TcpStream::connect(("127.0.0.1", *port)).is_ok()
            }
            Listen::Unix(path) => UnixStream::connect(path).is_ok(),
        }
    }

    fn wait(&mut self, what: &str, mut is_so: impl FnMut(&mut Server) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is_so(self) {
            let late = Instant::now() > deadline;
            assert!(!late, "the server does not {what}: {}", self.output());
            thread::park_timeout(GLANCE);
        }
    }

    fn output(&self) -> String {
        std::fs::read_to_string(self.site.path("output")).unwrap_or_default()
    }
}

/// Waits for what gives no sign.
pub fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "not within time: {what}");
        thread::park_timeout(GLANCE);
    }
}

/// Sends a signal to processes by their ids.
pub fn signal(name: &str, pids: &[u32]) {
    let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
    let script = format!("kill -{name} {}", pids.join(" "));
    let status = Command::new("sh").args(["-c", &script]).status();
    assert!(status.is_ok_and(|status| status.success()), "{script}");
}
