//! Chance from a seed: SplitMix64, so that a recorded seed gives the same run for ever.

/// A source of chance.
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    /// The source of a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub const fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to `below` - 1; 0 when `below` is 0.
    pub const fn below(&mut self, below: u64) -> u64 {
        if below == 0 { 0 } else { self.draw() % below }
    }

    /// A number of a range, both ends included.
    pub const fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// True in so many of a thousand cases.
    pub const fn permille(&mut self, rate: u64) -> bool {
        self.below(1_000) < rate
    }

    /// One of several.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        let index = usize::try_from(self.below(from.len() as u64)).unwrap_or(0);
        from.get(index)
    }
}
