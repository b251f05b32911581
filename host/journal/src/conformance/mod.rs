//! The laws of a journal as a suite that every journal passes: memory, durable, faulty, and what
//! others build. A law gets a fresh place, and panics with words if it does not hold.
//!
//! What only a disk can show (power cuts, `kill -9`, damaged files) is in the crate's own tests.

mod appends;
mod reads;
mod snapshots;
mod support;

use crate::Opener;

/// A fresh place for one journal.
pub trait Subject {
    /// Opens the journal at this place, again and again.
    fn opener(&self) -> &dyn Opener;

    /// Makes the journal believe that this share of its space is free, in thousandths.
    fn set_free_permille(&self, free_permille: u32);
}

/// A law: its name and its proof for one place.
pub type Law = (&'static str, fn(&dyn Subject));

/// All laws.
#[must_use]
pub fn laws() -> Vec<Law> {
    [appends::LAWS, reads::LAWS, snapshots::LAWS].concat()
}

/// Proves every law on a fresh place each.
///
/// # Panics
/// With the words of the first law that does not hold.
pub fn prove_all(fresh: impl Fn() -> Box<dyn Subject>) {
    for (name, law) in laws() {
        let proof = std::panic::AssertUnwindSafe(|| law(&*fresh()));
        let outcome = std::panic::catch_unwind(proof);
        assert!(outcome.is_ok(), "the law \"{name}\" does not hold; its words are above");
    }
}
