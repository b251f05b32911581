//! Which append gets which fault: by number, and besides by chance from a seed.

use std::collections::BTreeMap;

/// What can happen to an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// Refused: another writer led meanwhile. The epoch has moved on; campaign again.
    Fenced,
    /// Refused: no space. Leaves no trace.
    NoSpace,
    /// The answer is lost, the batch is there. The journal is poisoned.
    UnknownPresent,
    /// The answer is lost, the batch is not there. The journal is poisoned.
    UnknownAbsent,
    /// The process ends after the batch became durable and before anyone hears of it.
    CrashPresent,
    /// The process ends before the batch became durable.
    CrashAbsent,
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Fenced,
        Self::NoSpace,
        Self::UnknownPresent,
        Self::UnknownAbsent,
        Self::CrashPresent,
        Self::CrashAbsent,
    ];
}

/// How often each fault is drawn, in thousandths of all appends, in the order of [`Fault::ALL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rates(pub [u16; 6]);

impl Rates {
    /// The same rate for all.
    #[must_use]
    pub const fn even(permille: u16) -> Self {
        Self([permille; 6])
    }
}

/// Which append gets which fault. The default is none.
#[derive(Clone, Debug, Default)]
pub struct Script {
    at: BTreeMap<u64, Fault>,
    chance: Option<(Generator, Rates)>,
}

impl Script {
    /// Faults by chance; the same seed gives the same faults.
    #[must_use]
    pub const fn seeded(seed: u64, rates: Rates) -> Self {
        Self { at: BTreeMap::new(), chance: Some((Generator(seed), rates)) }
    }

    /// Adds a fault for the append of this number, counted from 1 over all journals of the place.
    #[must_use]
    pub fn at(mut self, number: u64, fault: Fault) -> Self {
        self.at.insert(number, fault);
        self
    }

    /// The fault of this append; called once for each.
    pub(super) fn fault_of(&mut self, number: u64) -> Option<Fault> {
        // Draw in any case, so that an added fault does not shift the others.
        let drawn = self.chance.as_mut().and_then(|(generator, rates)| {
            let mut point = generator.next() % 1_000;
            Fault::ALL.into_iter().zip(rates.0).find_map(|(fault, rate)| {
                let rate = u64::from(rate);
                let hit = point < rate;
                point = point.wrapping_sub(rate);
                hit.then_some(fault)
            })
        });
        self.at.remove(&number).or(drawn)
    }
}

/// SplitMix64: nine lines of our own, because a recorded seed must give the same faults for ever,
/// which no crate of generators promises over its versions.
#[derive(Clone, Debug)]
struct Generator(u64);

impl Generator {
    const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
