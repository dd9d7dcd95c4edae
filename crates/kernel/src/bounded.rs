//! Small files that are read whole: certificates and keys. A limit keeps a wrong name, such as a device's, from filling the memory, and
//! what is no regular file is not waited for.

use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

const MIB: u64 = 1 << 20;

/// Reads a regular file of at most `most` bytes, a multiple of 1 MiB.
///
/// # Errors
/// Why it is not read, as the rest of a sentence that begins with the file's name.
pub fn read(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    let cannot = |error| format!("cannot be read: {error}");
    let mut options = OpenOptions::new();
    // Otherwise a named pipe that no process writes to would keep `open` waiting.
    options.read(true).custom_flags(libc::O_NONBLOCK);
    let file = options.open(path).map_err(cannot)?;
    if !file.metadata().map_err(cannot)?.is_file() {
        return Err(
            "is not a regular file; name one that holds the certificates or the key".into(),
        );
    }
    let mut read = Vec::new();
    // One more byte, which tells a longer file from one that is just as long.
    file.take(most + 1).read_to_end(&mut read).map_err(cannot)?;
    match read.len() as u64 > most {
        true => Err(format!(
            "is larger than {} MiB; name a file that holds only the certificates or the key",
            most / MIB
        )),
        false => Ok(read),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_the_limit_and_a_longer_one_or_a_device_is_refused() {
        let name = format!("kernel-bounded-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("it");
        for (length, is_read) in [(0, true), (MIB, true), (MIB + 1, false)] {
            std::fs::write(&path, vec![b'x'; length as usize]).unwrap();
            match read(&path, MIB) {
                Ok(read) => assert!(is_read && read.len() as u64 == length, "{length}"),
                Err(why) => assert!(!is_read && why.contains("larger than 1 MiB"), "{why}"),
            }
        }
        let why = read(Path::new("/dev/zero"), MIB).unwrap_err();
        assert!(why.contains("not a regular file"), "{why}");
        let why = read(&folder, MIB).unwrap_err();
        assert!(why.contains("not a regular file"), "{why}");
        let why = read(&folder.join("absent"), MIB).unwrap_err();
        assert!(why.starts_with("cannot be read"), "{why}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
