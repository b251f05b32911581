//! Laws of appending, terms and refusals.

use super::{
    Law, Subject,
    support::{append, assert_holds, commit, id, lead, open, payload, refusal},
};
use crate::{
    Append, Class, Draft, Epoch, Leadership, NEW_WORK_FREE_PERMILLE, Note, OpenError, Refusal,
    Resolution, Sequence, limits::MAX_PAYLOAD_BYTES,
};

pub(super) const LAWS: &[Law] = &[
    ("a new journal is empty", new_is_empty),
    ("what is committed is there after a clean stop", committed_after_clean_stop),
    ("what is committed is there after an unclean stop", committed_after_unclean_stop),
    ("a writer that does not lead is fenced", fenced_without_campaign),
    ("epochs never go back", epochs_never_go_back),
    ("an expected sequence makes a double append impossible", double_append_is_impossible),
    ("a refused append leaves no trace", refused_leaves_no_trace),
    ("a batch as large as allowed is atomic and readable", largest_batch),
    ("without space new work is refused and essential work goes on", space_guard),
    ("resolve tells present, absent and other", resolve_tells),
    ("a second opener is told who has it, or takes over and fences", second_opener),
];

fn new_is_empty(subject: &dyn Subject) {
    let opened = open(subject);
    assert_eq!((opened.head, opened.floor), (Sequence::ZERO, Sequence::ZERO));
    assert_eq!((opened.epoch, opened.snapshot), (Epoch::ZERO, None));
    assert!(opened.clean && opened.notes.contains(&Note::Created));
    assert_eq!(opened.journal.leadership(), Leadership::Follower(Epoch::ZERO));
    assert!(opened.journal.check().is_empty());
}

fn committed_after_clean_stop(subject: &dyn Subject) {
    let mut journal = lead(subject);
    commit(&mut *journal, 1..=13);
    assert_holds(&*journal, 1..=13);
    journal.close().expect("a sound journal closes");
    let opened = open(subject);
    assert!(opened.clean);
    assert_eq!((opened.head, opened.epoch), (Sequence(13), Epoch(1)));
    assert_holds(&*opened.journal, 1..=13);
}

fn committed_after_unclean_stop(subject: &dyn Subject) {
    let mut number = 0;
    for round in 1..=4 {
        let mut journal = lead(subject);
        commit(&mut *journal, number + 1..=number + round);
        number += round;
        drop(journal);
        let opened = open(subject);
        assert!(!opened.clean, "a journal that was only dropped did not stop cleanly");
        assert_eq!(opened.head, Sequence(number));
        assert_holds(&*opened.journal, 1..=number);
    }
}

fn fenced_without_campaign(subject: &dyn Subject) {
    let mut journal = open(subject).journal;
    let fenced = |epoch| Refusal::Fenced { epoch: Epoch(epoch) };
    assert_eq!(refusal(append(&mut *journal, 1, Class::Essential)), fenced(0));
    assert_eq!(journal.campaign().expect("sound"), Epoch(1));
    assert_eq!(journal.leadership(), Leadership::Leader(Epoch(1)));
    commit(&mut *journal, 1..=1);
    journal.resign();
    assert_eq!(journal.leadership(), Leadership::Follower(Epoch(1)));
    assert_eq!(refusal(append(&mut *journal, 2, Class::Essential)), fenced(1));
    assert_holds(&*journal, 1..=1);
}

fn epochs_never_go_back(subject: &dyn Subject) {
    let mut last = Epoch::ZERO;
    for round in 1..=4 {
        let opened = open(subject);
        assert_eq!(opened.epoch, last);
        let mut journal = opened.journal;
        for _ in 0..2 {
            let epoch = journal.campaign().expect("sound");
            assert_eq!(epoch, last.next());
            last = epoch;
        }
        commit(&mut *journal, round..=round);
        if round % 2 == 0 {
            journal.close().expect("sound");
        }
    }
    let batches = super::support::read(&*open(subject).journal, 1, 4);
    let epochs: Vec<_> = batches.iter().map(|batch| batch.epoch.0).collect();
    assert_eq!(epochs, [2, 4, 6, 8]);
}

fn double_append_is_impossible(subject: &dyn Subject) {
    let mut journal = lead(subject);
    commit(&mut *journal, 1..=3);
    for expected in [0, 1, 3, 5, u64::MAX] {
        let draft = Draft { id: id(3), class: Class::Essential, payload: b"again" };
        let wrong = Refusal::WrongSequence { expected: Sequence(expected), next: Sequence(4) };
        assert_eq!(refusal(journal.append(&draft, Sequence(expected))), wrong);
    }
    assert_holds(&*journal, 1..=3);
}

fn refused_leaves_no_trace(subject: &dyn Subject) {
    let mut journal = lead(subject);
    commit(&mut *journal, 1..=2);
    let len_bytes = MAX_PAYLOAD_BYTES + 1;
    let large = vec![0; len_bytes];
    let draft = Draft { id: id(3), class: Class::Essential, payload: &large };
    let refused = refusal(journal.append(&draft, Sequence(3)));
    assert_eq!(refused, Refusal::TooLarge { len_bytes });
    assert_holds(&*journal, 1..=2);
    commit(&mut *journal, 3..=3);
    drop(journal);
    assert_holds(&*open(subject).journal, 1..=3);
}

fn largest_batch(subject: &dyn Subject) {
    let payload: Vec<u8> = (0..MAX_PAYLOAD_BYTES).map(|at| (at % 253) as u8).collect();
    for number in 1..=3 {
        let mut journal = lead(subject);
        let draft = Draft { id: id(number), class: Class::NewWork, payload: &payload };
        let outcome = journal.append(&draft, Sequence(number));
        assert!(matches!(outcome, Append::Committed(_)), "{outcome:?}");
    }
    let journal = open(subject).journal;
    let batches = super::support::read(&*journal, 1, 3);
    assert!(batches.len() == 3 && batches.iter().all(|batch| batch.payload == payload));
}

fn space_guard(subject: &dyn Subject) {
    let mut journal = lead(subject);
    subject.set_free_permille(NEW_WORK_FREE_PERMILLE - 1);
    let no_space = Refusal::NoSpace {
        free_permille: NEW_WORK_FREE_PERMILLE - 1,
        needed_permille: NEW_WORK_FREE_PERMILLE,
    };
    assert_eq!(refusal(append(&mut *journal, 1, Class::NewWork)), no_space);
    let essential = append(&mut *journal, 1, Class::Essential);
    assert!(matches!(essential, Append::Committed(_)), "{essential:?}");
    subject.set_free_permille(NEW_WORK_FREE_PERMILLE);
    commit(&mut *journal, 2..=2);
    assert_holds(&*journal, 1..=2);
}

fn resolve_tells(subject: &dyn Subject) {
    let mut journal = lead(subject);
    commit(&mut *journal, 1..=2);
    drop(journal);
    let mut journal = open(subject).journal;
    let mut resolve = |sequence, number| journal.resolve(Sequence(sequence), id(number));
    assert_eq!(resolve(2, 2).expect("sound"), Resolution::Present);
    assert_eq!(resolve(1, 1).expect("sound"), Resolution::Present);
    assert_eq!(resolve(2, 9).expect("sound"), Resolution::Other);
    assert_eq!(resolve(3, 3).expect("sound"), Resolution::Absent);
}

fn second_opener(subject: &dyn Subject) {
    let mut first = lead(subject);
    commit(&mut *first, 1..=1);
    match subject.opener().open() {
        Err(OpenError::Locked { holder, .. }) => {
            assert!(holder.contains("this process"), "it does not say who: {holder}");
        }
        Ok(opened) => {
            let mut second = opened.journal;
            second.campaign().expect("sound");
            let outcome = append(&mut *first, 2, Class::Essential);
            assert_eq!(refusal(outcome), Refusal::Fenced { epoch: Epoch(2) });
            commit(&mut *second, 2..=2);
            return assert_holds(&*first, 1..=2);
        }
        Err(other) => unreachable!("neither locked nor open: {other}"),
    }
    let draft = Draft { id: id(2), class: Class::Essential, payload: &payload(2) };
    let outcome = first.append(&draft, Sequence(2));
    assert!(matches!(outcome, Append::Committed(_)), "the first is disturbed: {outcome:?}");
    first.close().expect("sound");
    assert_holds(&*open(subject).journal, 1..=2);
}
