//! What lies between the template that an attempt obeys and the one that is assigned: how gently it
//! can get from one to the other (03-jobs.md, section 4). Decides on values only.

use std::sync::Arc;

use pliant_types::{Version, assignment::TaskTemplate};
use serde::{Deserialize, Serialize};

/// What an attempt obeys while that is not what is assigned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Behind {
    /// The version.
    pub version: Version,
    /// Its template.
    pub template: Arc<TaskTemplate>,
}

/// A change in place that a driver or the cache works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Where it leads.
    pub to: Behind,
    /// Whether the guest is restarted for it.
    pub restarts: bool,
}

/// The way from one template to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Distance {
    /// The guest notices nothing: equal, or only rules differ, which are read when they are needed.
    Rules,
    /// Only limits differ.
    Limits,
    /// The guest must be started again.
    Restart,
}

pub(super) fn distance(from: &TaskTemplate, to: &TaskTemplate) -> Distance {
    let same_rules = TaskTemplate {
        restart: to.restart,
        execution_timeout: to.execution_timeout,
        kill_timeout: to.kill_timeout,
        probes: to.probes.clone(),
        drain: to.drain,
        exclusive: to.exclusive,
        ..from.clone()
    };
    if same_rules == *to {
        return Distance::Rules;
    }
    let same_limits = TaskTemplate { cpu: to.cpu, memory: to.memory, ..same_rules };
    if same_limits == *to { Distance::Limits } else { Distance::Restart }
}
