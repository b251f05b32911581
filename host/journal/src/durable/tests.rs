//! The laws on disk, and each guard of opening by itself.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use super::*;
use crate::{
    Append, BatchId, Class, ClusterId, Draft, Journal, Note, OpenError, Opened, Opener, Sequence,
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

fn options(dir: &Path) -> DurableOptions {
    let mut options = DurableOptions::new(dir);
    options.ballast_bytes = 0;
    options
}

fn open(dir: &Path) -> Result<Opened, OpenError> {
    DurableStore::new(options(dir)).open()
}

fn append(journal: &mut dyn Journal, number: u64) -> Append {
    append_as(journal, number, 0)
}

fn append_as(journal: &mut dyn Journal, number: u64, history: u128) -> Append {
    let id = BatchId::from_number(u128::from(number) + history);
    journal.append(&Draft { id, class: Class::NewWork, payload: b"payload" }, Sequence(number))
}

/// A journal with three batches and a snapshot of each of the last two; closed.
fn written() -> (tempfile::TempDir, std::path::PathBuf) {
    written_as(0)
}

/// The same of another history: the batches have other ids.
fn written_as(history: u128) -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal");
    let mut options = options(&path);
    options.cluster = Some(ClusterId([1; 16]));
    let mut journal = DurableStore::new(options).open().unwrap().journal;
    journal.campaign().unwrap();
    for number in 1..=3 {
        let outcome = append_as(&mut *journal, number, history);
        assert!(matches!(outcome, Append::Committed(_)), "{outcome:?}");
    }
    for at in 2..=3 {
        journal.put_snapshot(Sequence(at), b"state").unwrap();
    }
    journal.close().unwrap();
    (dir, path)
}

/// Changes the store below a closed journal.
fn tamper(path: &Path, change: impl FnOnce(&mut sled::Batch)) {
    let engine = engine::Engine::open(&path.join("store"), &mut Vec::new()).unwrap();
    let mut batch = sled::Batch::default();
    change(&mut batch);
    engine.commit(batch).unwrap();
}

#[test]
fn the_journal_of_another_cluster_is_refused() {
    let (_dir, path) = written();
    let mut other = options(&path);
    other.cluster = Some(ClusterId([7; 16]));
    let found = open(&path).unwrap().cluster;
    let error = DurableStore::new(other.clone()).open().unwrap_err();
    assert!(matches!(error, OpenError::WrongCluster { found: f, .. } if f == found), "{error}");
    other.cluster = Some(found);
    DurableStore::new(other).open().unwrap();
}

#[test]
fn a_newer_format_is_named() {
    use crate::format::frame;
    let (_dir, path) = written();
    let mut newer = frame::begin(*b"PLJM", 0, 0);
    newer[4] = 2;
    let newer = frame::seal(newer);
    tamper(&path, |batch| batch.insert(&layout::META_KEY, newer.clone()));
    let error = open(&path).unwrap_err();
    let (found, known) = (2, 1);
    assert!(
        matches!(error, OpenError::NewerFormat { at: crate::Place::Meta, found: f, known: k } if (f, k) == (found, known)),
        "{error}"
    );
}

#[test]
fn a_lost_meta_record_is_damage_and_can_be_salvaged() {
    let (_dir, path) = written();
    tamper(&path, |batch| batch.remove(&layout::META_KEY));
    assert_eq!(damage_of(open(&path)).at, crate::Place::Meta);
    salvage(&options(&path), Sequence(3), SoundBatches::Keep).unwrap();
    let opened = open(&path).unwrap();
    assert_eq!((opened.head, opened.epoch), (Sequence(3), crate::Epoch(1)));
}

fn damage_of(outcome: Result<Opened, OpenError>) -> crate::Damage {
    match outcome {
        Err(OpenError::Damaged(damage)) => damage,
        other => panic!("no damage: {other:?}"),
    }
}

#[test]
fn a_lost_witness_is_damage_and_can_be_salvaged() {
    let (_dir, path) = written();
    std::fs::remove_file(path.join("HEAD")).unwrap();
    assert_eq!(damage_of(open(&path)).at, crate::Place::Head);
    salvage(&options(&path), Sequence(3), SoundBatches::Keep).unwrap();
    let opened = open(&path).unwrap();
    assert_eq!(opened.snapshot.map(|it| it.at), Some(Sequence(3)));
}

#[test]
fn a_first_start_that_was_cut_short_is_begun_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal");
    drop(open(&path).unwrap());
    let witness = head::read(&path.join("HEAD")).unwrap().unwrap();
    let mut file = head::HeadFile::open(&path.join("HEAD"), Some(&witness)).unwrap();
    file.write_synced(&witness.witness, head::Stop::Making).unwrap();
    drop(file);
    std::fs::write(path.join("store/db"), b"half").unwrap();
    let opened = open(&path).unwrap();
    assert!(opened.clean && opened.notes == [Note::Created], "{:?}", opened.notes);
    assert_eq!(opened.cluster, witness.witness.cluster);
}

#[test]
fn half_written_and_broken_accelerators_do_not_matter() {
    let (_dir, path) = written();
    std::fs::write(path.join("store/snap.0000000000000001.generating"), b"half").unwrap();
    let opened = open(&path).unwrap();
    let name = "snap.0000000000000001.generating".to_owned();
    assert_eq!(opened.notes, [Note::RemovedHalfWritten { name }]);
    opened.journal.close().unwrap();

    let names = io::names_in(&path.join("store")).unwrap();
    let name = names.iter().find(|name| name.starts_with("snap.")).unwrap();
    std::fs::write(path.join("store").join(name), vec![9; 100]).unwrap();
    let opened = open(&path).unwrap();
    assert!(matches!(&opened.notes[..], [Note::AcceleratorMoved { .. }]), "{:?}", opened.notes);
    assert_eq!(opened.head, Sequence(3));
}

#[test]
fn files_that_are_never_synced_stop_all_writing() {
    let (_dir, path) = written();
    std::fs::write(path.join("store/blobs/8"), b"blob").unwrap();
    let mut journal = open(&path).unwrap().journal;
    let stopped = journal.campaign().unwrap_err().to_string();
    assert!(stopped.contains("blobs/ must stay empty"), "{stopped}");
    let refused = append(&mut *journal, 4);
    assert!(matches!(refused, Append::Refused(crate::Refusal::ReadOnly(_))), "{refused:?}");
    assert_eq!(journal.replay(Sequence(1)..=Sequence(3)).count(), 3, "but it can be read");
}

#[test]
fn a_snapshot_of_another_history_is_moved_aside() {
    let (_dir, path) = written();
    let (_other_dir, other) = written_as(1 << 100);
    let name = format!("snapshots/{:020}.snapshot", 3);
    let theirs = std::fs::read(other.join(&name)).unwrap();
    std::fs::write(path.join(&name), theirs).unwrap();
    let opened = open(&path).unwrap();
    assert_eq!(opened.snapshot.map(|it| it.at), Some(Sequence(2)), "the older one is used");
    assert!(matches!(&opened.notes[..], [Note::SnapshotDamaged { at: Sequence(3), .. }]));
}

#[test]
fn an_unclean_stop_leaves_a_copy_and_a_clean_one_does_not() {
    let (_dir, path) = written();
    drop(open(&path).unwrap());
    assert!(!path.join("aside").exists());
    for _ in 0..4 {
        let opened = open(&path).unwrap();
        assert!(matches!(&opened.notes[..], [Note::CopiedAside { .. }]), "{:?}", opened.notes);
    }
    assert_eq!(io::names_in(&path.join("aside")).unwrap().len(), crate::limits::ASIDE_KEPT);
}

#[test]
fn an_interrupted_salvage_is_finished_by_the_next_open() {
    let (_dir, path) = written();
    let layout = vessel::Layout(&path);
    io::copy_dir(&layout.store(), &layout.salvaged()).unwrap();
    std::fs::write(path.join("store/db"), b"the damaged one").unwrap();
    assert_eq!(open(&path).unwrap().head, Sequence(3));
    assert!(path.join("aside/before-salvage-0/db").is_file());
}

#[test]
fn a_place_that_cannot_be_a_directory_is_an_error_with_its_path() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    std::fs::write(&path, b"").unwrap();
    let error = open(&path.join("journal")).unwrap_err();
    let words = reading::in_words(&error);
    assert!(words.contains(&path.display().to_string()), "{words}");
}

#[test]
fn what_an_interrupted_batch_or_trim_left_is_cleared() {
    let (_dir, path) = written();
    // A batch of which the later chunks are there, and a floor below which batches are left.
    tamper(&path, |batch| {
        batch.insert(&layout::UNFINISHED_KEY, parts::encode(Sequence(4)));
        batch.insert(&layout::key(Sequence(4), 14), vec![1; 4_000]);
        batch.insert(&layout::key(Sequence(4), 15), vec![1; 100]);
    });
    assert!(inspect(&options(&path)).unwrap().is_sound());
    let mut journal = open(&path).unwrap().journal;
    journal.campaign().unwrap();
    assert!(matches!(append(&mut *journal, 4), Append::Committed(_)));
    assert_eq!(journal.check(), []);
    let hash_of_2 = journal.replay(Sequence(2)..=Sequence(2)).next().unwrap().unwrap().hash;
    journal.close().unwrap();

    let trimmed = crate::format::meta::Meta {
        epoch: crate::Epoch(2),
        floor: Sequence(2),
        floor_hash: hash_of_2,
        ..crate::format::meta::Meta::new(ClusterId([1; 16]))
    };
    tamper(&path, |batch| batch.insert(&layout::META_KEY, trimmed.encode()));
    let opened = open(&path).unwrap();
    assert_eq!((opened.floor, opened.head), (Sequence(2), Sequence(4)));
    drop(opened);
    let engine = engine::Engine::open(&path.join("store"), &mut Vec::new()).unwrap();
    assert_eq!(walk::first_sequence(&engine).unwrap(), Some(Sequence(3)));
    assert!(parts::unfinished(&engine).unwrap().is_none());
}

#[test]
fn a_refused_opening_leaves_the_store_as_it_was() {
    let (_dir, path) = written();
    tamper(&path, |batch| batch.remove(&layout::key(Sequence(2), 0)));
    let content = || -> Vec<_> {
        let names = io::names_in(&path.join("store")).unwrap().into_iter();
        let files = names.filter(|name| name != "blobs");
        files.map(|name| (std::fs::read(path.join("store").join(&name)).unwrap(), name)).collect()
    };
    let before = content();
    for _ in 0..2 {
        assert_eq!(damage_of(open(&path)).at, crate::Place::Batch(Sequence(2)));
        assert!(before == content(), "byte for byte");
    }
}

#[test]
fn an_opening_that_did_not_finish_is_taken_back() {
    let (_dir, path) = written();
    let layout = vessel::Layout(&path);
    io::copy_dir(&layout.store(), &layout.before()).unwrap();
    std::fs::write(path.join("store/db"), b"half opened").unwrap();
    assert_eq!(open(&path).unwrap().head, Sequence(3));
    assert!(!layout.before().exists() && !layout.copying().exists());
}
