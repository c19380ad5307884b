//! A map in the order of insertion from which any entry is removed without moving the others, so that thousands are
//! removed in a time that grows with their number.

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

use indexmap::IndexMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Written and read as a map.
#[derive(Debug, Clone)]
pub struct Ordered<K, V> {
    places: HashMap<K, u64>,
    entries: BTreeMap<u64, (K, V)>,
    next: u64,
}

impl<K, V> Default for Ordered<K, V> {
    fn default() -> Self {
        Self { places: HashMap::new(), entries: BTreeMap::new(), next: 0 }
    }
}

impl<K: Hash + Eq + Clone, V> Ordered<K, V> {
    /// Adds an entry, or gives the one of this key another value at its place.
    pub fn insert(&mut self, key: K, value: V) {
        let place = *self.places.entry(key.clone()).or_insert(self.next);
        self.next += u64::from(place == self.next);
        self.entries.insert(place, (key, value));
    }

    pub fn remove<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let place = self.places.remove(key)?;
        self.entries.remove(&place).map(|(_, value)| value)
    }

    pub fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.entries.get(self.places.get(key)?).map(|(_, value)| value)
    }

    pub fn contains_key<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.places.contains_key(key)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.entries.values().map(|(key, value)| (key, value))
    }

    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.iter().map(|(key, _)| key)
    }

    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

impl<K: Hash + Eq + Clone, V: PartialEq> PartialEq for Ordered<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<K: Hash + Eq + Clone, V> FromIterator<(K, V)> for Ordered<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::default();
        entries.into_iter().for_each(|(key, value)| map.insert(key, value));
        map
    }
}

impl<K: Hash + Eq + Clone + Serialize, V: Serialize> Serialize for Ordered<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de, K: Hash + Eq + Clone + Deserialize<'de>, V: Deserialize<'de>> Deserialize<'de> for Ordered<K, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IndexMap::deserialize(deserializer).map(|map: IndexMap<K, V>| map.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(size: u32) -> Ordered<String, u32> {
        (0..size).map(|n| (n.to_string(), n)).collect()
    }

    #[test]
    fn entries_keep_their_order_whatever_is_removed_or_given_another_value() {
        let mut map = map(5);
        assert_eq!(map.remove("1"), Some(1));
        assert_eq!(map.remove("1"), None);
        map.insert("3".into(), 33);
        map.insert("1".into(), 11);
        assert_eq!(map.values().copied().collect::<Vec<_>>(), [0, 2, 33, 4, 11]);
        assert_eq!((map.len(), map.get("3"), map.contains_key("5")), (5, Some(&33), false));
        let written = serde_json::to_string(&map).unwrap();
        assert_eq!(written, r#"{"0":0,"2":2,"3":33,"4":4,"1":11}"#);
        let mut read: Ordered<String, u32> = serde_json::from_str(&written).unwrap();
        assert!(read == map);
        read.insert("6".into(), 6);
        assert!(read != map && read.values().last() == Some(&6));
    }

    /// Oldest first, as a turn withdraws its requests.
    #[test]
    fn an_entry_that_is_removed_moves_few_others() {
        let mut map = map(1000);
        let mut moved = 0;
        for n in 0..1000 {
            let places: HashMap<String, *const u32> =
                map.iter().map(|(key, value)| (key.clone(), &raw const *value)).collect();
            map.remove(&n.to_string());
            moved += map.iter().filter(|(key, value)| places[*key] != &raw const **value).count();
        }
        assert!(moved < 20 * 1000, "{moved} entries were moved");
    }
}
