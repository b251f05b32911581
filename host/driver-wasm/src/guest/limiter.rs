//! Keeps one store within the memory of its execution, and counts what it took.

use std::sync::Arc;

use wasmtime::ResourceLimiter;

use crate::accounts::MemoryAccount;
use crate::limits;

/// Gives back what the store had when it is dropped.
#[derive(Debug)]
pub(crate) struct StoreLimiter {
    account: Arc<MemoryAccount>,
    taken: u64,
    /// The last step, in case the engine cannot carry it out.
    last_step: u64,
    refused: Option<u64>,
    table_elements: usize,
}

impl StoreLimiter {
    pub(super) fn new(account: Arc<MemoryAccount>) -> Self {
        Self { account, taken: 0, last_step: 0, refused: None, table_elements: 0 }
    }

    /// The total that was asked for and refused, unless memory was granted since: a guest that
    /// was refused and went on is not out of memory.
    pub(crate) fn refused(&self) -> Option<u64> {
        self.refused
    }

    pub(crate) fn limit(&self) -> u64 {
        self.account.limit()
    }
}

impl ResourceLimiter for StoreLimiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let step = desired.saturating_sub(current) as u64;
        match self.account.take(step) {
            Ok(()) => {
                self.taken += step;
                self.last_step = step;
                self.refused = None;
                Ok(true)
            }
            Err(asked) => {
                self.refused = Some(asked);
                Ok(false)
            }
        }
    }

    fn memory_grow_failed(&mut self, _error: wasmtime::Error) -> wasmtime::Result<()> {
        // Also called after a refusal, where nothing was taken.
        if self.refused.is_none() {
            let step = std::mem::take(&mut self.last_step);
            self.account.give_back(step);
            self.taken -= step;
        }
        Ok(())
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let total = self.table_elements + desired.saturating_sub(current);
        if total > limits::HANDLES * 4 {
            return Ok(false);
        }
        self.table_elements = total;
        Ok(true)
    }

    fn instances(&self) -> usize {
        limits::STORE_INSTANCES
    }

    fn tables(&self) -> usize {
        limits::STORE_TABLES
    }

    fn memories(&self) -> usize {
        limits::STORE_MEMORIES
    }
}

impl Drop for StoreLimiter {
    fn drop(&mut self) {
        self.account.give_back(self.taken);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_over_memories_and_gives_back_at_the_end() {
        let account = Arc::new(MemoryAccount::new(100));
        let mut limiter = StoreLimiter::new(account.clone());
        assert!(limiter.memory_growing(0, 60, None).unwrap());
        assert!(!limiter.memory_growing(0, 50, None).unwrap());
        assert_eq!(limiter.refused(), Some(110));
        limiter.memory_grow_failed(wasmtime::format_err!("refused")).unwrap();
        assert_eq!(account.used(), 60, "nothing was taken, nothing is given back");
        assert!(limiter.memory_growing(60, 70, None).unwrap());
        assert_eq!(limiter.refused(), None);
        limiter.memory_grow_failed(wasmtime::format_err!("no room")).unwrap();
        assert_eq!(account.used(), 60);
        drop(limiter);
        assert_eq!((account.used(), account.peak()), (0, 70));
    }
}
