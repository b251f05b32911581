//! The map in memory, for tests and the simulator: the "disk" outlives the maps opened on it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Backing, Changes, DurableMap, Entries, OpenedMap};
use crate::{CloseError, Note, OpenError, Poison};

#[derive(Debug, Default)]
struct State {
    entries: Entries,
    used: bool,
    open: bool,
    unclean: bool,
    fail_next: Option<Poison>,
    fail_all: Option<Poison>,
}

/// A place in memory that maps are opened on. Clones are the same place.
#[derive(Clone, Debug, Default)]
pub struct MemoryMap(Arc<Mutex<State>>);

impl MemoryMap {
    /// Opens the map.
    ///
    /// # Errors
    /// It is open already.
    pub fn open(&self) -> Result<OpenedMap, OpenError> {
        let mut state = self.lock();
        if state.open {
            let holder = "another handle of this process".to_owned();
            return Err(OpenError::Locked { path: "memory".to_owned(), holder });
        }
        let notes = if state.used { vec![] } else { vec![Note::Created] };
        let clean = !state.unclean;
        state.used = true;
        state.open = true;
        state.unclean = true;
        let map = DurableMap::new(state.entries.clone(), Box::new(Handle(self.clone())));
        Ok(OpenedMap { map, clean, notes })
    }

    /// Lets the next commit fail without a trace.
    pub fn fail_next_commit(&self, poison: Poison) {
        self.lock().fail_next = Some(poison);
    }

    /// Lets every commit fail without a trace, as on a full disk, until `None` is said.
    pub fn fail_commits(&self, poison: Option<Poison>) {
        self.lock().fail_all = poison;
    }

    /// A panic elsewhere leaves the state whole: nothing here panics half-way.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Handle(MemoryMap);

impl Backing for Handle {
    fn commit(&mut self, _before: &Entries, changes: &Changes) -> Result<(), Poison> {
        let mut state = self.0.lock();
        let fault = state.fail_next.take().or_else(|| state.fail_all.clone());
        if let Some(poison) = fault {
            return Err(poison);
        }
        for (key, value) in changes {
            match value {
                Some(value) => state.entries.insert(key.clone(), value.clone()),
                None => state.entries.remove(key),
            };
        }
        Ok(())
    }

    fn close(self: Box<Self>, poison: Option<Poison>) -> Result<(), CloseError> {
        if let Some(poison) = poison {
            return Err(CloseError::Poisoned(poison));
        }
        self.0.lock().unclean = false;
        Ok(())
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.lock().open = false;
    }
}
