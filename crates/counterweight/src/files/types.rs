//! What kind of content a file has, told from its name.
//!
//! Nothing is guessed from contents: a browser that was told the wrong type by a clever guess runs what it should only
//! have shown. What is not in the table is `application/octet-stream`, which browsers save.

/// What is known of a kind of content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Type {
    /// The Content-Type.
    pub(crate) name: &'static str,
    /// It is compressed already, so that nobody keeps a compressed copy beside it.
    pub(crate) is_packed: bool,
}

/// Whatever has no extension, or none of the table's.
const OTHER: Type = loose("application/octet-stream");
/// No extension of the table is longer.
const LONGEST: usize = 11;

const fn loose(name: &'static str) -> Type {
    Type {
        name,
        is_packed: false,
    }
}

const fn packed(name: &'static str) -> Type {
    Type {
        name,
        is_packed: true,
    }
}

/// Extensions in order, as the IANA registry and the HTML standard name their content; text is UTF-8.
#[rustfmt::skip]
const TYPES: &[(&str, Type)] = &[
    ("7z", packed("application/x-7z-compressed")),
    ("aac", packed("audio/aac")),
    ("apng", packed("image/apng")),
    ("atom", loose("application/atom+xml")),
    ("avi", packed("video/x-msvideo")),
    ("avif", packed("image/avif")),
    ("bin", OTHER),
    ("bmp", loose("image/bmp")),
    ("br", packed("application/octet-stream")),
    ("bz2", packed("application/x-bzip2")),
    ("c", loose("text/plain; charset=utf-8")),
    ("cjs", loose("text/javascript; charset=utf-8")),
    ("conf", loose("text/plain; charset=utf-8")),
    ("css", loose("text/css; charset=utf-8")),
    ("csv", loose("text/csv; charset=utf-8")),
    ("deb", packed("application/vnd.debian.binary-package")),
    ("doc", loose("application/msword")),
    ("docx", packed("application/vnd.openxmlformats-officedocument.wordprocessingml.document")),
    ("eot", loose("application/vnd.ms-fontobject")),
    ("epub", packed("application/epub+zip")),
    ("flac", packed("audio/flac")),
    ("geojson", loose("application/geo+json")),
    ("gif", packed("image/gif")),
    ("gz", packed("application/gzip")),
    ("h", loose("text/plain; charset=utf-8")),
    ("heic", packed("image/heic")),
    ("htm", loose("text/html; charset=utf-8")),
    ("html", loose("text/html; charset=utf-8")),
    ("ico", loose("image/vnd.microsoft.icon")),
    ("ics", loose("text/calendar; charset=utf-8")),
    ("jar", packed("application/java-archive")),
    ("jpeg", packed("image/jpeg")),
    ("jpg", packed("image/jpeg")),
    ("js", loose("text/javascript; charset=utf-8")),
    ("json", loose("application/json")),
    ("jsonld", loose("application/ld+json")),
    ("jxl", packed("image/jxl")),
    ("log", loose("text/plain; charset=utf-8")),
    ("m3u8", loose("application/vnd.apple.mpegurl")),
    ("m4a", packed("audio/mp4")),
    ("m4v", packed("video/mp4")),
    ("map", loose("application/json")),
    ("md", loose("text/markdown; charset=utf-8")),
    ("mid", loose("audio/midi")),
    ("mjs", loose("text/javascript; charset=utf-8")),
    ("mkv", packed("video/matroska")),
    ("mov", packed("video/quicktime")),
    ("mp3", packed("audio/mpeg")),
    ("mp4", packed("video/mp4")),
    ("mpd", loose("application/dash+xml")),
    ("mpeg", packed("video/mpeg")),
    ("odt", packed("application/vnd.oasis.opendocument.text")),
    ("oga", packed("audio/ogg")),
    ("ogg", packed("audio/ogg")),
    ("ogv", packed("video/ogg")),
    ("opus", packed("audio/ogg")),
    ("otf", loose("font/otf")),
    ("pdf", loose("application/pdf")),
    ("png", packed("image/png")),
    ("pptx", packed("application/vnd.openxmlformats-officedocument.presentationml.presentation")),
    ("rss", loose("application/rss+xml")),
    ("rtf", loose("application/rtf")),
    ("sh", loose("text/plain; charset=utf-8")),
    ("svg", loose("image/svg+xml; charset=utf-8")),
    ("tar", loose("application/x-tar")),
    ("tgz", packed("application/gzip")),
    ("tif", loose("image/tiff")),
    ("tiff", loose("image/tiff")),
    ("toml", loose("application/toml")),
    ("ts", packed("video/mp2t")),
    ("ttf", loose("font/ttf")),
    ("txt", loose("text/plain; charset=utf-8")),
    ("vtt", loose("text/vtt; charset=utf-8")),
    ("wasm", loose("application/wasm")),
    ("wav", loose("audio/wav")),
    ("weba", packed("audio/webm")),
    ("webm", packed("video/webm")),
    ("webmanifest", loose("application/manifest+json")),
    ("webp", packed("image/webp")),
    ("woff", packed("font/woff")),
    ("woff2", packed("font/woff2")),
    ("xhtml", loose("application/xhtml+xml; charset=utf-8")),
    ("xls", loose("application/vnd.ms-excel")),
    ("xlsx", packed("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet")),
    ("xml", loose("application/xml")),
    ("xz", packed("application/x-xz")),
    ("yaml", loose("application/yaml")),
    ("yml", loose("application/yaml")),
    ("zip", packed("application/zip")),
    ("zst", packed("application/zstd")),
];

/// The kind of content that a file of this name has; case does not matter.
pub(crate) fn of(path: &[u8]) -> Type {
    find(path).unwrap_or(OTHER)
}

fn find(path: &[u8]) -> Option<Type> {
    let name = path.rsplit(|&byte| byte == b'/').next()?;
    let dot = name.iter().rposition(|&byte| byte == b'.')?;
    let given = &name[dot + 1..];
    let mut extension = [0; LONGEST];
    let extension = extension.get_mut(..given.len())?;
    extension.copy_from_slice(given);
    extension.make_ascii_lowercase();
    let at = TYPES.binary_search_by(|(known, _)| known.as_bytes().cmp(extension));
    Some(TYPES[at.ok()?].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_their_type() {
        let cases: &[(&str, &str)] = &[
            ("index.html", "text/html; charset=utf-8"),
            ("a.b/INDEX.HTM", "text/html; charset=utf-8"),
            ("a.tar.gz", "application/gzip"),
            ("app.webmanifest", "application/manifest+json"),
            ("x.JS", "text/javascript; charset=utf-8"),
            ("logo.svg", "image/svg+xml; charset=utf-8"),
            ("f.woff2", "font/woff2"),
            ("7.7z", "application/x-7z-compressed"),
            ("z.zst", "application/zstd"),
            ("README", "application/octet-stream"),
            ("a.html/README", "application/octet-stream"),
            ("html", "application/octet-stream"),
            ("a.", "application/octet-stream"),
            ("a.unknown", "application/octet-stream"),
            ("a.webmanifests", "application/octet-stream"),
            ("a.html\0", "application/octet-stream"),
            ("", "application/octet-stream"),
        ];
        for (path, wanted) in cases {
            assert_eq!(of(path.as_bytes()).name, *wanted, "{path}");
        }
    }

    #[test]
    fn the_table_is_in_order_and_can_be_found_in() {
        assert!(TYPES.is_sorted_by(|one, next| one.0 < next.0));
        assert_eq!(TYPES.iter().map(|row| row.0.len()).max(), Some(LONGEST));
        for (extension, wanted) in TYPES {
            let name = format!("a/b.{}", extension.to_ascii_uppercase());
            assert_eq!(of(name.as_bytes()), *wanted);
        }
    }

    #[test]
    fn text_says_how_it_is_encoded() {
        for (extension, kind) in TYPES {
            let is_said = kind.name.ends_with("; charset=utf-8");
            assert!(!kind.name.starts_with("text/") || is_said, "{extension}");
        }
    }
}
