//! Why anything waits, in words with numbers (law 7); what `pliant why` shows.

use alloc::{collections::BTreeMap, string::String, vec::Vec};
use pliant_types::{Incarnation, JobUid, TaskNumber, Time, codes::WaitCode};

/// A reason that holds for one or more tasks of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The run.
    pub incarnation: Incarnation,
    /// The tasks, in order.
    pub tasks: Vec<TaskNumber>,
    /// The stable word.
    pub code: WaitCode,
    /// One sentence with its evidence.
    pub sentence: String,
    /// When it ends by itself, where that is known.
    pub until: Option<Time>,
}

/// Every reason, by job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanReport {
    /// Reasons of each waiting job.
    pub waits: BTreeMap<JobUid, Vec<Wait>>,
}

impl PlanReport {
    /// Adds a task's reason to the others of equal words.
    pub(super) fn add(&mut self, job: JobUid, task: TaskNumber, wait: Wait) {
        let waits = self.waits.entry(job).or_default();
        let same = waits.iter_mut().find(|w| {
            w.incarnation == wait.incarnation
                && w.code == wait.code
                && w.sentence == wait.sentence
                && w.until == wait.until
        });
        match same {
            Some(same) => same.tasks.push(task),
            None => waits.push(Wait { tasks: Vec::from([task]), ..wait }),
        }
    }

    /// Adds a reason that concerns a job as a whole.
    pub(super) fn note(&mut self, job: JobUid, wait: Wait) {
        self.waits.entry(job).or_default().push(wait);
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waits.is_empty()
    }
}
