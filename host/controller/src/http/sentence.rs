//! Facts in sentences, as events show them.

use pliant_core::{
    FactKind,
    state::{TaskEnd, Wanted},
};
use pliant_types::assignment::InPlace;

/// A fact in a sentence, for events.
pub(super) fn sentence(fact: &FactKind) -> String {
    match fact {
        FactKind::TermStarted { epoch, .. } => format!("controller term {epoch} began"),
        FactKind::JobCreated { name, kind, .. } => format!("{kind} job {name} was created"),
        FactKind::VersionAdded { record, .. } => {
            format!("version {} by {}", record.number, record.author)
        }
        FactKind::IncarnationStarted { incarnation, version, size, .. } => {
            format!("run {incarnation} of version {version} began with {size} tasks")
        }
        FactKind::JobSized { size, .. } => format!("its size is {size} now"),
        FactKind::JobWanted { wanted, .. } => match wanted {
            Wanted::Running => "it was started".to_owned(),
            Wanted::Stopped => "it was asked to stop".to_owned(),
            Wanted::Deleted => "it was deleted".to_owned(),
        },
        FactKind::JobEnded { end, .. } if end.success => format!("it completed: {}", end.reason),
        FactKind::JobEnded { end, .. } => format!("it failed: {}", end.reason),
        FactKind::JobForgotten { job } => format!("{job} is gone"),
        FactKind::VersionForgotten { version, .. } => {
            format!("version {version} fell out of history")
        }
        FactKind::IncarnationForgotten { incarnation, .. } => {
            format!("run {incarnation} fell out of history")
        }
        FactKind::TaskAdded { task, host } => {
            format!("task {} belongs to host {host}", task.number)
        }
        FactKind::TaskRetried { task, failures, .. } if *failures > 0 => {
            format!("task {} failed {failures} times in a row and is placed again", task.number)
        }
        FactKind::TaskRetried { task, .. } => format!("task {} is placed again", task.number),
        FactKind::TaskEnded { task, end, .. } => match end {
            TaskEnd::Completed => format!("task {} completed", task.number),
            TaskEnd::Failed(why) => format!("task {} {why}", task.number),
        },
        FactKind::TaskForgotten { task } => format!("task {} was removed", task.number),
        FactKind::MembersFixed { .. } => "its hosts are chosen".to_owned(),
        FactKind::VersionProven { version, .. } => format!("version {version} is proven"),
        FactKind::VersionFailed { version, reason, .. } => {
            format!("version {version} failed: {reason}")
        }
        FactKind::VersionTagged { version, tag, .. } => {
            format!("version {version} is tagged {tag}")
        }
        FactKind::VersionUntagged { tag, .. } => format!("no version is tagged {tag} any more"),
        FactKind::IncarnationMoved { incarnation, version, .. } => {
            format!("run {incarnation} counts as version {version}, without a restart")
        }
        FactKind::IncarnationHalted { incarnation, .. } => {
            format!("run {incarnation} was asked to stop")
        }
        FactKind::RunQueued { version: Some(version), .. } => {
            format!("version {version} waits for the end of the present run")
        }
        FactKind::RunQueued { version: None, .. } => "no version waits any more".to_owned(),
        FactKind::RolloutStarted { rollout, .. } => format!(
            "rollout {} to version {} began ({})",
            rollout.id,
            rollout.progress.version,
            rollout.cause.as_str()
        ),
        FactKind::RolloutChanged { rollout, progress, .. } => {
            let why = progress.message.as_ref().map(|words| format!(": {words}"));
            let why = why.filter(|_| progress.reason.is_some()).unwrap_or_default();
            format!("rollout {rollout} is {}{why}", progress.state)
        }
        FactKind::RolloutForgotten { rollout, .. } => {
            format!("rollout {rollout} fell out of history")
        }
        FactKind::TaskRetired { task } => {
            format!("task {} ends: its host does not match any more", task.number)
        }
        FactKind::NamespaceCreated { namespace } => format!("namespace {namespace} was created"),
        FactKind::NamespaceDeleted { namespace } => format!("namespace {namespace} was deleted"),
        other => execution_sentence(other),
    }
}

fn execution_sentence(fact: &FactKind) -> String {
    match fact {
        FactKind::ExecutionPlaced { execution, task, host, version, .. } => {
            format!("task {} is {execution} on {host} at version {version}", task.number)
        }
        FactKind::ExecutionRelabelled { execution, version } => {
            format!("{execution} counts as version {version}, without a restart")
        }
        FactKind::ExecutionChanged { execution, version, in_place, .. } => {
            let how = match in_place {
                InPlace::Live => "without a restart",
                InPlace::Restart => "by a restart where it is",
            };
            format!("{execution} becomes version {version}, {how}")
        }
        FactKind::ExecutionResized { execution, cpu, memory } => {
            format!("{execution} holds {cpu} and {memory} now")
        }
        FactKind::ExecutionStopRequested { execution, .. } => {
            format!("{execution} is asked to stop")
        }
        FactKind::ExecutionObserved { observation } => {
            let exit =
                observation.exit.as_ref().map(|exit| format!(", {exit}")).unwrap_or_default();
            format!(
                "{} is {}, attempt {}{exit}",
                observation.execution, observation.phase, observation.attempt
            )
        }
        FactKind::ExecutionLost { execution } => format!("{execution} is lost with its host"),
        FactKind::HostRegistered { host, description } => {
            format!("host {} is {host}", description.name)
        }
        FactKind::HostDescribed { host, .. } => format!("{host} describes itself anew"),
        FactKind::HostStaged { host, stage, .. } => format!("{host} is {stage}"),
        FactKind::HostFenced { host, fence } => format!("{host} has fence {fence}"),
        FactKind::HostModeSet { host, mode } => format!("{host} is {mode}"),
        FactKind::RequestRemembered { .. } => "an answer is kept for its key".to_owned(),
        FactKind::RequestForgotten { .. } => "an old answer was forgotten".to_owned(),
        other => other.word().to_owned(),
    }
}
