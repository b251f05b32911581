//! From the version that a running attempt obeys to the one that is assigned, in place.
//!
//! Level-triggered: whatever was under way, the present assignment is compared with what is obeyed
//! again. So nothing of it need survive a crash but what is obeyed and what was refused.

use std::sync::Arc;

use pliant_types::{
    ExitStatus, Version,
    assignment::{AssignedExecution, Desired, InPlace, TaskTemplate},
};

use super::{
    change::{Change, compare, most_in_use},
    event::Event,
    machine::Execution,
    stage::{Ending, Stage},
};
use crate::logic::{Moment, NewLimits, Obeys, Refused, Step, Then};

/// A change of a running attempt that is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UnderWay {
    to: Obeys,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// The driver changes limits.
    Resizing,
    /// The artifact of the other version is made ready.
    Preparing,
}

impl Execution {
    /// What the attempt that runs obeys; before and between attempts, what the next one will.
    #[must_use]
    pub fn template(&self) -> &Arc<TaskTemplate> {
        match self.record.stage {
            Stage::Held | Stage::Preparing | Stage::Waiting { .. } => self.next().1,
            _ => self
                .record
                .obeys
                .as_ref()
                .map_or(&self.record.assigned.template, |obeys| &obeys.template),
        }
    }

    /// What an attempt that begins now begins with: what is assigned, unless it was refused.
    pub(super) fn next(&self) -> (Version, &Arc<TaskTemplate>) {
        match (&self.record.obeys, self.is_refused()) {
            (Some(obeys), true) => (obeys.version, &obeys.template),
            _ => (self.record.assigned.version, &self.record.assigned.template),
        }
    }

    fn is_refused(&self) -> bool {
        let refused = self.record.refused.as_ref();
        refused.is_some_and(|refused| refused.version == self.record.assigned.version)
    }

    /// Takes what is assigned now.
    pub fn assign(&mut self, assigned: AssignedExecution) -> Option<Step> {
        let before = artifact(self.next().1);
        let is_new = assigned.version != self.record.assigned.version;
        let may_more = assigned.in_place == InPlace::Restart
            && self.record.assigned.in_place != InPlace::Restart;
        if is_new || may_more {
            self.record.refused = None;
        }
        self.record.assigned = assigned;
        match self.record.stage {
            // What is made ready is not what is wanted: an attempt of its own, so that the answer
            // for the one cannot be taken for the other's.
            Stage::Preparing if artifact(self.next().1) != before => {
                self.record.attempt = self.record.attempt.next();
                Some(self.prepare_step())
            }
            Stage::Up { .. } => self.pursue(),
            _ => None,
        }
    }

    /// Takes the next step from what the running attempt obeys to what is assigned.
    pub(super) fn pursue(&mut self) -> Option<Step> {
        if self.record.assigned.desired != Desired::Run || self.is_refused() {
            return None;
        }
        let to = self.assigned();
        match &self.change {
            // A driver is never told two sizes at once.
            Some(UnderWay { what: What::Resizing, .. }) => return None,
            Some(under_way) if under_way.to == to => return None,
            _ => self.change = None,
        }
        let obeys = self.record.obeys.clone().unwrap_or_else(|| to.clone());
        let difference = compare(&obeys.template, &to.template);
        match difference.change {
            Change::None | Change::Rules => {
                self.record.obeys = Some(to);
                None
            }
            Change::Resize => Some(self.resize(&obeys, to)),
            Change::Restart => self.prepare_next(&difference.fields.join(", ")),
            Change::Replace => {
                self.refuse(format!(
                    "another {} cannot be had in place",
                    difference.fields.join(" and ")
                ));
                None
            }
        }
    }

    fn assigned(&self) -> Obeys {
        let assigned = &self.record.assigned;
        Obeys { version: assigned.version, template: Arc::clone(&assigned.template) }
    }

    fn resize(&mut self, from: &Obeys, to: Obeys) -> Step {
        let step = Step::Resize {
            execution: self.id(),
            engine: to.template.engine.clone(),
            attempt: self.record.attempt,
            to: NewLimits {
                cpu: to.template.cpu,
                memory: to.template.memory,
                below_bytes: most_in_use(from.template.memory, to.template.memory),
            },
        };
        self.change = Some(UnderWay { to, what: What::Resizing });
        step
    }

    /// Makes ready what a restart needs, or refuses it. `why`: what asks for the restart.
    fn prepare_next(&mut self, why: &str) -> Option<Step> {
        if self.record.assigned.in_place != InPlace::Restart {
            self.refuse(format!("needs a restart, which it may not have now: {why}"));
            return None;
        }
        let to = self.assigned();
        let step = Step::PrepareNext {
            execution: self.id(),
            version: to.version,
            engine: to.template.engine.clone(),
            digest: to.template.digest,
        };
        self.change = Some(UnderWay { to, what: What::Preparing });
        Some(step)
    }

    fn refuse(&mut self, why: String) {
        self.change = None;
        self.record.refused = Some(Refused { version: self.record.assigned.version, why });
    }

    /// The driver has changed the limits, or has not.
    pub(super) fn resized(&mut self, event: Event) -> Option<Step> {
        let under_way = self.change.take_if(|change| change.what == What::Resizing)?;
        let is_wanted = under_way.to.version == self.record.assigned.version;
        match event {
            Event::ResizeRefused { why, .. } if is_wanted => self.prepare_next(&why),
            Event::ResizeRefused { .. } => self.pursue(),
            _ => {
                self.record.obeys = Some(under_way.to);
                self.pursue()
            }
        }
    }

    /// What the other version needs is ready: now, and not before, the attempt is ended for it.
    pub(super) fn next_prepared(&mut self, event: &Event, now: Moment) -> Option<Step> {
        let Event::NextPrepared { version } = event else { return None };
        self.change.take_if(|change| change.prepares(*version))?;
        if self.record.assigned.in_place != InPlace::Restart {
            return self.pursue();
        }
        let Stage::Up { since } = self.record.stage else { return None };
        let grace = self.template().kill_timeout;
        let ending = Ending { since, deadline: now.after(grace), killed: false };
        self.record.stage = Stage::Restarting(ending);
        self.detail = Some(format!("is ended for version {version}, which is ready"));
        Some(self.ask_stop(grace, Then::Next))
    }

    /// The attempt goes on untouched.
    pub(super) fn next_failed(&mut self, event: Event) -> Option<Step> {
        let Event::NextFailed { version, exit } = event else { return None };
        self.change.take_if(|change| change.prepares(version))?;
        self.refuse(unready(&exit));
        None
    }

    /// An attempt that was ended for another version is over: the next one may begin. A task that
    /// did its work meanwhile is done.
    pub(super) fn turn(&mut self, event: Event, now: Moment) -> Option<Step> {
        let Event::Ended { exit, .. } = &event else { return None };
        if self.template().kind.ends() && exit.is_success() {
            return self.judge(event, now);
        }
        self.record.attempt = self.record.attempt.next();
        self.record.stage = Stage::Held;
        self.ports.clear();
        self.detail = None;
        None
    }

    /// What is assigned cannot be made ready, but there is what was obeyed before: that again.
    pub(super) fn fall_back(&mut self, exit: &ExitStatus) -> Option<Step> {
        let obeys = self.record.obeys.as_ref()?;
        let is_other = artifact(&obeys.template) != artifact(self.next().1);
        if !is_other || !matches!(self.record.stage, Stage::Preparing) {
            return None;
        }
        self.refuse(unready(exit));
        self.record.attempt = self.record.attempt.next();
        Some(self.prepare_step())
    }
}

impl UnderWay {
    fn prepares(&self, version: Version) -> bool {
        self.what == What::Preparing && self.to.version == version
    }
}

/// What `prepare` makes ready.
fn artifact(template: &TaskTemplate) -> (String, pliant_types::Digest) {
    (template.engine.clone(), template.digest)
}

fn unready(exit: &ExitStatus) -> String {
    format!("cannot be made ready: {exit}")
}
