//! What must hold of everything that strangers write, for property tests and for fuzzing.
//!
//! The fuzz targets take this file and those it is about into programs of their own, so it knows them by `super` only.

use super::conditional::{ConditionalHeader as Header, ConditionalHeaders};
use super::conditions::{self, Validators, Verdict};
use super::encodings::{self, CODINGS};
use super::paths;
use super::ranges::{self, Wanted};

/// A target names nothing, or what is below the root and not hidden; and a redirect leads to that very name.
pub(crate) fn target(target: &[u8]) {
    let Ok(name) = paths::resolve(target) else {
        return;
    };
    let (path, target) = (&*name.path, target.escape_ascii());
    assert!(!path.is_empty() && path.len() < 4096, "{target}");
    for (place, segment) in path.split(|&byte| byte == b'/').enumerate() {
        let is_hidden = segment.starts_with(b".") && (place, segment) != (0, paths::WELL_KNOWN);
        let is_sound = !segment.is_empty() && !is_hidden && segment.len() <= 255;
        assert!(is_sound, "{target} gives {path:?}");
    }
    assert!(!path.contains(&0), "{target} gives {path:?}");
    let location = paths::location(&name);
    let is_text = location.bytes().all(|byte| byte.is_ascii_graphic());
    assert!(is_text, "{target} leads to {location}");
    let is_here = location.starts_with('/') && !location.starts_with("//");
    assert!(is_here, "{target} leads to {location}");
    let index = [path, b"/index.html"].concat();
    if index.len() < 4096 {
        let there = paths::resolve(location.as_bytes()).expect("what is sent is sound");
        assert!(there.is_folder && *there.path == index, "{target}");
    }
}

/// A part is something of the file.
pub(crate) fn range(value: &[u8], size: u64) {
    if let Wanted::Part { first, length } = ranges::wanted(value, size) {
        let end = first.checked_add(length);
        assert!(length > 0 && end.is_some_and(|end| end <= size));
    }
}

/// Whatever else is in a list of tags or codings, what comes first in it counts, and what is not there is not chosen.
pub(crate) fn lists(value: &[u8]) {
    let ours = Validators {
        tag: "\"a,b\"",
        is_strong: true,
        modified: 784_111_777,
    };
    let led = [b"\"a,b\" , ", value].concat();
    for (name, verdict) in [
        ("If-Match", Verdict::Send),
        ("If-None-Match", Verdict::Unchanged),
    ] {
        let judged =
            |value| conditions::judge(&ConditionalHeaders::of([(name, value)].into_iter()), ours);
        assert_eq!(judged(&led), verdict);
        judged(value);
    }
    for name in ["If-Modified-Since", "If-Unmodified-Since", "If-Range"] {
        let conditional = ConditionalHeaders::of([(name, value)].into_iter());
        conditions::judge(&conditional, ours);
        let counts = conditions::range_counts(&conditional[Header::IfRange], ours);
        assert!(!counts || name != "If-Range" || value.len() >= ours.tag.len());
    }
    for coding in CODINGS {
        let chosen = |value| encodings::choose([value].into_iter(), |there| there == coding);
        assert!(chosen(value).is_none_or(|it| it == coding));
        assert_eq!(encodings::choose([value].into_iter(), |_| false), None);
    }
}
