//! A sweep while it is measured: the head, a line for each point as it comes, and at last what follows from all.
//!
//! Later points are not known yet, so columns have a width of their own; `text` lays the same cells out again as a table.

use crate::Look;
use crate::page::{Block, Page, curve, load};
use crate::text::{self, render};
use record::{Finding, Run};

/// Returns target, load and the headings.
pub fn head(run: &Run, look: &Look) -> String {
    let columns = curve::columns(run);
    format!(
        "{}\n{}",
        render(&Page::head(run, look.detail), look),
        text::headings(&columns, look)
    )
}

/// The line of one point, judged by `findings`.
pub fn line(run: &Run, point: usize, findings: &[Finding], look: &Look) -> String {
    text::line(
        &curve::columns(run),
        &curve::cells(run, point, findings),
        look,
    )
}

/// What follows the lines: why the sweep is partial, the results of all points together, the requirements, and the caveats.
pub fn foot(run: &Run, look: &Look) -> String {
    let mut page = Page::at(run, look.detail);
    page.blocks
        .drain(..Page::head(run, look.detail).blocks.len());
    let lines = page
        .blocks
        .iter()
        .position(|block| matches!(block, Block::Table(_)));
    lines.map(|first| page.blocks.remove(first));
    let partial = load::unfinished(run).map(|items| Block::Lines(vec![items]));
    page.blocks.splice(0..0, partial);
    format!("\n{}", render(&page, look))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_foot_of_a_partial_sweep_says_so_first() {
        let mut run = record::example::sweep();
        run.interrupted = true;
        assert!(!foot(&run, &Look::default()).contains("PARTIAL"));
        run.points.pop();
        let said = foot(&run, &Look::default());
        assert!(said.starts_with("\nPARTIAL, interrupted"), "{said}");
    }
}
