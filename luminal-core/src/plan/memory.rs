//! Offsets for intermediates: values that are not alone in their time get memory of their own, others share.

/// Offsets are multiples of this: a cache line, and the widest vector.
pub const ALIGNMENT: usize = 64;

/// A value that needs memory from launch `first` to launch `last`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    /// Size.
    pub bytes: usize,
    /// The launch that writes it.
    pub first: usize,
    /// The last launch that reads it; at least `first`.
    pub last: usize,
}

impl Value {
    /// Is there a launch at which both need memory?
    fn meets(&self, other: &Value) -> bool {
        self.first <= other.last && other.first <= self.last
    }

    fn padded(&self) -> usize {
        self.bytes.next_multiple_of(ALIGNMENT)
    }
}

/// Where values are put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// One for each value, a multiple of [`ALIGNMENT`].
    pub offsets: Vec<usize>,
    /// Memory needed in all.
    pub bytes: usize,
}

/// Places the values, the largest first, each in the smallest gap that the values of its time leave, or behind them.
/// The result depends on the values and their order alone.
///
/// # Panics
/// If a value's `last` is before its `first`.
pub fn assign(values: &[Value]) -> Placement {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by_key(|i| (std::cmp::Reverse(values[*i].bytes), values[*i].first, *i));
    let mut offsets = vec![0; values.len()];
    let mut placed: Vec<usize> = vec![];
    let mut bytes = 0;
    for i in order {
        let value = &values[i];
        assert!(value.first <= value.last, "value {i} ends before it begins: {value:?}");
        let mut taken: Vec<(usize, usize)> = placed
            .iter()
            .filter(|other| values[**other].meets(value) && values[**other].bytes > 0)
            .map(|other| (offsets[*other], offsets[*other] + values[*other].padded()))
            .collect();
        taken.sort();
        offsets[i] = best_gap(&taken, value.padded());
        bytes = bytes.max(offsets[i] + value.padded());
        placed.push(i);
    }
    debug_assert_eq!(first_conflict(values, &offsets), None);
    Placement { offsets, bytes }
}

/// Start of the smallest gap of at least `needed` bytes between the taken ranges (sorted), else the end of the last.
fn best_gap(taken: &[(usize, usize)], needed: usize) -> usize {
    let mut best: Option<(usize, usize)> = None;
    let mut free_from = 0;
    for (start, end) in taken {
        let gap = start.saturating_sub(free_from);
        if gap >= needed && best.is_none_or(|(smallest, _)| gap < smallest) {
            best = Some((gap, free_from));
        }
        free_from = free_from.max(*end);
    }
    best.map_or(free_from, |(_, start)| start)
}

/// Two values that need the same memory at the same time, if there are any.
pub fn first_conflict(values: &[Value], offsets: &[usize]) -> Option<(usize, usize)> {
    let range = |i: usize| offsets[i]..offsets[i] + values[i].bytes;
    (0..values.len()).flat_map(|j| (0..j).map(move |i| (i, j))).find(|(i, j)| {
        let (a, b) = (range(*i), range(*j));
        values[*i].meets(&values[*j]) && !a.is_empty() && !b.is_empty() && a.start < b.end && b.start < a.end
    })
}

/// Memory that no placement can do without: the most that is alive at one launch.
pub fn lower_bound(values: &[Value]) -> usize {
    let alive = |at: usize| values.iter().filter(|v| v.first <= at && at <= v.last).map(Value::padded).sum();
    values.iter().map(|v| alive(v.first)).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(bytes: usize, first: usize, last: usize) -> Value {
        Value { bytes, first, last }
    }

    /// A small generator, so that cases are the same everywhere.
    fn random(state: &mut u64, below: usize) -> usize {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        (*state % below as u64) as usize
    }

    /// Marks every 64 bytes at every launch, and so finds any overlap.
    fn overlaps_by_marking(values: &[Value], placement: &Placement) -> bool {
        let launches = values.iter().map(|v| v.last + 1).max().unwrap_or(0);
        let mut owner = vec![vec![false; placement.bytes / ALIGNMENT]; launches];
        for (v, offset) in values.iter().zip(&placement.offsets) {
            for row in &mut owner[v.first..=v.last] {
                for line in &mut row[offset / ALIGNMENT..(offset + v.padded()) / ALIGNMENT] {
                    if std::mem::replace(line, true) {
                        return true;
                    }
                }
            }
        }
        false
    }

    #[test]
    fn random_lifetimes() {
        let mut state = 7;
        let (mut used, mut bound) = (0, 0);
        for _ in 0..500 {
            let values: Vec<Value> = (0..random(&mut state, 30))
                .map(|_| {
                    let first = random(&mut state, 20);
                    value(random(&mut state, 2000), first, first + random(&mut state, 6))
                })
                .collect();
            let placement = assign(&values);
            assert_eq!(first_conflict(&values, &placement.offsets), None);
            assert!(!overlaps_by_marking(&values, &placement), "{values:?} {placement:?}");
            assert!(placement.offsets.iter().all(|offset| offset % ALIGNMENT == 0));
            assert!(placement.bytes >= lower_bound(&values));
            assert_eq!(placement, assign(&values), "not deterministic");
            used += placement.bytes;
            bound += lower_bound(&values);
        }
        assert!(used as f64 <= 1.1 * bound as f64, "{used} bytes used where {bound} are needed at least");
    }

    #[test]
    fn a_chain_needs_two_buffers() {
        let chain: Vec<Value> = (0..10).map(|i| value(100, i, i + 1)).collect();
        assert_eq!(assign(&chain).bytes, 2 * 128);
    }

    #[test]
    fn a_gap_is_used_and_nothing_needs_nothing() {
        let values = [value(640, 0, 9), value(320, 0, 2), value(320, 4, 9), value(64, 3, 3)];
        let placement = assign(&values);
        assert_eq!(placement.bytes, 960);
        assert_eq!(assign(&[]), Placement { offsets: vec![], bytes: 0 });
        assert_eq!(assign(&[value(0, 0, 5), value(64, 0, 5)]).bytes, 64);
    }

    #[test]
    fn conflicts_are_found() {
        let values = [value(100, 0, 2), value(100, 2, 3), value(100, 3, 4)];
        assert_eq!(first_conflict(&values, &[0, 64, 0]), Some((0, 1)));
        assert_eq!(first_conflict(&values, &[0, 128, 0]), None);
    }
}
