//! The witness of the acknowledged head: the file `HEAD` with two marks that are written in turn, a
//! page apart, so that a torn write leaves the other one. Written after each commit, synced each
//! second and at the end; it also says whether the last stop was clean.
//!
//! Mark body after the frame's header: cluster 16, epoch 8, sequence 8, hash 32, count 8.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::Path,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};

use super::io::doing;
use crate::{
    ClusterId, Damage, Digest, EngineError, Epoch, OpenError, Place, Sequence,
    format::frame::{self, FrameError, Magic, Reader},
};

const MAGIC: Magic = *b"PLJH";
const MARK_BYTES: usize = frame::HEADER_BYTES + 72;
const MARK_DISTANCE_BYTES: u64 = 4_096;
/// How long a written witness may stay unsynced (design chapter 13, guard 5).
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// What was acknowledged last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Witness {
    pub(crate) cluster: ClusterId,
    pub(crate) epoch: Epoch,
    pub(crate) sequence: Sequence,
    pub(crate) hash: Digest,
}

/// How the last writer left; the number is what the frame's flags hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum Stop {
    /// While it made the store for the first time: nothing was ever acknowledged from it.
    Making = 0,
    Clean = 1,
    Unclean = 2,
}

impl Stop {
    fn from_flags(flags: u16) -> Result<Self, FrameError> {
        [Self::Making, Self::Clean, Self::Unclean]
            .into_iter()
            .find(|stop| *stop as u16 == flags)
            .ok_or_else(|| FrameError::Broken(format!("its flags are {flags}")))
    }
}

/// What the file says.
pub(crate) struct Found {
    pub(crate) witness: Witness,
    pub(crate) stop: Stop,
    count: u64,
}

/// Reads the file; `None` if there is none or it is empty. Two broken marks are damage.
pub(crate) fn read(path: &Path) -> Result<Option<Found>, OpenError> {
    let bytes = match std::fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(doing(format!("reading {}", path.display())))?,
    };
    if bytes.is_empty() {
        return Ok(None);
    }
    let second = usize::try_from(MARK_DISTANCE_BYTES).expect("4096 fits");
    let mark = |at: usize| bytes.get(at..at + MARK_BYTES).map(decode);
    match (mark(0), mark(second)) {
        (Some(Err(FrameError::Newer(found))), _) | (_, Some(Err(FrameError::Newer(found)))) => {
            Err(FrameError::Newer(found).at_open(Place::Head))
        }
        (Some(Ok(a)), Some(Ok(b))) => Ok(Some(if a.count > b.count { a } else { b })),
        (Some(Ok(one)), _) | (_, Some(Ok(one))) => Ok(Some(one)),
        _ => Err(OpenError::Damaged(Damage::new(Place::Head, "neither of its marks is sound"))),
    }
}

fn encode(witness: &Witness, stop: Stop, count: u64) -> Vec<u8> {
    let mut bytes = frame::begin(MAGIC, stop as u16, MARK_BYTES - frame::HEADER_BYTES);
    bytes.extend_from_slice(&witness.cluster.0);
    bytes.extend_from_slice(&witness.epoch.0.to_le_bytes());
    bytes.extend_from_slice(&witness.sequence.0.to_le_bytes());
    bytes.extend_from_slice(&witness.hash.0);
    bytes.extend_from_slice(&count.to_le_bytes());
    frame::seal(bytes)
}

fn decode(bytes: &[u8]) -> Result<Found, FrameError> {
    let (flags, body) = frame::open(bytes, MAGIC)?;
    let mut reader = Reader(body);
    let witness = Witness {
        cluster: ClusterId(reader.array()?),
        epoch: Epoch(reader.u64()?),
        sequence: Sequence(reader.u64()?),
        hash: Digest(reader.array()?),
    };
    Ok(Found { witness, stop: Stop::from_flags(flags)?, count: reader.u64()? })
}

/// Writes the file and keeps a thread that syncs it.
pub(crate) struct HeadFile {
    file: Arc<File>,
    count: u64,
    bell: Arc<Bell>,
    syncer: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Bell {
    state: Mutex<BellState>,
    rung: Condvar,
}

#[derive(Default)]
struct BellState {
    dirty: bool,
    over: bool,
    failed: Option<String>,
}

impl Bell {
    fn lock(&self) -> MutexGuard<'_, BellState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HeadFile {
    /// Opens the file for writing, after whatever was found there.
    pub(crate) fn open(path: &Path, found: Option<&Found>) -> Result<Self, EngineError> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(doing(format!("opening {}", path.display())))?;
        let file = Arc::new(file);
        let bell = Arc::new(Bell::default());
        let thread = {
            let (file, bell) = (Arc::clone(&file), Arc::clone(&bell));
            move || sync_until_over(&file, &bell)
        };
        let syncer = thread::Builder::new()
            .name("journal-head".into())
            .spawn(thread)
            .map_err(doing("starting the thread that syncs HEAD"))?;
        Ok(Self { file, count: found.map_or(0, |it| it.count), bell, syncer: Some(syncer) })
    }

    /// Writes what was acknowledged; durable within a second.
    pub(crate) fn write(&mut self, witness: &Witness) -> io::Result<()> {
        self.put(witness, Stop::Unclean)?;
        let mut state = self.bell.lock();
        if let Some(words) = &state.failed {
            return Err(io::Error::other(words.clone()));
        }
        if !state.dirty {
            state.dirty = true;
            self.bell.rung.notify_one();
        }
        Ok(())
    }

    /// Writes it with how the writer stands, durable on return.
    pub(crate) fn write_synced(
        &mut self,
        witness: &Witness,
        stop: Stop,
    ) -> Result<(), EngineError> {
        let sync = self.put(witness, stop).and_then(|()| self.file.sync_all());
        sync.map_err(doing("writing HEAD"))
    }

    fn put(&mut self, witness: &Witness, stop: Stop) -> io::Result<()> {
        self.count += 1;
        let offset = (self.count % 2) * MARK_DISTANCE_BYTES;
        self.file.write_all_at(&encode(witness, stop, self.count), offset)
    }
}

impl Drop for HeadFile {
    fn drop(&mut self) {
        self.bell.lock().over = true;
        self.bell.rung.notify_one();
        if let Some(syncer) = self.syncer.take() {
            // It neither panics nor waits for anything but this bell and the disk.
            let _ = syncer.join();
        }
    }
}

fn sync_until_over(file: &File, bell: &Bell) {
    loop {
        let mut state = bell.lock();
        while !state.dirty && !state.over {
            state = bell.rung.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        // Gather a second's worth of writes.
        let idle = |state: &mut BellState| !state.over;
        let waited = bell.rung.wait_timeout_while(state, SYNC_EVERY, idle);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        let (dirty, over) = (std::mem::take(&mut state.dirty), state.over);
        drop(state);
        if dirty && let Err(error) = file.sync_data() {
            bell.lock().failed = Some(format!("syncing HEAD: {error}"));
            return;
        }
        if over {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn witness(sequence: u64) -> Witness {
        Witness {
            cluster: ClusterId([1; 16]),
            epoch: Epoch(2),
            sequence: Sequence(sequence),
            hash: Digest([3; 32]),
        }
    }

    fn written(count: u64) -> (tempfile::TempDir, std::path::PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("HEAD");
        let mut head = HeadFile::open(&path, None).unwrap();
        (1..=count).for_each(|sequence| head.write(&witness(sequence)).unwrap());
        (dir, path)
    }

    #[test]
    fn the_newest_mark_wins() {
        for count in 1..5 {
            let (_dir, path) = written(count);
            let found = read(&path).unwrap().unwrap();
            assert_eq!((found.witness, found.stop), (witness(count), Stop::Unclean));
        }
    }

    #[test]
    fn a_torn_mark_leaves_the_one_before() {
        let (_dir, path) = written(8);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[20] ^= 1; // count 8 is even: the first mark
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(read(&path).unwrap().unwrap().witness, witness(7));
        bytes[4_096 + 20] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert!(matches!(read(&path), Err(OpenError::Damaged(_))));
    }

    #[test]
    fn a_clean_stop_is_remembered_until_the_next_write() {
        let (_dir, path) = written(3);
        let found = read(&path).unwrap();
        let mut head = HeadFile::open(&path, found.as_ref()).unwrap();
        head.write_synced(&witness(3), Stop::Clean).unwrap();
        assert_eq!(read(&path).unwrap().unwrap().stop, Stop::Clean);
        head.write(&witness(4)).unwrap();
        assert_eq!(read(&path).unwrap().unwrap().stop, Stop::Unclean);
    }

    #[test]
    fn no_file_and_an_empty_file_are_no_witness() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("HEAD");
        assert!(read(&path).unwrap().is_none());
        std::fs::write(&path, b"").unwrap();
        assert!(read(&path).unwrap().is_none());
    }
}
