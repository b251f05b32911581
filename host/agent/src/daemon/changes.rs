//! Steps that change a running execution where it is: other limits, and the artifact of what it becomes.
//! What cannot be done is refused in words; nothing of what runs is touched by a refusal.

use std::sync::Arc;

use pliant_driver::Resources;
use pliant_types::{Attempt, Digest, ExecutionId, Memory, Version};

use super::{drivers::chain, worker::Worker};
use crate::logic::Event;

/// A guest that uses more than this share of a smaller bound is not given it live, in percent
/// (03-jobs.md, section 4).
const SHRINK_PERCENT: u64 = 90;

/// Other limits for an attempt.
#[derive(Clone, Debug)]
pub(super) struct Limits {
    pub(super) to: Resources,
    /// The bound of memory that holds now.
    pub(super) memory_now: Memory,
}

impl Worker {
    /// Resizes an attempt, or says why not.
    pub(super) async fn resize(
        self: &Arc<Self>,
        execution: ExecutionId,
        (attempt, version): (Attempt, Version),
        (engine, limits): (String, Limits),
    ) -> Event {
        let refusal = self.resize_once(execution, &engine, limits).await.err();
        Event::Resized { attempt, version, refusal }
    }

    async fn resize_once(
        &self,
        execution: ExecutionId,
        engine: &str,
        Limits { to, memory_now }: Limits,
    ) -> Result<(), String> {
        let driver = self.drivers.get(engine).map_err(|exit| exit.to_string())?;
        let said = |error: pliant_driver::DriverError| chain(&error);
        if to.memory < memory_now {
            let used = driver.usage(execution).await.map_err(said)?.memory_bytes;
            let most = to.memory.bytes() / 100 * SHRINK_PERCENT;
            if used >= most {
                return Err(format!(
                    "it uses {} and may use {SHRINK_PERCENT} % of {} for that",
                    Memory::from_bytes(used),
                    to.memory
                ));
            }
        }
        driver.resize(execution, to).await.map_err(said)
    }

    /// Makes an artifact ready beside the attempt that runs.
    pub(super) async fn prepare_change(
        self: &Arc<Self>,
        execution: ExecutionId,
        (attempt, version): (Attempt, Version),
        (engine, digest): (String, Digest),
    ) -> Event {
        let ready = self.make_ready_for(execution, attempt, &engine, digest).await;
        let refusal = ready.err().map(|exit| exit.to_string());
        Event::ChangeReady { attempt, version, refusal }
    }
}
