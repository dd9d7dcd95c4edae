//! What servers serve: a folder with one small file, and large ones where a measurement needs them.

use anyhow::{Context, Result, ensure};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

/// Bytes of the small file, and of every embedded response.
pub const SMALL: usize = 100;

/// The folder, with room for the files that servers write. It is removed when this is dropped.
pub struct Site {
    folder: TempDir,
    starts: u32,
}

impl Site {
    /// Makes the folder with the small file.
    ///
    /// # Errors
    /// There is no place for temporary files.
    pub fn new() -> Result<Site> {
        let folder = tempfile::tempdir().context("there is no folder for temporary files")?;
        let site = Site { folder, starts: 0 };
        // Servers that were started by root read it as another user.
        fs::set_permissions(site.folder.path(), Permissions::from_mode(0o755))?;
        fs::create_dir(site.path())?;
        fs::write(site.path().join("file.html"), [b'x'; SMALL])?;
        Ok(site)
    }

    /// The folder that is served.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("www")
    }

    /// Adds a file of `millions` of bytes.
    ///
    /// # Errors
    /// The disk is full.
    pub fn add_large(&self, name: &str, millions: usize) -> Result<()> {
        let piece: Vec<u8> = (0..1_000_000).map(|place| (place % 251) as u8).collect();
        let written = fs::write(self.path().join(name), piece.repeat(millions));
        written.with_context(|| format!("{name} could not be written"))
    }

    /// The folder with a certificate for 127.0.0.1 (cert.pem, ECDSA P-256) and its key (key.pem), the same for all servers;
    /// made when it is first asked for.
    ///
    /// # Errors
    /// openssl is not there, or failed.
    pub fn certificate(&self) -> Result<PathBuf> {
        let folder = self.folder.path().join("tls");
        if folder.join("cert.pem").is_file() {
            return Ok(folder);
        }
        fs::create_dir_all(&folder)?;
        let options = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=localhost \
                       -addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out cert.pem";
        let mut openssl = Command::new("openssl");
        openssl
            .args(options.split_whitespace())
            .current_dir(&folder);
        let made = openssl.output().context("openssl could not be started")?;
        let why = String::from_utf8_lossy(&made.stderr);
        ensure!(made.status.success(), "there is no certificate: {why}");
        // Some servers read it as another user.
        fs::set_permissions(folder.join("key.pem"), Permissions::from_mode(0o644))?;
        Ok(folder)
    }

    /// Makes a new folder for one start of a server.
    ///
    /// # Errors
    /// It could not be made.
    pub fn home(&mut self) -> Result<PathBuf> {
        self.starts += 1;
        let path = self.folder.path().join(format!("start-{}", self.starts));
        fs::create_dir(&path).with_context(|| format!("{} could not be made", path.display()))?;
        // nginx and Apache write there as another user than they were started as.
        fs::set_permissions(&path, Permissions::from_mode(0o777))?;
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_site_has_what_is_asked_for_and_homes_differ() {
        let mut site = Site::new().unwrap();
        site.add_large("large.bin", 2).unwrap();
        let length = |name| fs::metadata(site.path().join(name)).unwrap().len();
        assert_eq!(length("file.html"), SMALL as u64);
        assert_eq!(length("large.bin"), 2_000_000);
        assert_ne!(site.home().unwrap(), site.home().unwrap());
    }
}
