//! A journal that fails on command: it wraps another one and injects refusals, lost answers and
//! crashes by a script or a seed. No clock, no I/O; the same seed gives the same faults.

mod journal;
mod script;

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

pub use script::{Fault, Rates, Script};

use crate::{OpenError, Opened, Opener};

struct Plan {
    script: Script,
    appends: u64,
    happened: Vec<(u64, Fault)>,
    open_failures: VecDeque<OpenError>,
}

/// The place of a faulty journal. Clones are the same place.
#[derive(Clone)]
pub struct FaultyStore {
    inner: Arc<dyn Opener>,
    plan: Arc<Mutex<Plan>>,
}

impl std::fmt::Debug for FaultyStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let plan = self.plan();
        f.debug_struct("FaultyStore")
            .field("appends", &plan.appends)
            .field("happened", &plan.happened)
            .finish_non_exhaustive()
    }
}

impl FaultyStore {
    /// Wraps a place. Faults count over all journals that are opened here.
    #[must_use]
    pub fn new(inner: Arc<dyn Opener>, script: Script) -> Self {
        let plan =
            Plan { script, appends: 0, happened: Vec::new(), open_failures: VecDeque::new() };
        Self { inner, plan: Arc::new(Mutex::new(plan)) }
    }

    /// Another script from here on; [`Script::default`] ends all faults.
    pub fn set_script(&self, script: Script) {
        self.plan().script = script;
    }

    /// Lets one coming open fail; several fail in the order in which they were said.
    pub fn fail_open(&self, error: OpenError) {
        self.plan().open_failures.push_back(error);
    }

    /// The number of appends so far that were well-formed and by a leader.
    #[must_use]
    pub fn appends(&self) -> u64 {
        self.plan().appends
    }

    /// What was injected so far, with the number of the append.
    #[must_use]
    pub fn happened(&self) -> Vec<(u64, Fault)> {
        self.plan().happened.clone()
    }

    /// A panic elsewhere leaves the plan whole: nothing here panics half-way.
    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The fault of the next append, if it has one.
    fn next_fault(&self) -> Option<Fault> {
        let mut plan = self.plan();
        plan.appends += 1;
        let number = plan.appends;
        let fault = plan.script.fault_of(number)?;
        plan.happened.push((number, fault));
        Some(fault)
    }
}

impl Opener for FaultyStore {
    fn open(&self) -> Result<Opened, OpenError> {
        if let Some(error) = self.plan().open_failures.pop_front() {
            return Err(error);
        }
        let mut opened = self.inner.open()?;
        opened.journal = Box::new(journal::FaultyJournal::new(opened.journal, self.clone()));
        Ok(opened)
    }
}

#[cfg(test)]
mod tests;
