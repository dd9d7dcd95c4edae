//! The page of `weigh list`: saved records, a row each.

use super::{Block, Column, Page, Role, Span, Table};
use crate::phrase::{clean, rate};
use record::Saved;
use units::date;

/// The longest URL that is shown whole,
const LONGEST: usize = 60;
/// the longest name,
const LONGEST_NAME: usize = 24;
/// and the shortest that a narrow page cuts it to.
const SHORTEST: usize = 16;
/// Width of the columns beside name and URL.
const BESIDE: usize = 55;

/// Returns the page that lists `saved`, in that order, `width` columns wide. `is_there` tells whether a record is still
/// where it was saved.
pub fn saved_records(saved: &[Saved], width: usize, is_there: impl Fn(&Saved) -> bool) -> Page {
    let names = saved.iter().map(|each| each.name.len().min(LONGEST_NAME));
    let names = names.max().unwrap_or(0);
    let room = width.saturating_sub(BESIDE + names);
    let room = room.clamp(SHORTEST, LONGEST);
    let columns = vec![
        Column::number("#"),
        Column::text("started (UTC)"),
        Column::text("name"),
        Column::number("requests/s"),
        Column::text(""),
        Column::text("URL"),
    ];
    let table = Table {
        columns,
        rows: saved
            .iter()
            .map(|each| row(each, is_there(each), room))
            .collect(),
        rest: None,
    };
    Page {
        blocks: vec![Block::Table(table)],
    }
}

fn row(saved: &Saved, is_there: bool, room: usize) -> Vec<Span> {
    let kind = match (is_there, saved.points) {
        (false, _) => "gone".to_owned(),
        _ if saved.overwritten => "overwritten".to_owned(),
        _ if saved.unfinished => "unfinished".to_owned(),
        _ if saved.compares => "comparison".to_owned(),
        (true, 1) => String::new(),
        (true, points) => format!("{points} points"),
    };
    let role = if is_there { Role::Plain } else { Role::Dim };
    let rps = saved.rps.map_or("-".to_owned(), rate);
    let cells = [
        saved.number.to_string(),
        date::minute(saved.started_unix).replace(" UTC", ""),
        clean(&saved.name, LONGEST_NAME),
        rps,
        kind,
        clean(&saved.url, room),
    ];
    cells.map(|cell| Span::new(role, cell)).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Look, page_text};

    #[test]
    fn records_are_listed_with_what_became_of_them() {
        let saved = |number, name: &str, points, rps| Saved {
            number,
            name: name.into(),
            path: "/tmp/run.json".into(),
            started_unix: 1_700_000_000,
            url: "http://127.0.0.1:8080/a\u{1b}b".into(),
            points,
            rps,
            unfinished: number == 6,
            compares: false,
            overwritten: number == 8,
        };
        let saved = [
            saved(6, "", 3, None),
            saved(7, "base", 1, Some(4892.0)),
            saved(8, "", 3, None),
            saved(9, "", 1, Some(0.5)),
        ];
        let page = saved_records(&saved, 80, |each| each.number != 9);
        let wanted = "\
#  started (UTC)     name  requests/s               URL
6  2023-11-14 22:13                 -  unfinished   http://127.0.0.1:8080…
7  2023-11-14 22:13  base       4,892               http://127.0.0.1:8080…
8  2023-11-14 22:13                 -  overwritten  http://127.0.0.1:8080…
9  2023-11-14 22:13              0.50  gone         http://127.0.0.1:8080…
";
        assert_eq!(page_text(&page, &Look::default()), wanted);
    }
}
