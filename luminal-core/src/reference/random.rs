//! A small seeded generator: the same numbers on every platform, for test data and for search.

/// Steele, Lea and Flood's SplitMix64: a counter with a mixing function. Every seed is good, streams of different
/// seeds are unrelated, and the numbers never change between versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// The generator that starts from this seed.
    pub const fn new(seed: u64) -> SplitMix64 {
        SplitMix64 { state: seed }
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number in `0..bound`, or 0 if the bound is 0. Numbers differ in probability by less than `bound / 2^64`.
    pub fn below(&mut self, bound: u64) -> u64 {
        // The high half of a 128-bit product scales 64 random bits to the range without a division.
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// A number in `low..=high`; `low` if the range is empty.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        let count = (i128::from(high) - i128::from(low) + 1).clamp(1, i128::from(u64::MAX));
        low.wrapping_add_unsigned(self.below(count as u64))
    }

    /// A number in `[0, 1)`, a multiple of 2^-53.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True or false, each half of the time.
    pub fn coin(&mut self) -> bool {
        self.next_u64() >> 63 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_the_published_numbers() {
        let mut random = SplitMix64::new(1234567);
        let numbers = [(); 5].map(|()| random.next_u64());
        let published = [
            6457827717110365317,
            3203168211198807973,
            9817491932198370423,
            4593380528125082431,
            16408922859458223821,
        ];
        assert_eq!(numbers, published);
    }

    #[test]
    fn stays_in_range_and_reaches_both_ends() {
        let mut random = SplitMix64::new(7);
        let numbers: Vec<i64> = (0..1000).map(|_| random.between(-2, 2)).collect();
        assert_eq!(numbers.iter().min(), Some(&-2));
        assert_eq!(numbers.iter().max(), Some(&2));
        assert!((0..1000).map(|_| random.unit()).all(|u| (0.0..1.0).contains(&u)));
        assert_eq!(random.below(0), 0);
        assert_eq!(random.between(5, 4), 5);
        random.between(i64::MIN, i64::MAX);
        let heads = (0..1000).filter(|_| random.coin()).count();
        assert!((400..600).contains(&heads), "{heads}");
    }
}
