//! A really full disk: a tmpfs of a few megabytes. Needs the right to mount; says so if it has not.

use std::{
    fs::File,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use pliant_journal::{
    Append, CampaignError, Class, CloseError, Draft, Journal, Note, Poison, Refusal, ReplayError,
    Resolution, Sequence,
    store::{self, Edit, MapError, MapOptions},
};

use crate::rig;

struct Tmpfs(PathBuf);

impl Tmpfs {
    fn mount(at: PathBuf, size: &str) -> Option<Self> {
        std::fs::create_dir(&at).unwrap();
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(&at)
            .stderr(Stdio::null())
            .status();
        mount.is_ok_and(|status| status.success()).then_some(Self(at))
    }

    /// Fills all but this many bytes; the result is the file to remove.
    fn fill_all_but(&self, keep_bytes: u64) -> PathBuf {
        let space = pliant_journal::durable::SpaceProbe::space(
            &pliant_journal::durable::SystemSpace,
            &self.0,
        )
        .unwrap();
        let path = self.0.join("filler");
        let len = usize::try_from(space.free_bytes - keep_bytes).unwrap();
        File::create(&path).unwrap().write_all(&vec![1; len]).unwrap();
        path
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

const BALLAST_BYTES: u64 = 2 * 1024 * 1024;

/// What a journal gets that is told nothing: more than an eighth of a tiny disk.
const DEFAULT_BALLAST_BYTES: u64 = 16 * 1024 * 1024;

fn open(dir: &Path) -> pliant_journal::Opened {
    open_with(dir, BALLAST_BYTES)
}

fn open_with(dir: &Path, ballast_bytes: u64) -> pliant_journal::Opened {
    let mut options = rig::options(dir);
    options.ballast_bytes = ballast_bytes;
    pliant_journal::Opener::open(&pliant_journal::durable::DurableStore::new(options)).unwrap()
}

fn append(journal: &mut dyn Journal, number: u64, class: Class) -> Append {
    let payload = rig::payload(number);
    journal.append(&Draft { id: rig::id(number), class, payload: &payload }, Sequence(number))
}

/// Appends essential batches until one is not committed; gives its number and outcome.
fn append_until_full(journal: &mut dyn Journal, first: u64) -> (u64, Append) {
    for number in first.. {
        match append(journal, number, Class::Essential) {
            Append::Committed(_) => {}
            other => return (number, other),
        }
    }
    unreachable!("the disk has an end");
}

#[test]
fn a_full_disk_stops_the_journal_and_the_ballast_lets_it_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let Some(disk) = Tmpfs::mount(dir.path().join("disk"), "24m") else {
        return println!("skipped: no right to mount a tmpfs");
    };
    let path = disk.0.join("journal");
    let mut journal = open(&path).journal;
    journal.campaign().unwrap();
    (1..=5).for_each(|number| rig::append(&mut *journal, number));
    assert_eq!(path.join("BALLAST").metadata().unwrap().len(), BALLAST_BYTES);
    let filler = disk.fill_all_but(1024 * 1024);

    let refused = append(&mut *journal, 6, Class::NewWork);
    assert!(matches!(refused, Append::Refused(Refusal::NoSpace { .. })), "{refused:?}");
    let (number, outcome) = append_until_full(&mut *journal, 6);
    assert!(number > 6, "essential work goes on below 5 %");
    assert_eq!(outcome, Append::Unknown(Poison::NoSpace));
    let again = append(&mut *journal, number, Class::Essential);
    assert_eq!(again, Append::Refused(Refusal::ReadOnly(Poison::NoSpace)));
    let id = rig::id(number);
    let early = journal.resolve(Sequence(number), id);
    assert!(matches!(early, Err(ReplayError::ReopenFirst(Poison::NoSpace))), "{early:?}");
    assert!(matches!(journal.campaign(), Err(CampaignError::Stopped(Poison::NoSpace))));
    assert!(matches!(journal.close(), Err(CloseError::Poisoned(Poison::NoSpace))));

    let opened = open(&path);
    assert!(!opened.clean);
    let released = Note::BallastReleased { len_bytes: BALLAST_BYTES };
    assert!(opened.notes.contains(&released), "{:?}", opened.notes);
    rig::assert_whole(&opened, number - 1);
    let mut journal = opened.journal;
    let next = match journal.resolve(Sequence(number), id).unwrap() {
        Resolution::Present => number + 1,
        Resolution::Absent => number,
        Resolution::Other => panic!("nobody else writes here"),
    };
    journal.campaign().unwrap();
    let stop_order = append(&mut *journal, next, Class::Essential);
    assert!(matches!(stop_order, Append::Committed(_)), "{stop_order:?}");

    std::fs::remove_file(filler).unwrap();
    let new_work = append(&mut *journal, next + 1, Class::NewWork);
    assert!(matches!(new_work, Append::Committed(_)), "{new_work:?}");
    journal.close().unwrap();
    rig::assert_whole(&open(&path), next + 1);
}

#[test]
fn a_tiny_disk_that_is_full_has_room_for_a_few_stops() {
    for size in ["40m", "60m"] {
        let dir = tempfile::tempdir().unwrap();
        let Some(disk) = Tmpfs::mount(dir.path().join("disk"), size) else {
            return println!("skipped: no right to mount a tmpfs");
        };
        let path = disk.0.join("journal");
        let mut journal = open_with(&path, DEFAULT_BALLAST_BYTES).journal;
        journal.campaign().unwrap();
        (1..=5).for_each(|number| rig::append(&mut *journal, number));
        let _filler = disk.fill_all_but(0);
        let (number, outcome) = append_until_full(&mut *journal, 6);
        assert_eq!(outcome, Append::Unknown(Poison::NoSpace), "{size}");
        let _poisoned = journal.close();

        let opened = open_with(&path, DEFAULT_BALLAST_BYTES);
        let mut journal = opened.journal;
        let present = journal.resolve(Sequence(number), rig::id(number)).unwrap();
        let next = if present == Resolution::Present { number + 1 } else { number };
        journal.campaign().unwrap();
        for number in next..next + 20 {
            let stop = append(&mut *journal, number, Class::Essential);
            assert!(matches!(stop, Append::Committed(_)), "{size}: {stop:?}");
        }
        journal.close().unwrap();
    }
}

#[test]
fn a_full_disk_stops_the_map_and_keeps_what_was_committed() {
    let dir = tempfile::tempdir().unwrap();
    let Some(disk) = Tmpfs::mount(dir.path().join("disk"), "16m") else {
        return println!("skipped: no right to mount a tmpfs");
    };
    let options = MapOptions::new(disk.0.join("map"));
    let mut map = store::open(&options).unwrap().map;
    let filler = disk.fill_all_but(2 * 1024 * 1024);
    let value = |number: u64| vec![u8::try_from(number % 251).unwrap(); 60_000];
    let mut number = 0_u64;
    let error = loop {
        let (key, value) = (number.to_be_bytes(), value(number));
        match map.commit(&[Edit::Put { key: &key, value: &value }]) {
            Ok(()) => number += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(error, MapError::Stopped(Poison::NoSpace));
    assert!(matches!(map.close(), Err(CloseError::Poisoned(Poison::NoSpace))));
    std::fs::remove_file(filler).unwrap();
    let map = store::open(&options).unwrap().map;
    assert!(number > 0 && (number..=number + 1).contains(&(map.len() as u64)));
    for number in 0..number {
        assert!(map.get(&number.to_be_bytes()) == Some(&value(number)));
    }
}
