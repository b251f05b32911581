//! The laws without faults, and what each fault means.

use super::*;
use crate::{
    Append, BatchId, Class, ClusterId, Draft, Epoch, Journal, Poison, Refusal, ReplayError,
    Resolution, Sequence,
    conformance::{Subject, prove_all},
    memory::{MemoryStore, Sharing},
};

struct Place {
    memory: MemoryStore,
    faulty: FaultyStore,
}

fn place(script: Script) -> Place {
    let memory = MemoryStore::new(ClusterId([1; 16]), Sharing::Single);
    let faulty = FaultyStore::new(Arc::new(memory.clone()), script);
    Place { memory, faulty }
}

impl Subject for Place {
    fn opener(&self) -> &dyn Opener {
        &self.faulty
    }

    fn set_free_permille(&self, free_permille: u32) {
        self.memory.set_free_permille(free_permille);
    }
}

fn lead(place: &Place) -> Box<dyn Journal> {
    let mut journal = place.faulty.open().unwrap().journal;
    journal.campaign().unwrap();
    journal
}

fn append(journal: &mut dyn Journal, number: u64) -> Append {
    let id = BatchId::from_number(number.into());
    journal.append(&Draft { id, class: Class::Essential, payload: b"payload" }, Sequence(number))
}

/// Appends three batches, the second with a fault, and tells what became of it.
fn with_fault(fault: Fault) -> (Place, Box<dyn Journal>, Append) {
    let place = place(Script::default().at(2, fault));
    let mut journal = lead(&place);
    assert!(matches!(append(&mut *journal, 1), Append::Committed(_)));
    let outcome = append(&mut *journal, 2);
    assert_eq!(place.faulty.happened(), [(2, fault)]);
    (place, journal, outcome)
}

#[test]
fn the_laws_hold_without_faults() {
    prove_all(|| Box::new(place(Script::default())));
}

#[test]
fn lost_answers_and_crashes_end_in_resolve() {
    let lost = Poison::AnswerLost;
    for (fault, poison, resolution) in [
        (Fault::UnknownPresent, lost.clone(), Resolution::Present),
        (Fault::UnknownAbsent, lost, Resolution::Absent),
        (Fault::CrashPresent, Poison::Crashed, Resolution::Present),
        (Fault::CrashAbsent, Poison::Crashed, Resolution::Absent),
    ] {
        let (place, mut journal, outcome) = with_fault(fault);
        assert_eq!(outcome, Append::Unknown(poison.clone()), "{fault:?}");
        let read_only = Append::Refused(Refusal::ReadOnly(poison));
        assert_eq!(append(&mut *journal, 2), read_only, "append after an error always refuses");
        assert_eq!(append(&mut *journal, 3), read_only);
        let id = BatchId::from_number(2);
        let early = journal.resolve(Sequence(2), id);
        assert!(matches!(early, Err(ReplayError::ReopenFirst(_))), "{early:?}");
        assert!(journal.campaign().is_err() && journal.close().is_err());
        let opened = place.faulty.open().unwrap();
        assert!(!opened.clean);
        let mut journal = opened.journal;
        assert_eq!(journal.resolve(Sequence(2), id).unwrap(), resolution, "{fault:?}");
        journal.campaign().unwrap();
        let next = if resolution == Resolution::Present { 3 } else { 2 };
        assert!(matches!(append(&mut *journal, next), Append::Committed(_)));
    }
}

#[test]
fn refusals_leave_no_trace() {
    let (_place, mut journal, outcome) = with_fault(Fault::NoSpace);
    assert!(matches!(outcome, Append::Refused(Refusal::NoSpace { .. })), "{outcome:?}");
    assert_eq!(journal.stats().head, Sequence(1));
    assert!(matches!(append(&mut *journal, 2), Append::Committed(_)));

    let (_place, mut journal, outcome) = with_fault(Fault::Fenced);
    assert_eq!(outcome, Append::Refused(Refusal::Fenced { epoch: Epoch(2) }));
    assert_eq!(append(&mut *journal, 2), outcome, "until it leads again");
    assert_eq!(journal.campaign().unwrap(), Epoch(3));
    assert!(matches!(append(&mut *journal, 2), Append::Committed(_)));
}

#[test]
fn open_fails_as_told() {
    let place = place(Script::default());
    place.faulty.fail_open(OpenError::Regressed { witness: Sequence(2), found: Sequence(1) });
    assert!(matches!(place.faulty.open(), Err(OpenError::Regressed { .. })));
    place.faulty.open().unwrap();
}

/// A writer as the controller's: resolves after each lost answer, campaigns after each fence.
fn history(seed: u64) -> (Vec<(u64, Fault)>, Vec<Append>) {
    let place = place(Script::seeded(seed, Rates::even(40)));
    let mut journal = lead(&place);
    let (mut number, mut outcomes) = (1, Vec::new());
    while number <= 300 {
        let outcome = append(&mut *journal, number);
        outcomes.push(outcome.clone());
        match outcome {
            Append::Committed(_) => number += 1,
            Append::Refused(Refusal::Fenced { .. }) => drop(journal.campaign().unwrap()),
            Append::Refused(_) => {}
            Append::Unknown(_) => {
                drop(journal);
                journal = lead(&place);
                let id = BatchId::from_number(number.into());
                match journal.resolve(Sequence(number), id).unwrap() {
                    Resolution::Present => number += 1,
                    Resolution::Absent => {}
                    Resolution::Other => panic!("nobody else writes here"),
                }
            }
        }
    }
    let batches = journal.replay(Sequence(1)..=Sequence(300));
    let ids: Vec<_> = batches.map(|batch| batch.unwrap().id).collect();
    let expected: Vec<_> = (1..=300).map(BatchId::from_number).collect();
    assert!(ids == expected, "every batch exactly once, seed {seed}");
    (place.faulty.happened(), outcomes)
}

#[test]
fn a_seed_repeats_and_nothing_is_lost_or_doubled() {
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..20 {
        let (happened, outcomes) = history(seed);
        assert_eq!(history(seed), (happened.clone(), outcomes), "seed {seed}");
        seen.extend(happened.into_iter().map(|(_, fault)| fault));
    }
    assert_eq!(seen.len(), Fault::ALL.len(), "every fault happened: {seen:?}");
    assert_ne!(history(1).0, history(2).0);
}
