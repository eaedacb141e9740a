//! Repetitions in a sequence of kernels: the layers of a deep model.

/// For each position the one that stands for it, and how often what stands there repeats. Sequences up to `short` stand
/// for themselves.
pub(super) fn collapse(sequence: &[usize], short: usize) -> Vec<(usize, usize)> {
    let count = sequence.len();
    let mut shown: Vec<(usize, usize)> = (0..count).map(|position| (position, 1)).collect();
    if count <= short {
        return shown;
    }
    let mut start = 0;
    while start < count {
        let mut best = (0, 1, 1);
        for period in 1..=(count - start) / 2 {
            let mut times = 1;
            while sequence.get(start + times * period..start + (times + 1) * period)
                == Some(&sequence[start..start + period])
            {
                times += 1;
            }
            // The most that is saved; of equals the shortest period.
            if (times - 1) * period > best.0 {
                best = ((times - 1) * period, period, times);
            }
        }
        let (_, period, times) = best;
        for position in 0..period * times {
            shown[start + position] = (start + position % period, times);
        }
        start += period * times;
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_found() {
        let sequence = [9, 1, 2, 3, 1, 2, 3, 1, 2, 3, 7];
        let shown = collapse(&sequence, 4);
        assert_eq!(shown[0], (0, 1));
        assert_eq!(shown[1..4], [(1, 3), (2, 3), (3, 3)]);
        assert_eq!(shown[4..10], [(1, 3), (2, 3), (3, 3), (1, 3), (2, 3), (3, 3)]);
        assert_eq!(shown[10], (10, 1));
        assert_eq!(collapse(&[1, 1, 1], 4), [(0, 1), (1, 1), (2, 1)]);
        assert_eq!(collapse(&[], 0), []);
    }
}
