//! What `done` is given of latencies and rates.

use mlua::{IntoLuaMulti, MetaMethod, UserData, UserDataFields, UserDataMethods};

/// Values in ascending order, each with how often it was measured.
#[derive(Debug, Clone)]
pub(crate) struct Stats(pub(crate) Vec<(u64, u64)>);

impl Stats {
    fn count(&self) -> u64 {
        self.0.iter().map(|(_, count)| count).sum()
    }

    fn mean(&self) -> f64 {
        let sum: f64 = self
            .0
            .iter()
            .map(|(value, count)| *value as f64 * *count as f64)
            .sum();
        match self.count() {
            0 => 0.0,
            count => sum / count as f64,
        }
    }

    /// The standard deviation as sample.
    fn deviation(&self) -> f64 {
        let count = self.count();
        if count < 2 {
            return 0.0;
        }
        let mean = self.mean();
        let squares = self.0.iter();
        let squares: f64 = squares
            .map(|(value, count)| (*value as f64 - mean).powi(2) * *count as f64)
            .sum();
        (squares / (count - 1) as f64).sqrt()
    }

    /// The value of this rank, in per cent: the smallest that as many are at or below.
    fn percentile(&self, per_cent: f64) -> u64 {
        let rank = (per_cent / 100.0 * self.count() as f64 + 0.5) as u64; // saturates
        let mut seen = 0;
        let mut values = self.0.iter();
        let found = values.find(|(_, count)| {
            seen += count;
            seen >= rank
        });
        found.or(self.0.last()).map_or(0, |(value, _)| *value)
    }
}

impl UserData for Stats {
    fn add_fields<F: UserDataFields<Self>>(fields: &mut F) {
        fields.add_field_method_get("min", |_, stats| {
            Ok(stats.0.first().map_or(0, |(value, _)| *value))
        });
        fields.add_field_method_get("max", |_, stats| {
            Ok(stats.0.last().map_or(0, |(value, _)| *value))
        });
        fields.add_field_method_get("mean", |_, stats| Ok(stats.mean()));
        fields.add_field_method_get("stdev", |_, stats| Ok(stats.deviation()));
    }

    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_method("percentile", |_, stats, per_cent: f64| {
            Ok(stats.percentile(per_cent))
        });
        methods.add_meta_method(MetaMethod::Len, |_, stats, ()| Ok(stats.0.len()));
        methods.add_meta_method(MetaMethod::Call, |lua, stats, place: usize| {
            let entry = place.checked_sub(1).and_then(|place| stats.0.get(place));
            match entry {
                Some((value, count)) => (*value, *count).into_lua_multi(lua),
                None => ().into_lua_multi(lua),
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_those_of_all_values() {
        let stats = Stats(vec![(1, 50), (2, 40), (10, 9), (100, 1)]);
        assert_eq!(stats.mean(), 3.2);
        assert_eq!(
            [50.0, 90.0, 99.0, 99.9, 100.0].map(|p| stats.percentile(p)),
            [1, 2, 10, 100, 100]
        );
        assert!(
            (stats.deviation() - 10.1).abs() < 0.1,
            "{}",
            stats.deviation()
        );
        let none = Stats(Vec::new());
        assert_eq!(
            (none.mean(), none.deviation(), none.percentile(50.0)),
            (0.0, 0.0, 0)
        );
    }
}
