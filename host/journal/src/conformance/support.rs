//! Short ways to open, append and read for the laws.

use super::Subject;
use crate::{Append, Batch, BatchId, Class, Draft, Journal, Opened, Position, Refusal, Sequence};

/// Opens the place.
pub(super) fn open(subject: &dyn Subject) -> Opened {
    subject.opener().open().expect("a sound journal opens")
}

/// Opens it and begins a term.
pub(super) fn lead(subject: &dyn Subject) -> Box<dyn Journal> {
    let mut journal = open(subject).journal;
    journal.campaign().expect("a sound journal takes a campaign");
    journal
}

/// The payload that these laws give to batch `number`; sizes go over every chunk boundary.
pub(super) fn payload(number: u64) -> Vec<u8> {
    let sizes = [0, 1, 200, 3_904, 3_905, 53_000];
    let size = sizes[usize::try_from(number).expect("small numbers") % sizes.len()];
    (0..size).map(|at: u64| u8::try_from((at * 31 + number) % 251).expect("below 251")).collect()
}

/// The id that these laws give to batch `number`.
pub(super) fn id(number: u64) -> BatchId {
    BatchId::from_number(u128::from(number) << 64 | 0xfeed)
}

/// Appends batch `number` as number `number`.
pub(super) fn append(journal: &mut dyn Journal, number: u64, class: Class) -> Append {
    let payload = payload(number);
    journal.append(&Draft { id: id(number), class, payload: &payload }, Sequence(number))
}

/// Appends batches that must be committed.
pub(super) fn commit(journal: &mut dyn Journal, numbers: std::ops::RangeInclusive<u64>) {
    for number in numbers {
        let outcome = append(journal, number, Class::NewWork);
        let epoch = journal.leadership().epoch();
        let position = Position { sequence: Sequence(number), epoch };
        assert_eq!(outcome, Append::Committed(position), "batch {number}");
    }
}

/// The refusal of an append that must be refused.
pub(super) fn refusal(outcome: Append) -> Refusal {
    let Append::Refused(refusal) = outcome else {
        unreachable!("it should have been refused, but: {outcome:?}");
    };
    refusal
}

/// Batches of a range that must be sound.
pub(super) fn read(journal: &dyn Journal, from: u64, to: u64) -> Vec<Batch> {
    let batches = journal.replay(Sequence(from)..=Sequence(to));
    batches.map(|batch| batch.expect("a committed batch is readable")).collect()
}

/// Asserts that the journal holds exactly these batches with the laws' payloads.
pub(super) fn assert_holds(journal: &dyn Journal, numbers: std::ops::RangeInclusive<u64>) {
    let (from, to) = (*numbers.start(), *numbers.end());
    assert_eq!(journal.stats().head, Sequence(to), "the head");
    let batches = read(journal, from, to);
    assert_eq!(batches.len() as u64, to + 1 - from, "no hole");
    for (number, batch) in numbers.zip(batches) {
        assert_eq!(batch.sequence, Sequence(number), "the order");
        assert_eq!(batch.id, id(number), "the id of batch {number}");
        assert!(batch.payload == payload(number), "the bytes of batch {number}");
    }
    let damages = journal.check();
    assert!(damages.is_empty(), "{damages:?}");
}
