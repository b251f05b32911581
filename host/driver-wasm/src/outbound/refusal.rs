//! Says in the guest's log what was refused and which grant it would take, each thing once.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use crate::guest::GuestLog;
use crate::limits;

#[derive(Debug)]
pub(super) struct Refusals {
    log: GuestLog,
    noted: Mutex<BTreeSet<String>>,
}

impl Refusals {
    pub(super) fn new(log: GuestLog) -> Self {
        Self { log, noted: Mutex::default() }
    }

    /// Not granted: `grant` is the field of the spec that would allow `what`.
    pub(super) fn not_granted(&self, what: &str, grant: &str) {
        self.note(format!("refused: {what} is not granted (capabilities.{grant})"));
    }

    /// Granted, but the operator of this host does not allow the address.
    pub(super) fn not_allowed(&self, what: &str, why: &str) {
        self.note(format!("refused: {what} is not allowed on this host: {why}"));
    }

    fn note(&self, text: String) {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        if noted.len() < limits::REFUSALS_NOTED && !noted.contains(&text) {
            self.log.note(&text);
            noted.insert(text);
        }
    }
}
