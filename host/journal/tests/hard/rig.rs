//! Deterministic payloads, random choices with printed seeds, and checks of a recovered journal.

use std::path::{Path, PathBuf};

use pliant_journal::{
    Batch, BatchId, Class, Draft, Journal, OpenError, Opened, Opener, Sequence,
    durable::{DurableOptions, DurableStore},
};

/// SplitMix64, so that a printed seed repeats a run.
#[derive(Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// A generator of its own for each use of a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit.max(1)
    }

    /// A place in something of this length.
    pub(crate) fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.below(len as u64)).unwrap()
    }
}

/// Some fixed seeds and a fresh one, which is printed so that a failure can be repeated.
pub(crate) fn seeds(what: &str) -> Vec<u64> {
    let fresh = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let fresh = u64::from(fresh.subsec_nanos());
    println!("{what}: fresh seed {fresh}");
    vec![1, 2, fresh]
}

/// The bytes of batch `number`: mostly one fact of some hundred bytes, now and then many.
pub(crate) fn payload(number: u64) -> Vec<u8> {
    let mut random = Random::new(number);
    let len = match random.below(100) {
        0..70 => 1 + random.below(400),
        70..95 => random.below(12_000),
        95..99 => 40_000 + random.below(20_000),
        _ => 300_000 + random.below(748_000),
    };
    let mut bytes = Vec::new();
    while (bytes.len() as u64) < len {
        bytes.extend_from_slice(&random.next().to_le_bytes());
    }
    bytes
}

pub(crate) fn id(number: u64) -> BatchId {
    BatchId::from_number(u128::from(number) * 3 + 1)
}

/// The bytes of the snapshot after batch `at`.
pub(crate) fn state(at: u64) -> Vec<u8> {
    payload(at ^ 0x5a5a_0000).repeat(3)
}

pub(crate) fn options(dir: &Path) -> DurableOptions {
    let mut options = DurableOptions::new(dir);
    options.ballast_bytes = 64 * 1024;
    options
}

pub(crate) fn open(dir: &Path) -> Result<Opened, OpenError> {
    DurableStore::new(options(dir)).open()
}

/// Appends batch `number`, which must be committed.
pub(crate) fn append(journal: &mut dyn Journal, number: u64) {
    let payload = payload(number);
    let draft = Draft { id: id(number), class: Class::NewWork, payload: &payload };
    let outcome = journal.append(&draft, Sequence(number));
    assert!(matches!(outcome, pliant_journal::Append::Committed(_)), "{number}: {outcome:?}");
}

/// A journal with batches 1 to `head`, closed in order.
pub(crate) fn written(dir: &Path, head: u64) {
    let mut journal = open(dir).unwrap().journal;
    journal.campaign().unwrap();
    (1..=head).for_each(|number| append(&mut *journal, number));
    journal.close().unwrap();
}

pub(crate) fn assert_batch(batch: &Batch, number: u64) {
    assert_eq!((batch.sequence, batch.id), (Sequence(number), id(number)));
    assert!(batch.payload == payload(number), "the bytes of batch {number}");
}

/// Asserts that what is there is dense, byte-equal, and not shorter than what was acknowledged.
pub(crate) fn assert_whole(opened: &Opened, acknowledged: u64) {
    let (floor, head) = (opened.floor.0, opened.head.0);
    assert!(head >= acknowledged, "batch {acknowledged} was acknowledged, the head is {head}");
    assert!(head <= acknowledged + 1, "one writer has at most one batch in flight");
    let mut number = floor;
    for batch in opened.journal.replay(opened.floor.next()..=opened.head) {
        number += 1;
        assert_batch(&batch.unwrap(), number);
    }
    assert_eq!(number, head, "dense up to the head");
    if let Some(snapshot) = opened.journal.latest_snapshot().unwrap() {
        let at = snapshot.reference.at.0;
        assert!((floor..=head).contains(&at));
        assert!(snapshot.bytes == state(at), "the bytes of the snapshot at {at}");
    }
    assert!(floor == 0 || opened.snapshot.is_some(), "trimmed without a snapshot");
    assert_eq!(opened.journal.check(), []);
}

/// A directory in memory where there is one: what these tests prove does not depend on how long a
/// sync takes, and there are thousands.
pub(crate) fn tempdir() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap()
}

/// A copy of a directory tree.
pub(crate) fn copy_dir(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let source = entry.unwrap().path();
        let target = to.join(source.file_name().unwrap());
        if source.is_dir() {
            copy_dir(&source, &target);
        } else {
            std::fs::copy(&source, &target).unwrap();
        }
    }
}

/// Every file below a directory.
pub(crate) fn files_below(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_below(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}
