//! Which room may know which: one table, compared with what the manifests say.
//!
//! The table repeats the manifests on purpose. An edge is what makes a crate worth having (what it must not know), so
//! a new one shall be seen twice: in the manifest, and as a changed line here. ARCHITECTURE.md shows the same rows.

use super::complaint::Complaint;
use super::tree::Tree;
use super::workspace::{Edge, Member, Workspace};
use cargo_metadata::DependencyKind as Purpose;

/// This file, as it is named in complaints.
const TABLE: &str = "xtask/src/tidy/edges.rs";

/// One crate, its layer, and the crates it may know.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    layer: u8,
    name: &'static str,
    known: &'static [&'static str],
}

const fn room(layer: u8, name: &'static str, known: &'static [&'static str]) -> Room {
    Room { layer, name, known }
}

/// The house, from the ground up. Tests and build scripts may know what the crate itself knows.
#[rustfmt::skip]
pub const ROOMS: &[Room] = &[
    room(0, "units", &[]),
    room(1, "plan", &["units"]),
    room(1, "wire", &[]),
    room(1, "kernel", &["units"]),
    room(1, "stats", &[]),
    room(1, "scripting", &[]),
    room(2, "record", &["plan", "stats", "units"]),
    room(3, "doctor", &["record", "units"]),
    room(3, "host", &["kernel", "record", "units"]),
    room(3, "engine", &["kernel", "plan", "record", "scripting", "stats", "units", "wire"]),
    room(3, "figures", &["plan", "record", "stats", "units"]),
    room(3, "refserver", &["kernel", "units", "wire"]),
    room(4, "audit", &["figures", "plan", "record", "stats", "units"]),
    room(4, "dropins", &["plan", "record", "scripting", "stats", "units"]),
    room(4, "report", &["doctor", "figures", "plan", "record", "stats", "units"]),
    room(4, "testserver", &["kernel", "refserver", "units", "wire"]),
    room(5, "campaign", &["audit", "engine", "host", "kernel", "plan", "record", "refserver", "stats", "units"]),
    room(6, "cli", &["campaign", "doctor", "dropins", "engine", "host", "kernel", "plan", "record", "refserver", "report", "testserver", "units"]),
    room(7, "bench", &["engine", "kernel", "plan", "units"]),
    room(7, "proof", &["host", "kernel", "plan", "record", "stats", "testserver", "units"]),
    room(7, "xtask", &["record", "units"]),
    room(7, "weigh-fuzz", &["dropins", "record", "wire"]),
];

/// Compares the table with itself (layers) and with the workspace (both ways).
pub fn check(rooms: &[Room], workspace: &Workspace) -> Vec<Complaint> {
    let mut complaints = layers(rooms);
    complaints.extend(unlisted(rooms, workspace));
    complaints.extend(unused(rooms, workspace));
    complaints
}

/// A row may only name rooms of strictly lower layers, so rooms of one layer are strangers.
fn layers(rooms: &[Room]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for room in rooms {
        let known = rooms
            .iter()
            .filter(|known| room.known.contains(&known.name));
        for known in known.filter(|known| known.layer >= room.layer) {
            let sentence = format!(
                "{} (layer {}) must not know {} (layer {}): an edge leads to a strictly lower layer, and rooms of \
                 one layer are strangers; let a higher room introduce them",
                room.name, room.layer, known.name, known.layer
            );
            complaints.push(Complaint::about(TABLE, sentence));
        }
    }
    complaints
}

/// What the manifests have and the table has not.
fn unlisted(rooms: &[Room], workspace: &Workspace) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for Member { name, manifest } in &workspace.members {
        let Some(room) = rooms.iter().find(|room| room.name == name) else {
            let sentence = format!(
                "{name} is not in the table of rooms; give it a row with its layer in {TABLE}, and say in ARCHITECTURE.md \
                 what it must not know"
            );
            complaints.push(Complaint::about(manifest, sentence));
            continue;
        };
        for Edge { from, to, purpose } in workspace.edges.iter().filter(|edge| edge.from == *name) {
            if *purpose == Purpose::Build || !room.known.contains(&to.as_str()) {
                let what_for = match purpose {
                    Purpose::Development => " in its tests",
                    Purpose::Build => " in its build script",
                    _ => "",
                };
                let sentence = format!(
                    "{from} must not depend on {to}{what_for}; move what both need into a lower room, or, if the house is \
                     plainer with the edge, add {to} to the row of {from} in {TABLE} and draw it in ARCHITECTURE.md"
                );
                complaints.push(Complaint::about(manifest, sentence));
            }
        }
    }
    complaints
}

/// What the table has and the manifests have not.
fn unused(rooms: &[Room], workspace: &Workspace) -> Vec<Complaint> {
    let mut sentences = Vec::new();
    for Room {
        name: from, known, ..
    } in rooms
    {
        if workspace.members.iter().all(|member| member.name != *from) {
            sentences.push(format!(
                "there is a row for {from}, but no such crate; take it out"
            ));
            continue;
        }
        let has = |to: &str| {
            let mut edges = workspace.edges.iter();
            edges.any(|edge| edge.purpose == Purpose::Normal && edge.from == *from && edge.to == to)
        };
        let unused = known.iter().filter(|to| !has(to));
        sentences.extend(unused.map(|to| {
            format!(
                "the table lets {from} depend on {to}, but its manifest does not; take it out, so that the edge is a \
                 visible change when it comes back"
            )
        }));
    }
    let sentences = sentences.into_iter();
    sentences
        .map(|sentence| Complaint::about(TABLE, sentence))
        .collect()
}

/// The map that people read.
const MAP: &str = "ARCHITECTURE.md";

/// Looks for every row in the map.
pub fn check_map(rooms: &[Room], tree: &Tree) -> Vec<Complaint> {
    let lines: Vec<&str> = tree.text(MAP).lines().collect();
    let mut complaints = Vec::new();
    for Room { name, known, .. } in rooms {
        let known = match known {
            [] => "none".to_owned(),
            known => known.join(", "),
        };
        let row = format!("| {name} | {known} |");
        if !lines.contains(&row.as_str()) {
            let sentence = format!("the table of edges lacks the line `{row}`, which {TABLE} has");
            complaints.push(Complaint::about(MAP, sentence));
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::super::tree::File;
    use super::*;

    const SMALL: &[Room] = &[
        room(0, "units", &[]),
        room(1, "wire", &["units"]),
        room(1, "kernel", &["units"]),
        room(2, "engine", &["wire"]),
    ];

    const SOUND: &[(&str, &str, Purpose)] = &[
        ("wire", "units", Purpose::Normal),
        ("kernel", "units", Purpose::Normal),
        ("engine", "wire", Purpose::Normal),
    ];

    fn workspace(members: &[&str], edges: &[(&str, &str, Purpose)]) -> Workspace {
        Workspace {
            members: members
                .iter()
                .map(|name| Member {
                    name: name.to_string(),
                    manifest: format!("crates/{name}/Cargo.toml"),
                })
                .collect(),
            edges: edges
                .iter()
                .map(|(from, to, purpose)| Edge {
                    from: from.to_string(),
                    to: to.to_string(),
                    purpose: *purpose,
                })
                .collect(),
        }
    }

    const MEMBERS: &[&str] = &["units", "wire", "kernel", "engine"];

    fn sentences(rooms: &[Room], workspace: &Workspace) -> Vec<String> {
        check(rooms, workspace)
            .iter()
            .map(Complaint::to_string)
            .collect()
    }

    #[test]
    fn a_workspace_as_drawn_is_silent() {
        assert_eq!(sentences(SMALL, &workspace(MEMBERS, SOUND)), [""; 0]);
    }

    #[test]
    fn an_edge_that_is_not_drawn_names_both_crates_and_the_remedy() {
        let cases = [
            ("wire", "kernel", Purpose::Normal, ""),
            ("wire", "kernel", Purpose::Development, " in its tests"),
            ("kernel", "units", Purpose::Build, " in its build script"),
            ("engine", "kernel", Purpose::Normal, ""),
            ("engine", "kernel", Purpose::Development, " in its tests"),
            ("units", "engine", Purpose::Normal, ""),
        ];
        for (from, to, purpose, what_for) in cases {
            let edges = [SOUND, &[(from, to, purpose)]].concat();
            assert_eq!(
                sentences(SMALL, &workspace(MEMBERS, &edges)),
                [format!(
                    "crates/{from}/Cargo.toml: {from} must not depend on {to}{what_for}; move what both need into a \
                     lower room, or, if the house is plainer with the edge, add {to} to the row of {from} in \
                     xtask/src/tidy/edges.rs and draw it in ARCHITECTURE.md"
                )]
            );
        }
    }

    #[test]
    fn tests_may_know_what_the_crate_itself_knows() {
        let edges = [SOUND, &[("engine", "wire", Purpose::Development)]].concat();
        assert_eq!(sentences(SMALL, &workspace(MEMBERS, &edges)), [""; 0]);
    }

    #[test]
    fn a_row_that_no_manifest_uses_is_to_go() {
        assert_eq!(
            sentences(SMALL, &workspace(MEMBERS, &SOUND[..2])),
            [
                "xtask/src/tidy/edges.rs: the table lets engine depend on wire, but its manifest does not; take it \
              out, so that the edge is a visible change when it comes back"
            ]
        );
    }

    #[test]
    fn crates_and_rows_are_the_same_set() {
        let members = [MEMBERS, &["attic"]].concat();
        assert_eq!(
            sentences(SMALL, &workspace(&members, SOUND)),
            [
                "crates/attic/Cargo.toml: attic is not in the table of rooms; give it a row with its layer in \
              xtask/src/tidy/edges.rs, and say in ARCHITECTURE.md what it must not know"
            ]
        );
        assert_eq!(
            sentences(SMALL, &workspace(&MEMBERS[..3], &SOUND[..2])),
            ["xtask/src/tidy/edges.rs: there is a row for engine, but no such crate; take it out"]
        );
    }

    #[test]
    fn rooms_of_one_layer_are_strangers_whatever_the_table_says() {
        let rooms = &[
            room(0, "units", &[]),
            room(1, "wire", &["kernel"]),
            room(1, "kernel", &[]),
        ];
        let edges = [("wire", "kernel", Purpose::Normal)];
        assert_eq!(
            sentences(rooms, &workspace(&MEMBERS[..3], &edges)),
            [
                "xtask/src/tidy/edges.rs: wire (layer 1) must not know kernel (layer 1): an edge leads to a strictly \
              lower layer, and rooms of one layer are strangers; let a higher room introduce them"
            ]
        );
    }

    #[test]
    fn a_row_that_the_map_does_not_show_is_asked_for() {
        let text = "| units | none |\n| wire | units |\n| kernel | units |\n| engine | none |\n";
        let map = File {
            path: "ARCHITECTURE.md".into(),
            text: text.into(),
        };
        let complaints = check_map(SMALL, &Tree { files: vec![map] });
        let sentences: Vec<String> = complaints.iter().map(Complaint::to_string).collect();
        assert_eq!(
            sentences,
            [
                "ARCHITECTURE.md: the table of edges lacks the line `| engine | wire |`, which xtask/src/tidy/edges.rs has"
            ]
        );
    }
}
