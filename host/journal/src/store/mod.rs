//! A small durable map on the same shape as the journal: the agent's ledger. All entries are in
//! memory; a commit makes any number of edits durable, all or none. It is no database: small keys,
//! values up to 64 KiB, one owner.

#[cfg(feature = "sled")]
mod disk;
#[cfg(feature = "sled")]
mod entry;
mod memory;

use std::collections::BTreeMap;

#[cfg(feature = "sled")]
pub use disk::{MapOptions, open};
pub use memory::MemoryMap;

use crate::{
    CloseError, Note, Poison,
    limits::{MAX_COMMIT_BYTES, MAX_EDITS, MAX_KEY_BYTES, MAX_VALUE_BYTES},
};

/// One change to a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit<'a> {
    /// Sets a value.
    Put {
        /// 1 to [`MAX_KEY_BYTES`] bytes.
        key: &'a [u8],
        /// At most [`MAX_VALUE_BYTES`] bytes.
        value: &'a [u8],
    },
    /// Removes a value; nothing happens if there is none.
    Remove {
        /// Which one.
        key: &'a [u8],
    },
}

impl<'a> Edit<'a> {
    const fn key(&self) -> &'a [u8] {
        match self {
            Self::Put { key, .. } | Self::Remove { key } => key,
        }
    }
}

/// Why a commit failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MapError {
    /// A key is empty or too long; nothing was changed.
    #[error("a key of {len_bytes} bytes; 1 to {MAX_KEY_BYTES} are allowed")]
    BadKey {
        /// Its length.
        len_bytes: usize,
    },
    /// A value is too long; nothing was changed.
    #[error("a value of {len_bytes} bytes; at most {MAX_VALUE_BYTES} are allowed")]
    TooLarge {
        /// Its length.
        len_bytes: usize,
    },
    /// Too many edits at once; nothing was changed.
    #[error("{count} edits at once; at most {MAX_EDITS} are allowed")]
    TooMany {
        /// How many.
        count: usize,
    },
    /// The edits put and remove too much at once; nothing was changed.
    #[error("{len_bytes} bytes are put and removed at once; at most {MAX_COMMIT_BYTES} may be")]
    TooMuch {
        /// How much.
        len_bytes: usize,
    },
    /// The map failed, now or before. What this commit left on disk shows after opening again.
    #[error("the map takes nothing more until it is opened again: {0}")]
    Stopped(Poison),
}

/// What a commit changes: the new value of each key, `None` for gone.
type Changes = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

/// The entries of a map.
type Entries = BTreeMap<Vec<u8>, Vec<u8>>;

/// Where a map keeps its entries.
trait Backing: Send {
    /// Makes the changes durable, all or none. `before` are the entries without them.
    fn commit(&mut self, before: &Entries, changes: &Changes) -> Result<(), Poison>;

    /// Ends in order.
    fn close(self: Box<Self>, poison: Option<Poison>) -> Result<(), CloseError>;
}

/// A map that was opened and verified.
#[derive(Debug)]
pub struct OpenedMap {
    /// The map.
    pub map: DurableMap,
    /// Whether it had been closed in order.
    pub clean: bool,
    /// What opening did or found that an operator should know.
    pub notes: Vec<Note>,
}

/// An open map. Dropping it without [`DurableMap::close`] counts as an unclean stop.
pub struct DurableMap {
    entries: Entries,
    backing: Box<dyn Backing>,
    poison: Option<Poison>,
}

impl std::fmt::Debug for DurableMap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DurableMap")
            .field("entries", &self.entries.len())
            .field("poison", &self.poison)
            .finish_non_exhaustive()
    }
}

impl DurableMap {
    fn new(entries: Entries, backing: Box<dyn Backing>) -> Self {
        Self { entries, backing, poison: None }
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &[u8]) -> Option<&[u8]> {
        self.entries.get(key).map(Vec::as_slice)
    }

    /// All entries in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.entries.iter().map(|(key, value)| (key.as_slice(), value.as_slice()))
    }

    /// Number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Makes all edits durable or none of them; of two for the same key the later one counts.
    ///
    /// # Errors
    /// Beyond a limit (nothing was changed), or the map stopped.
    pub fn commit(&mut self, edits: &[Edit<'_>]) -> Result<(), MapError> {
        if let Some(poison) = &self.poison {
            return Err(MapError::Stopped(poison.clone()));
        }
        let changes = judge(edits)?;
        if changes.is_empty() {
            return Ok(());
        }
        self.judge_size(&changes)?;
        if let Err(poison) = self.backing.commit(&self.entries, &changes) {
            self.poison = Some(poison.clone());
            return Err(MapError::Stopped(poison));
        }
        for (key, value) in changes {
            match value {
                Some(value) => self.entries.insert(key, value),
                None => self.entries.remove(&key),
            };
        }
        Ok(())
    }

    fn judge_size(&self, changes: &Changes) -> Result<(), MapError> {
        let cost = |(key, new): (&Vec<u8>, &Option<Vec<u8>>)| {
            let values = [self.entries.get(key), new.as_ref()];
            let largest = values.into_iter().flatten().map(Vec::len).max();
            largest.map_or(0, |len_bytes| key.len() + len_bytes)
        };
        let len_bytes = changes.iter().map(cost).sum();
        if len_bytes > MAX_COMMIT_BYTES {
            return Err(MapError::TooMuch { len_bytes });
        }
        Ok(())
    }

    /// Why the map stopped, if it did.
    #[must_use]
    pub const fn poison(&self) -> Option<&Poison> {
        self.poison.as_ref()
    }

    /// Ends in order; what was committed is durable in any case.
    ///
    /// # Errors
    /// The map had stopped, or closing failed; the stop then counts as unclean.
    pub fn close(self) -> Result<(), CloseError> {
        self.backing.close(self.poison)
    }
}

fn judge(edits: &[Edit<'_>]) -> Result<Changes, MapError> {
    if edits.len() > MAX_EDITS {
        return Err(MapError::TooMany { count: edits.len() });
    }
    let mut changes = Changes::new();
    for edit in edits {
        let len_bytes = edit.key().len();
        if !(1..=MAX_KEY_BYTES).contains(&len_bytes) {
            return Err(MapError::BadKey { len_bytes });
        }
        let value = match edit {
            Edit::Put { value, .. } if value.len() > MAX_VALUE_BYTES => {
                return Err(MapError::TooLarge { len_bytes: value.len() });
            }
            Edit::Put { value, .. } => Some(value.to_vec()),
            Edit::Remove { .. } => None,
        };
        changes.insert(edit.key().to_vec(), value);
    }
    Ok(changes)
}

#[cfg(test)]
mod tests;
