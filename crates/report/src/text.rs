//! Lays a page out as lines for a terminal.
//!
//! Widths are counted on what is seen, before colours are put around it. Items of a row stay together and move to the
//! next line as a whole; only what is longer than a line is broken, between words.

use crate::Look;
use crate::page;
use crate::page::{Block, Column, Item, Page, Role, Row, Span, Table};
use crate::phrase::{self, columns};
use anstyle::{AnsiColor, Style};
use plan::Plan;
use record::{Grade, Run};
use std::cmp::Reverse;
use units::number;

/// Between a label, an item, or a table's column, and what follows.
const GAP: usize = 2;
/// From this width on, items stand further apart.
const WIDTH_ROOMY: usize = 100;
/// Between items, where there is room.
const GAP_ROOMY: usize = 3;
/// Narrower than this nothing is laid out.
const WIDTH_LEAST: usize = 40;
/// The least room for items behind their indent.
const ROOM_LEAST: usize = 10;
/// Indent of a table's last cell where it has a line of its own.
const FURTHER: usize = 4;

/// Every Run's page, one after the other.
pub(crate) fn runs(runs: &[Run], look: &Look) -> String {
    let pages: Vec<String> = runs
        .iter()
        .map(|run| render(&Page::at(run, look.detail), look))
        .collect();
    let rule = format!("\n{}\n\n", "-".repeat(look.width.clamp(WIDTH_LEAST, 120)));
    pages.join(&rule)
}

/// The whole plan, as `--dry-run` prints it.
pub fn plan(plan: &Plan, look: &Look) -> String {
    render(&page::plan::page(plan), look)
}

/// A page as text; ends with a newline.
pub fn render(page: &Page, look: &Look) -> String {
    let mut paper = Paper {
        look,
        text: String::new(),
        label: label_width(page),
    };
    for (index, block) in page.blocks.iter().enumerate() {
        if index > 0 {
            paper.text.push('\n');
        }
        match block {
            Block::Lines(lines) => lines
                .iter()
                .for_each(|items| paper.items(Vec::new(), 0, items)),
            Block::Rows(rows) => rows.iter().for_each(|row| paper.row(row)),
            Block::Table(table) => paper.table(table),
        }
    }
    paper.text
}

/// Returns the headings of a table whose lines come one after the other.
pub(crate) fn headings(columns: &[Column], look: &Look) -> String {
    line(columns, &titles(columns), look)
}

/// Returns one line of such a table. Its columns, and their widths, are the same for all lines.
pub(crate) fn line(columns: &[Column], cells: &[Span], look: &Look) -> String {
    let mut paper = Paper {
        look,
        text: String::new(),
        label: 0,
    };
    let expected = |column: &Column| column.least.max(phrase::columns(&column.title));
    let mut widths: Vec<usize> = columns.iter().map(expected).collect();
    let kept = paper.kept(columns, &widths);
    for (width, cell) in widths.iter_mut().zip(cells) {
        *width = (*width).max(phrase::columns(&cell.text));
    }
    paper.table_line(columns, &widths, cells, &kept);
    paper.text
}

fn titles(columns: &[Column]) -> Vec<Span> {
    let title = |column: &Column| Span::new(Role::Dim, &*column.title);
    columns.iter().map(title).collect()
}

/// The widest label of the whole page, so that all blocks share one edge.
fn label_width(page: &Page) -> usize {
    let rows = page.blocks.iter().flat_map(|block| match block {
        Block::Rows(rows) => &rows[..],
        _ => &[],
    });
    rows.map(|row| columns(&row.label) + if row.mark.is_some() { 2 } else { 0 })
        .max()
        .unwrap_or(0)
}

struct Paper<'a> {
    look: &'a Look,
    text: String,
    label: usize,
}

impl Paper<'_> {
    fn width(&self) -> usize {
        self.look.width.max(WIDTH_LEAST)
    }

    fn row(&mut self, row: &Row) {
        let role = match row.mark {
            Some(Grade::Invalid) => Role::Wrong,
            Some(_) => Role::Warning,
            None => Role::Dim,
        };
        let mark = row.mark.map(|_| Span::new(role, " *"));
        let label = std::iter::once(Span::new(role, &*row.label)).chain(mark);
        self.items(label.collect(), self.label + GAP, &row.items);
    }

    /// `start`, filled up to `indent`, then the items; further lines begin at `indent`.
    fn items(&mut self, start: Vec<Span>, indent: usize, items: &[Item]) {
        let room = self.width().saturating_sub(indent).max(ROOM_LEAST);
        let is_roomy = self.width() >= WIDTH_ROOMY;
        let gap = if is_roomy { GAP_ROOMY } else { GAP };
        let mut lines = flow(items, room, gap).into_iter();
        self.line(&padded(start, indent, &lines.next().unwrap_or_default()));
        for line in lines {
            self.line(&padded(Vec::new(), indent, &line));
        }
    }

    fn table(&mut self, table: &Table) {
        let titles = titles(&table.columns);
        let lines: Vec<&Vec<Span>> = std::iter::once(&titles).chain(&table.rows).collect();
        let width = |at: usize| lines.iter().map(|cells| columns(&cells[at].text)).max();
        let widths = (0..table.columns.len()).map(|at| width(at).unwrap_or(0));
        let widths: Vec<usize> = widths.collect();
        let kept = self.kept(&table.columns, &widths);
        for cells in lines {
            self.table_line(&table.columns, &widths, cells, &kept);
        }
        let dropped = (widths.len() - kept.len()) as u64;
        let columns = number(dropped, "more column");
        let dropped = (dropped > 0).then(|| format!("{columns} with --wide"));
        for rest in table.rest.iter().chain(&dropped) {
            self.line(&[Span::new(Role::Dim, format!("... {rest}"))]);
        }
    }

    /// The places of the columns that fit on a line: the least important go first, and of those the last.
    fn kept(&self, columns: &[Column], widths: &[usize]) -> Vec<usize> {
        let mut kept: Vec<usize> = (0..columns.len()).collect();
        let wide = |kept: &[usize]| kept.iter().map(|place| widths[*place] + GAP).sum::<usize>();
        while !self.look.is_wide && wide(&kept) > self.width() + GAP {
            let droppable = kept.iter().enumerate();
            let droppable =
                droppable.filter_map(|(at, place)| Some((columns[*place].priority?, at)));
            let Some((_, at)) = droppable.min_by_key(|(priority, at)| (*priority, Reverse(*at)))
            else {
                break;
            };
            kept.remove(at);
        }
        kept
    }

    /// One line of a table, of which some columns are kept; the last cell is broken over lines where it has no room.
    fn table_line(&mut self, of: &[Column], widths: &[usize], cells: &[Span], kept: &[usize]) {
        let Some((last, front)) = kept.split_last() else {
            return;
        };
        let mut start: Vec<Span> = Vec::new();
        let mut indent = 0;
        for &at in front {
            let fill = blank(widths[at] - columns(&cells[at].text));
            let cell = cells[at].clone();
            start.extend(match of[at].is_number {
                true => [fill, cell],
                false => [cell, fill],
            });
            start.push(blank(GAP));
            indent += widths[at] + GAP;
        }
        let room = self.width().saturating_sub(indent);
        if room < ROOM_LEAST.min(columns(&cells[*last].text)) {
            self.line(&start); // a line of its own has more room
            (start, indent) = (Vec::new(), FURTHER);
        }
        self.items(start, indent, &[Item(vec![cells[*last].clone()])]);
    }

    /// Writes one line, without blanks at its end.
    fn line(&mut self, spans: &[Span]) {
        let seen = spans
            .iter()
            .rposition(|span| !span.text.trim_end().is_empty());
        let kept = seen.map_or(0, |last| last + 1);
        for (index, span) in spans[..kept].iter().enumerate() {
            let text = if index + 1 == kept {
                span.text.trim_end()
            } else {
                &span.text
            };
            self.span(span.role, text);
        }
        self.text.push('\n');
    }

    fn span(&mut self, role: Role, text: &str) {
        let style = style(role);
        if self.look.colour && style != Style::new() && !text.trim().is_empty() {
            self.text.push_str(&format!("{style}{text}{style:#}"));
        } else {
            self.text.push_str(text);
        }
    }
}

fn style(role: Role) -> Style {
    match role {
        Role::Plain => Style::new(),
        Role::Strong => Style::new().bold(),
        Role::Dim => Style::new().dimmed(),
        Role::Warning => AnsiColor::Yellow.on_default(),
        Role::Wrong => AnsiColor::Red.on_default().bold(),
    }
}

fn blank(columns: usize) -> Span {
    Span::new(Role::Plain, " ".repeat(columns))
}

fn padded(mut start: Vec<Span>, indent: usize, line: &[Span]) -> Vec<Span> {
    let used: usize = start.iter().map(|span| columns(&span.text)).sum();
    start.push(blank(indent.saturating_sub(used)));
    start.extend_from_slice(line);
    start
}

/// Puts items on lines of `room` columns, with `gap` blanks between them.
fn flow(items: &[Item], room: usize, gap: usize) -> Vec<Vec<Span>> {
    let mut lines: Vec<Vec<Span>> = Vec::new();
    let mut used = 0;
    for item in items {
        let wide = width(item);
        match lines.last_mut() {
            Some(line) if used + gap + wide <= room => {
                line.push(blank(gap));
                line.extend_from_slice(&item.0);
                used += gap + wide;
            }
            _ => {
                lines.extend(broken(item, room));
                used = wide.min(room);
            }
        }
    }
    lines
}

fn width(item: &Item) -> usize {
    item.0.iter().map(|span| columns(&span.text)).sum()
}

/// An item that is longer than a line, broken between words; a word that is longer than a line stays whole, so that a
/// URL can be copied.
fn broken(item: &Item, room: usize) -> Vec<Vec<Span>> {
    let mut lines: Vec<Vec<Span>> = vec![Vec::new()];
    let mut used = 0;
    for span in &item.0 {
        for word in words(&span.text) {
            let wide = columns(word.trim_end());
            if used > 0 && used + wide > room {
                lines.push(Vec::new());
                used = 0;
            }
            used += columns(word);
            let line = lines.last_mut().expect("there always is a line");
            match line.last_mut() {
                Some(last) if last.role == span.role => last.text.push_str(word),
                _ => line.push(Span::new(span.role, word)),
            }
        }
    }
    lines
}

/// Words with the blank that follows them. What one reads as one word stays one: the per cent sign after a number, the
/// arrow before a remedy, a sign that says "less" or "more".
fn words(text: &str) -> Vec<&str> {
    let mut words: Vec<&str> = Vec::new();
    let mut start = 0;
    for (at, _) in text.match_indices(' ') {
        let (before, after) = (&text[start..at], &text[at + 1..]);
        let is_percentage =
            before.ends_with(|c: char| c.is_ascii_digit()) && after.starts_with('%');
        let is_sign = ["->", ">=", "<", ">"]
            .iter()
            .any(|sign| before.trim_start_matches('(') == *sign);
        if !is_percentage && !is_sign {
            words.push(&text[start..=at]);
            start = at + 1;
        }
    }
    words.push(&text[start..]);
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Column;

    fn shown(blocks: Vec<Block>, width: usize) -> String {
        render(
            &Page { blocks },
            &Look {
                colour: false,
                width,
                ..Look::default()
            },
        )
    }

    #[test]
    fn items_stay_together_and_sentences_are_broken_between_words() {
        let items = vec![
            Item::named("p50", Role::Strong, "1.20 ms"),
            Item::named("p99", Role::Strong, "2.05 ms"),
            Item::plain("a sentence that is longer than all the room there is"),
        ];
        let rows = Block::Rows(vec![Row::new("latency", items)]);
        let wanted = "latency  p50 1.20 ms  p99 2.05 ms\n         a sentence that is longer than\n         all the room there is\n";
        assert_eq!(shown(vec![rows], 40), wanted);
    }

    #[test]
    fn labels_of_all_blocks_share_one_edge_and_marks_are_counted() {
        let marked = Row::new("ab", vec![Item::plain("x")]).marked(Some(Grade::Caveat));
        let blocks = vec![
            Block::Rows(vec![marked]),
            Block::Rows(vec![Row::new("abcdef", vec![Item::plain("y")])]),
        ];
        assert_eq!(shown(blocks, 40), "ab *    x\n\nabcdef  y\n");
    }

    #[test]
    fn numbers_of_any_width_stay_in_their_column() {
        let cells = |number: &str, name: &str| {
            vec![
                Span {
                    text: number.to_owned(),
                    role: Role::Plain,
                },
                Span {
                    text: name.to_owned(),
                    role: Role::Dim,
                },
            ]
        };
        let table = Table {
            columns: vec![Column::number("n"), Column::text("what")],
            rows: vec![
                cells("7", "few"),
                cells("18,446,744,073,709,551,615", "many of them"),
            ],
            rest: Some("1 more".to_owned()),
        };
        let wanted = concat!(
            "                         n  what\n",
            "                         7  few\n",
            "18,446,744,073,709,551,615  many of them\n",
            "... 1 more\n",
        );
        assert_eq!(shown(vec![Block::Table(table)], 40), wanted);
    }

    #[test]
    fn a_last_cell_without_room_has_a_line_of_its_own() {
        let cell = |text: &str| Span::new(Role::Plain, text);
        let table = Table {
            columns: ["required", "why"].map(Column::text).to_vec(),
            rows: vec![vec![
                cell("a_figure_with_a_very_long_name<1ms"),
                cell("it is more than that"),
            ]],
            rest: None,
        };
        let wanted = "required                            why\na_figure_with_a_very_long_name<1ms\n    it is more than that\n";
        assert_eq!(shown(vec![Block::Table(table)], 40), wanted);
    }

    #[test]
    fn colours_change_nothing_that_is_seen() {
        let items = vec![
            Item::strong("41,234"),
            Item::named("min", Role::Plain, "40,870"),
            Item::wrong("a very long complaint about what went wrong today"),
        ];
        let page = Page {
            blocks: vec![Block::Rows(vec![Row::new("requests/s", items)])],
        };
        let plain = render(
            &page,
            &Look {
                colour: false,
                width: 50,
                ..Look::default()
            },
        );
        let coloured = render(
            &page,
            &Look {
                colour: true,
                width: 50,
                ..Look::default()
            },
        );
        assert_ne!(plain, coloured);
        assert_eq!(stripped(&coloured), plain);
    }

    fn stripped(text: &str) -> String {
        let mut parts = text.split("\x1b[");
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |seen, part| {
            seen + part.split_once('m').map_or("", |(_, tail)| tail)
        })
    }

    #[test]
    fn numbers_are_not_broken() {
        let cases: &[(&str, &[&str])] = &[
            ("97 % busy", &["97 % ", "busy"]),
            ("of 10,000 needed", &["of ", "10,000 ", "needed"]),
            ("-> ask more", &["-> ask ", "more"]),
            (
                "less (< 0.1 %), or > 99.9 % of",
                &["less ", "(< 0.1 %), ", "or ", "> 99.9 % ", "of"],
            ),
            ("", &[""]),
        ];
        for (text, wanted) in cases {
            assert_eq!(words(text), *wanted);
        }
    }

    #[test]
    fn a_word_longer_than_the_line_stays_whole() {
        let url = "http://127.0.0.1:8080/".to_owned() + &"x".repeat(60);
        let lines = Block::Lines(vec![vec![Item::plain(format!("ask {url} now"))]]);
        assert_eq!(shown(vec![lines], 40), format!("ask\n{url}\nnow\n"));
    }
}
