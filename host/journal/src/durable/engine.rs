//! sled 0.34.7 in the one shape that was shown to be durable: one atomic batch per commit, no
//! flusher thread, our own fdatasync after each flush, everything synced once at open, and never a
//! file in `blobs/`. Nothing else in this project touches sled.

use std::{
    fs::{self, File, OpenOptions},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use super::{
    guarded::{catching, with_limit},
    io::{self, doing, names_in, sync_dir, sync_file, sync_parent},
    lock::LockFile,
};
use crate::{Damage, EngineError, Note, Place, Poison, limits::CHUNKS_PER_REMOVAL};

const OPENING: &str = "opening the store";
const COMMITTING: &str = "committing to the store";
const READING: &str = "reading the store";
const CLOSING: &str = "closing the store";

/// The accelerator files of sled begin so; they may be missing.
const ACCELERATOR: &str = "snap.";
const HALF_WRITTEN: &str = ".generating";

/// Why gathering keys ended.
enum Gathering {
    Enough,
    Failed(EngineError),
}

impl From<EngineError> for Gathering {
    fn from(error: EngineError) -> Self {
        Self::Failed(error)
    }
}

/// An open store.
pub(crate) struct Engine {
    db: sled::Db,
    data: File,
    dir: PathBuf,
}

impl Engine {
    /// Opens a store.
    ///
    /// May panic inside or hang like all of sled: the caller runs it under a time limit.
    pub(crate) fn open(dir: &Path, notes: &mut Vec<Note>) -> Result<Self, EngineError> {
        io::make_dir(dir)?;
        remove_half_written(dir, notes)?;
        let db = open_sled(dir)?;
        sync_everything(dir)?;
        let data = OpenOptions::new()
            .read(true)
            .write(true)
            .open(dir.join("db"))
            .map_err(doing("opening the store's data file for syncing"))?;
        Ok(Self { db, data, dir: dir.to_owned() })
    }

    /// Makes one batch durable, whole or not at all. After an error its outcome is unknown.
    pub(crate) fn commit(&self, batch: sled::Batch) -> Result<(), Poison> {
        let flushed = catching(COMMITTING, || {
            self.db.apply_batch(batch)?;
            self.db.flush()
        });
        match flushed {
            Err(panic) => return Err(Poison::Panicked(panic.to_string())),
            Ok(Err(sled::Error::Io(error))) => return Err(io::poison(COMMITTING, &error)),
            Ok(Err(error)) => return Err(Poison::Io(format!("{COMMITTING}: {error}"))),
            Ok(Ok(_)) => {}
        }
        // sled's flush only asks the kernel to begin writing; this is what makes it durable.
        self.data.sync_data().map_err(|error| io::poison("syncing the store", &error))
    }

    /// Refuses a store with files that sled never syncs.
    pub(crate) fn check_blobs(&self) -> Result<(), Poison> {
        match names_in(&self.dir.join("blobs")) {
            Ok(names) if names.is_empty() => Ok(()),
            Ok(names) => {
                let why = format!("blobs/ must stay empty, it holds {}", names.join(", "));
                Err(Poison::Damaged(Damage::new(Place::Store, why)))
            }
            Err(error) => Err(Poison::Io(error.to_string())),
        }
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<sled::IVec>, EngineError> {
        catching(READING, || self.db.get(key))?.map_err(|error| store_error(READING, error))
    }

    /// Hands the pairs of a key range, in order, to `each`, until it says that it has enough.
    pub(crate) fn scan<E: From<EngineError>>(
        &self,
        from: &[u8],
        to: &[u8],
        mut each: impl FnMut(&[u8], &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut pairs = self.db.range(from.to_vec()..=to.to_vec());
        while let Some(pair) = catching(READING, || pairs.next())? {
            let (key, value) = pair.map_err(|error| store_error(READING, error))?;
            each(&key, &value)?;
        }
        Ok(())
    }

    /// Removes all keys of a range, in as many commits as it takes.
    pub(crate) fn remove_range(&self, from: &[u8], to: &[u8]) -> Result<(), Poison> {
        loop {
            let (mut batch, mut count) = (sled::Batch::default(), 0);
            let gathered = self.scan(from, to, |key, _| {
                batch.remove(key);
                count += 1;
                if count < CHUNKS_PER_REMOVAL { Ok(()) } else { Err(Gathering::Enough) }
            });
            if let Err(Gathering::Failed(error)) = gathered {
                return Err(Poison::Io(error.to_string()));
            }
            if count == 0 {
                return Ok(());
            }
            self.commit(batch)?;
        }
    }

    /// Bytes of the data file.
    pub(crate) fn stored_bytes(&self) -> u64 {
        self.data.metadata().map_or(0, |meta| meta.len())
    }

    /// Closes the store; gives up waiting after `limit`.
    pub(crate) fn close(self, lock: &Arc<LockFile>, limit: Duration) -> Result<(), EngineError> {
        let lock = Arc::clone(lock);
        with_limit(CLOSING, limit, move || {
            drop(self.db);
            drop(lock);
            self.data.sync_all()
        })?
        .map_err(doing(CLOSING))
    }
}

fn open_sled(dir: &Path) -> Result<sled::Db, EngineError> {
    wait_for_predecessor(dir)?;
    let config =
        sled::Config::new().path(dir).mode(sled::Mode::HighThroughput).flush_every_ms(None);
    catching(OPENING, || config.open())?.map_err(|error| store_error(OPENING, error))
}

/// Background work of a store that this process closed a moment ago may still hold sled's own lock;
/// sled would not wait for it.
fn wait_for_predecessor(dir: &Path) -> Result<(), EngineError> {
    match File::open(dir.join("db")) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        // Unlocked by name: a process that is just being started may have a copy of the descriptor.
        other => {
            other.and_then(|file| file.lock().and_then(|()| file.unlock())).map_err(doing(OPENING))
        }
    }
}

fn store_error(what: &'static str, error: sled::Error) -> EngineError {
    match error {
        sled::Error::Io(source) => EngineError::Io { what: what.to_owned(), source },
        other => EngineError::Store { what, source: Box::new(other) },
    }
}

/// Whether the store may open without its accelerator files.
pub(crate) fn without_accelerator_may_work(error: &EngineError) -> bool {
    match error {
        EngineError::Panicked { .. } => true,
        EngineError::Store { source, .. } => matches!(
            source.downcast_ref::<sled::Error>(),
            Some(sled::Error::Corruption { .. } | sled::Error::ReportableBug(_))
        ),
        EngineError::TimedOut { .. } | EngineError::Io { .. } => false,
    }
}

fn remove_half_written(dir: &Path, notes: &mut Vec<Note>) -> Result<(), EngineError> {
    for name in names_in(dir)? {
        if name.starts_with(ACCELERATOR) && name.ends_with(HALF_WRITTEN) {
            fs::remove_file(dir.join(&name)).map_err(doing(format!("removing {name}")))?;
            notes.push(Note::RemovedHalfWritten { name });
        }
    }
    Ok(())
}

/// Moves the accelerator files out of sled's sight, if there are any.
pub(crate) fn move_accelerator(dir: &Path) -> Result<Option<Note>, EngineError> {
    let mut names = names_in(dir)?;
    names.retain(|name| name.starts_with(ACCELERATOR));
    if names.is_empty() {
        return Ok(None);
    }
    let aside = dir.with_extension("accelerator");
    io::remove_dir(&aside)?;
    io::make_dir(&aside)?;
    for name in names {
        fs::rename(dir.join(&name), aside.join(&name))
            .map_err(doing(format!("moving {name} aside")))?;
    }
    sync_dir(&aside)?;
    sync_dir(dir)?;
    Ok(Some(Note::AcceleratorMoved { path: aside.display().to_string() }))
}

/// sled syncs neither its configuration nor any directory when it makes them.
fn sync_everything(dir: &Path) -> Result<(), EngineError> {
    sync_file(&dir.join("conf"))?;
    sync_file(&dir.join("db"))?;
    sync_dir(&dir.join("blobs"))?;
    sync_dir(dir)?;
    sync_parent(dir)
}

/// Makes sure that the next read of the store comes from the disk and not from pages that a failed
/// sync left behind as if they were written.
pub(crate) fn forget_cached(dir: &Path) -> Result<(), EngineError> {
    let path = dir.join("db");
    let file = match File::open(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        other => other.map_err(doing(format!("opening {}", path.display())))?,
    };
    file.sync_all().map_err(doing(format!("syncing {}", path.display())))?;
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)
        .map_err(|error| doing("dropping the cached pages of the store")(error.into()))
}
