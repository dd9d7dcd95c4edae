//! The TLS handshakes of a run: how many, how long they took, what they agreed on.

use super::findings::is_void;
use super::tables::select;
use super::{Column, Item, Role, Row, Span, Table};
use figures::Figures;
use record::{Figure, Handshakes, Run};
use units::Nanos;

/// Returns the row of a point, with what was agreed on; none without https.
pub(super) fn row(of: &Figures<'_>) -> Option<Row> {
    let handshakes = of.tally().connects.handshakes.as_ref()?;
    let items = times(handshakes).into_iter().map(Item::plain);
    let agreed = agreed(handshakes).into_iter().map(Item::dim);
    Some(voided(of.run, items.chain(agreed).collect()))
}

/// Returns the row of a point where connections were opened during the load, at least as many as were open at a time: there the
/// handshakes are part of the result. None elsewhere.
pub(super) fn row_if_measured(of: &Figures<'_>) -> Option<Row> {
    let connects = &of.tally().connects;
    let handshakes = connects.handshakes.as_ref()?;
    let is_measured = connects.in_window > 0 && connects.in_window >= connects.open_peak;
    let items = times(handshakes).into_iter().map(Item::plain).collect();
    is_measured.then(|| voided(of.run, items))
}

fn voided(run: &Run, items: Vec<Item>) -> Row {
    match is_void(run, Figure::Counts) {
        true => Row::new("handshakes", vec![Item::wrong("INVALID")]),
        false => Row::new("handshakes", items),
    }
}

/// `1,234 full, p50 1.02 ms, max 3.10 ms`, and the same of resumed ones; only the kinds that there were.
pub(super) fn times(handshakes: &Handshakes) -> Vec<String> {
    let kinds = [("full", &handshakes.full), ("resumed", &handshakes.resumed)];
    let kinds = kinds.into_iter().filter(|(_, times)| times.count() > 0);
    let words = |(kind, times): (&str, &stats::Histogram)| {
        let ends = [
            ("p50", times.quantile_if_carried(0.5)),
            ("max", times.max()),
        ];
        let ends = ends.map(|(name, time)| {
            Some(format!(
                ", {name} {}",
                units::span(Nanos::from_nanos(time?))
            ))
        });
        let ends: String = ends.into_iter().flatten().collect();
        format!("{} {kind}{ends}", units::count(times.count()))
    };
    kinds.map(words).collect()
}

/// Version, cipher and key exchange; where handshakes differ in them, with how many had each.
pub(super) fn agreed(handshakes: &Handshakes) -> Vec<String> {
    let many = |count| match handshakes.agreed.len() {
        1 => String::new(),
        _ => format!(" ({})", units::count(count)),
    };
    let each = handshakes.agreed.iter();
    each.map(|agreed| format!("{}{}", agreed.encryption, many(agreed.count)))
        .collect()
}

/// Figures of the table, with their headings.
const COLUMNS: [(&str, &str); 4] = [
    ("full", "handshakes.full"),
    ("p50", "handshake_us.p50"),
    ("resumed", "handshakes.resumed"),
    ("p50", "handshake_resumed_us.p50"),
];

/// Returns the table of a sweep: a line for each point; without lines where there was no handshake.
pub(super) fn table(run: &Run) -> Table {
    let cell = |name: &str, of: &Figures<'_>| {
        let shown = select(name).shown(of);
        Span::new(Role::Plain, shown.unwrap_or_else(|| "-".to_owned()))
    };
    let line = |index: usize| {
        let of = Figures::of(run, index)?;
        let handshakes = of.tally().connects.handshakes.as_ref()?;
        let name = run.plan.name(&run.points[index].level);
        let mut cells = vec![Span::new(Role::Plain, name)];
        cells.extend(COLUMNS.map(|(_, name)| cell(name, &of)));
        cells.push(Span::new(Role::Dim, agreed(handshakes).join(", ")));
        Some(cells)
    };
    let numbers = COLUMNS.map(|(title, _)| Column::number(title));
    Table {
        columns: std::iter::once(Column::text("handshakes"))
            .chain(numbers)
            .chain([Column::text("agreed on")])
            .collect(),
        rows: match is_void(run, Figure::Counts) {
            true => Vec::new(),
            false => (0..run.points.len()).filter_map(line).collect(),
        },
        rest: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::example;

    /// A run of ten full handshakes, so many of them in the window, and three resumed ones.
    fn secured(in_window: u64) -> Run {
        let mut run = example::ok();
        let connects = &mut run.points[0].rounds[0].tally.connects;
        (connects.in_window, connects.open_peak) = (in_window, 10);
        let handshakes = connects.handshakes.get_or_insert_default();
        (0..10).for_each(|_| handshakes.full.record(2_000_000));
        (0..3).for_each(|_| handshakes.resumed.record(1_000_000));
        for _ in 0..13 {
            handshakes.note("TLSv1.3", "TLS_AES_128_GCM_SHA256", Some("X25519"));
        }
        run
    }

    fn words(row: Option<Row>) -> Option<String> {
        let items = row?.items.into_iter().flat_map(|item| item.0);
        Some(items.map(|span| span.text).collect::<Vec<_>>().join(" | "))
    }

    #[test]
    fn the_short_page_has_handshakes_where_connections_are_opened_under_load() {
        let row = |in_window| {
            let run = secured(in_window);
            words(row_if_measured(&Figures::of(&run, 0).unwrap()))
        };
        assert_eq!(row(9), None);
        let shown = row(10).unwrap();
        assert!(shown.starts_with("10 full"), "{shown}");
        assert!(
            shown.contains("3 resumed") && !shown.contains("TLSv1.3"),
            "{shown}"
        );
    }

    #[test]
    fn a_sweep_has_a_line_for_each_point_with_handshakes() {
        let mut run = secured(0);
        let full = words(row(&Figures::of(&run, 0).unwrap())).unwrap();
        assert!(
            full.contains("TLSv1.3 TLS_AES_128_GCM_SHA256 X25519"),
            "{full}"
        );
        let plain = example::ok().points.swap_remove(0);
        run.points.push(plain);
        let table = table(&run);
        assert_eq!(table.rows.len(), 1);
        let texts: Vec<&str> = table.rows[0].iter().map(|span| &*span.text).collect();
        assert_eq!((texts[1], texts[3]), ("10", "3"), "{texts:?}");
        assert_eq!(texts.last(), Some(&"TLSv1.3 TLS_AES_128_GCM_SHA256 X25519"));
    }
}
