//! A bounded table that forgets what was not asked for lately.
//!
//! Each look-up notes its number in the row; the row with the smallest has to go when room is needed. Finding it goes
//! through all rows, some microseconds for a full table, which is little beside opening the file that needs the room.

use std::collections::HashMap;
use std::rc::Rc;

/// Values by path.
#[derive(Debug)]
pub(crate) struct Table<V> {
    /// The keys are hashed with a secret, so that clients cannot choose paths that collide; that is some 20 ns of a
    /// look-up.
    rows: HashMap<Rc<[u8]>, Row<V>>,
    /// Look-ups so far.
    count: u64,
    limit: usize,
}

#[derive(Debug)]
struct Row<V> {
    value: V,
    /// The number of its last look-up.
    used: u64,
}

impl<V> Table<V> {
    /// At most `limit` rows, which are allocated as they come.
    pub(crate) fn new(limit: usize) -> Table<V> {
        Table {
            rows: HashMap::new(),
            count: 0,
            limit: limit.max(1),
        }
    }

    /// The value of `key`; it is used now.
    #[inline]
    pub(crate) fn find(&mut self, key: &[u8]) -> Option<&V> {
        let row = self.rows.get_mut(key)?;
        self.count += 1;
        row.used = self.count;
        Some(&row.value)
    }

    /// Sets the value of `key`. What had to go for it is returned: its former value, or another row's.
    pub(crate) fn put(&mut self, key: &[u8], value: V) -> Option<V> {
        let is_full = self.rows.len() >= self.limit && !self.rows.contains_key(key);
        let gone = if is_full { self.evict() } else { None };
        self.count += 1;
        let used = self.count;
        let former = self.rows.insert(key.into(), Row { value, used });
        former.map(|row| row.value).or(gone)
    }

    /// Forgets `key`.
    pub(crate) fn remove(&mut self, key: &[u8]) -> Option<V> {
        self.rows.remove(key).map(|row| row.value)
    }

    /// Forgets all rows.
    pub(crate) fn clear(&mut self) -> impl Iterator<Item = V> {
        self.rows.drain().map(|(_, row)| row.value)
    }

    /// Forgets the row that was not used for longest; none when there is none at all.
    pub(crate) fn evict(&mut self) -> Option<V> {
        let (key, _) = self.rows.iter().min_by_key(|(_, row)| row.used)?;
        let key = Rc::clone(key);
        self.remove(&key)
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
            }
        }
    }
}
