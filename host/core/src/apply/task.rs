//! Facts about tasks.

use crate::{
    State,
    fact::{Fact, FactKind},
    state::{Task, TaskKey},
};
use pliant_types::ExecutionId;

pub(super) fn apply(state: &mut State, fact: &Fact) {
    match &fact.kind {
        FactKind::TaskAdded { task, host } => {
            state.tasks.insert(*task, Task::new(*task, Some(*host)));
            state.touch_task(*task);
        }
        FactKind::TaskRetried { task, judged, failures, retry_at, host } => {
            state.tasks.change(task, |t| {
                t.failures = *failures;
                t.retry_at = *retry_at;
                t.host = *host;
            });
            judge(state, *judged);
            state.touch_task(*task);
        }
        FactKind::TaskEnded { task, judged, end } => {
            state.tasks.change(task, |t| {
                t.end = Some(end.clone());
                t.retry_at = None;
            });
            judge(state, *judged);
            state.touch_task(*task);
        }
        FactKind::TaskForgotten { task } => remove(state, *task),
        FactKind::TaskRetired { task } => {
            state.tasks.change(task, |t| t.wanted = false);
            state.touch_task(*task);
        }
        _ => {}
    }
}

fn judge(state: &mut State, execution: ExecutionId) {
    state.executions.change(&execution, |e| e.judged = true);
}

/// Removes a task with the executions that it kept.
pub(super) fn remove(state: &mut State, key: TaskKey) {
    let Some(task) = state.tasks.get(&key).cloned() else { return };
    for id in &task.executions {
        if let Some(execution) = state.executions.get(id).filter(|e| e.is_live()).cloned() {
            state.index.release(&execution);
        }
        state.executions.remove(id);
    }
    state.tasks.remove(&key);
    state.touch_task(key);
}
