//! A persistent ordered map of entities that keeps the sum of their hashes.
//!
//! Cloning is cheap and shares everything; a change costs only what changed (14-decisions.md, 22).
//! The state hash is the sum over all tables.

use alloc::vec::Vec;
use core::ops::RangeBounds;
use minicbor::Encode;
use rpds::RedBlackTreeMapSync;
use xxhash_rust::xxh3::xxh3_128;

/// Entities of one type by key.
#[derive(Clone, Debug)]
pub struct Table<K: Ord, V> {
    map: RedBlackTreeMapSync<K, Row<V>>,
    sum: u128,
}

#[derive(Clone, Debug)]
struct Row<V> {
    value: V,
    hash: u128,
}

impl<K: Ord, V> Default for Table<K, V> {
    fn default() -> Self {
        Self { map: RedBlackTreeMapSync::new_sync(), sum: 0 }
    }
}

impl<K, V> Table<K, V>
where
    K: Ord + Clone + Encode<()>,
    V: Clone + Encode<()>,
{
    /// The entity of a key.
    pub fn get(&self, key: &K) -> Option<&V> {
        self.map.get(key).map(|row| &row.value)
    }

    /// Whether there is one.
    pub fn contains(&self, key: &K) -> bool {
        self.map.contains_key(key)
    }

    /// Adds or replaces an entity.
    pub fn insert(&mut self, key: K, value: V) {
        let hash = row_hash(&key, &value);
        if let Some(old) = self.map.get(&key) {
            self.sum = self.sum.wrapping_sub(old.hash);
        }
        self.sum = self.sum.wrapping_add(hash);
        self.map.insert_mut(key, Row { value, hash });
    }

    /// Changes an entity in place; nothing happens where there is none.
    pub fn change(&mut self, key: &K, change: impl FnOnce(&mut V)) {
        if let Some(row) = self.map.get_mut(key) {
            self.sum = self.sum.wrapping_sub(row.hash);
            change(&mut row.value);
            row.hash = row_hash(key, &row.value);
            self.sum = self.sum.wrapping_add(row.hash);
        }
    }

    /// Removes an entity.
    pub fn remove(&mut self, key: &K) {
        if let Some(row) = self.map.get(key) {
            self.sum = self.sum.wrapping_sub(row.hash);
            self.map.remove_mut(key);
        }
    }

    /// Number of entities.
    pub fn len(&self) -> usize {
        self.map.size()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// All entities in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.map.iter().map(|(key, row)| (key, &row.value))
    }

    /// Entities of a range of keys, in order.
    pub fn range<R: RangeBounds<K>>(&self, range: R) -> impl DoubleEndedIterator<Item = (&K, &V)> {
        self.map.range(range).map(|(key, row)| (key, &row.value))
    }

    /// The entity with the greatest key.
    pub fn last(&self) -> Option<(&K, &V)> {
        self.map.last().map(|(key, row)| (key, &row.value))
    }

    /// The sum of the entities' hashes.
    #[must_use]
    pub const fn sum(&self) -> u128 {
        self.sum
    }
}

/// The hash of one row: its key and its value as the codec writes them.
pub(crate) fn row_hash(key: &impl Encode<()>, value: &impl Encode<()>) -> u128 {
    let mut bytes = Vec::with_capacity(256);
    crate::codec::encode_into(key, &mut bytes);
    crate::codec::encode_into(value, &mut bytes);
    xxh3_128(&bytes)
}
