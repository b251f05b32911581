//! A small model of what must hold, independent of the planner and of the agents' logic: it only
//! sees guests begin and end, and answers reach users.

use pliant_types::{Attempt, ExecutionId, Incarnation, JobUid, TaskNumber};
use std::collections::{BTreeMap, BTreeSet};

/// A task as the oracle knows it.
pub(crate) type TaskName = (JobUid, Incarnation, TaskNumber);

/// A guest that begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begun {
    pub(crate) task: TaskName,
    pub(crate) execution: ExecutionId,
    pub(crate) attempt: Attempt,
    pub(crate) exclusive: bool,
    pub(crate) host: usize,
}

/// What has been seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Oracle {
    running: BTreeMap<(usize, ExecutionId), Begun>,
    begun: BTreeSet<(ExecutionId, Attempt)>,
    succeeded: BTreeSet<ExecutionId>,
    promised: BTreeMap<String, JobUid>,
    violations: Vec<String>,
}

impl Oracle {
    /// A guest begins. No attempt begins twice; what has succeeded never begins again; of an
    /// exclusive task no two guests run; no execution has two guests at once anywhere.
    pub(crate) fn begin(&mut self, begun: Begun) {
        if !self.begun.insert((begun.execution, begun.attempt)) {
            self.broken(format!("{} began attempt {} twice", begun.execution, begun.attempt));
        }
        if self.succeeded.contains(&begun.execution) {
            self.broken(format!("{} had succeeded and began again", begun.execution));
        }
        let same: Vec<_> =
            self.running.values().filter(|other| other.task == begun.task).copied().collect();
        for other in same {
            if other.execution == begun.execution {
                self.broken(format!("{} has two guests at once", begun.execution));
            } else if begun.exclusive || other.exclusive {
                self.broken(format!(
                    "exclusive task {:?} runs as {} on host {} and as {} on host {}",
                    begun.task, other.execution, other.host, begun.execution, begun.host
                ));
            }
        }
        self.running.insert((begun.host, begun.execution), begun);
    }

    /// A guest is over.
    pub(crate) fn end(&mut self, host: usize, execution: ExecutionId) {
        self.running.remove(&(host, execution));
    }

    /// A batch guest ended with success and its end is durable on its host.
    pub(crate) fn succeed(&mut self, execution: ExecutionId) {
        self.succeeded.insert(execution);
    }

    /// A machine went down with everything on it.
    pub(crate) fn host_down(&mut self, host: usize) {
        self.running.retain(|(on, _), _| *on != host);
    }

    /// A user was told that a job exists.
    pub(crate) fn promise(&mut self, name: &str, uid: JobUid) {
        self.promised.insert(name.to_owned(), uid);
    }

    /// A user asked to delete a job; from then on it may be gone.
    pub(crate) fn release(&mut self, name: &str) {
        self.promised.remove(name);
    }

    /// Jobs that users were told of and may rely on.
    pub(crate) fn promised(&self) -> impl Iterator<Item = (&String, JobUid)> {
        self.promised.iter().map(|(name, uid)| (name, *uid))
    }

    /// Guests that run now.
    pub(crate) fn running(&self) -> impl Iterator<Item = &Begun> {
        self.running.values()
    }

    /// Notes a broken rule.
    pub(crate) fn broken(&mut self, what: String) {
        self.violations.push(what);
    }

    /// Every broken rule so far.
    pub(crate) fn violations(&self) -> &[String] {
        &self.violations
    }
}
