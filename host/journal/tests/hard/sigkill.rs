//! `kill -9` at any point: every acknowledged batch is there, dense and byte-equal.

use crate::{
    child::{self, Role},
    rig::{self, Random},
};

const ROUNDS: u64 = 60;
const MOST_ACKS: u64 = 150;

#[test]
fn every_acknowledged_batch_survives_sigkill() {
    let seed = rig::seeds("sigkill")[2];
    let mut random = Random::new(seed);
    let dir = rig::tempdir();
    let journal = dir.path().join("journal");
    let (mut acknowledged, mut in_flight, mut during_open) = (0, 0, 0);
    for round in 0..ROUNDS {
        let mut running = child::start(Role::Journal, dir.path(), None);
        running.wait_until_opening();
        let wanted = if round % 6 == 5 { 0 } else { 1 + random.below(MOST_ACKS) };
        for _ in 0..wanted {
            acknowledged = running.next_ack().unwrap().max(acknowledged);
        }
        match running.kill() {
            Some(last) => acknowledged = acknowledged.max(last),
            None if wanted == 0 => during_open += 1,
            None => {}
        }
        let opened = rig::open(&journal).unwrap();
        rig::assert_whole(&opened, acknowledged);
        in_flight += opened.head.0 - acknowledged;
        // It was durable before we saw it, and the child will go on after it.
        acknowledged = opened.head.0;
        if round % 4 == 0 {
            opened.journal.close().unwrap();
        }
    }
    println!("{acknowledged} batches, {in_flight} in flight, {during_open} killed while opening");
    assert!(acknowledged > ROUNDS * 10, "hardly anything was written: {acknowledged}");
    assert!(during_open > 0, "no kill hit an opening journal, seed {seed}");
}
