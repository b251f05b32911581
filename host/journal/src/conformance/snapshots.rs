//! Laws of snapshots and trim.

use super::{
    Law, Subject,
    support::{assert_holds, commit, lead, open, read},
};
use crate::{Refusal, ReplayError, Sequence, SnapshotError, TrimError};

pub(super) const LAWS: &[Law] = &[
    ("a snapshot comes back byte for byte", snapshot_comes_back),
    ("a snapshot is of a committed batch and newer than the last", snapshot_is_judged),
    ("another thread puts a snapshot while this one appends", snapshot_beside_appends),
    ("a trim needs two snapshots at or above it", trim_is_judged),
    ("a trim never changes the replay from the snapshot", trim_keeps_replay),
    ("many rounds of snapshot and trim keep the journal small", trim_keeps_small),
];

fn bytes_of(at: u64) -> Vec<u8> {
    format!("state after {at}").into_bytes().repeat(1_000)
}

fn snapshot(journal: &mut dyn crate::Journal, at: u64) {
    let reference = journal.put_snapshot(Sequence(at), &bytes_of(at)).expect("sound");
    assert_eq!((reference.at, reference.len_bytes), (Sequence(at), bytes_of(at).len() as u64));
}

fn snapshot_comes_back(subject: &dyn Subject) {
    let mut journal = lead(subject);
    assert!(journal.latest_snapshot().expect("sound").is_none());
    commit(&mut *journal, 1..=5);
    for at in [2, 3, 5] {
        snapshot(&mut *journal, at);
        let latest = journal.latest_snapshot().expect("sound").expect("there is one");
        assert_eq!(latest.reference.at, Sequence(at));
        assert!(latest.bytes == bytes_of(at));
        assert_eq!(latest.reference.chain, read(&*journal, at, at)[0].hash);
    }
    let kept = |journal: &dyn crate::Journal| -> Vec<u64> {
        journal.snapshots().list().expect("sound").iter().map(|it| it.at.0).collect()
    };
    assert_eq!(kept(&*journal), [3, 5], "two are kept");
    drop(journal);
    let opened = open(subject);
    assert_eq!(opened.snapshot.map(|it| it.at), Some(Sequence(5)));
    assert_eq!(kept(&*opened.journal), [3, 5]);
}

fn snapshot_is_judged(subject: &dyn Subject) {
    let mut journal = lead(subject);
    commit(&mut *journal, 1..=3);
    for at in [0, 4] {
        let outcome = journal.put_snapshot(Sequence(at), b"state");
        assert!(matches!(outcome, Err(SnapshotError::OutOfRange { .. })), "{outcome:?}");
    }
    snapshot(&mut *journal, 2);
    for at in [1, 2] {
        let outcome = journal.put_snapshot(Sequence(at), b"state");
        let newest = Sequence(2);
        assert!(matches!(outcome, Err(SnapshotError::NotNewer { newest: n }) if n == newest));
    }
    let latest = journal.latest_snapshot().expect("sound").expect("there is one");
    assert!(latest.bytes == bytes_of(2), "a refused snapshot leaves the good one");
}

fn snapshot_beside_appends(subject: &dyn Subject) {
    let mut journal = lead(subject);
    commit(&mut *journal, 1..=4);
    let snapshots = journal.snapshots();
    std::thread::scope(|scope| {
        let other = scope
            .spawn(move || (1..=4).all(|at| snapshots.put(Sequence(at), &bytes_of(at)).is_ok()));
        commit(&mut *journal, 5..=30);
        assert!(other.join().expect("no panic"));
    });
    assert_holds(&*journal, 1..=30);
    drop(journal);
    let opened = open(subject);
    assert_eq!(opened.snapshot.map(|it| it.at), Some(Sequence(4)));
    assert_holds(&*opened.journal, 1..=30);
}

fn trim_is_judged(subject: &dyn Subject) {
    let mut journal = lead(subject);
    commit(&mut *journal, 1..=6);
    let mut trim = |snapshots: &[u64], upto: u64| {
        snapshots.iter().for_each(|at| snapshot(&mut *journal, *at));
        journal.trim(Sequence(upto))
    };
    assert!(matches!(trim(&[], 1), Err(TrimError::NoSnapshot { found: 0, .. })));
    assert!(matches!(trim(&[3], 1), Err(TrimError::NoSnapshot { found: 1, .. })));
    assert!(matches!(trim(&[5], 4), Err(TrimError::NoSnapshot { found: 1, .. })));
    assert!(matches!(trim(&[], 6), Err(TrimError::NoSnapshot { found: 0, .. })));
    assert_eq!(trim(&[], 0).expect("nothing to do").removed, 0);
    journal.resign();
    let outcome = journal.trim(Sequence(3));
    assert!(matches!(outcome, Err(TrimError::Refused(Refusal::Fenced { .. }))), "{outcome:?}");
    assert_holds(&*journal, 1..=6);
}

fn trim_keeps_replay(subject: &dyn Subject) {
    let mut journal = lead(subject);
    commit(&mut *journal, 1..=10);
    snapshot(&mut *journal, 6);
    snapshot(&mut *journal, 8);
    let before = read(&*journal, 7, 10);
    for (upto, removed) in [(4, 4), (6, 2), (6, 0), (2, 0)] {
        let trimmed = journal.trim(Sequence(upto)).expect("two snapshots are above");
        assert_eq!((trimmed.floor.0, trimmed.removed), (upto.max(trimmed.floor.0), removed));
    }
    assert!(before == read(&*journal, 7, 10));
    let below = journal.replay(Sequence(6)..=Sequence(10)).next();
    assert!(matches!(below, Some(Err(ReplayError::Trimmed { .. }))), "{below:?}");
    assert_holds(&*journal, 7..=10);
    drop(journal);
    let opened = open(subject);
    assert_eq!((opened.floor, opened.head), (Sequence(6), Sequence(10)));
    assert_eq!(opened.snapshot.map(|it| it.at), Some(Sequence(8)));
    assert!(before == read(&*opened.journal, 7, 10));
    drop(opened);
    let mut journal = lead(subject);
    commit(&mut *journal, 11..=12);
    assert_holds(&*journal, 7..=12);
}

fn trim_keeps_small(subject: &dyn Subject) {
    const ROUND: u64 = 300;
    let mut journal = lead(subject);
    for round in 1..=4 {
        let (from, to) = (ROUND * (round - 1) + 1, ROUND * round);
        for number in from..=to {
            let draft = crate::Draft {
                id: super::support::id(number),
                class: crate::Class::NewWork,
                payload: b"small",
            };
            let outcome = journal.append(&draft, Sequence(number));
            assert!(matches!(outcome, crate::Append::Committed(_)), "{outcome:?}");
        }
        snapshot(&mut *journal, to);
        if round > 1 {
            let trimmed = journal.trim(Sequence(from - 1)).expect("two snapshots are above");
            assert_eq!(trimmed.removed, ROUND, "more than one step of a trim");
        }
    }
    drop(journal);
    let opened = open(subject);
    assert_eq!((opened.floor.0, opened.head.0), (ROUND * 3, ROUND * 4));
    assert_eq!(read(&*opened.journal, ROUND * 3 + 1, ROUND * 4).len() as u64, ROUND);
    assert!(opened.journal.check().is_empty());
}
