//! What a server serves, and where: a temporary folder with files, a configuration and, later, a log.

use crate::servers::kind::Kind;
use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU16, Ordering};
use tempfile::TempDir;

/// The path of a file of 100 bytes.
pub const SMALL: &str = "/100.html";
/// The path of a file of 1 MiB.
pub const BIG: &str = "/1m.bin";
/// The length of the big file.
pub const BIG_LENGTH: usize = 1 << 20;

/// Where a server listens.
#[derive(Debug)]
pub enum Listen {
    Port(u16),
    Unix(PathBuf),
    /// Encrypted, with the certificate and its key in `site.pem`; the certificate alone in `cert.pem`.
    Tls {
        port: u16,
        /// The only version that is spoken, as `TLSv1.3`; none: as the server has it.
        only: Option<&'static str>,
    },
}

/// A folder made ready for a server of one kind.
pub struct Site {
    pub kind: &'static Kind,
    folder: TempDir,
    listen: Listen,
}

impl Site {
    /// A site on a free loopback port.
    pub fn new(kind: &'static Kind) -> Site {
        Site::listening(kind, |_| Listen::Port(free_port()))
    }

    /// A site on a free loopback port, encrypted.
    pub fn encrypted(kind: &'static Kind) -> Site {
        Site::speaking(kind, None)
    }

    /// The same, where only one version of TLS is spoken.
    pub fn speaking(kind: &'static Kind, only: Option<&'static str>) -> Site {
        let port = free_port();
        Site::listening(kind, |_| Listen::Tls { port, only })
    }

    /// A site on a Unix-domain socket.
    pub fn on_unix_socket(kind: &'static Kind) -> Site {
        Site::listening(kind, |folder| Listen::Unix(folder.join("socket")))
    }

    fn listening(kind: &'static Kind, listen: impl FnOnce(&Path) -> Listen) -> Site {
        let folder = TempDir::with_prefix("weigh-").expect("a temporary folder");
        let listen = listen(folder.path());
        let site = Site {
            kind,
            folder,
            listen,
        };
        site.furnish().expect("files in a temporary folder");
        site
    }

    fn furnish(&self) -> std::io::Result<()> {
        fs::set_permissions(self.folder.path(), Permissions::from_mode(0o755))?;
        for folder in ["www", "www/folder", "state"] {
            fs::create_dir(self.path(folder))?;
        }
        let numbers: String = (0..20_000).map(|number| format!("{number}\n")).collect();
        let script =
            "printf 'Content-Type: text/plain\\r\\n\\r\\none\\n'; sleep 0; printf 'two\\n'\n";
        if self.is_encrypted() {
            let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
            let made = rcgen::generate_simple_self_signed(names).expect("a certificate");
            let (cert, key) = (made.cert.pem(), made.signing_key.serialize_pem());
            fs::write(self.path("cert.pem"), &cert)?;
            fs::write(self.path("site.pem"), cert + &key)?;
        }
        fs::write(self.path("www/100.html"), [b'x'; 100])?;
        fs::write(self.big(), big())?;
        fs::write(self.path("www/numbers.txt"), numbers)?;
        fs::write(self.path("www/script.sh"), script)?;
        fs::write(self.path("config"), (self.kind.config)(self))
    }

    /// The folder, as text for configurations.
    pub fn folder(&self) -> String {
        let folder = self.folder.path().to_str();
        folder.expect("a temporary folder has a plain name").into()
    }

    /// A file in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The file behind [`BIG`].
    pub fn big(&self) -> PathBuf {
        self.path("www/1m.bin")
    }

    pub fn listen(&self) -> &Listen {
        &self.listen
    }

    pub fn is_encrypted(&self) -> bool {
        matches!(self.listen, Listen::Tls { .. })
    }

    /// The command that serves it in the foreground.
    pub fn command(&self) -> Vec<String> {
        let found = self.kind.find();
        let found = found.unwrap_or_else(|| panic!("{} is not installed", self.kind.program));
        (self.kind.command)(self, &found)
    }

    /// The URL of `path`. (A Unix-domain socket has none; what is named then is only a name.)
    pub fn url(&self, path: &str) -> String {
        match self.listen {
            Listen::Port(port) => format!("http://127.0.0.1:{port}{path}"),
            Listen::Unix(_) => format!("http://localhost{path}"),
            Listen::Tls { port, .. } => format!("https://127.0.0.1:{port}{path}"),
        }
    }
}

/// Bytes that no compression makes shorter and no shift makes like themselves.
fn big() -> Vec<u8> {
    let mut state = 1u64;
    let mut byte = |_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..BIG_LENGTH).map(&mut byte).collect()
}

/// Programs of servers lie where a user's path may not lead.
pub fn find_program(program: &str) -> Option<String> {
    let path = std::env::var("PATH").unwrap_or_default();
    let folders = path
        .split(':')
        .chain(["/usr/sbin", "/usr/local/sbin", "/usr/local/go/bin"]);
    folders
        .map(|folder| format!("{folder}/{program}"))
        .find(|file| Path::new(file).is_file())
}

/// A port that no process has: below those that connections are made from, since these tests make thousands.
fn free_port() -> u16 {
    const FIRST: u16 = 20_000;
    const COUNT: u16 = 10_000;
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let offset = (std::process::id() * 64 % u32::from(COUNT)) as u16;
    let ports = (0..COUNT).map(|_| {
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        FIRST + (offset + next % COUNT) % COUNT
    });
    let mut free = ports.filter(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok());
    free.next().expect("a free port")
}
