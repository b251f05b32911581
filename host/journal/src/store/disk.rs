//! The map on disk, in the journal's shape and with its guards: lock file, copy after an unclean
//! stop, one atomic store batch per commit with our own fdatasync, witness, full verification.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use super::{
    Backing, Changes, DurableMap, Entries, OpenedMap,
    entry::{self, RECORD_KEY, Record, Sum},
};
use crate::{
    CloseError, ClusterId, Damage, EngineError, Epoch, OpenError, Place, Poison, Sequence,
    durable::{
        SpaceProbe, SystemSpace,
        engine::Engine,
        guarded::with_limit,
        head::{HeadFile, Stop, Witness},
        lock::LockFile,
        vessel::{Vessel, VesselPlace, judge_witness},
        walk::Break,
    },
    limits::MAX_KEY_BYTES,
};

/// Greater than every key in the store: those have at most 257 bytes.
const BEHIND_ALL_KEYS: [u8; MAX_KEY_BYTES + 3] = [u8::MAX; MAX_KEY_BYTES + 3];

/// Where a durable map is and how it is opened.
#[derive(Clone)]
pub struct MapOptions {
    /// Its directory; made if need be.
    pub dir: PathBuf,
    /// How long opening or closing may take.
    pub limit: Duration,
    /// Who tells how much space is free, for the copy after an unclean stop.
    pub probe: Arc<dyn SpaceProbe>,
}

impl std::fmt::Debug for MapOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MapOptions").field("dir", &self.dir).finish_non_exhaustive()
    }
}

/// A ledger is small; this is for a very slow disk.
const DEFAULT_LIMIT: Duration = Duration::from_secs(60);

impl MapOptions {
    /// A map in this directory with the defaults of the rest.
    #[must_use]
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), limit: DEFAULT_LIMIT, probe: Arc::new(SystemSpace) }
    }
}

/// Opens and fully verifies a map.
///
/// # Errors
/// See [`OpenError`]; nothing was changed that matters.
pub fn open(options: &MapOptions) -> Result<OpenedMap, OpenError> {
    let lock = Vessel::lock(&options.dir)?;
    let (inner, limit) = (options.clone(), options.limit);
    with_limit("opening the map", limit, move || open_locked(&inner, lock))?
}

fn open_locked(options: &MapOptions, lock: Arc<LockFile>) -> Result<OpenedMap, OpenError> {
    let place = VesselPlace { dir: &options.dir, cluster: None, probe: &*options.probe };
    let (vessel, (entries, record)) = Vessel::open(&place, lock, verify)?;
    let backing = Disk {
        engine: Some(vessel.engine),
        head: vessel.head,
        lock: vessel.lock,
        record,
        limit: options.limit,
    };
    let clean = vessel.stop != Stop::Unclean;
    Ok(OpenedMap { map: DurableMap::new(entries, Box::new(backing)), clean, notes: vessel.notes })
}

fn verify(vessel: &mut Vessel) -> Result<(Witness, (Entries, Record)), OpenError> {
    vessel.engine.check_blobs().map_err(unusable)?;
    let (entries, found) = read_all(&vessel.engine)?;
    let record = match found {
        Some(record) => record,
        None if vessel.stop == Stop::Making => {
            let record = Record::new(vessel.witness.cluster);
            let mut batch = sled::Batch::default();
            batch.insert(&RECORD_KEY, record.encode());
            vessel.engine.commit(batch).map_err(unusable)?;
            record
        }
        None => {
            let why = "it is missing, and so is everything else";
            return Err(OpenError::Damaged(Damage::new(Place::Meta, why)));
        }
    };
    let recovered = witness_of(&record);
    judge_cluster(&vessel.witness, record.cluster)?;
    let same = vessel.witness.sequence == recovered.sequence;
    judge_witness(&vessel.witness, &recovered, same.then_some(recovered.hash))?;
    Ok((recovered, (entries, record)))
}

fn judge_cluster(witness: &Witness, found: ClusterId) -> Result<(), OpenError> {
    if witness.cluster == found {
        return Ok(());
    }
    Err(OpenError::WrongCluster { expected: witness.cluster, found })
}

fn unusable(poison: Poison) -> OpenError {
    match poison {
        Poison::Damaged(damage) => OpenError::Damaged(damage),
        other => OpenError::Damaged(Damage::new(Place::Store, other.to_string())),
    }
}

fn witness_of(record: &Record) -> Witness {
    Witness {
        cluster: record.cluster,
        epoch: Epoch::ZERO,
        sequence: Sequence(record.commits),
        hash: record.sum.digest(),
    }
}

/// Reads and verifies everything; no record only if there is nothing at all.
fn read_all(engine: &Engine) -> Result<(Entries, Option<Record>), OpenError> {
    let mut raw = Entries::new();
    let mut record = None;
    engine.scan(&[], &BEHIND_ALL_KEYS, |stored, value| {
        if stored == RECORD_KEY {
            let decoded = Record::decode(value).map_err(|error| Break::at(Place::Meta, error))?;
            record = Some(decoded);
            return Ok(());
        }
        gather(&mut raw, stored, value)
    })?;
    let (mut entries, mut sum) = (Entries::new(), Sum::default());
    for (key, bytes) in raw {
        let value = entry::decode(&key, &bytes).map_err(|error| error.at_open(place(&key)))?;
        sum.add(&bytes);
        entries.insert(key, value);
    }
    let (count, zero) = (entries.len() as u64, Sum::default());
    let expected = record.map_or((0, zero), |record| (record.entries, record.sum));
    if expected != (count, sum) {
        let why = format!("{} entries are recorded, {count} are there, or not these", expected.0);
        return Err(OpenError::Damaged(Damage::new(Place::Meta, why)));
    }
    Ok((entries, record))
}

fn place(key: &[u8]) -> Place {
    Place::Entry(String::from_utf8_lossy(key).into_owned())
}

/// Puts the chunks of each value together; they come in order.
fn gather(raw: &mut Entries, stored: &[u8], value: &[u8]) -> Result<(), Break> {
    let Some((key, chunk)) = entry::parse_key(stored) else {
        let why = format!("it holds a key of {} bytes that is none of ours", stored.len());
        return Err(Break::Damaged(Damage::new(Place::Store, why)));
    };
    let bytes = raw.entry(key.to_vec()).or_default();
    if bytes.len() != usize::from(chunk) * crate::limits::CHUNK_BYTES {
        let why = format!("chunk {chunk} comes after {} bytes", bytes.len());
        return Err(Break::Damaged(Damage::new(place(key), why)));
    }
    bytes.extend_from_slice(value);
    Ok(())
}

struct Disk {
    engine: Option<Engine>,
    head: HeadFile,
    lock: Arc<LockFile>,
    record: Record,
    limit: Duration,
}

impl Disk {
    /// The store batch of some changes, and the record after it.
    fn stage(&self, before: &Entries, changes: &Changes) -> (sled::Batch, Record) {
        let mut batch = sled::Batch::default();
        let mut record = Record { commits: self.record.commits + 1, ..self.record };
        for (key, value) in changes {
            if let Some(old) = before.get(key) {
                let stored = entry::encode(key, old);
                entry::chunks(key, &stored).for_each(|(at, _)| batch.remove(at));
                record.sum.subtract(&stored);
                record.entries -= 1;
            }
            if let Some(new) = value {
                let stored = entry::encode(key, new);
                entry::chunks(key, &stored).for_each(|(at, chunk)| batch.insert(at, chunk));
                record.sum.add(&stored);
                record.entries += 1;
            }
        }
        batch.insert(&RECORD_KEY, record.encode());
        (batch, record)
    }
}

impl Backing for Disk {
    fn commit(&mut self, before: &Entries, changes: &Changes) -> Result<(), Poison> {
        let (batch, record) = self.stage(before, changes);
        let engine = self.engine.as_ref().expect("it is there until it is closed");
        engine.commit(batch)?;
        self.record = record;
        self.head
            .write(&witness_of(&record))
            .map_err(|error| Poison::Io(format!("writing HEAD: {error}")))
    }

    fn close(mut self: Box<Self>, poison: Option<Poison>) -> Result<(), CloseError> {
        if let Some(engine) = self.engine.take() {
            engine.close(&self.lock, self.limit)?;
        }
        if let Some(poison) = poison {
            return Err(CloseError::Poisoned(poison));
        }
        self.head.write_synced(&witness_of(&self.record), Stop::Clean)?;
        Ok(())
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if let Some(engine) = self.engine.take() {
            // An unclean stop: what is committed is durable, HEAD says unclean already.
            let _: Result<(), EngineError> = engine.close(&self.lock, self.limit);
        }
    }
}

/// Where a map keeps its files; for messages.
impl AsRef<Path> for MapOptions {
    fn as_ref(&self) -> &Path {
        &self.dir
    }
}
