//! The state as answers show it.

use super::context::Api;
use crate::published::Published;
use pliant_api::body::{
    Condition, ExecutionView, ExitView, HostAmounts, HostView, JobMetadata, JobStatus, JobSummary,
    JobView, PortView, RunView, TaskCounts, Timestamp,
};
use pliant_core::state::{Execution, Host, Job, RolloutState, RunState, State, Version};
use pliant_types::{Health, HostName, spec::API_VERSION};

/// Executions that a job's status lists; the rest is a page of its own.
const SHOWN_EXECUTIONS: usize = 100;

pub(super) fn job(api: &Api, published: &Published, job: &Job, version: &Version) -> JobView {
    let state = &published.state;
    JobView {
        api_version: API_VERSION.to_owned(),
        metadata: JobMetadata {
            name: job.name.clone(),
            namespace: job.namespace.clone(),
            labels: version.record.labels.clone(),
            annotations: version.record.annotations.clone(),
            uid: job.uid,
            revision: state.revision(),
            spec_revision: job.spec_revision,
            current_version: job.current,
            incarnation: job.incarnation,
            created_at: Timestamp(job.created_at),
            updated_at: Timestamp(job.updated_at),
        },
        spec: version.record.spec.as_ref().clone(),
        effective: Some(version.effective.spec().clone()),
        status: Some(status(api, published, job)),
    }
}

fn status(api: &Api, published: &Published, job: &Job) -> JobStatus {
    let state = &published.state;
    let newest = newest_executions(state, job);
    let mut asked = newest.iter().filter(|e| e.is_wanted()).peekable();
    let same = asked.peek().is_some() && asked.all(|e| e.version == job.current && e.is_settled());
    let endpoints = super::rollouts::serving(state, job)
        .flat_map(|e| ports(state, e))
        .map(|port| port.address)
        .collect();
    JobStatus {
        run_state: run_state(state, job).to_owned(),
        size: size(state, job),
        tasks: counts(state, job),
        observed_version: same.then_some(job.current),
        end_reason: job.ended.as_ref().map(|end| end.reason.clone()),
        ended_at: job.ended.as_ref().map(|end| Timestamp(end.at)),
        conditions: conditions(published, job),
        endpoints,
        rollout: super::rollouts::newest(published, job, api.hosts.now()),
        queued_version: job.queued,
        runs: runs(state, job),
        executions: newest
            .iter()
            .take(SHOWN_EXECUTIONS)
            .map(|e| execution(api, state, e))
            .collect(),
    }
}

/// The word of a job's state; a job under deletion has left its name and is shown by its uid only.
pub(super) fn run_state(state: &State, job: &Job) -> &'static str {
    state.run_state(job).as_str()
}

fn size(state: &State, job: &Job) -> u32 {
    if job.kind.follows_hosts() {
        state.index.tally(job.uid, job.incarnation).wanted
    } else {
        job.size
    }
}

/// What each task of the newest run has now: its live executions, a successor included, else the
/// newest that has ended.
pub(super) fn newest_executions<'a>(state: &'a State, job: &Job) -> Vec<&'a Execution> {
    let of_task = |task| {
        let mut live: Vec<_> = state.executions_of(task).filter(|e| e.is_live()).collect();
        if live.is_empty() {
            live.extend(state.executions_of(task).next_back());
        }
        live
    };
    state.tasks_of(job.uid, job.incarnation).flat_map(of_task).collect()
}

pub(super) fn counts(state: &State, job: &Job) -> TaskCounts {
    let tally = state.index.tally(job.uid, job.incarnation);
    let mut counts = TaskCounts {
        wanted: tally.wanted,
        completed: tally.completed,
        failed: tally.failed,
        ..TaskCounts::default()
    };
    for task in state.tasks_of(job.uid, job.incarnation) {
        match state.live_execution(task) {
            Some(execution) if execution.is_up() => {
                counts.running += 1;
                counts.healthy += u32::from(execution.health == Health::Healthy);
            }
            Some(_) => {}
            None if task.wanted && task.end.is_none() => counts.pending += 1,
            None => {}
        }
    }
    counts
}

fn conditions(published: &Published, job: &Job) -> Vec<Condition> {
    let waits = published.report.waits.get(&job.uid).into_iter().flatten();
    let mut conditions: Vec<_> = waits
        .map(|wait| Condition {
            kind: "Waiting".to_owned(),
            reason: wait.code.as_str().to_owned(),
            message: match wait.tasks.len() {
                0 => wait.sentence.clone(),
                tasks => format!("{tasks} of its tasks: {}", wait.sentence),
            },
        })
        .collect();
    let failing = published
        .state
        .tasks_of(job.uid, job.incarnation)
        .filter(|task| task.failures > 0 && task.end.is_none())
        .count();
    conditions.extend(degraded(&published.state, job));
    if failing > 0 && !job.kind.ends() {
        conditions.push(Condition {
            kind: "Degraded".to_owned(),
            reason: "failing".to_owned(),
            message: format!("{failing} of its tasks keep failing"),
        });
    }
    conditions
}

/// A service or daemon whose newest rollout failed and that has nowhere to go back to.
fn degraded(state: &State, job: &Job) -> Option<Condition> {
    let rollout = state.rollouts_of(job.uid).next_back().filter(|_| !job.kind.ends())?;
    let progress = &rollout.progress;
    (progress.state == RolloutState::Failed).then(|| Condition {
        kind: "Degraded".to_owned(),
        reason: progress.reason.map_or("failed", |reason| reason.as_str()).to_owned(),
        message: format!(
            "rollout {} to version {} failed: {}",
            rollout.id,
            progress.version,
            progress.message.clone().unwrap_or_default()
        ),
    })
}

pub(super) fn summary(published: &Published, job: &Job) -> JobSummary {
    let state = &published.state;
    let waits = published.report.waits.get(&job.uid).and_then(|waits| waits.first());
    let note = match state.run_state(job) {
        RunState::Failed | RunState::Completed => job.ended.as_ref().map(|end| end.reason.clone()),
        _ => waits.map(|wait| wait.sentence.clone()),
    };
    JobSummary {
        namespace: job.namespace.clone(),
        name: job.name.clone(),
        uid: job.uid,
        kind: job.kind,
        run_state: run_state(state, job).to_owned(),
        version: job.current,
        tasks: counts(state, job),
        note,
        created_at: Timestamp(job.created_at),
        updated_at: Timestamp(job.updated_at),
    }
}

/// The kept runs of a batch or ops job, newest first.
fn runs(state: &State, job: &Job) -> Vec<RunView> {
    if !job.kind.ends() {
        return Vec::new();
    }
    let view = |(incarnation, run): (_, &pliant_core::state::Incarnation)| RunView {
        incarnation,
        version: run.version,
        state: match (&run.ended, run.halted) {
            (Some(end), _) if end.success => "completed",
            (Some(_), _) => "failed",
            (None, Some(_)) => "ended",
            (None, None) => "active",
        }
        .to_owned(),
        reason: run.ended.as_ref().map(|end| end.reason.clone()),
        started_at: Timestamp(run.started_at),
        ended_at: run.ended.as_ref().map(|end| Timestamp(end.at)),
    };
    state.runs_of(job.uid).rev().map(view).collect()
}

/// The ports of an execution with their addresses.
pub(super) fn ports(state: &State, execution: &Execution) -> Vec<PortView> {
    let host = state.hosts.get(&execution.host);
    let address = host.map_or("127.0.0.1", |host| host_of(&host.description.address));
    let ports = execution.ports.iter();
    ports
        .map(|(name, port)| PortView { name: name.clone(), address: format!("{address}:{port}") })
        .collect()
}

/// The host part of an agent's `http://HOST:PORT`.
fn host_of(address: &str) -> &str {
    let rest = address.strip_prefix("http://").unwrap_or(address);
    rest.rsplit_once(':').map_or(rest, |(host, _)| host)
}

pub(super) fn execution(api: &Api, state: &State, execution: &Execution) -> ExecutionView {
    let job = state.jobs.get(&execution.task.job);
    let host = state.hosts.get(&execution.host);
    let unknown_host = || -> HostName { "unknown".parse().expect("a DNS label") };
    ExecutionView {
        id: execution.id,
        job_uid: execution.task.job,
        namespace: job
            .map_or_else(pliant_types::Namespace::default_namespace, |j| j.namespace.clone()),
        job: job.map_or_else(|| "unknown".parse().expect("a DNS label"), |j| j.name.clone()),
        incarnation: execution.task.incarnation,
        task: execution.task.number,
        version: execution.version,
        host: execution.host,
        host_name: host.map_or_else(unknown_host, |h| h.description.name.clone()),
        phase: execution.phase,
        health: execution.health,
        attempt: execution.attempt,
        attempt_state: execution.attempt_state,
        stop_cause: execution.stop.and_then(|cause| {
            serde_json::to_value(cause).ok().and_then(|v| v.as_str().map(str::to_owned))
        }),
        ports: ports(state, execution),
        exit: execution.exit.as_ref().map(ExitView::from),
        results: execution.results.as_ref().map(Into::into),
        detail: if execution.is_live() { api.hosts.detail(execution.id) } else { None },
        placed_at: Timestamp(execution.placed_at),
        started_at: execution.started_at.map(Timestamp),
        ended_at: execution.ended_at.map(Timestamp),
    }
}

pub(super) fn host(api: &Api, state: &State, host: &Host) -> HostView {
    let load = state.index.load(host.id);
    HostView {
        id: host.id,
        name: host.description.name.clone(),
        address: host.description.address.clone(),
        stage: host.stage,
        mode: host.mode,
        fence: host.fence,
        generation: host.generation,
        capacity: HostAmounts {
            cpu_millis: u64::from(host.description.cpu.millis()),
            memory_bytes: host.description.memory.bytes(),
            executions: host.description.max_executions,
        },
        held: HostAmounts {
            cpu_millis: u64::from(load.cpu.millis()),
            memory_bytes: load.memory.bytes(),
            executions: load.executions,
        },
        attributes: host.description.attributes.clone(),
        labels: host.description.labels.clone(),
        registered_at: Timestamp(host.registered_at),
        last_heard_ms: api.hosts.last_heard(host.id).map(pliant_types::Millis::get),
    }
}
