//! Laws of replay and tail.

use std::time::Duration;

use super::{
    Law, Subject,
    support::{commit, lead, open, payload, read},
};
use crate::{ReplayError, Sequence};

pub(super) const LAWS: &[Law] = &[
    ("replaying twice gives the same bytes", replay_is_stable),
    ("replay gives any range, dense and in order", replay_ranges),
    ("replay beyond the head says so after the last batch", replay_beyond_head),
    ("a tail gives what is there and then what comes", tail_follows),
    ("a tail wakes when a batch is committed in another thread", tail_wakes),
    ("readers of a closed journal are told so", closed_is_told),
];

/// Ample for any machine; nothing waits that long unless a law is broken.
const AMPLE: Duration = Duration::from_secs(60);

fn replay_is_stable(subject: &dyn Subject) {
    let mut journal = lead(subject);
    commit(&mut *journal, 1..=12);
    let first = read(&*journal, 1, 12);
    assert!(first == read(&*journal, 1, 12));
    drop(journal);
    assert!(first == read(&*open(subject).journal, 1, 12), "also by the next process");
}

fn replay_ranges(subject: &dyn Subject) {
    let mut journal = lead(subject);
    commit(&mut *journal, 1..=9);
    let all = read(&*journal, 1, 9);
    for from in 1..=9 {
        for to in from..=9 {
            let (a, b) = (from as usize - 1, to as usize);
            assert!(read(&*journal, from, to) == all[a..b], "{from} to {to}");
        }
    }
    assert_eq!(journal.replay(Sequence(5)..=Sequence(4)).count(), 0);
}

fn replay_beyond_head(subject: &dyn Subject) {
    let mut journal = lead(subject);
    commit(&mut *journal, 1..=2);
    let mut replay = journal.replay(Sequence(2)..=Sequence(5));
    assert_eq!(replay.next().expect("one").expect("sound").sequence, Sequence(2));
    let end = replay.next().expect("words").expect_err("no batch");
    let head = Sequence(2);
    assert!(matches!(end, ReplayError::BeyondHead { head: found, .. } if found == head));
    assert!(replay.next().is_none(), "nothing after an error");
}

fn tail_follows(subject: &dyn Subject) {
    let mut journal = lead(subject);
    commit(&mut *journal, 1..=3);
    let mut tail = journal.tail(Sequence(2));
    let mut next = || tail.try_next().expect("sound").map(|batch| batch.sequence.0);
    assert_eq!([next(), next(), next()], [Some(2), Some(3), None]);
    commit(&mut *journal, 4..=5);
    assert_eq!([next(), next(), next()], [Some(4), Some(5), None]);
}

fn tail_wakes(subject: &dyn Subject) {
    let mut journal = lead(subject);
    let mut tail = journal.tail(Sequence(1));
    std::thread::scope(|scope| {
        let follower = scope.spawn(move || {
            (1..=20).all(|number| {
                let batch = tail.next(AMPLE).expect("sound").expect("within ample time");
                batch.sequence == Sequence(number) && batch.payload == payload(number)
            })
        });
        commit(&mut *journal, 1..=20);
        assert!(follower.join().expect("no panic"));
    });
}

fn closed_is_told(subject: &dyn Subject) {
    let mut journal = lead(subject);
    commit(&mut *journal, 1..=1);
    let mut tail = journal.tail(Sequence(2));
    let mut replay = journal.replay(Sequence(1)..=Sequence(1));
    let snapshots = journal.snapshots();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(move || tail.next(AMPLE));
        journal.close().expect("sound");
        let end = waiting.join().expect("no panic");
        assert!(matches!(end, Err(ReplayError::Closed)), "{end:?}");
    });
    assert!(matches!(replay.next(), Some(Err(ReplayError::Closed))));
    assert!(snapshots.put(Sequence(1), b"late").is_err());
    assert_eq!(open(subject).head, Sequence(1), "and the place is free again");
}
