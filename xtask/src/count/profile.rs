//! What callgrind has counted, by place: instructions per function, file and line, and whose they are.
//!
//! With optimisation most functions are inlined into a few, so a function's name says little; the debug information's
//! file and line of each instruction says where it comes from. Only the innermost is told, so an inlined instruction of
//! the standard library is charged to the code of ours that stands before it in the same function: nearly always the
//! code it was inlined into. The sums over all rooms are exact, the parting between rooms nearly so.
//!
//! Source: "Callgrind Format Specification" in valgrind's manual. Only what callgrind writes without compression is
//! understood: positions are lines and there is one event.

use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::path::Path;

/// A place in the program.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Whose code it is: one of our crates, another one's name, or a library.
    room: String,
    /// The function that was not inlined.
    function: String,
    /// From the project's root, where it lies in it.
    file: String,
    line: u32,
}

/// Instructions by place.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Profile {
    costs: BTreeMap<Place, f64>,
}

impl Profile {
    /// Reads what callgrind has written; `root` is the project's.
    ///
    /// # Errors
    /// It is not what callgrind writes, or nothing was counted.
    pub fn parse(text: &str, root: &Path) -> Result<Profile> {
        let root = format!("{}/", root.display());
        let mut reader = Reader {
            root: &root,
            ..Reader::default()
        };
        for (index, line) in text.lines().enumerate() {
            reader
                .take(line)
                .with_context(|| format!("line {} of callgrind's output: {line}", index + 1))?;
        }
        let profile = reader.profile;
        ensure!(
            profile.total() > 0.0,
            "callgrind counted nothing; are the functions of `count` still called as `xtask/src/count.rs` says?"
        );
        Ok(profile)
    }

    /// All of it.
    pub fn total(&self) -> f64 {
        self.costs.values().sum()
    }

    /// What each of `exchanges` cost that this one has more than `fewer`.
    pub fn per_exchange(mut self, fewer: Profile, exchanges: u32) -> Profile {
        for (place, cost) in fewer.costs {
            *self.costs.entry(place).or_default() -= cost;
        }
        let costs = self.costs.values_mut();
        costs.for_each(|cost| *cost /= f64::from(exchanges));
        self
    }

    /// Sums by what `key` says of each place, the largest first.
    fn sums(&self, key: impl Fn(&Place) -> String) -> Vec<(String, f64)> {
        let mut sums = BTreeMap::new();
        for (place, cost) in &self.costs {
            *sums.entry(key(place)).or_insert(0.0) += cost;
        }
        let mut sums: Vec<(String, f64)> = sums.into_iter().collect();
        sums.sort_by(|a, b| b.1.total_cmp(&a.1));
        sums
    }
}

#[derive(Default)]
struct Reader<'a> {
    root: &'a str,
    function: &'a str,
    file: &'a str,
    /// The last file of that function that has an owner, or its own.
    home: &'a str,
    is_call: bool,
    profile: Profile,
}

impl<'a> Reader<'a> {
    fn take(&mut self, line: &'a str) -> Result<()> {
        match line.split_once('=') {
            Some(("fl", file)) => (self.file, self.home) = (file, file),
            // Goes on in another file of the same function.
            Some(("fi" | "fe", file)) => {
                self.file = file;
                if owner(file, self.root).is_some() {
                    self.home = file;
                }
            }
            Some(("fn", function)) => self.function = function,
            Some(("calls", _)) => self.is_call = true,
            None if line.starts_with(|first: char| first.is_ascii_digit()) => self.cost(line)?,
            _ => {}
        }
        Ok(())
    }

    /// `LINE COST`, of a call with all that lies under it.
    fn cost(&mut self, text: &str) -> Result<()> {
        let (line, cost) = text.split_once(' ').context("it has no cost")?;
        let (line, cost): (u32, u64) = (line.parse()?, cost.trim().parse()?);
        if std::mem::take(&mut self.is_call) {
            return Ok(());
        }
        let (file, home) = (owner(self.file, self.root), owner(self.home, self.root));
        let place = Place {
            room: file.or(home).unwrap_or_else(|| library(self.home)),
            function: self.function.to_owned(),
            file: shortened(self.file, self.root),
            line,
        };
        *self.profile.costs.entry(place).or_default() += cost as f64;
        Ok(())
    }
}

/// The crate that `file` belongs to, unless it is one of the libraries that are everywhere.
fn owner(file: &str, root: &str) -> Option<String> {
    if let Some(inside) = file.strip_prefix(root) {
        let inside = inside.strip_prefix("crates/").unwrap_or(inside);
        return inside.split('/').next().map(str::to_owned);
    }
    // .cargo/registry/src/<where from>/<name>-<version>/src/lib.rs
    let (_, from) = file.split_once("/registry/src/")?;
    let package = from.split('/').nth(1)?;
    package.rsplit_once('-').map(|(name, _)| name.to_owned())
}

fn library(file: &str) -> String {
    let is_standard = file.starts_with("/rustc/");
    let library = if is_standard { "standard" } else { "C" };
    format!("the {library} library")
}

fn shortened(file: &str, root: &str) -> String {
    let marks = [root, "/library/", "/registry/src/"].into_iter();
    let mut inside = marks.filter_map(|mark| Some(file.split_once(mark)?.1));
    inside
        .next()
        .unwrap_or(file.trim_start_matches("./"))
        .to_owned()
}

/// Returns the counts by room, and the most expensive `places` at the last number of connections.
pub fn table(profiles: &[(u32, Profile)], by_line: bool, places: usize) -> String {
    let by_room = |(_, profile): &(u32, Profile)| profile.sums(|place| place.room.clone());
    let sums: Vec<Vec<(String, f64)>> = profiles.iter().map(by_room).collect();
    let Some(((connections, profile), order)) = profiles.last().zip(sums.last()) else {
        return String::new();
    };
    let row = |name: &str, cells: Vec<String>| {
        let cells: String = cells.iter().map(|cell| format!("{cell:>16}")).collect();
        format!("{name:<26}{cells}\n")
    };
    let heads = profiles
        .iter()
        .map(|(connections, _)| format!("-c {connections}"));
    let mut text = row("instructions an exchange", heads.collect());
    for (room, _) in order {
        let costs = sums.iter().map(|sums| {
            let found = sums.iter().find(|(name, _)| name == room);
            format!("{:.1}", found.map_or(0.0, |(_, cost)| *cost))
        });
        text += &row(room, costs.collect());
    }
    let totals = profiles
        .iter()
        .map(|(_, profile)| format!("{:.1}", profile.total()));
    text += &row("all", totals.collect());
    let key = |place: &Place| match by_line {
        true => format!("{}:{}", place.file, place.line),
        false => format!("{} in {}", place.file, place.function),
    };
    text += &format!("\nat {connections} connections\n");
    let sums = profile.sums(key).into_iter().take(places);
    let lines = sums.map(|(place, cost)| format!("{cost:>10.1}  {place}\n"));
    text + &lines.collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# callgrind format\nversion: 1\npositions: line\nevents: Ir\n\n\
        ob=/bin/count\n\
        fl=/p/crates/engine/src/thread.rs\n\
        fn=engine::thread::Thread<R>::turn\n\
        10 5\n12 3\n\
        fi=/p/crates/wire/src/scan.rs\n40 7\n\
        fi=/rustc/abc/library/core/src/cmp.rs\n40 2\n\
        fe=/p/crates/engine/src/thread.rs\n12 1\n\
        cob=/lib/libc.so\ncfi=./string/memcpy.S\ncfn=memcpy\ncalls=3 102\n13 600\n\
        13 1\n\n\
        ob=/lib/libc.so\nfl=./string/memcpy.S\nfn=memcpy\n264 600\n\n\
        fl=/x/registry/src/mirror-1/crc32fast-1.5.0/src/lib.rs\nfn=crc32fast::update\n1 4\n\n\
        fl=/rustc/abc/library/core/src/cmp.rs\nfn=core::fmt::write\n7 9\n";

    fn rooms(profile: &Profile) -> Vec<(String, f64)> {
        profile.sums(|place| place.room.clone())
    }

    #[test]
    fn each_instruction_is_charged_once_to_its_room() {
        let profile = Profile::parse(TEXT, Path::new("/p")).unwrap();
        let wanted = [
            ("the C library", 600.0),
            ("engine", 5.0 + 3.0 + 1.0 + 1.0),
            ("the standard library", 9.0),
            ("wire", 7.0 + 2.0),
            ("crc32fast", 4.0),
        ];
        assert_eq!(
            rooms(&profile),
            wanted.map(|(room, cost)| (room.to_owned(), cost))
        );
        assert_eq!(profile.total(), 632.0);
    }

    #[test]
    fn each_line_of_a_file_is_a_place() {
        let profile = Profile::parse(TEXT, Path::new("/p")).unwrap();
        let lines = profile.sums(|place| format!("{}:{}", place.file, place.line));
        let of = |wanted: &str| lines.iter().find(|(place, _)| place == wanted).unwrap().1;
        assert_eq!(of("crates/engine/src/thread.rs:10"), 5.0);
        assert_eq!(of("crates/engine/src/thread.rs:12"), 3.0 + 1.0);
        assert_eq!(of("crates/engine/src/thread.rs:13"), 1.0);
        assert_eq!(of("core/src/cmp.rs:40"), 2.0);
    }

    #[test]
    fn a_difference_leaves_what_is_counted_per_exchange() {
        let profile = Profile::parse(TEXT, Path::new("/p")).unwrap();
        let doubled =
            Profile::parse(&TEXT.replace("264 600", "264 1600"), Path::new("/p")).unwrap();
        let each = doubled.per_exchange(profile, 10);
        assert_eq!(each.total(), 100.0);
        assert_eq!(rooms(&each)[0], ("the C library".to_owned(), 100.0));
    }

    #[test]
    fn a_count_of_nothing_is_an_error_and_not_a_zero() {
        let empty = Profile::parse("# callgrind format\nevents: Ir\n", Path::new("/p"));
        assert!(
            empty
                .unwrap_err()
                .to_string()
                .starts_with("callgrind counted nothing")
        );
        let broken = Profile::parse("fl=a\nfn=b\n12\n", Path::new("/p"));
        assert_eq!(
            broken.unwrap_err().to_string(),
            "line 3 of callgrind's output: 12"
        );
    }
}
