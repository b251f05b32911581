//! `check` and `dump` of a journal that nobody has open. Both leave it as it is.

use std::ops::RangeInclusive;

use super::{
    open::DurableOptions,
    reading::{Reading, damage_of},
    walk::{Break, walk},
};
use crate::{Batch, ClusterId, Damage, Epoch, OpenError, Place, Sequence, SnapshotRef};

/// What a closed journal holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// Whose it is.
    pub cluster: ClusterId,
    /// The highest epoch.
    pub epoch: Epoch,
    /// The last trimmed batch.
    pub floor: Sequence,
    /// The last batch of the verified chain.
    pub head: Sequence,
    /// The acknowledged head, if the witness is readable.
    pub witness: Option<Sequence>,
    /// Number of verified batches.
    pub batches: u64,
    /// Bytes of their payloads.
    pub payload_bytes: u64,
    /// The sound snapshots, oldest first.
    pub snapshots: Vec<SnapshotRef>,
    /// Everything that is broken; empty means sound.
    pub damages: Vec<Damage>,
}

impl Inspection {
    /// Whether the journal would open.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.damages.is_empty()
    }
}

/// Verifies a closed journal without changing it.
///
/// # Errors
/// It is open somewhere, there is none, or it was written by a newer program.
pub fn inspect(options: &DurableOptions) -> Result<Inspection, OpenError> {
    let reading = Reading::begin(options)?;
    let base = reading.base();
    let mut found = Inspection {
        cluster: reading.cluster,
        epoch: reading.epoch(),
        floor: base.map_or(Sequence::ZERO, |chain| chain.head()),
        head: base.map_or(Sequence::ZERO, |chain| chain.head()),
        witness: reading.witness.map(|it| it.sequence),
        batches: 0,
        payload_bytes: 0,
        snapshots: reading.snapshots.clone(),
        damages: reading.damages.clone(),
    };
    if let (Some(engine), Some(mut chain)) = (&reading.engine, base) {
        let outcome = walk(engine, &mut chain, |batch| {
            found.batches += 1;
            found.payload_bytes += batch.payload.len() as u64;
            found.head = batch.sequence;
            Ok(())
        });
        found.damages.extend(outcome.err().and_then(damage_of));
    }
    if let Some(witness) = found.witness.filter(|witness| *witness > found.head) {
        let why = format!("it was acknowledged, the chain ends at {}", found.head);
        found.damages.push(Damage::new(Place::Batch(witness), why));
    }
    reading.end()?;
    Ok(found)
}

/// Hands the batches of a range of a closed journal to `each`, without changing the journal.
///
/// # Errors
/// As [`inspect`]; or a batch up to the end of the range is damaged, after all before it were
/// handed out.
pub fn dump(
    options: &DurableOptions,
    range: RangeInclusive<Sequence>,
    mut each: impl FnMut(&Batch),
) -> Result<(), OpenError> {
    let reading = Reading::begin(options)?;
    let mut outcome = Ok(());
    if let (Some(engine), Some(mut chain)) = (&reading.engine, reading.base()) {
        outcome = walk(engine, &mut chain, |batch| {
            if batch.sequence > *range.end() {
                return Err(Break::Enough);
            }
            if range.contains(&batch.sequence) {
                each(batch);
            }
            Ok(())
        });
    } else {
        let why = "its batches cannot be read at all";
        outcome = outcome.and(Err(Break::Damaged(Damage::new(Place::Store, why))));
    }
    reading.end()?;
    match outcome {
        Ok(()) | Err(Break::Enough) => Ok(()),
        Err(other) => Err(other.into()),
    }
}
