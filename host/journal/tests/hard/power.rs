//! Power cuts at random points of real runs: nothing acknowledged is lost, and the model can fail.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    process::Command,
};

use pliant_journal::store::{self, MapOptions};

use crate::{
    child::{self, Role},
    model::{Cut, Disk, Op, parse},
    rig::{self, Random},
};

const CHILDREN: u64 = 8;
const CUTS_PER_CHILD: u64 = 8;
const MOST_ACKS: u64 = 60;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Strict,
    Partial,
}

/// Builds the recorder.
fn recorder(dir: &Path) -> PathBuf {
    let library = dir.join("powerloss.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hard/powerloss.c");
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-Wall", "-o"])
        .args([&library, &source])
        .arg("-ldl")
        .arg("-lpthread")
        .status()
        .expect("the power-loss model needs a C compiler named cc");
    assert!(built.success());
    library
}

/// A recorded run of a child from a durable directory.
struct Run {
    disk: Disk,
    ops: Vec<Op>,
    acks_path: PathBuf,
}

impl Run {
    fn record(role: Role, root: &Path, library: &Path, random: &mut Random) -> Self {
        let log = root.with_extension("log");
        let _ = std::fs::remove_file(&log);
        let disk = Disk::holding(root);
        let mut running = child::start(role, root, Some((library, &log)));
        for _ in 0..1 + random.below(MOST_ACKS) {
            running.next_ack().expect("it goes on until it is killed");
        }
        running.kill();
        let ops = parse(&std::fs::read(&log).unwrap());
        assert!(ops.iter().any(|op| matches!(op, Op::Sync { .. })), "the recorder saw nothing");
        if role != Role::PlainSled {
            assert_bounded(&ops, &root.join(child::ACKS));
        }
        Self { disk, ops, acks_path: root.join(child::ACKS) }
    }

    /// The disk and the last acknowledged number after this many operations.
    fn at(&self, count: usize) -> (Disk, Option<u64>) {
        let (mut disk, mut acknowledged, mut acks_fd) = (self.disk.clone(), None, -1);
        for op in &self.ops[..count] {
            match op {
                Op::Open { fd, path, .. } if *path == self.acks_path => acks_fd = *fd,
                Op::Write { fd, bytes, .. } if *fd == acks_fd => {
                    let number = std::str::from_utf8(bytes).unwrap().trim().parse().unwrap();
                    acknowledged = Some(number);
                }
                _ => {}
            }
            disk.run(op);
        }
        (disk, acknowledged)
    }
}

/// sled reuses a segment when what replaced it is a whole segment behind, synced or not. So after
/// opening never more than a segment may be written between two syncs.
fn assert_bounded(ops: &[Op], acks: &Path) {
    const SEGMENT_BYTES: usize = 512 * 1024;
    let (mut paths, mut unsynced, mut opened) = (HashMap::new(), 0, false);
    for op in ops {
        let path = |fd: &i32| paths.get(fd).cloned().unwrap_or_else(PathBuf::new);
        match op {
            Op::Open { fd, path, .. } => drop(paths.insert(*fd, path.clone())),
            Op::Write { fd, .. } if path(fd) == acks => opened = true,
            Op::Write { fd, bytes, .. } if path(fd).ends_with("store/db") => {
                unsynced += bytes.len();
                assert!(!opened || unsynced <= SEGMENT_BYTES, "{unsynced} bytes before a sync");
            }
            Op::Sync { fd } if path(fd).ends_with("store/db") => unsynced = 0,
            _ => {}
        }
    }
}

/// Runs children and cuts the power at random points of their logs; `judge` gets each image with
/// the last number that was acknowledged before the cut. The next child goes on from an image.
fn cut_often(role: Role, mode: Mode, seed: u64, judge: impl Fn(&Path, u64)) -> u64 {
    let mut random = Random::new(seed);
    let dir = rig::tempdir();
    let library = recorder(dir.path());
    let (root, image) = (dir.path().join("root"), dir.path().join("image"));
    std::fs::create_dir(&root).unwrap();
    let (mut base, mut cuts) = (0, 0);
    for _ in 0..CHILDREN {
        let run = Run::record(role, &root, &library, &mut random);
        let mut going_on = None;
        for _ in 0..CUTS_PER_CHILD {
            let point = random.index(run.ops.len() + 1);
            let (disk, acknowledged) = run.at(point);
            let how = match mode {
                Mode::Strict => Cut::Strict,
                Mode::Partial => Cut::Partial(&mut random),
            };
            let _ = std::fs::remove_dir_all(&image);
            disk.cut(how, &image);
            let acknowledged = acknowledged.unwrap_or(base);
            let next = dir.path().join("next");
            let _ = std::fs::remove_dir_all(&next);
            rig::copy_dir(&image, &next);
            println!("{role:?} {mode:?} seed {seed}: cut {point} of {}", run.ops.len());
            judge(&image, acknowledged);
            going_on = Some(acknowledged);
            cuts += 1;
        }
        base = going_on.unwrap();
        std::fs::remove_dir_all(&root).unwrap();
        std::fs::rename(dir.path().join("next"), &root).unwrap();
    }
    cuts
}

fn judge_journal(image: &Path, acknowledged: u64) {
    let dir = image.join("journal");
    let opened = rig::open(&dir).unwrap();
    rig::assert_whole(&opened, acknowledged);
}

fn judge_map(image: &Path, acknowledged: u64) {
    let map = store::open(&MapOptions::new(image.join("map"))).unwrap().map;
    let found =
        map.get(child::COUNTER).map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().unwrap()));
    assert!((acknowledged..=acknowledged + 1).contains(&found), "{acknowledged}: {found}");
    // The last 20 commits are all visible, whole.
    for number in (1..=found).rev().take(20) {
        let mut value = rig::payload(number);
        value.truncate(30_000);
        assert!(map.get(&child::key(number)) == Some(&value), "commit {number}");
    }
}

fn survives(role: Role, mode: Mode, judge: fn(&Path, u64)) {
    let seed = rig::seeds("power")[2];
    let cuts = cut_often(role, mode, seed, judge);
    assert!(cuts >= 30, "{cuts} cuts");
}

#[test]
fn the_journal_survives_strict_power_cuts() {
    survives(Role::Journal, Mode::Strict, judge_journal);
}

#[test]
fn the_journal_survives_power_cuts_with_partial_write_back() {
    survives(Role::Journal, Mode::Partial, judge_journal);
}

#[test]
fn the_map_survives_strict_power_cuts() {
    survives(Role::Map, Mode::Strict, judge_map);
}

#[test]
fn the_map_survives_power_cuts_with_partial_write_back() {
    survives(Role::Map, Mode::Partial, judge_map);
}

/// The model can fail: what plain sled acknowledged after `flush()` is gone.
#[test]
fn plain_sled_loses_what_it_acknowledged() {
    let mut random = Random::new(3);
    let dir = rig::tempdir();
    let library = recorder(dir.path());
    let (root, image) = (dir.path().join("root"), dir.path().join("image"));
    std::fs::create_dir(&root).unwrap();
    let run = Run::record(Role::PlainSled, &root, &library, &mut random);
    let (disk, acknowledged) = run.at(run.ops.len());
    disk.cut(Cut::Strict, &image);
    let db = sled::Config::new().path(image.join("plain")).flush_every_ms(None).open().unwrap();
    let acknowledged = acknowledged.unwrap();
    println!("{acknowledged} were acknowledged, {} are left", db.len());
    assert!((db.len() as u64) < acknowledged);
}
