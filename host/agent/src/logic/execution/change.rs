//! An execution that becomes another version where it is: limits at once, the rest by a restart.
//!
//! The new artifact is ready before the old attempt is asked to stop. What may not be done, or cannot,
//! is refused, and the attempt goes on as it is.

use std::sync::Arc;

use super::{
    machine::{Event, Execution},
    stage::{Stage, StopCause, Stopping},
};
use crate::logic::{
    Behind, Change, Moment, Step,
    change::{Distance, distance},
};
use pliant_types::assignment::{AssignedExecution, InPlace};

impl Execution {
    /// Takes another assignment. An attempt that has begun goes on as what it was until it can change.
    pub fn assign(&mut self, assigned: AssignedExecution) -> Option<Step> {
        let old = std::mem::replace(&mut self.record.assigned, assigned);
        let same = old.version == self.record.assigned.version
            && old.template == self.record.assigned.template;
        if same && old.in_place == self.record.assigned.in_place {
            return None;
        }
        self.record.refused = None;
        let has_begun = !matches!(
            self.record.stage,
            Stage::Held | Stage::Waiting { .. } | Stage::Ended | Stage::Removing
        );
        if !same && has_begun && self.record.behind.is_none() {
            self.record.behind = Some(Behind { version: old.version, template: old.template });
        }
        self.adopt()
    }

    /// Begins to become what is assigned, if the guest runs and nothing else is under way.
    pub(super) fn adopt(&mut self) -> Option<Step> {
        if !matches!(self.record.stage, Stage::Up { .. }) || self.change.is_some() {
            return None;
        }
        let wanted = Behind {
            version: self.record.assigned.version,
            template: Arc::clone(&self.record.assigned.template),
        };
        let (_, template) = self.record.obeyed();
        match distance(template, &wanted.template) {
            Distance::Rules => {
                (self.record.behind, self.record.refused) = (None, None);
                None
            }
            Distance::Limits => {
                let memory_now = template.memory;
                let step = Step::Resize {
                    execution: self.id(),
                    attempt: self.record.attempt,
                    engine: wanted.template.engine.clone(),
                    version: wanted.version,
                    cpu: wanted.template.cpu,
                    memory: wanted.template.memory,
                    memory_now,
                };
                self.change = Some(Change { to: wanted, restarts: false });
                Some(step)
            }
            Distance::Restart => self.prepare_change(wanted, "it must be restarted for that"),
        }
    }

    /// Makes what it becomes ready beside it, or refuses.
    fn prepare_change(&mut self, wanted: Behind, why: &str) -> Option<Step> {
        if self.record.assigned.in_place != InPlace::Restart {
            self.refuse(&wanted, why);
            return None;
        }
        let step = Step::PrepareChange {
            execution: self.id(),
            attempt: self.record.attempt,
            engine: wanted.template.engine.clone(),
            digest: wanted.template.digest,
            version: wanted.version,
        };
        self.change = Some(Change { to: wanted, restarts: true });
        Some(step)
    }

    fn refuse(&mut self, wanted: &Behind, why: &str) {
        self.record.refused = Some(wanted.version);
        self.detail = Some(format!("stays as it is, not version {}: {why}", wanted.version));
    }

    /// The limits are changed, or cannot be.
    pub(super) fn settle(&mut self, event: Event) -> Option<Step> {
        let Event::Resized { version, refusal, .. } = event else { return None };
        let done =
            self.change.take_if(|change| !change.restarts && change.to.version == version)?;
        match refusal {
            None => {
                let arrived = done.to.version == self.record.assigned.version;
                self.record.behind = (!arrived).then_some(done.to);
                self.adopt()
            }
            Some(why) if done.to.version == self.record.assigned.version => {
                self.prepare_change(done.to, &why)
            }
            Some(_) => self.adopt(),
        }
    }

    /// What it becomes is ready: the old attempt is asked to stop. Or it cannot be made so.
    pub(super) fn exchange(&mut self, event: Event, now: Moment) -> Option<Step> {
        let Event::ChangeReady { version, refusal, .. } = event else { return None };
        let ready =
            self.change.take_if(|change| change.restarts && change.to.version == version)?;
        let current = ready.to.version == self.record.assigned.version;
        match refusal {
            _ if !current => self.adopt(),
            Some(why) => {
                self.refuse(&ready.to, &why);
                None
            }
            None if self.record.assigned.in_place != InPlace::Restart => self.adopt(),
            None => {
                let grace = ready.to.template.kill_timeout;
                let deadline = now.after(grace);
                let cause = StopCause::Change;
                self.record.stage = Stage::Stopping(Stopping { cause, deadline, killed: false });
                Some(self.ask_stop(grace))
            }
        }
    }
}
