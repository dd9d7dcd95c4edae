//! The page as Markdown, for a pull request or the summary of a job: GitHub's tables, and nothing that needs more.

use crate::Look;
use crate::page::{Block, Item, Page, Role, Row, Span, Table};
use record::Run;

/// Lays out every Run's page, one after the other.
pub(crate) fn render(runs: &[Run], _: &Look) -> String {
    let pages: Vec<String> = runs.iter().map(page).collect();
    pages.join("\n---\n\n")
}

/// Says why nothing could be measured.
pub(crate) fn failed(why: &str) -> String {
    format!("### weigh\n\n**nothing was measured**: {}\n", escaped(why))
}

fn page(run: &Run) -> String {
    let verdict = match &run.exit {
        None => "**yes**: measured, and everything required is met\n\n".to_owned(),
        Some(exit) => format!(
            "**exit status {}**: {}\n\n",
            exit.status,
            escaped(&exit.why)
        ),
    };
    let blocks: Vec<String> = Page::of(run).blocks.iter().map(block).collect();
    format!("### weigh\n\n{verdict}{}", blocks.join("\n"))
}

/// Lays out the page of a comparison.
pub(crate) fn comparison(page: &Page) -> String {
    let blocks: Vec<String> = page.blocks.iter().map(block).collect();
    format!("### weigh compare\n\n{}", blocks.join("\n"))
}

fn block(block: &Block) -> String {
    match block {
        Block::Lines(lines) => {
            let lines: Vec<String> = lines.iter().map(|line| items(line)).collect();
            format!("{}\n", lines.join("  \n"))
        }
        Block::Rows(rows) => {
            let lines: String = rows.iter().map(row).collect();
            format!("| | |\n|---|---|\n{lines}")
        }
        Block::Table(each) => table(each),
    }
}

fn row(row: &Row) -> String {
    let mark = row.mark.map_or(String::new(), |_| " (!)".to_owned());
    format!(
        "| {}{mark} | {} |\n",
        escaped(&row.label),
        items(&row.items)
    )
}

fn table(table: &Table) -> String {
    let cells = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let titles = table.columns.iter().map(|column| escaped(&column.title));
    let rules = table.columns.iter().map(|column| match column.is_number {
        true => "---:".to_owned(),
        false => "---".to_owned(),
    });
    let mut text = cells(titles.collect()) + &cells(rules.collect());
    for row in &table.rows {
        text.push_str(&cells(row.iter().map(span).collect()));
    }
    if let Some(rest) = &table.rest {
        text.push_str(&format!("\n{}\n", escaped(rest)));
    }
    text
}

fn items(items: &[Item]) -> String {
    let shown = items
        .iter()
        .map(|item| item.0.iter().map(span).collect::<String>());
    shown.collect::<Vec<_>>().join(" · ")
}

/// Words in bold where a reader looks first.
fn span(span: &Span) -> String {
    let words = span.text.trim();
    let shown = escaped(words);
    let is_strong = matches!(span.role, Role::Strong | Role::Wrong) && !words.is_empty();
    let shown = if is_strong {
        format!("**{shown}**")
    } else {
        shown
    };
    // A mark of emphasis holds only beside a letter, so that spaces stay outside.
    let lead = if span.text.starts_with(' ') { " " } else { "" };
    let trail = if span.text.ends_with(' ') { " " } else { "" };
    format!("{lead}{shown}{trail}")
}

/// What a server or a record says is text and never markup.
fn escaped(text: &str) -> String {
    let mut shown = String::new();
    for letter in text.chars() {
        if "\\`*_[]<>|~#&".contains(letter) {
            shown.push('\\');
        }
        shown.push(if letter.is_control() { ' ' } else { letter });
    }
    shown
}
