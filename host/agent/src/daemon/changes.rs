//! Carries out the steps by which a running attempt comes to another version in place.

use pliant_driver::Resources;
use pliant_types::{Digest, ExecutionId, Memory, Version};

use super::{
    drivers::chain,
    worker::{Told, Whose, Worker},
};
use crate::logic::{Event, NewLimits};

impl Worker {
    pub(super) async fn prepare_next(
        &self,
        id: ExecutionId,
        version: Version,
        engine: &str,
        digest: Digest,
    ) -> Event {
        let told = Told { id, attempt: None, inputs: self.inputs.clone() };
        match self.make_ready(&told, engine, digest, Whose::Next).await {
            Ok(()) => Event::NextPrepared { version },
            Err(exit) => Event::NextFailed { version, exit },
        }
    }

    /// Changes the limits of what runs, or says why they are as they were.
    pub(super) async fn resize(
        &self,
        id: ExecutionId,
        engine: &str,
        to: NewLimits,
    ) -> Result<(), String> {
        let driver = self.drivers.get(engine).map_err(|exit| exit.to_string())?;
        if let Some(below_bytes) = to.below_bytes {
            let usage = driver.usage(id).await.map_err(|error| chain(&error))?;
            if usage.memory_bytes >= below_bytes {
                return Err(format!(
                    "it uses {} of memory, and a limit of {} wants less than {}",
                    Memory::from_bytes(usage.memory_bytes),
                    to.memory,
                    Memory::from_bytes(below_bytes)
                ));
            }
        }
        let to = Resources { memory: to.memory, cpu: to.cpu };
        driver.resize(id, to).await.map_err(|error| chain(&error))
    }
}
