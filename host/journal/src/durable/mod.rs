//! The embedded journal: sled 0.34.7 in the one shape that was shown to be durable, with every
//! guard round it. `vessel` is what the journal and the durable map share: lock file, witness,
//! copies after an unclean stop, and the engine.

mod appender;
mod aside;
pub(crate) mod engine;
pub(crate) mod guarded;
pub(crate) mod head;
mod inspect;
pub(crate) mod io;
mod layout;
pub(crate) mod lock;
mod open;
mod reading;
mod salvage;
mod shared;
mod snapshots;
mod space;
pub(crate) mod vessel;
pub(crate) mod walk;

pub use inspect::{Inspection, dump, inspect};
pub use open::{DurableOptions, DurableStore};
pub use salvage::{SalvageError, Salvaged, salvage};
pub use space::{Space, SpaceProbe, SystemSpace};

#[cfg(test)]
mod tests {
    use std::{
        path::Path,
        sync::{
            Arc,
            atomic::{AtomicU32, Ordering},
        },
    };

    use super::*;
    use crate::{
        Opener,
        conformance::{Subject, prove_all},
    };

    #[derive(Default)]
    struct FixedSpace(AtomicU32);

    impl SpaceProbe for FixedSpace {
        fn space(&self, _dir: &Path) -> std::io::Result<Space> {
            let free = u64::from(self.0.load(Ordering::Relaxed));
            Ok(Space { total_bytes: 1000 << 30, free_bytes: free << 30 })
        }
    }

    struct Place {
        store: DurableStore,
        space: Arc<FixedSpace>,
        _dir: tempfile::TempDir,
    }

    impl Subject for Place {
        fn opener(&self) -> &dyn Opener {
            &self.store
        }

        fn set_free_permille(&self, free_permille: u32) {
            self.space.0.store(free_permille, Ordering::Relaxed);
        }
    }

    fn fresh() -> Box<dyn Subject> {
        let dir = tempfile::tempdir().unwrap();
        let space = Arc::new(FixedSpace(AtomicU32::new(1000)));
        let mut options = DurableOptions::new(dir.path().join("journal"));
        options.probe = space.clone();
        options.ballast_bytes = 0;
        Box::new(Place { store: DurableStore::new(options), space, _dir: dir })
    }

    #[test]
    fn the_laws_hold() {
        prove_all(fresh);
    }
}
