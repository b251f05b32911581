//! The journal in memory: the whole contract without clock and I/O. A [`MemoryStore`] is the
//! "disk", which outlives the journals that are opened on it, so that a crash can be played.

mod journal;
mod snapshots;
mod state;

pub use state::{MemoryStore, Sharing};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        ClusterId, OpenError, Opener, Place, Sequence,
        conformance::{Subject, prove_all},
    };

    impl Subject for MemoryStore {
        fn opener(&self) -> &dyn Opener {
            self
        }

        fn set_free_permille(&self, free_permille: u32) {
            Self::set_free_permille(self, free_permille);
        }
    }

    fn store(sharing: Sharing) -> MemoryStore {
        MemoryStore::new(ClusterId([1; 16]), sharing)
    }

    #[test]
    fn the_laws_hold_for_one_handle() {
        prove_all(|| Box::new(store(Sharing::Single)));
    }

    #[test]
    fn the_laws_hold_for_many_handles() {
        prove_all(|| Box::new(store(Sharing::Many)));
    }

    #[test]
    fn damage_and_loss_are_noticed_at_open() {
        let store = store(Sharing::Single);
        let mut journal = store.open().unwrap().journal;
        journal.campaign().unwrap();
        for number in 1..=3 {
            let id = crate::BatchId::from_number(number.into());
            let draft = crate::Draft { id, class: crate::Class::NewWork, payload: b"payload" };
            let _ = journal.append(&draft, Sequence(number));
        }
        drop(journal);
        assert!(store.damage_batch(Sequence(2), 99));
        let Err(OpenError::Damaged(damage)) = store.open() else { panic!("it opened") };
        assert_eq!(damage.at, Place::Batch(Sequence(2)));
        assert_eq!(damage.salvage_to(), Some(Sequence(1)));
        assert!(store.damage_batch(Sequence(2), 99));
        store.open().unwrap();
        assert!(store.lose_last());
        let lost = store.open().unwrap_err();
        assert!(matches!(lost, OpenError::Regressed { witness: Sequence(3), found: Sequence(2) }));
    }
}
