//! How an execution is told to the controller: the whole present state, each time.

use pliant_types::{Health, report::Observation};

use super::{machine::Execution, stage::Stage};

impl Execution {
    /// The present state; `None` for what nobody lists any more.
    #[must_use]
    pub fn observation(&self) -> Option<Observation> {
        let record = &self.record;
        if record.stage.is_forgotten() {
            return None;
        }
        Some(Observation {
            execution: record.id(),
            job: record.assigned.job,
            incarnation: record.assigned.incarnation,
            fence: record.fence,
            phase: record.reached,
            attempt: record.attempt,
            attempt_state: record.stage.attempt_state(),
            health: self.health(),
            ports: self.ports.clone(),
            exit: record.exit.clone(),
            results: record.results.clone(),
            detail: self.words(),
            version: record.obeys.as_ref().map(|obeys| obeys.version),
            refused: record.refused.as_ref().map(|refused| refused.version),
        })
    }

    /// What it does now, or why it does not do what is assigned.
    fn words(&self) -> Option<String> {
        let refused = self.record.refused.as_ref();
        let refused = || refused.map(|refused| format!("version {refused}"));
        self.detail.clone().or_else(refused)
    }

    /// Without probes what runs is healthy; nothing else is known to be.
    fn health(&self) -> Health {
        match self.record.stage {
            Stage::Up { .. } => Health::Healthy,
            _ => Health::Unknown,
        }
    }
}
