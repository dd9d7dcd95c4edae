//! What kind of content a file has, told from its name.
//!
//! Nothing is guessed from contents: a browser that was told the wrong type by a clever guess runs what it should only
//! have shown. What is not in the table is `application/octet-stream`, which browsers save.
//!
//! The table is new_mime_guess's, which has every extension of nginx's `mime.types`, and the names that IANA and the HTML
//! standard have now (`text/javascript`, `font/woff`), except for the few rows of [`OWN`].

use std::borrow::Cow;

/// What is known of a kind of content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Type {
    /// The Content-Type.
    pub(crate) name: Cow<'static, str>,
    /// It is compressed already, so that no compressed copy lies beside it.
    pub(crate) is_packed: bool,
}

/// Whatever has no extension, or none of the table's.
const OTHER: &str = "application/octet-stream";

/// Where the table says something else than browsers, IANA or common servers do; and source code, which browsers show
/// if it is plain text.
#[rustfmt::skip]
const OWN: [(&str, &str); 11] = [
    ("c", "text/plain"),
    ("cjs", "text/javascript"),
    ("m3u8", "application/vnd.apple.mpegurl"),
    ("m4v", "video/mp4"),
    ("mjs", "text/javascript"),
    ("mkv", "video/matroska"),
    ("rtf", "application/rtf"),
    ("sh", "text/plain"),
    ("tgz", "application/gzip"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
];

/// The kind of content that a file of this name has; case does not matter.
pub(crate) fn of(path: &[u8]) -> Type {
    let extension = extension(path).unwrap_or_default();
    let is_it = |own: &&(&str, &str)| own.0.eq_ignore_ascii_case(extension);
    let own = OWN.iter().find(is_it).map(|own| own.1);
    let known = || new_mime_guess::from_ext(extension).first_raw();
    let name = own.or_else(known).unwrap_or(OTHER);
    Type {
        is_packed: is_packed(name) || extension.eq_ignore_ascii_case("br"),
        name: match is_text(name) {
            true => format!("{name}; charset=utf-8").into(),
            false => name.into(),
        },
    }
}

/// What follows the last dot of a file's name, if it can be an extension that is known.
fn extension(path: &[u8]) -> Option<&str> {
    let name = path.rsplit(|&byte| byte == b'/').next()?;
    let dot = name.iter().rposition(|&byte| byte == b'.')?;
    std::str::from_utf8(&name[dot + 1..]).ok()
}

/// Text, which is UTF-8 here; JSON has no other encoding, and other XML says its own.
fn is_text(name: &str) -> bool {
    name.starts_with("text/") || matches!(name, "image/svg+xml" | "application/xhtml+xml")
}

/// Whether compressing it once more would gain nothing: pictures, sound and film but for the few that are not, archives,
/// and documents that are archives.
fn is_packed(name: &str) -> bool {
    let (kind, sub) = name.split_once('/').unwrap_or_default();
    match kind {
        "image" => !matches!(
            sub,
            "svg+xml" | "bmp" | "tiff" | "x-icon" | "vnd.microsoft.icon"
        ),
        "audio" => !matches!(sub, "midi" | "wav" | "x-wav"),
        "video" => true,
        "font" => sub.starts_with("woff"),
        "application" => {
            let is_document = sub.starts_with("vnd.openxmlformats") || sub.starts_with("vnd.oasis");
            is_document || sub.ends_with("+zip") || ARCHIVES.contains(&sub)
        }
        _ => false,
    }
}

#[rustfmt::skip]
const ARCHIVES: [&str; 12] = [
    "gzip", "java-archive", "vnd.debian.binary-package", "vnd.google-earth.kmz", "vnd.rar", "x-7z-compressed", "x-bzip2",
    "x-rpm", "x-xpinstall", "x-xz", "zip", "zstd",
];

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
            ("x.MJS", "text/javascript; charset=utf-8"),
            ("a.json", "application/json"),
            ("feed.xml", "application/xml"),
            ("main.c", "text/plain; charset=utf-8"),
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
        assert_eq!(of(b"caf\xe9.\xff").name, OTHER);
    }

    /// nginx 1.22's `mime.types`; in the second list, what has another name here.
    #[rustfmt::skip]
    const NGINX: &str = "
        html htm shtml text/html; css text/css; gif image/gif; jpeg jpg image/jpeg; atom application/atom+xml;
        rss application/rss+xml; mml text/mathml; txt text/plain; jad text/vnd.sun.j2me.app-descriptor;
        wml text/vnd.wap.wml; htc text/x-component; avif image/avif; png image/png; svg svgz image/svg+xml;
        tif tiff image/tiff; wbmp image/vnd.wap.wbmp; webp image/webp; jng image/x-jng; woff font/woff; woff2 font/woff2;
        jar war ear application/java-archive; json application/json; hqx application/mac-binhex40;
        doc application/msword; pdf application/pdf; ps eps ai application/postscript; rtf application/rtf;
        m3u8 application/vnd.apple.mpegurl; kml application/vnd.google-earth.kml+xml;
        kmz application/vnd.google-earth.kmz; xls application/vnd.ms-excel; eot application/vnd.ms-fontobject;
        ppt application/vnd.ms-powerpoint; odg application/vnd.oasis.opendocument.graphics;
        odp application/vnd.oasis.opendocument.presentation; ods application/vnd.oasis.opendocument.spreadsheet;
        odt application/vnd.oasis.opendocument.text;
        pptx application/vnd.openxmlformats-officedocument.presentationml.presentation;
        xlsx application/vnd.openxmlformats-officedocument.spreadsheetml.sheet;
        docx application/vnd.openxmlformats-officedocument.wordprocessingml.document; wmlc application/vnd.wap.wmlc;
        wasm application/wasm; 7z application/x-7z-compressed; cco application/x-cocoa;
        jardiff application/x-java-archive-diff; jnlp application/x-java-jnlp-file; run application/x-makeself;
        pl pm application/x-perl; sea application/x-sea; sit application/x-stuffit; tcl tk application/x-tcl;
        der pem crt application/x-x509-ca-cert; xpi application/x-xpinstall; xhtml application/xhtml+xml;
        xspf application/xspf+xml; zip application/zip; bin dmg img msp msm application/octet-stream;
        mid midi kar audio/midi; mp3 audio/mpeg; ogg audio/ogg; 3gpp 3gp video/3gpp; ts video/mp2t; mp4 video/mp4;
        mpeg mpg video/mpeg; mov video/quicktime; webm video/webm; flv video/x-flv; mng video/x-mng;
        asx asf video/x-ms-asf; wmv video/x-ms-wmv; avi video/x-msvideo;

        js text/javascript; xml application/xml; bmp image/bmp; ico image/vnd.microsoft.icon; m4a audio/mp4;
        m4v video/mp4; ra audio/x-pn-realaudio; swf application/vnd.adobe.flash.movie; rar application/vnd.rar;
        rpm application/x-rpm; deb application/vnd.debian.binary-package; iso application/x-iso9660-image;
        msi application/x-msi; dll application/x-ms-dos-executable; prc application/x-mobipocket-ebook; pdb application/vnd.palm;
        exe application/vnd.microsoft.portable-executable";

    #[test]
    fn every_type_of_nginx_is_known() {
        let (mut extensions, mut wrong) = (0, Vec::new());
        for row in NGINX.split(';') {
            let (names, wanted) = row.trim().rsplit_once(' ').unwrap();
            for extension in names.split_whitespace() {
                let name = of(format!("a/b.{extension}").as_bytes()).name;
                if name.split(';').next() != Some(wanted) {
                    wrong.push((extension, name));
                }
                extensions += 1;
            }
        }
        assert_eq!((extensions, wrong), (110, vec![]));
    }

    #[test]
    fn text_says_how_it_is_encoded_and_nothing_else_does() {
        for extension in [
            "txt", "html", "css", "js", "mjs", "csv", "md", "vtt", "svg", "xhtml", "py",
        ] {
            let name = of(format!("a.{extension}").as_bytes()).name;
            assert!(name.ends_with("; charset=utf-8"), "{extension}: {name}");
        }
        for extension in ["json", "xml", "png", "wasm", "pdf", "woff2", "mp4", "bin"] {
            let name = of(format!("a.{extension}").as_bytes()).name;
            assert!(!name.contains(';'), "{extension}: {name}");
        }
    }

    #[test]
    fn what_is_compressed_already_is_told_from_what_is_not() {
        let packed = "7z aac avif br bz2 deb docx epub flac gif gz jar jpg jxl kmz m4a mkv mov mp3 mp4 odt ogg opus png rar \
                      rpm tgz ts weba webm webp woff woff2 xlsx xz zip zst";
        let loose = "atom bin bmp css csv doc eot geojson html ico js json jsonld map mid mpd otf pdf rss svg tar tiff toml \
                     ttf txt wasm wav webmanifest xhtml xls xml yaml unknown";
        for (list, wanted) in [(packed, true), (loose, false)] {
            for extension in list.split_whitespace() {
                let is_packed = of(format!("a.{extension}").as_bytes()).is_packed;
                assert_eq!(is_packed, wanted, "{extension}");
            }
        }
    }
}
