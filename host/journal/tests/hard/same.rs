//! The journal on disk and the one in memory answer alike: the same random calls to both, every
//! answer compared, hashes included. So what the simulator proves on memory holds on disk.

use std::path::Path;

use pliant_journal::{
    BatchId, Class, ClusterId, Draft, Journal, Opened, Opener, Sequence,
    durable::{DurableOptions, DurableStore},
    limits::MAX_PAYLOAD_BYTES,
    memory::{MemoryStore, Sharing},
};

use crate::rig::{self, Random};

const CALLS: u32 = 1_500;

/// One call, made to both.
#[derive(Debug)]
enum Call {
    Append { number: u64, expected: u64, len: usize },
    Campaign,
    Resign,
    Snapshot { at: u64 },
    Trim { upto: u64 },
    Resolve { sequence: u64, number: u64 },
    Replay { from: u64, to: u64 },
    Reopen { clean: bool },
}

/// A number near the head, now and then beyond it or far below.
fn near(random: &mut Random, head: u64) -> u64 {
    (head + random.below(4)).saturating_sub(random.below(12))
}

fn draw(random: &mut Random, number: u64, head: u64) -> Call {
    match random.below(100) {
        0..60 => Call::Append { number, expected: head + 1, len: random.index(9_000) },
        60..63 => Call::Append { number, expected: near(random, head), len: 10 },
        63..64 => Call::Append { number, expected: head + 1, len: MAX_PAYLOAD_BYTES + 1 },
        64..70 => Call::Campaign,
        70..71 => Call::Resign,
        71..79 => Call::Snapshot { at: near(random, head) },
        79..86 => Call::Trim { upto: near(random, head) },
        86..90 => Call::Resolve { sequence: near(random, head), number: near(random, number) },
        90..95 => Call::Replay { from: near(random, head), to: near(random, head) },
        _ => Call::Reopen { clean: random.below(2) == 0 },
    }
}

/// Makes the call; the answer in words.
fn answer(journal: &mut dyn Journal, call: &Call) -> String {
    let id = |number: u64| BatchId::from_number(number.into());
    match *call {
        Call::Append { number, expected, len } => {
            let payload = vec![number as u8; len];
            let draft = Draft { id: id(number), class: Class::Essential, payload: &payload };
            format!("{:?}", journal.append(&draft, Sequence(expected)))
        }
        Call::Campaign => format!("{:?}", journal.campaign()),
        Call::Resign => {
            journal.resign();
            format!("{:?}", journal.leadership())
        }
        Call::Snapshot { at } => {
            format!("{:?}", journal.put_snapshot(Sequence(at), &rig::state(at)))
        }
        Call::Trim { upto } => format!("{:?}", journal.trim(Sequence(upto))),
        Call::Resolve { sequence, number } => {
            format!("{:?}", journal.resolve(Sequence(sequence), id(number)))
        }
        Call::Replay { from, to } => {
            let batches: Vec<_> = journal.replay(Sequence(from)..=Sequence(to)).collect();
            format!("{batches:?}")
        }
        Call::Reopen { .. } => unreachable!("it is not a call to the journal"),
    }
}

fn described(opened: &Opened) -> String {
    let Opened { cluster, head, floor, epoch, snapshot, clean, .. } = opened;
    format!("{cluster} {head} {floor} {epoch} {snapshot:?} {clean}")
}

fn compare(seed: u64, dir: &Path) {
    let cluster = ClusterId([9; 16]);
    let memory = MemoryStore::new(cluster, Sharing::Single);
    let mut options = DurableOptions::new(dir);
    options.cluster = Some(cluster);
    options.ballast_bytes = 0;
    let places: [&dyn Opener; 2] = [&memory, &DurableStore::new(options)];
    let open = || {
        let opened = places.map(|place| place.open().unwrap());
        assert_eq!(described(&opened[0]), described(&opened[1]), "seed {seed}");
        opened.map(|opened| opened.journal)
    };
    let (mut random, mut journals, mut trimmed) = (Random::new(seed), open(), 0);
    for number in 0..u64::from(CALLS) {
        let head = journals[0].stats().head.0;
        let call = draw(&mut random, number, head);
        if let Call::Reopen { clean } = call {
            for journal in journals {
                if clean {
                    journal.close().unwrap();
                }
            }
            journals = open();
            continue;
        }
        let [a, b] = journals.each_mut().map(|journal| answer(&mut **journal, &call));
        assert!(a == b, "seed {seed}, call {number} {call:?}:\nmemory {a}\ndisk   {b}");
        trimmed = journals[0].stats().floor.0;
    }
    let head = journals[0].stats().head.0;
    assert!(head > 100 && trimmed > 20, "hardly anything happened: head {head}, floor {trimmed}");
    assert!(journals.iter().all(|journal| journal.check().is_empty()));
}

#[test]
fn memory_and_disk_give_the_same_answers() {
    let dir = rig::tempdir();
    for seed in rig::seeds("same") {
        compare(seed, &dir.path().join(seed.to_string()));
    }
}
