//! Opening the embedded journal: every guard in its order, then full verification.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use super::{
    appender::DurableJournal,
    engine::Engine,
    guarded::with_limit,
    head::{Stop, Witness},
    layout::META_KEY,
    lock::LockFile,
    parts::clear_remains,
    shared::{Live, Port},
    snapshots::SnapshotFiles,
    space::{self, Ballast, SpaceProbe, SystemSpace},
    vessel::{Vessel, VesselPlace, judge_witness},
    walk::{read_meta, walk},
};
use crate::{
    ClusterId, Damage, Digest, EngineError, Note, OpenError, Opened, Opener, Place, Poison,
    Sequence, SnapshotRef,
    format::{chain::Chain, meta::Meta},
};

/// Where a durable journal is and how it is opened.
#[derive(Clone)]
pub struct DurableOptions {
    /// Its directory; made if need be.
    pub dir: PathBuf,
    /// Where its snapshots are.
    pub snapshots: PathBuf,
    /// Whose it must be; `None` takes whatever is there, or draws a name for a new one.
    pub cluster: Option<ClusterId>,
    /// How long opening or closing may take: it reads everything that is stored.
    pub limit: Duration,
    /// Size of the ballast file; 0 for none.
    pub ballast_bytes: u64,
    /// Who tells how much space is free.
    pub probe: Arc<dyn SpaceProbe>,
}

impl std::fmt::Debug for DurableOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DurableOptions")
            .field("dir", &self.dir)
            .field("snapshots", &self.snapshots)
            .field("cluster", &self.cluster)
            .finish_non_exhaustive()
    }
}

/// Opening 1,000,000 facts takes 0.3 s (design chapter 13); this is for a store of many gigabytes
/// on a slow disk.
const DEFAULT_LIMIT: Duration = Duration::from_secs(120);

const DEFAULT_BALLAST_BYTES: u64 = 16 * 1024 * 1024;

impl DurableOptions {
    /// A journal in `dir` with its snapshots in `dir/snapshots` and the defaults of the rest.
    #[must_use]
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        let dir = dir.into();
        Self {
            snapshots: dir.join("snapshots"),
            dir,
            cluster: None,
            limit: DEFAULT_LIMIT,
            ballast_bytes: DEFAULT_BALLAST_BYTES,
            probe: Arc::new(SystemSpace),
        }
    }
}

/// The place of a durable journal.
#[derive(Clone, Debug)]
pub struct DurableStore {
    options: DurableOptions,
}

impl DurableStore {
    /// A journal at this place; nothing is touched before it is opened.
    #[must_use]
    pub const fn new(options: DurableOptions) -> Self {
        Self { options }
    }

    /// Its options.
    #[must_use]
    pub const fn options(&self) -> &DurableOptions {
        &self.options
    }
}

impl Opener for DurableStore {
    fn open(&self) -> Result<Opened, OpenError> {
        let lock = Vessel::lock(&self.options.dir)?;
        let options = self.options.clone();
        with_limit("opening the journal", options.limit, move || open_locked(options, lock))?
    }
}

/// What verification found.
struct Verified {
    meta: Meta,
    chain: Chain,
    files: SnapshotFiles,
    snapshot: Option<SnapshotRef>,
}

/// Everything after the lock. Runs under the time limit; if it hangs, the lock stays taken.
fn open_locked(options: DurableOptions, lock: Arc<LockFile>) -> Result<Opened, OpenError> {
    let ballast = Ballast::new(&options.dir, options.ballast_bytes);
    let released = ballast.release_if_full(space::ask(&*options.probe, &options.dir)?)?;
    let (cluster, probe) = (options.cluster, &*options.probe);
    let place = VesselPlace { dir: &options.dir, cluster, probe };
    let (mut vessel, verified) =
        Vessel::open(&place, lock, |vessel| verify(vessel, &options.snapshots))?;
    vessel.notes.extend(released);
    ballast.lay(space::ask(&*options.probe, &options.dir)?)?;
    let poison: Option<Poison> = vessel.engine.check_blobs().err();
    let Verified { meta, chain, files, snapshot } = verified;
    let port = Port::new(vessel.engine, Live { meta, chain, poison, closed: false }, files);
    Ok(Opened {
        cluster: meta.cluster,
        head: chain.head(),
        floor: meta.floor,
        epoch: meta.epoch,
        snapshot,
        clean: vessel.stop != Stop::Unclean,
        notes: vessel.notes,
        journal: Box::new(DurableJournal::new(port, vessel.head, vessel.lock, options)),
    })
}

/// Verifies everything against everything; also says what the witness has to be from now on.
fn verify(vessel: &mut Vessel, snapshots: &Path) -> Result<(Witness, Verified), OpenError> {
    let meta = meta_of(&vessel.engine, &vessel.witness, vessel.stop)?;
    let files = SnapshotFiles::open(snapshots, meta.cluster, &mut vessel.notes)?;
    let mut marks: BTreeMap<Sequence, Option<Digest>> =
        files.list().iter().map(|snapshot| (snapshot.at, None)).collect();
    marks.insert(vessel.witness.sequence, None);
    clear_remains(&vessel.engine, &meta)?;
    let chain = verify_batches(&vessel.engine, &meta, &mut marks)?;
    let recovered = Witness {
        cluster: meta.cluster,
        epoch: meta.epoch,
        sequence: chain.head(),
        hash: chain.hash(),
    };
    let hash_at_witness = marks.get(&vessel.witness.sequence).copied().flatten();
    judge_witness(&vessel.witness, &recovered, hash_at_witness)?;
    reject_foreign(&files, &marks, &mut vessel.notes)?;
    let snapshot = newest_fitting(&files, &meta, &chain)?;
    Ok((recovered, Verified { meta, chain, files, snapshot }))
}

/// The meta record, which is written if the store and its witness are new.
fn meta_of(engine: &Engine, witness: &Witness, stop: Stop) -> Result<Meta, OpenError> {
    let meta = match read_meta(engine)? {
        Some(meta) => meta,
        None if stop == Stop::Making => {
            let meta = Meta::new(witness.cluster);
            let mut batch = sled::Batch::default();
            batch.insert(&META_KEY, meta.encode());
            engine.commit(batch).map_err(|poison| first_commit_failed(&poison))?;
            meta
        }
        None if witness.sequence == Sequence::ZERO => {
            let why = "it is missing, and so is everything else";
            return Err(OpenError::Damaged(Damage::new(Place::Meta, why)));
        }
        None => {
            let (witness, found) = (witness.sequence, Sequence::ZERO);
            return Err(OpenError::Regressed { witness, found });
        }
    };
    if meta.cluster == witness.cluster {
        return Ok(meta);
    }
    Err(OpenError::WrongCluster { expected: witness.cluster, found: meta.cluster })
}

fn first_commit_failed(poison: &Poison) -> EngineError {
    let source = std::io::Error::other(poison.to_string());
    EngineError::Io { what: "writing the first record".to_owned(), source }
}

/// Verifies all batches; also fills in the hashes of the marked ones that are there.
fn verify_batches(
    engine: &Engine,
    meta: &Meta,
    marks: &mut BTreeMap<Sequence, Option<Digest>>,
) -> Result<Chain, OpenError> {
    let mut chain = Chain::from(meta.cluster, meta.floor, meta.floor_hash);
    marks.entry(meta.floor).and_modify(|mark| *mark = Some(meta.floor_hash));
    walk(engine, &mut chain, |batch| {
        marks.entry(batch.sequence).and_modify(|mark| *mark = Some(batch.hash));
        Ok(())
    })?;
    if chain.epoch() > meta.epoch {
        let why = format!("batch {} has epoch {}", chain.head(), chain.epoch());
        return Err(OpenError::Damaged(Damage::new(Place::Meta, why)));
    }
    Ok(chain)
}

/// Moves snapshots aside that are of another history than the batches.
fn reject_foreign(
    files: &SnapshotFiles,
    marks: &BTreeMap<Sequence, Option<Digest>>,
    notes: &mut Vec<Note>,
) -> Result<(), EngineError> {
    for snapshot in files.list() {
        let at = snapshot.at;
        let is_foreign = |hash: &Digest| *hash != snapshot.chain;
        if marks.get(&at).is_some_and(|mark| mark.as_ref().is_some_and(is_foreign)) {
            files.reject(at)?;
            let why = "it is of another batch than the one in the journal".to_owned();
            notes.push(Note::SnapshotDamaged { at, why });
        }
    }
    Ok(())
}

/// The newest snapshot that the batches go on from. After a trim there must be one.
fn newest_fitting(
    files: &SnapshotFiles,
    meta: &Meta,
    chain: &Chain,
) -> Result<Option<SnapshotRef>, OpenError> {
    let kept = files.list();
    if let Some(ahead) = kept.iter().find(|snapshot| snapshot.at > chain.head()) {
        return Err(OpenError::Regressed { witness: ahead.at, found: chain.head() });
    }
    let newest = kept.into_iter().rev().find(|snapshot| snapshot.at >= meta.floor);
    if newest.is_none() && meta.floor > Sequence::ZERO {
        let why = format!("no sound snapshot is at or above the trimmed batch {}", meta.floor);
        return Err(OpenError::Damaged(Damage::new(Place::Snapshot(meta.floor), why)));
    }
    Ok(newest)
}

/// Where a journal keeps its files; for messages.
impl AsRef<Path> for DurableOptions {
    fn as_ref(&self) -> &Path {
        &self.dir
    }
}
