//! The program's own code, as far as it stands in memory.
//!
//! A program that reads its command line, and prints help for it, touches much code that it never needs again, and the
//! kernel maps sixteen pages for each that is touched. All of it counts as the process's memory, although it is the
//! system's cache of the program file. A server that runs for months may say that it is done with it.

use std::fs;

/// Has the kernel forget which pages of code are mapped; those that are needed are mapped again when they are, from the
/// system's cache. That costs some microseconds for each 64 KiB that is used on. Where it cannot be done, nothing is
/// done.
///
/// Only mappings of files are meant that are executed and cannot be written: what is in them is what is in the file, so
/// nothing can be lost.
pub fn forget() {
    let Ok(maps) = fs::read_to_string("/proc/self/maps") else {
        return;
    };
    for (start, end) in maps.lines().filter_map(executed) {
        // SAFETY: the pages are a private mapping of a file without the right to write, so none of them can differ from
        // the file, which cannot be written while it is executed (ETXTBSY); the next access maps the same bytes again.
        unsafe { libc::madvise(start as *mut _, end - start, libc::MADV_DONTNEED) };
    }
}

/// The place of a mapping of executable code from a file: `start-end r-xp offset device inode path`.
fn executed(line: &str) -> Option<(usize, usize)> {
    let mut fields = line.split_ascii_whitespace();
    let (place, rights) = (fields.next()?, fields.next()?);
    let inode = fields.nth(2)?;
    let (start, end) = place.split_once('-')?;
    let place = (
        usize::from_str_radix(start, 16).ok()?,
        usize::from_str_radix(end, 16).ok()?,
    );
    (rights == "r-xp" && inode != "0" && place.0 < place.1).then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_from_files_is_forgotten() {
        let cases = [
            (
                "1000-3000 r-xp 00001000 08:01 77 /bin/x",
                Some((0x1000, 0x3000)),
            ),
            (
                "1000-3000 r-xp 00001000 08:01 77 /a b",
                Some((0x1000, 0x3000)),
            ),
            ("1000-3000 rwxp 00001000 08:01 77 /bin/x", None),
            ("1000-3000 r--p 00001000 08:01 77 /bin/x", None),
            ("1000-3000 rw-p 00001000 08:01 77 /bin/x", None),
            ("1000-3000 r-xs 00001000 08:01 77 /bin/x", None),
            ("1000-3000 r-xp 00000000 00:00 0 [vdso]", None),
            ("3000-1000 r-xp 00001000 08:01 77 /bin/x", None),
            ("", None),
        ];
        for (line, wanted) in cases {
            assert_eq!(executed(line), wanted, "{line}");
        }
    }

    #[test]
    fn what_is_forgotten_still_runs() {
        let before = fs::read_to_string("/proc/self/maps").unwrap();
        assert!(before.lines().any(|line| executed(line).is_some()));
        forget();
        let numbers: Vec<String> = (0..1000).map(|number| format!("{number:x}")).collect();
        assert_eq!(numbers.concat().len(), 16 + 240 * 2 + 744 * 3);
        forget();
        only_code_from_files_is_forgotten();
    }
}
