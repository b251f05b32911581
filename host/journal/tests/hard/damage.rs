//! Damaged files: opening refuses with words, or gives exactly what was acknowledged. Never
//! silently wrong, never silently shorter; and the way out works.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use pliant_journal::{
    OpenError, Place, Sequence,
    durable::{SalvageError, SoundBatches, dump, inspect, salvage},
};

use crate::rig::{self, Random};

const HEAD: u64 = 60;
const ROUNDS: usize = 160;

/// A closed journal with trimmed batches and two snapshots.
fn sound(dir: &Path) -> PathBuf {
    let path = dir.join("sound");
    rig::written(&path, HEAD);
    let mut journal = rig::open(&path).unwrap().journal;
    journal.campaign().unwrap();
    for at in [20, 40] {
        journal.put_snapshot(Sequence(at), &rig::state(at)).unwrap();
    }
    journal.trim(Sequence(15)).unwrap();
    journal.close().unwrap();
    path
}

/// Damages one file in one of the ways that disks know; says how.
fn damage(file: &Path, random: &mut Random) -> String {
    let mut bytes = std::fs::read(file).unwrap();
    let at = random.index(bytes.len());
    let name = file.file_name().unwrap().to_string_lossy().into_owned();
    let how = match random.below(4) {
        0 => {
            bytes[at] ^= 1 << random.below(8);
            "one bit flipped"
        }
        1 => {
            bytes.truncate(at);
            "cut"
        }
        2 => {
            let end = bytes.len().min(at + random.index(8_192));
            bytes[at..end].fill(0);
            "zeroed"
        }
        _ => {
            let end = bytes.len().min(at + random.index(600));
            bytes[at..end].iter_mut().for_each(|byte| *byte = random.next() as u8);
            "overwritten"
        }
    };
    std::fs::write(file, bytes).unwrap();
    format!("{name}: {how} at {at}")
}

#[test]
fn damaged_files_are_refused_or_harmless() {
    let dir = rig::tempdir();
    let sound = sound(dir.path());
    let mut random = Random::new(rig::seeds("damage")[2]);
    let mut outcomes: BTreeMap<&str, u32> = BTreeMap::new();
    for round in 0..ROUNDS {
        let path = dir.path().join(format!("round-{round}"));
        rig::copy_dir(&sound, &path);
        let mut files = rig::files_below(&path);
        files.retain(|file| {
            let name = file.file_name().unwrap();
            name != "LOCK" && name != "BALLAST" && file.metadata().unwrap().len() > 0
        });
        let how = damage(&files[random.index(files.len())], &mut random);
        println!("{how}");
        let outcome = match rig::open(&path) {
            Ok(opened) => {
                assert_eq!(opened.head, Sequence(HEAD), "{how}");
                rig::assert_whole(&opened, HEAD);
                "harmless"
            }
            Err(OpenError::Damaged(_)) => "damaged",
            Err(OpenError::Regressed { witness, found }) => {
                assert!(witness > found, "{how}");
                "regressed"
            }
            Err(OpenError::Engine(error)) => {
                println!("  {error}");
                "engine"
            }
            Err(other) => panic!("{how}: {other}"),
        };
        *outcomes.entry(outcome).or_default() += 1;
        std::fs::remove_dir_all(&path).unwrap();
    }
    println!("{outcomes:?}");
    assert!(outcomes["harmless"] < ROUNDS as u32 && outcomes.len() > 1, "{outcomes:?}");
}

/// Changes the store below the journal, as a bug of the engine would.
fn tamper(path: &Path, change: impl FnOnce(&sled::Db)) {
    let db = sled::Config::new().path(path.join("store")).flush_every_ms(None).open().unwrap();
    change(&db);
    db.flush().unwrap();
}

fn key(sequence: u64, chunk: u16) -> Vec<u8> {
    [&sequence.to_be_bytes()[..], &chunk.to_be_bytes()[..]].concat()
}

fn flip(db: &sled::Db, sequence: u64) {
    let mut chunk = db.get(key(sequence, 0)).unwrap().unwrap().to_vec();
    chunk[100] ^= 1;
    db.insert(key(sequence, 0), chunk).unwrap();
}

fn swap(db: &sled::Db, a: u64, b: u64) {
    let (first, second) = (db.get(key(a, 0)).unwrap(), db.get(key(b, 0)).unwrap());
    db.insert(key(a, 0), second.unwrap()).unwrap();
    db.insert(key(b, 0), first.unwrap()).unwrap();
}

/// A named way to change the store.
type Tampering = (&'static str, fn(&sled::Db));

const TAMPERINGS: [Tampering; 5] = [
    ("a flipped byte", |db| flip(db, 30)),
    ("a missing batch", |db| {
        db.range(key(30, 0)..key(31, 0)).keys().for_each(|it| drop(db.remove(it.unwrap())));
    }),
    ("swapped batches", |db| swap(db, 30, 31)),
    ("a surplus chunk", |db| drop(db.insert(key(30, 900), b"surplus").unwrap())),
    ("a batch twice", |db| {
        drop(db.insert(key(30, 0), db.get(key(29, 0)).unwrap().unwrap()).unwrap());
    }),
];

#[test]
fn what_the_engine_would_not_notice_is_named_and_salvaged() {
    let dir = rig::tempdir();
    let sound = sound(dir.path());
    for (name, tampering) in TAMPERINGS {
        let path = dir.path().join(name);
        rig::copy_dir(&sound, &path);
        tamper(&path, tampering);
        let error = rig::open(&path).unwrap_err();
        let OpenError::Damaged(damage) = &error else { panic!("{name}: {error}") };
        assert_eq!(damage.at, Place::Batch(Sequence(30)), "{name}: {error}");
        assert!(error.to_string().contains("salvage --to"), "{error}");

        let options = rig::options(&path);
        let found = inspect(&options).unwrap();
        assert!(!found.is_sound());
        assert_eq!((found.floor.0, found.head.0, found.batches), (15, 29, 14), "{name}");
        assert!(rig::open(&path).is_err(), "looking changes nothing");

        let too_far = salvage(&options, Sequence(30), SoundBatches::Keep).unwrap_err();
        let reachable = Sequence(29);
        assert!(
            matches!(&too_far, SalvageError::Unreachable { reachable: r, .. } if *r == reachable),
            "{name}: {too_far}"
        );
        let kept = salvage(&options, damage.salvage_to().unwrap(), SoundBatches::Keep).unwrap();
        assert_eq!((kept.head.0, kept.floor.0), (29, 15));
        assert_eq!(kept.abandoned, [Sequence(40)], "a snapshot of what is given up");
        assert!(kept.moved_to.unwrap().is_dir(), "the old store is kept");
        assert_goes_on(&path, 29);
    }
}

/// The journal opens with this head and takes the next batch, in a higher epoch than ever.
fn assert_goes_on(path: &Path, head: u64) {
    let opened = rig::open(path).unwrap();
    rig::assert_whole(&opened, head);
    assert_eq!((opened.head.0, opened.epoch.0), (head, 2));
    let mut journal = opened.journal;
    assert_eq!(journal.campaign().unwrap().0, 3);
    rig::append(&mut *journal, head + 1);
    journal.close().unwrap();
    assert!(inspect(&rig::options(path)).unwrap().is_sound());
}

#[test]
fn an_older_store_is_noticed_and_the_loss_can_be_accepted() {
    let dir = rig::tempdir();
    let path = dir.path().join("journal");
    rig::written(&path, 10);
    let older = dir.path().join("older");
    rig::copy_dir(&path.join("store"), &older);
    let mut journal = rig::open(&path).unwrap().journal;
    journal.campaign().unwrap();
    rig::append(&mut *journal, 11);
    journal.close().unwrap();
    std::fs::remove_dir_all(path.join("store")).unwrap();
    std::fs::rename(&older, path.join("store")).unwrap();

    let error = rig::open(&path).unwrap_err();
    let (eleven, ten) = (Sequence(11), Sequence(10));
    assert!(
        matches!(error, OpenError::Regressed { witness, found } if (witness, found) == (eleven, ten)),
        "{error}"
    );
    salvage(&rig::options(&path), ten, SoundBatches::Keep).unwrap();
    assert_goes_on(&path, 10);
}

#[test]
fn sound_batches_are_given_up_only_when_that_is_said() {
    let dir = rig::tempdir();
    let path = sound(dir.path());
    let options = rig::options(&path);
    for to in [0, 15, 59] {
        let refused = salvage(&options, Sequence(to), SoundBatches::Keep).unwrap_err();
        let SalvageError::Sound { reachable, .. } = refused else { panic!("{to}: {refused}") };
        assert_eq!(reachable, Sequence(HEAD));
    }
    let opened = rig::open(&path).unwrap();
    rig::assert_whole(&opened, HEAD);
    opened.journal.close().unwrap();
    let kept = salvage(&options, Sequence(59), SoundBatches::GiveUp).unwrap();
    assert_eq!(kept.head, Sequence(59));
}

#[test]
fn a_snapshot_is_enough_when_no_batch_can_be_read() {
    let dir = rig::tempdir();
    let path = sound(dir.path());
    std::fs::write(path.join("store/db"), vec![7; 1 << 20]).unwrap();
    assert!(rig::open(&path).is_err());
    let options = rig::options(&path);
    let error = salvage(&options, Sequence(41), SoundBatches::Keep).unwrap_err();
    assert!(matches!(error, SalvageError::Unreachable { .. }), "{error}");
    let kept = salvage(&options, Sequence(40), SoundBatches::Keep).unwrap();
    assert_eq!((kept.head.0, kept.floor.0), (40, 40));
    assert_goes_on(&path, 40);
}

#[test]
fn a_sound_journal_is_dumped_without_a_change() {
    let dir = rig::tempdir();
    let path = sound(dir.path());
    let options = rig::options(&path);
    let content = |path: &Path| -> Vec<_> {
        let files = rig::files_below(path);
        files.into_iter().map(|file| (std::fs::read(&file).unwrap(), file)).collect()
    };
    let lock_says_who = |path: &Path| std::fs::remove_file(path.join("LOCK"));
    lock_says_who(&path).unwrap();
    let before = content(&path);
    let mut numbers = Vec::new();
    dump(&options, Sequence(10)..=Sequence(33), |batch| {
        rig::assert_batch(batch, batch.sequence.0);
        numbers.push(batch.sequence.0);
    })
    .unwrap();
    assert!(numbers.into_iter().eq(16..=33), "from the floor on");
    let found = inspect(&options).unwrap();
    assert!(found.is_sound() && found.witness == Some(Sequence(HEAD)));
    let at: Vec<_> = found.snapshots.iter().map(|it| it.at.0).collect();
    assert_eq!(at, [20, 40]);
    lock_says_who(&path).unwrap();
    assert!(before == content(&path), "byte for byte");
    let nothing = rig::options(&dir.path().join("nothing"));
    assert!(matches!(inspect(&nothing), Err(OpenError::Damaged(_))));
    assert!(!nothing.dir.exists(), "looking for a journal makes none");
}
