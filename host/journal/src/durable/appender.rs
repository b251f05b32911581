//! The embedded journal once it is open: append, trim, campaign, close. Any failure of the store
//! stops it for good.

use std::{
    ops::RangeInclusive,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    check,
    engine::Engine,
    head::{HeadFile, Stop, Witness},
    io,
    layout::{META_KEY, key},
    lock::LockFile,
    open::DurableOptions,
    parts::write_batch,
    shared::Port,
    space,
};
use crate::{
    Append, BatchId, CampaignError, Class, CloseError, Damage, Draft, Epoch, Journal, Leadership,
    NEW_WORK_FREE_PERMILLE, Poison, Position, Refusal, Replay, ReplayError, Resolution, Sequence,
    Snapshots, Stats, Tail, TrimError, Trimmed,
    format::meta::Meta,
    limits::{MAX_PAYLOAD_BYTES, SNAPSHOTS_KEPT},
    reader::{self, Source, Tailing},
};

/// How often `blobs/` is looked at (design chapter 13).
const BLOBS_EVERY: Duration = Duration::from_secs(3_600);

/// The journal on disk.
pub(super) struct DurableJournal {
    port: Port,
    head: HeadFile,
    lock: Arc<LockFile>,
    options: DurableOptions,
    leading: Option<Epoch>,
    blobs_checked: Instant,
    commits: u64,
    committed_bytes: u64,
    refusals: u64,
}

impl DurableJournal {
    pub(super) fn new(
        port: Port,
        head: HeadFile,
        lock: Arc<LockFile>,
        options: DurableOptions,
    ) -> Self {
        Self {
            port,
            head,
            lock,
            options,
            leading: None,
            blobs_checked: Instant::now(),
            commits: 0,
            committed_bytes: 0,
            refusals: 0,
        }
    }

    /// Why this draft is refused before anything is written.
    fn judge(&mut self, draft: &Draft<'_>, expected: Sequence) -> Result<Epoch, Refusal> {
        self.check_blobs_hourly();
        let live = self.port.live();
        if let Some(poison) = &live.poison {
            return Err(Refusal::ReadOnly(poison.clone()));
        }
        let Some(epoch) = self.leading else {
            return Err(Refusal::Fenced { epoch: live.meta.epoch });
        };
        let len_bytes = draft.payload.len();
        if len_bytes > MAX_PAYLOAD_BYTES {
            return Err(Refusal::TooLarge { len_bytes });
        }
        let next = live.chain.head().next();
        if expected != next {
            return Err(Refusal::WrongSequence { expected, next });
        }
        drop(live);
        match draft.class {
            Class::NewWork => self.judge_space().map(|()| epoch),
            Class::Essential => Ok(epoch),
        }
    }

    fn judge_space(&self) -> Result<(), Refusal> {
        // An unknown figure refuses nothing: the disk itself has the last word.
        let Some(free_permille) = self.free_permille() else { return Ok(()) };
        let needed_permille = NEW_WORK_FREE_PERMILLE;
        if free_permille < needed_permille {
            return Err(Refusal::NoSpace { free_permille, needed_permille });
        }
        Ok(())
    }

    fn free_permille(&self) -> Option<u32> {
        let space = space::ask(&*self.options.probe, &self.options.dir).ok()?;
        Some(space.free_permille())
    }

    fn check_blobs_hourly(&mut self) {
        if self.blobs_checked.elapsed() < BLOBS_EVERY {
            return;
        }
        self.blobs_checked = Instant::now();
        if let Err(poison) = self.with_engine(Engine::check_blobs) {
            self.stop(poison);
        }
    }

    fn with_engine(&self, call: impl FnOnce(&Engine) -> Result<(), Poison>) -> Result<(), Poison> {
        match &*self.port.engine() {
            Some(engine) => call(engine),
            None => Err(Poison::Io("the store is closed".to_owned())),
        }
    }

    /// Fail stop: the first reason stays.
    fn stop(&self, poison: Poison) {
        self.port.live().poison.get_or_insert(poison);
    }

    fn poison(&self) -> Option<Poison> {
        self.port.live().poison.clone()
    }

    fn witness(&self) -> Witness {
        let live = self.port.live();
        Witness {
            cluster: live.meta.cluster,
            epoch: live.meta.epoch,
            sequence: live.chain.head(),
            hash: live.chain.hash(),
        }
    }

    fn commit_meta(&self, meta: Meta) -> Result<(), Poison> {
        let mut batch = sled::Batch::default();
        batch.insert(&META_KEY, meta.encode());
        let outcome = self.with_engine(|engine| engine.commit(batch));
        match &outcome {
            Ok(()) => self.port.live().meta = meta,
            Err(poison) => self.stop(poison.clone()),
        }
        outcome
    }

    /// Moves the floor, durably, then removes what is below it. What is left of that when the process
    /// ends is removed by the next opening.
    fn trim_to(&self, upto: Sequence) -> Result<(), Poison> {
        let meta = self.port.live().meta;
        let bounds = self.port.bounds().map_err(in_words)?;
        let floor_hash = reader::hash_of(&self.port, &bounds, upto).map_err(in_words)?;
        self.commit_meta(Meta { floor: upto, floor_hash, ..meta })?;
        let (from, to) = (key(meta.floor.next(), 0), key(upto, u16::MAX));
        self.with_engine(|engine| engine.remove_range(&from, &to))
    }

    fn judge_trim(&self, upto: Sequence) -> Result<(), TrimError> {
        let live = self.port.live();
        if let Some(poison) = &live.poison {
            return Err(TrimError::Refused(Refusal::ReadOnly(poison.clone())));
        }
        if self.leading.is_none() {
            let epoch = live.meta.epoch;
            return Err(TrimError::Refused(Refusal::Fenced { epoch }));
        }
        if upto <= live.meta.floor {
            return Ok(());
        }
        drop(live);
        // Each was verified when it was put or when the journal was opened. Reading them again
        // would hold up the writer for as long as a large state takes.
        let verified = self.port.0.files.list();
        let found = verified.iter().filter(|snapshot| snapshot.at >= upto).count();
        if found < SNAPSHOTS_KEPT {
            return Err(TrimError::NoSnapshot { upto, found });
        }
        Ok(())
    }
}

fn in_words(error: ReplayError) -> Poison {
    match error {
        ReplayError::Damaged(damage) => Poison::Damaged(damage),
        other => Poison::Io(other.to_string()),
    }
}

impl Journal for DurableJournal {
    fn append(&mut self, draft: &Draft<'_>, expected: Sequence) -> Append {
        let epoch = match self.judge(draft, expected) {
            Ok(epoch) => epoch,
            Err(refusal) => {
                self.refusals += 1;
                return Append::Refused(refusal);
            }
        };
        let before = self.port.live().chain;
        let (envelope, after) = before.extend(epoch, draft.id, draft.payload);
        let written = self.with_engine(|engine| write_batch(engine, expected, &envelope));
        if let Err(poison) = written {
            self.stop(poison.clone());
            return Append::Unknown(poison);
        }
        self.port.live().chain = after;
        self.port.0.changed.notify_all();
        self.commits += 1;
        self.committed_bytes += draft.payload.len() as u64;
        // The batch is durable whatever becomes of its witness; only the next one is refused.
        if let Err(error) = self.head.write(&self.witness()) {
            self.stop(io::poison("writing HEAD", &error));
        }
        Append::Committed(Position { sequence: expected, epoch })
    }

    fn resolve(&mut self, sequence: Sequence, id: BatchId) -> Result<Resolution, ReplayError> {
        if let Some(poison) = self.poison() {
            return Err(ReplayError::ReopenFirst(poison));
        }
        reader::resolve(&self.port, sequence, id)
    }

    fn replay(&self, range: RangeInclusive<Sequence>) -> Replay {
        reader::replay(self.port.clone(), range)
    }

    fn tail(&self, from: Sequence) -> Box<dyn Tail> {
        Box::new(Tailing::new(self.port.clone(), from))
    }

    fn snapshots(&self) -> Arc<dyn Snapshots> {
        Arc::new(self.port.clone())
    }

    fn trim(&mut self, upto: Sequence) -> Result<Trimmed, TrimError> {
        self.judge_trim(upto)?;
        let before = self.port.live().meta.floor;
        if upto <= before {
            return Ok(Trimmed { floor: before, removed: 0 });
        }
        if let Err(poison) = self.trim_to(upto) {
            self.stop(poison.clone());
            return Err(TrimError::Stopped(poison));
        }
        Ok(Trimmed { floor: upto, removed: upto.0 - before.0 })
    }

    fn leadership(&self) -> Leadership {
        match self.leading {
            Some(epoch) => Leadership::Leader(epoch),
            None => Leadership::Follower(self.port.live().meta.epoch),
        }
    }

    fn campaign(&mut self) -> Result<Epoch, CampaignError> {
        if let Some(poison) = self.poison() {
            return Err(CampaignError::Stopped(poison));
        }
        let meta = self.port.live().meta;
        let epoch = meta.epoch.next();
        self.commit_meta(Meta { epoch, ..meta }).map_err(CampaignError::Stopped)?;
        if let Err(error) = self.head.write_synced(&self.witness(), Stop::Unclean) {
            let poison = Poison::Io(error.to_string());
            self.stop(poison.clone());
            return Err(CampaignError::Stopped(poison));
        }
        self.leading = Some(epoch);
        Ok(epoch)
    }

    fn resign(&mut self) {
        self.leading = None;
    }

    fn stats(&self) -> Stats {
        let live = self.port.live();
        let (meta, head, poison) = (live.meta, live.chain.head(), live.poison.clone());
        drop(live);
        Stats {
            cluster: meta.cluster,
            head,
            floor: meta.floor,
            epoch: meta.epoch,
            commits: self.commits,
            committed_bytes: self.committed_bytes,
            refusals: self.refusals,
            stored_bytes: self.port.engine().as_ref().map_or(0, Engine::stored_bytes),
            free_permille: self.free_permille(),
            poison,
        }
    }

    fn check(&self) -> Vec<Damage> {
        check::check(&self.port)
    }

    fn close(mut self: Box<Self>) -> Result<(), CloseError> {
        let poison = self.poison();
        if let Some(engine) = self.port.take_engine() {
            engine.close(&self.lock, self.options.limit)?;
        }
        if let Some(poison) = poison {
            return Err(CloseError::Poisoned(poison));
        }
        let witness = self.witness();
        self.head.write_synced(&witness, Stop::Clean)?;
        Ok(())
    }
}

impl Drop for DurableJournal {
    fn drop(&mut self) {
        if let Some(engine) = self.port.take_engine() {
            // An unclean stop: what is committed is durable, HEAD says unclean already.
            let _ = engine.close(&self.lock, self.options.limit);
        }
    }
}
