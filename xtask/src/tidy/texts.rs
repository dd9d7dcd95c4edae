//! What no text of the tree may contain, whatever kind of file it is: what holds on one machine only.
//!
//! The patterns are put together from halves, so that this file does not complain about itself.

use super::complaint::Complaint;
use super::tree::{File, Tree};

/// Folders of one machine.
const FOLDERS: &[&str] = &[
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
    concat!("/tmp/ta", "rget"),
];

/// Hosts that packages come from.
const HOSTS: &[&str] = &[
    concat!("index.cra", "tes.io"),
    concat!("static.cra", "tes.io"),
    concat!("registry.np", "mjs.org"),
    concat!("py", "pi.org"),
    concat!("deb.deb", "ian.org"),
];

/// Searches every line of every text.
pub fn check(tree: &Tree) -> Vec<Complaint> {
    let of_file = |file: &File| {
        let lines = file.text.lines().zip(1..);
        let found = lines.filter_map(|(line, number)| Some((number, sentence(line)?)));
        let found = found.map(|(number, text)| Complaint::at(&file.path, number, text));
        found.collect::<Vec<_>>()
    };
    tree.files.iter().flat_map(of_file).collect()
}

fn sentence(line: &str) -> Option<String> {
    let has = |pattern: &&&str| begins_somewhere(line, pattern);
    if let Some(folder) = FOLDERS.iter().find(has) {
        return Some(format!(
            "`{folder}` is a folder of one machine; name places from the project's root, or by what they are"
        ));
    }
    HOSTS.iter().find(has).map(|host| {
        format!(
            "`{host}` is where packages come from on one machine; leave it to the package manager's own settings, so \
             that the project builds behind any mirror"
        )
    })
}

/// Whether `line` holds `pattern` other than as the tail of a longer word or path.
fn begins_somewhere(line: &str, pattern: &str) -> bool {
    line.match_indices(pattern).any(|(start, _)| {
        !line[..start]
            .ends_with(|before: char| before.is_alphanumeric() || matches!(before, '_' | '-' | '.'))
    })
}

#[cfg(test)]
mod tests {
    use super::super::tree::File;
    use super::*;

    fn sentences(text: &str) -> Vec<String> {
        let file = File {
            path: "docs/run.md".into(),
            text: text.into(),
        };
        check(&Tree { files: vec![file] })
            .iter()
            .map(Complaint::to_string)
            .collect()
    }

    #[test]
    fn a_machines_folders_and_hosts_are_found_at_their_line() {
        for folder in FOLDERS {
            assert_eq!(
                sentences(&format!("first\nsee {folder}/x")),
                [format!(
                    "docs/run.md:2: `{folder}` is a folder of one machine; name places from the project's root, or by \
                     what they are"
                )]
            );
        }
        for host in HOSTS {
            assert_eq!(
                sentences(&format!("https://{host}/x")),
                [format!(
                    "docs/run.md:1: `{host}` is where packages come from on one machine; leave it to the package \
                     manager's own settings, so that the project builds behind any mirror"
                )]
            );
        }
    }

    #[test]
    fn what_only_ends_like_one_is_let_be() {
        for text in [
            "a frame/work/place",
            "the crates.io-index",
            "/tmp/weigh.json",
            "./work",
        ] {
            assert_eq!(sentences(text), [""; 0], "{text}");
        }
    }
}
