//! What callgrind has counted, by place: instructions per function, file and line, and whose they are.
//!
//! With optimisation most functions are inlined into a few, so a function's name says little; the debug information's
//! file and line of each instruction says where it comes from. Only the innermost is told, so an inlined instruction of
//! the standard library is charged to the code of ours that stands before it in the same function: nearly always the
//! code it was inlined into. The sums over all rooms are exact, the parting between rooms nearly so.
//!
//! Source: "Callgrind Format Specification" in valgrind's manual. Only what callgrind writes by default is understood:
//! positions are lines and there is one event.

use anyhow::{Context, Result, ensure};
use std::collections::{BTreeMap, HashMap};
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

    /// What this one has more than `other`.
    pub fn minus(mut self, other: Profile) -> Profile {
        for (place, cost) in other.costs {
            *self.costs.entry(place).or_default() -= cost;
        }
        self
    }

    /// A share of it.
    pub fn divided(mut self, by: u32) -> Profile {
        for cost in self.costs.values_mut() {
            *cost /= f64::from(by);
        }
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

/// Names that callgrind writes once and then abbreviates to a number.
#[derive(Default)]
struct Names(HashMap<String, String>);

impl Names {
    /// `(3) name` the first time, `(3)` from then on.
    fn resolve(&mut self, text: &str) -> String {
        let Some((number, name)) = text.split_once(')') else {
            return text.to_owned();
        };
        let name = name.trim_start();
        if name.is_empty() {
            return self.0.get(number).cloned().unwrap_or_default();
        }
        self.0.insert(number.to_owned(), name.to_owned());
        name.to_owned()
    }
}

#[derive(Default)]
struct Reader<'a> {
    root: &'a str,
    files: Names,
    functions: Names,
    file: String,
    function: String,
    /// The last file with an owner in this function; at first the one it lies in.
    home: String,
    line: u32,
    /// The next line of costs is that of a call, which is counted where it is spent.
    is_call: bool,
    profile: Profile,
}

impl Reader<'_> {
    fn take(&mut self, line: &str) -> Result<()> {
        if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
            return self.cost(line);
        }
        let Some((key, value)) = line.split_once('=') else {
            return Ok(());
        };
        match key {
            "fl" => {
                self.file = self.files.resolve(value);
                self.home.clone_from(&self.file);
            }
            "fi" | "fe" => self.enter(value),
            "fn" => self.function = self.functions.resolve(value),
            "cfi" | "cfl" => drop(self.files.resolve(value)),
            "cfn" => drop(self.functions.resolve(value)),
            "calls" => self.is_call = true,
            _ => {}
        }
        Ok(())
    }

    /// Goes on in another file of the same function.
    fn enter(&mut self, value: &str) {
        self.file = self.files.resolve(value);
        if owner(&self.file, self.root).is_some() {
            self.home.clone_from(&self.file);
        }
    }

    /// `LINE COST`, where the line may be given as it stands, relative to the last, or `*` for the same.
    fn cost(&mut self, text: &str) -> Result<()> {
        let (line, cost) = text.split_once(' ').context("it has no cost")?;
        self.line = match line.as_bytes()[0] {
            b'*' => self.line,
            b'+' => self.line + line[1..].parse::<u32>()?,
            b'-' => self.line.saturating_sub(line[1..].parse()?),
            _ => line.parse()?,
        };
        let cost: u64 = cost.trim().parse()?;
        if std::mem::take(&mut self.is_call) {
            return Ok(());
        }
        let place = self.place();
        *self.profile.costs.entry(place).or_default() += cost as f64;
        Ok(())
    }

    fn place(&self) -> Place {
        let room = owner(&self.file, self.root)
            .or_else(|| owner(&self.home, self.root))
            .unwrap_or_else(|| library(&self.home));
        Place {
            room,
            function: self.function.clone(),
            file: shortened(&self.file, self.root),
            line: self.line,
        }
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
    if is_standard {
        "the standard library"
    } else {
        "the C library"
    }
    .to_owned()
}

fn shortened(file: &str, root: &str) -> String {
    if let Some(inside) = file.strip_prefix(root) {
        return inside.to_owned();
    }
    let after = |mark: &str| file.split_once(mark).map(|(_, rest)| rest.to_owned());
    after("/library/")
        .or_else(|| after("/registry/src/"))
        .unwrap_or_else(|| file.trim_start_matches("./").to_owned())
}

/// Returns the counts by room, and the most expensive `places` at the last number of connections.
pub fn table(profiles: &[(u32, Profile)], by_line: bool, places: usize) -> String {
    let by_room = |(_, profile): &(u32, Profile)| profile.sums(|place| place.room.clone());
    let sums: Vec<Vec<(String, f64)>> = profiles.iter().map(by_room).collect();
    let Some(((connections, profile), order)) = profiles.last().zip(sums.last()) else {
        return String::new();
    };
    let row = |name: &str, cells: &mut dyn Iterator<Item = String>| {
        let cells: String = cells.map(|cell| format!("{cell:>16}")).collect();
        format!("{name:<26}{cells}\n")
    };
    let mut heads = profiles
        .iter()
        .map(|(connections, _)| format!("-c {connections}"));
    let mut text = row("instructions an exchange", &mut heads);
    for (room, _) in order {
        let mut costs = sums.iter().map(|sums| {
            let found = sums.iter().find(|(name, _)| name == room);
            format!("{:.1}", found.map_or(0.0, |(_, cost)| *cost))
        });
        text += &row(room, &mut costs);
    }
    let mut totals = profiles
        .iter()
        .map(|(_, profile)| format!("{:.1}", profile.total()));
    text += &row("all", &mut totals);
    let key = |place: &Place| match by_line {
        true => format!("{}:{}", place.file, place.line),
        false => format!("{} in {}", place.file, place.function),
    };
    text += &format!("\nat {connections} connections\n");
    let sums = profile.sums(key).into_iter().take(places);
    text + &sums
        .map(|(place, cost)| format!("{cost:>10.1}  {place}\n"))
        .collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# callgrind format\nversion: 1\npositions: line\nevents: Ir\n\n\
        ob=(1) /bin/count\n\
        fl=(1) /p/crates/engine/src/thread.rs\n\
        fn=(1) engine::thread::Thread<R>::turn\n\
        10 5\n+2 3\n\
        fi=(2) /p/crates/wire/src/scan.rs\n40 7\n\
        fi=(3) /rustc/abc/library/core/src/cmp.rs\n* 2\n\
        fe=(1)\n-28 1\n\
        cob=(2) /lib/libc.so\ncfi=(4) ./string/memcpy.S\ncfn=(2) memcpy\ncalls=3 +90\n+1 600\n\
        13 1\n\n\
        ob=(2)\nfl=(4)\nfn=(2)\n264 600\n\n\
        fl=(5) /x/registry/src/mirror-1/crc32fast-1.5.0/src/lib.rs\nfn=(3) crc32fast::update\n1 4\n\n\
        fn=(1)\nfl=(3)\nfn=(4) core::fmt::write\n7 9\n";

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
    fn lines_are_followed_through_relative_positions() {
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
        let each = doubled.minus(profile).divided(10);
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
        let broken = Profile::parse("fl=(1) a\nfn=(1) b\n12\n", Path::new("/p"));
        assert_eq!(
            broken.unwrap_err().to_string(),
            "line 3 of callgrind's output: 12"
        );
    }
}
