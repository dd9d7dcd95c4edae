//! A bounded table that forgets what was not asked for lately.
//!
//! It is the clock of page replacement: looking something up only marks it, and when room is needed a hand goes round,
//! takes marks away and stops at the first row without one. That forgets nearly what a list in order of use would
//! forget, and a look-up writes one byte instead of moving a row to the front.

use std::collections::HashMap;
use std::rc::Rc;

/// Values by path.
#[derive(Debug)]
pub(crate) struct Table<V> {
    /// Where in `rows`. The keys are hashed with a secret, so that clients cannot choose paths that collide; that is some
    /// 20 ns of a look-up.
    places: HashMap<Rc<[u8]>, usize>,
    rows: Vec<Row<V>>,
    /// The row that is looked at next when one has to go.
    hand: usize,
    limit: usize,
}

#[derive(Debug)]
struct Row<V> {
    key: Rc<[u8]>,
    value: V,
    /// It was looked up since the hand came by.
    is_used: bool,
}

impl<V> Table<V> {
    /// At most `limit` rows, which are allocated as they come.
    pub(crate) fn new(limit: usize) -> Table<V> {
        Table {
            places: HashMap::new(),
            rows: Vec::new(),
            hand: 0,
            limit: limit.max(1),
        }
    }

    /// The value of `key`; it is used now.
    #[inline]
    pub(crate) fn find(&mut self, key: &[u8]) -> Option<&V> {
        let row = &mut self.rows[*self.places.get(key)?];
        row.is_used = true;
        Some(&row.value)
    }

    /// Sets the value of `key`. What had to go for it is returned: its former value, or another row's.
    pub(crate) fn put(&mut self, key: &[u8], value: V) -> Option<V> {
        if let Some(&place) = self.places.get(key) {
            return Some(std::mem::replace(&mut self.rows[place].value, value));
        }
        let gone = if self.rows.len() < self.limit {
            None
        } else {
            self.evict()
        };
        let key: Rc<[u8]> = key.into();
        self.places.insert(Rc::clone(&key), self.rows.len());
        let is_used = true;
        self.rows.push(Row {
            key,
            value,
            is_used,
        });
        gone
    }

    /// Forgets `key`.
    pub(crate) fn remove(&mut self, key: &[u8]) -> Option<V> {
        let place = *self.places.get(key)?;
        Some(self.take(place))
    }

    /// Forgets a row that was not used lately; none when there is none at all.
    pub(crate) fn evict(&mut self) -> Option<V> {
        // Ends: a second time round no mark is left.
        loop {
            if self.hand >= self.rows.len() {
                self.hand = 0;
            }
            let row = self.rows.get_mut(self.hand)?;
            if !std::mem::take(&mut row.is_used) {
                return Some(self.take(self.hand));
            }
            self.hand += 1;
        }
    }

    /// Takes a row out; the last one comes in its place.
    fn take(&mut self, place: usize) -> V {
        let row = self.rows.swap_remove(place);
        self.places.remove(&row.key);
        if let Some(moved) = self.rows.get(place) {
            let known = self.places.get_mut(&moved.key);
            *known.expect("every row has a place") = place;
        }
        row.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_was_not_used_lately_goes_first() {
        let mut table = Table::new(3);
        for key in [b"a", b"b", b"c"] {
            assert_eq!(table.put(key, key[0]), None);
        }
        // The first time round all are marked; then only what is used stays.
        assert_eq!(table.put(b"d", b'd'), Some(b'a'));
        assert_eq!(table.find(b"c"), Some(&b'c'));
        assert_eq!(table.put(b"e", b'e'), Some(b'b'));
        assert_eq!(table.find(b"c"), Some(&b'c'));
        assert_eq!(table.find(b"b"), None);
        assert_eq!(table.put(b"c", b'C'), Some(b'c'));
        assert_eq!(table.remove(b"c"), Some(b'C'));
        assert_eq!(table.remove(b"c"), None);
    }

    #[test]
    fn an_empty_table_has_nothing_to_forget() {
        let mut table = Table::new(0);
        assert_eq!(table.evict(), None);
        assert_eq!(table.put(b"a", 1), None);
        assert_eq!(table.put(b"b", 2), Some(1));
        assert_eq!((table.evict(), table.evict()), (Some(2), None));
    }

    proptest! {
        /// Held against a map that is told what went.
        #[test]
        fn it_holds_what_was_put_and_did_not_go(steps in prop::collection::vec((0u8..12, 0u8..4), 0..200)) {
            let mut table = Table::new(5);
            let mut model = std::collections::BTreeMap::new();
            for (serial, (key, step)) in steps.into_iter().enumerate() {
                let gone = match step {
                    0 => table.remove(&[key]),
                    1 => table.evict(),
                    2 => { prop_assert_eq!(table.find(&[key]), model.get(&key)); None }
                    _ => {
                        let gone = table.put(&[key], (key, serial));
                        let old = model.insert(key, (key, serial));
                        prop_assert!(old.is_none() || old == gone);
                        if old.is_some() { None } else { gone }
                    }
                };
                if let Some((key, serial)) = gone {
                    prop_assert_eq!(model.remove(&key), Some((key, serial)));
                }
                prop_assert!(model.len() <= 5);
                prop_assert_eq!(table.rows.len(), model.len());
                prop_assert_eq!(table.places.len(), model.len());
            }
        }
    }
}
