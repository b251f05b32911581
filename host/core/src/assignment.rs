//! What one host must run, read off the state.

use crate::{State, state::Execution};
use pliant_types::{
    ExecutionId, HostId,
    assignment::{AssignedExecution, Assignment},
};

/// A host's whole assignment; nothing for a host that is not known.
///
/// Executions of an older fence are not listed: their host must end them (14-decisions.md, 14).
#[must_use]
pub fn assignment(state: &State, host: HostId) -> Option<Assignment> {
    let known = state.hosts.get(&host)?;
    let executions =
        state.live_on(host).filter_map(|execution| assigned(state, execution)).collect();
    Some(Assignment {
        host,
        epoch: state.epoch(),
        generation: known.generation,
        fence: known.fence,
        executions,
    })
}

/// One execution as its host must treat it; nothing when it is no longer listed.
#[must_use]
pub fn assigned_execution(state: &State, id: ExecutionId) -> Option<AssignedExecution> {
    state.executions.get(&id).filter(|e| e.is_live()).and_then(|e| assigned(state, e))
}

fn assigned(state: &State, execution: &Execution) -> Option<AssignedExecution> {
    let host = state.hosts.get(&execution.host)?;
    if host.fence != execution.fence {
        return None;
    }
    let job = state.jobs.get(&execution.task.job)?;
    let key = crate::state::VersionKey { job: job.uid, version: execution.version };
    let version = state.versions.get(&key)?;
    Some(AssignedExecution {
        execution: execution.id,
        job: job.uid,
        namespace: job.namespace.clone(),
        name: job.name.clone(),
        incarnation: execution.task.incarnation,
        task: execution.task.number,
        version: execution.version,
        desired: execution.desired,
        in_place: execution.in_place,
        template: version.template.clone(),
    })
}
