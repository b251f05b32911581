//! Snapshots as files of their own: written, synced, renamed, the directory synced, read back and
//! compared. Two are kept; a broken one is moved aside, never used and never removed.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::io::{doing, make_dir, names_in, rename_synced, sync_dir, sync_parent, write_synced};
use crate::{
    ClusterId, Damage, EngineError, Note, Place, Sequence, Snapshot, SnapshotError, SnapshotRef,
    format::{envelope, frame::FrameError, snapshot},
    limits::SNAPSHOTS_KEPT,
};

const SUFFIX: &str = ".snapshot";
const WRITING: &str = ".writing";

/// The snapshot files of one journal.
pub(crate) struct SnapshotFiles {
    dir: PathBuf,
    cluster: ClusterId,
    kept: Mutex<Vec<SnapshotRef>>,
}

impl SnapshotFiles {
    /// Opens the directory and verifies every snapshot in it.
    pub(crate) fn open(
        dir: &Path,
        cluster: ClusterId,
        notes: &mut Vec<Note>,
    ) -> Result<Self, EngineError> {
        make_dir(dir)?;
        sync_parent(dir)?;
        for name in names_in(dir)?.iter().filter(|name| name.ends_with(WRITING)) {
            fs::remove_file(dir.join(name)).map_err(doing(format!("removing {name}")))?;
        }
        let files = Self { dir: dir.to_owned(), cluster, kept: Mutex::default() };
        let mut kept = Vec::new();
        for at in sequences_in(dir)? {
            match files.read(at) {
                Ok(snapshot) => kept.push(snapshot.reference),
                Err(SnapshotError::Damaged(damage)) => {
                    let from = files.path(at);
                    rename_synced(&from, &from.with_extension("damaged"))?;
                    notes.push(Note::SnapshotDamaged { at, why: damage.why });
                }
                Err(SnapshotError::Engine(error)) => return Err(error),
                Err(_) => {}
            }
        }
        files.drop_surplus(&mut kept)?;
        *files.kept() = kept;
        Ok(files)
    }

    /// The good ones as they were last verified, oldest first.
    pub(crate) fn list(&self) -> Vec<SnapshotRef> {
        self.kept().clone()
    }

    /// Stores one and verifies it. The caller knows that `wanted.at` is a committed batch.
    pub(crate) fn put(
        &self,
        wanted: SnapshotRef,
        bytes: &[u8],
    ) -> Result<SnapshotRef, SnapshotError> {
        let mut kept = self.kept();
        if let Some(newest) = kept.last().filter(|newest| newest.at >= wanted.at) {
            return Err(SnapshotError::NotNewer { newest: newest.at });
        }
        let reference =
            SnapshotRef { digest: envelope::hash(bytes), len_bytes: bytes.len() as u64, ..wanted };
        let path = self.path(reference.at);
        let writing = path.with_extension(&WRITING[1..]);
        write_synced(&writing, &[&snapshot::encode_header(self.cluster, &reference), bytes])?;
        rename_synced(&writing, &path)?;
        let back = self.read(reference.at)?;
        if back.reference != reference {
            let why = "what was read back is not what was written";
            return Err(SnapshotError::Damaged(Damage::new(Place::Snapshot(reference.at), why)));
        }
        kept.push(reference);
        self.drop_surplus(&mut kept)?;
        Ok(reference)
    }

    /// Reads and verifies one.
    pub(crate) fn read(&self, at: Sequence) -> Result<Snapshot, SnapshotError> {
        let (cluster, snapshot) = read_file(&self.dir, at)?;
        if cluster != self.cluster {
            let why = format!("it is of cluster {cluster}");
            return Err(SnapshotError::Damaged(Damage::new(Place::Snapshot(at), why)));
        }
        Ok(snapshot)
    }

    /// Moves one aside that turned out not to belong to this journal's history.
    pub(crate) fn reject(&self, at: Sequence) -> Result<(), EngineError> {
        rename_synced(&self.path(at), &self.path(at).with_extension("damaged"))?;
        self.kept().retain(|kept| kept.at != at);
        Ok(())
    }

    /// Moves the snapshots above a batch aside, for `salvage`.
    pub(crate) fn abandon_above(&self, head: Sequence) -> Result<Vec<Sequence>, EngineError> {
        let mut kept = self.kept();
        let abandoned: Vec<_> = kept.iter().map(|it| it.at).filter(|at| *at > head).collect();
        for at in &abandoned {
            rename_synced(&self.path(*at), &self.path(*at).with_extension("abandoned"))?;
        }
        kept.retain(|it| it.at <= head);
        Ok(abandoned)
    }

    fn drop_surplus(&self, kept: &mut Vec<SnapshotRef>) -> Result<(), EngineError> {
        let surplus = kept.len().saturating_sub(SNAPSHOTS_KEPT);
        for old in kept.drain(..surplus) {
            fs::remove_file(self.path(old.at)).map_err(doing("removing an old snapshot"))?;
        }
        if surplus > 0 { sync_dir(&self.dir) } else { Ok(()) }
    }

    fn path(&self, at: Sequence) -> PathBuf {
        path_in(&self.dir, at)
    }

    fn kept(&self) -> MutexGuard<'_, Vec<SnapshotRef>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn path_in(dir: &Path, at: Sequence) -> PathBuf {
    dir.join(format!("{:020}{SUFFIX}", at.0))
}

/// Reads and verifies the file of one snapshot.
fn read_file(dir: &Path, at: Sequence) -> Result<(ClusterId, Snapshot), SnapshotError> {
    let path = path_in(dir, at);
    let bytes = fs::read(&path).map_err(doing(format!("reading {}", path.display())))?;
    let damaged = |error: FrameError| SnapshotError::Damaged(error.damage(Place::Snapshot(at)));
    let (cluster, snapshot) = snapshot::decode(bytes).map_err(damaged)?;
    if snapshot.reference.at != at {
        let why = format!("it says that it is of batch {}", snapshot.reference.at);
        return Err(SnapshotError::Damaged(Damage::new(Place::Snapshot(at), why)));
    }
    Ok((cluster, snapshot))
}

/// A snapshot and whose it is.
pub(crate) type Owned = (ClusterId, SnapshotRef);

/// All sound snapshots in a directory, oldest first, and what is broken. Touches nothing.
pub(crate) fn verified_in(dir: &Path) -> Result<(Vec<Owned>, Vec<Damage>), EngineError> {
    let (mut sound, mut broken) = (Vec::new(), Vec::new());
    for at in sequences_in(dir)? {
        match read_file(dir, at) {
            Ok((cluster, snapshot)) => sound.push((cluster, snapshot.reference)),
            Err(SnapshotError::Damaged(damage)) => broken.push(damage),
            Err(SnapshotError::Engine(error)) => return Err(error),
            Err(other) => broken.push(Damage::new(Place::Snapshot(at), other.to_string())),
        }
    }
    Ok((sound, broken))
}

fn sequences_in(dir: &Path) -> Result<Vec<Sequence>, EngineError> {
    let sequence = |name: &String| name.strip_suffix(SUFFIX)?.parse().ok().map(Sequence);
    let mut found: Vec<_> = names_in(dir)?.iter().filter_map(sequence).collect();
    found.sort_unstable();
    Ok(found)
}
