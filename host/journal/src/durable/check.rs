//! Verification of an open journal: every batch, the acknowledged head, every snapshot.

use super::{
    reading::{damage_of, in_words},
    shared::Port,
    walk::{Break, walk},
};
use crate::{Damage, Place, Poison, Sequence, SnapshotError, format::chain::Chain};

/// Everything that is broken; empty means sound.
pub(super) fn check(port: &Port) -> Vec<Damage> {
    let live = port.live();
    let (meta, head, poison) = (live.meta, live.chain.head(), live.poison.clone());
    drop(live);
    let mut damages: Vec<_> = match poison {
        Some(Poison::Damaged(damage)) => vec![damage],
        _ => vec![],
    };
    let chain = Chain::from(meta.cluster, meta.floor, meta.floor_hash);
    damages.extend(check_batches(port, chain, head));
    damages
        .extend(port.0.files.list().into_iter().filter_map(|kept| check_snapshot(port, kept.at)));
    damages
}

fn check_batches(port: &Port, mut chain: Chain, head: Sequence) -> Option<Damage> {
    let outcome = match &*port.engine() {
        Some(engine) => walk(engine, &mut chain, |_| Ok(())),
        None => Err(Break::Damaged(Damage::new(Place::Store, "it is closed"))),
    };
    match outcome {
        Err(end) => damage_of(end),
        Ok(()) if chain.head() < head => {
            Some(Damage::new(Place::Batch(head), "it was acknowledged, but is gone"))
        }
        Ok(()) => None,
    }
}

fn check_snapshot(port: &Port, at: Sequence) -> Option<Damage> {
    match port.0.files.read(at) {
        Ok(_) => None,
        Err(SnapshotError::Damaged(damage)) => Some(damage),
        Err(error) => Some(Damage::new(Place::Snapshot(at), in_words(&error))),
    }
}
