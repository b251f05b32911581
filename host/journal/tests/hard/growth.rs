//! With snapshots and trims neither start-up nor the store grows for ever.

use pliant_journal::Sequence;

use crate::rig;

const ROUND: u64 = 200;
const ROUNDS: u64 = 12;

#[test]
fn start_up_and_store_stay_bounded() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal");
    let mut sizes = Vec::new();
    for round in 1..=ROUNDS {
        let opened = rig::open(&path).unwrap();
        let to_read = opened.head.0 - opened.floor.0;
        assert!(to_read <= 2 * ROUND, "round {round}: start-up reads {to_read} batches");
        let to_replay = opened.head.0 - opened.snapshot.map_or(0, |it| it.at.0);
        assert_eq!(to_replay, 0, "round {round}: batches behind the snapshot");
        let mut journal = opened.journal;
        journal.campaign().unwrap();
        let last = round * ROUND;
        (last + 1 - ROUND..=last).for_each(|number| rig::append(&mut *journal, number));
        journal.put_snapshot(Sequence(last), &rig::state(last)).unwrap();
        if round > 1 {
            journal.trim(Sequence(last - ROUND)).unwrap();
        }
        sizes.push(journal.stats().stored_bytes);
        journal.close().unwrap();
    }
    println!("store sizes: {sizes:?}");
    let written: u64 = (1..=ROUNDS * ROUND).map(|number| rig::payload(number).len() as u64).sum();
    let (early, late) = (sizes[2], sizes[sizes.len() - 1]);
    assert!(late <= 2 * early, "the store grew from {early} to {late} bytes");
    assert!(late < written, "{late} bytes hold the trimmed ones of {written} as well");
    rig::assert_whole(&rig::open(&path).unwrap(), ROUNDS * ROUND);
}
