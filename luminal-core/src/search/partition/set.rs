//! Sets of DAG nodes as bits.

use crate::search::term::Id;

/// A set of node numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeSet {
    words: Vec<u64>,
}

impl NodeSet {
    /// The empty set of numbers below `capacity`.
    pub fn new(capacity: usize) -> NodeSet {
        NodeSet { words: vec![0; capacity.div_ceil(64)] }
    }

    /// True if the number is in it.
    pub fn contains(&self, i: usize) -> bool {
        self.words.get(i / 64).is_some_and(|word| word >> (i % 64) & 1 == 1)
    }

    /// Adds a number; true if it was new.
    pub fn insert(&mut self, i: usize) -> bool {
        let new = !self.contains(i);
        self.words[i / 64] |= 1 << (i % 64);
        new
    }

    /// Removes a number.
    pub fn remove(&mut self, i: usize) {
        self.words[i / 64] &= !(1 << (i % 64));
    }

    /// Number of members.
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The members, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        self.words.iter().enumerate().flat_map(|(i, word)| Bits(*word).map(move |bit| i * 64 + bit))
    }

    /// The members as ids, ascending.
    pub fn ids(&self) -> Vec<Id> {
        self.iter().map(Id::from).collect()
    }

    /// Adds all members of another set.
    pub fn extend_from(&mut self, other: &NodeSet) {
        self.words.iter_mut().zip(&other.words).for_each(|(word, more)| *word |= more);
    }

    /// Removes all members of another set.
    pub fn subtract(&mut self, other: &NodeSet) {
        self.words.iter_mut().zip(&other.words).for_each(|(word, less)| *word &= !less);
    }

    /// True if every member is in the other set.
    pub fn is_subset(&self, other: &NodeSet) -> bool {
        self.words.iter().zip(&other.words).all(|(word, all)| word & !all == 0)
    }

    /// The members of both.
    pub fn intersection(&self, other: &NodeSet) -> NodeSet {
        NodeSet { words: self.words.iter().zip(&other.words).map(|(x, y)| x & y).collect() }
    }

    /// The union.
    pub fn union(&self, other: &NodeSet) -> NodeSet {
        let mut all = self.clone();
        all.extend_from(other);
        all
    }

    /// A set of these numbers below `capacity`.
    pub fn of(capacity: usize, members: impl IntoIterator<Item = usize>) -> NodeSet {
        let mut set = NodeSet::new(capacity);
        for i in members {
            set.insert(i);
        }
        set
    }
}

struct Bits(u64);

impl Iterator for Bits {
    type Item = usize;
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let bit = self.0.trailing_zeros() as usize;
        self.0 &= self.0 - 1;
        Some(bit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_come_back_ascending_across_words() {
        let mut set = NodeSet::of(200, [130, 3, 64, 63]);
        assert_eq!(set.iter().collect::<Vec<_>>(), [3, 63, 64, 130]);
        assert!(!set.insert(3) && set.insert(4));
        set.remove(63);
        assert_eq!(set.len(), 4);
        let other = NodeSet::of(200, [3, 130, 199]);
        assert!(!set.is_subset(&other) && NodeSet::of(200, [3]).is_subset(&set));
        let mut rest = set.union(&other);
        rest.subtract(&set);
        assert_eq!(rest.iter().collect::<Vec<_>>(), [199]);
    }
}
