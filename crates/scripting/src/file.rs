//! Scripts are read whole, and are small.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The largest script.
const MOST: u64 = 16 << 20;

/// Reads a script.
///
/// # Errors
/// Why it cannot be read: a sentence.
pub fn read(path: &Path) -> Result<Vec<u8>, String> {
    let name = path.display();
    let unreadable = |error| format!("{name}: cannot be read: {error}");
    // What is no file (a pipe, a device) might never end, or never begin.
    if !std::fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(format!("{name}: is no file; name a file with a Lua script"));
    }
    let mut text = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(MOST + 1)
        .read_to_end(&mut text)
        .map_err(unreadable)?;
    match text.len() as u64 > MOST {
        true => Err(format!("{name}: is larger than 16 MiB, and no script")),
        false => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_script_is_not_read() {
        let why = |path: &str| read(Path::new(path)).unwrap_err();
        assert!(why("/dev/zero").contains("is no file"));
        assert!(why("/").contains("is no file"));
        assert!(why("/there/is/none.lua").starts_with("/there/is/none.lua: cannot be read: "));
    }
}
