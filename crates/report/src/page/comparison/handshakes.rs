//! The TLS handshakes of servers that were compared over https.

use super::table::{LINE_NAME_MOST, shortened};
use super::words::Words;
use crate::page::handshakes::{agreed, times};
use crate::page::{Item, Row};
use record::{Comparison, Handshakes};

/// Returns a row for each server, with what was agreed on; none of servers without https.
pub(super) fn rows(words: &Words<'_>) -> Vec<Row> {
    each(words, |handshakes| {
        let items = times(handshakes).into_iter().map(Item::plain);
        let agreed = agreed(handshakes).into_iter().map(Item::dim);
        items.chain(agreed).collect()
    })
}

/// Returns the rows where connections were opened under load, so that handshakes are part of what was compared; none elsewhere.
pub(super) fn rows_if_measured(words: &Words<'_>) -> Vec<Row> {
    let comparison = words.comparison;
    let is_measured = |server: usize| {
        let handshakes = comparison.handshakes(server);
        handshakes.is_some_and(|all| all.count() >= 2 * connections(comparison, server).max(1))
    };
    match comparison.ranked().into_iter().any(is_measured) {
        true => each(words, |handshakes| {
            times(handshakes).into_iter().map(Item::plain).collect()
        }),
        false => Vec::new(),
    }
}

/// How many connections the load needs if none is opened anew: of each start its own, and of separate runs of each round.
fn connections(comparison: &Comparison, server: usize) -> u64 {
    let of_starts = comparison.starts_of(server).map(|start| {
        let blocks = start.blocks.iter().zip(&comparison.plan.blocks);
        let of_blocks = blocks.map(|(measured, block)| {
            let times = match comparison.is_of_records() {
                true => measured.cycles.len() as u64,
                false => 1,
            };
            u64::from(block.load.connections()) * times
        });
        of_blocks.sum::<u64>()
    });
    of_starts.sum()
}

fn each(words: &Words<'_>, show: impl Fn(&Handshakes) -> Vec<Item>) -> Vec<Row> {
    let ranked = words.comparison.ranked().into_iter();
    let shown = ranked.filter_map(|server| {
        let handshakes = words.comparison.handshakes(server)?;
        let name = shortened(words.name(server), LINE_NAME_MOST);
        let mut items = vec![Item::plain(format!("{name}:"))];
        items.extend(show(&handshakes));
        Some(items)
    });
    let titles = std::iter::once("handshakes").chain(std::iter::repeat(""));
    titles
        .zip(shown)
        .map(|(title, items)| Row::new(title, items))
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::{Detail, Look};
    use record::{Comparison, example};

    /// The servers of the example over https, the second with another version; of each start so many full handshakes.
    fn secured(in_start: u64) -> Comparison {
        let mut made = example::two_percent();
        for start in &mut made.starts {
            for (server, version) in start.servers.iter_mut().zip(["TLSv1.3", "TLSv1.2"]) {
                let handshakes = server.handshakes.get_or_insert_default();
                for _ in 0..in_start {
                    handshakes.full.record(2_000_000);
                    handshakes.note(version, "A_CIPHER", Some("X25519"));
                }
            }
        }
        made
    }

    fn text(made: &Comparison, detail: Detail) -> String {
        let look = Look {
            detail,
            ..Look::default()
        };
        crate::comparison::text(made, &look)
    }

    #[test]
    fn handshakes_stand_below_the_answer_with_v() {
        let made = secured(3);
        let shown = text(&made, Detail::Full);
        let count = 3 * made.starts.len();
        assert!(
            shown.contains(&format!("{count} full, p50 2.00 ms")),
            "{shown}"
        );
        assert!(shown.contains("TLSv1.2 A_CIPHER X25519"), "{shown}");
        assert!(
            shown.find("handshakes") > shown.find("reliability"),
            "{shown}"
        );
        let short = text(&made, Detail::Brief);
        assert!(!short.contains("handshakes"), "{short}");
    }

    #[test]
    fn the_short_page_has_them_where_connections_are_opened_under_load() {
        let plan = example::two_percent().plan;
        let connections = u64::from(plan.blocks[0].load.connections());
        let shown = |in_start| text(&secured(in_start), Detail::Brief).contains("full, p50");
        assert!(!shown(2 * connections - 1));
        assert!(shown(2 * connections));
    }

    #[test]
    fn a_start_that_is_void_for_a_server_does_not_count() {
        let mut made = secured(3);
        let all = made.handshakes(1).unwrap().count();
        made.starts[0].servers[1].void = Some("it died".into());
        assert_eq!(made.handshakes(1).unwrap().count(), all - 3);
        assert_eq!(example::two_percent().handshakes(0), None);
    }
}
