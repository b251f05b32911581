//! Why something waits, restarts or failed: the planner's report and the hosts' last words.

use super::{
    context::Api,
    error::ApiError,
    executions::execution as find_execution,
    jobs::{JobPath, find, parse_path},
    views,
};
use crate::published::Published;
use axum::{
    Json,
    extract::{Path, State},
};
use pliant_api::body::{ExitView, LastEnd, Timestamp, Waiting, WhyView};
use pliant_core::state::{Execution, Job, RolloutState, RunState};
use pliant_types::{Phase, codes::WaitCode, phase::AttemptState};

/// Ends that an answer lists, newest first.
const SHOWN_ENDS: usize = 5;
/// Reasons that an answer lists.
const SHOWN_WAITS: usize = 50;

/// GET `…/why` of a job.
pub(super) async fn job(
    State(api): State<Api>,
    Path((namespace, job)): JobPath,
) -> Result<Json<WhyView>, ApiError> {
    let (namespace, reference) = parse_path(&namespace, &job)?;
    let published = api.newest();
    let job = find(&published, &namespace, &reference)?;
    let waiting = waiting(&api, &published, job);
    let ends = ends(&published, job);
    Ok(Json(WhyView {
        subject: format!("job {}", job.name),
        sentence: sentence(&published, job, &waiting, &ends),
        suggestions: suggestions(&published, job, &waiting, &ends),
        waiting,
        ends,
    }))
}

/// GET `/v1/executions/{execution}/why`
pub(super) async fn execution(
    State(api): State<Api>,
    Path(id): Path<String>,
) -> Result<Json<WhyView>, ApiError> {
    let published = api.newest();
    let found = find_execution(&published.state, &id)?;
    let waiting: Vec<_> = in_flight(&api, found).into_iter().collect();
    let ends: Vec<_> = last_end(found).into_iter().collect();
    let sentence = match (waiting.first(), ends.first()) {
        (Some(wait), _) => wait.message.clone(),
        (None, Some(end)) if !found.is_live() => {
            format!("it is {}: {}", found.phase, exit_words(&end.exit))
        }
        _ => format!("it is {} and waits for nothing", found.phase),
    };
    let suggestions = vec![format!("pliant logs {}", found.id)];
    Ok(Json(WhyView {
        subject: format!("execution {}", found.id),
        sentence,
        waiting,
        ends,
        suggestions,
    }))
}

/// Tasks without an execution by the planner's report, tasks with one by what their host says.
fn waiting(api: &Api, published: &Published, job: &Job) -> Vec<Waiting> {
    let planned = published.report.waits.get(&job.uid).into_iter().flatten().map(|wait| Waiting {
        task: (wait.tasks.len() == 1).then(|| wait.tasks[0]),
        code: wait.code,
        message: match wait.tasks.len() {
            1 => wait.sentence.clone(),
            many => format!("{many} tasks: {}", wait.sentence),
        },
        hosts: Vec::new(),
        until: wait.until.map(Timestamp),
    });
    let newest = views::newest_executions(&published.state, job);
    let flying = newest.into_iter().filter_map(|found| in_flight(api, found));
    planned.chain(flying).take(SHOWN_WAITS).collect()
}

fn in_flight(api: &Api, found: &Execution) -> Option<Waiting> {
    let detail = api.hosts.detail(found.id).map(|d| format!(" ({d})")).unwrap_or_default();
    let (code, message) = match (found.phase, found.attempt_state) {
        (Phase::Stopping, _) => (
            WaitCode::StopUnconfirmed,
            format!("its host {} has not confirmed the stop{detail}", found.host),
        ),
        (Phase::Placed | Phase::Preparing, _) => {
            let words = format!("host {} has it and it does not run yet{detail}", found.host);
            (WaitCode::AgentWorking, words)
        }
        (Phase::Running, AttemptState::Up) => return None,
        (Phase::Running, _) => {
            let exit = found.exit.as_ref().map(|exit| format!("; it ended before: {exit}"));
            let words = format!(
                "attempt {} is waiting for its restart{}{detail}",
                found.attempt,
                exit.unwrap_or_default()
            );
            (WaitCode::RestartWait, words)
        }
        _ => return None,
    };
    Some(Waiting { task: Some(found.task.number), code, message, hosts: Vec::new(), until: None })
}

fn ends(published: &Published, job: &Job) -> Vec<LastEnd> {
    let state = &published.state;
    let mut found: Vec<&Execution> = state
        .all_tasks_of(job.uid)
        .flat_map(|task| task.executions.iter())
        .filter_map(|id| state.executions.get(id))
        .filter(|found| found.exit.as_ref().is_some_and(|exit| !exit.is_success()))
        .filter(|found| found.phase != Phase::Stopped)
        .collect();
    found.sort_by_key(|found| std::cmp::Reverse(found.id));
    found.into_iter().take(SHOWN_ENDS).filter_map(last_end).collect()
}

fn last_end(found: &Execution) -> Option<LastEnd> {
    Some(LastEnd {
        execution: found.id,
        task: found.task.number,
        exit: ExitView::from(found.exit.as_ref()?),
        at: found.ended_at.map(Timestamp),
        last_lines: Vec::new(),
    })
}

fn exit_words(exit: &ExitView) -> String {
    let code = exit.code.map(|code| format!(" with code {code}")).unwrap_or_default();
    let detail = exit.detail.as_deref().and_then(|d| d.lines().next());
    let detail = detail.map(|line| format!(": {line}")).unwrap_or_default();
    format!("{}{code}{detail}", exit.reason)
}

fn sentence(published: &Published, job: &Job, waiting: &[Waiting], ends: &[LastEnd]) -> String {
    let state = published.state.run_state(job);
    if let Some(end) = &job.ended {
        return format!("it is {}: {}", state.as_str(), end.reason);
    }
    if let Some(wait) = waiting.first() {
        return match (wait.code, ends.first()) {
            (WaitCode::BackOff | WaitCode::RestartWait, Some(end)) => {
                format!("{}; the last end was: {}", wait.message, exit_words(&end.exit))
            }
            _ => wait.message.clone(),
        };
    }
    if let Some(words) = of_rollout(published, job).filter(|_| state != RunState::Stopped) {
        return words;
    }
    match state {
        RunState::Running => "every task runs; nothing waits".to_owned(),
        RunState::Stopped => "it was stopped; `start` runs it again".to_owned(),
        other => format!("it is {} and nothing waits", other.as_str()),
    }
}

/// What the newest rollout of a service or daemon waits for, or why it failed.
fn of_rollout(published: &Published, job: &Job) -> Option<String> {
    let rollout = published.state.rollouts_of(job.uid).next_back().filter(|_| !job.kind.ends())?;
    let progress = &rollout.progress;
    let message = progress.message.clone().unwrap_or_default();
    let (id, version) = (rollout.id, progress.version);
    match progress.state {
        RolloutState::Failed => Some(format!(
            "rollout {id} to version {version} failed: {message}; there is nothing to go back to"
        )),
        RolloutState::Successful if rollout.undoes.is_some() => {
            let undone = rollout.undoes.and_then(|undone| {
                published.state.rollouts_of(job.uid).find(|other| other.id == undone)
            })?;
            let why = undone.progress.message.clone().unwrap_or_default();
            Some(format!(
                "every task runs version {version}, to which rollout {} was rolled back: {why}",
                undone.id
            ))
        }
        RolloutState::Verifying => Some(format!(
            "every task is healthy at version {version}; it is proven when they stay so"
        )),
        RolloutState::Progressing => Some(format!(
            "rollout {id} to version {version} waits until its tasks have been healthy long enough"
        )),
        _ => None,
    }
}

fn suggestions(
    published: &Published,
    job: &Job,
    waiting: &[Waiting],
    ends: &[LastEnd],
) -> Vec<String> {
    let mut commands = Vec::new();
    let has = |codes: &[WaitCode]| waiting.iter().any(|wait| codes.contains(&wait.code));
    if has(&[WaitCode::NoHost, WaitCode::NoEligibleHost, WaitCode::NoRoom, WaitCode::HostSilent]) {
        commands.push("pliant host list".to_owned());
    }
    if has(&[WaitCode::AwaitingPromotion]) {
        commands.push(format!("pliant rollout promote {}", job.name));
    }
    if has(&[WaitCode::RolloutPaused]) {
        commands.push(format!("pliant rollout resume {}", job.name));
    }
    if has(&[WaitCode::RolloutUnhealthy, WaitCode::ReplaceTurn, WaitCode::Retiring]) {
        commands.push(format!("pliant rollout status {}", job.name));
    }
    if !ends.is_empty() {
        commands.push(format!("pliant logs {}", job.name));
    }
    if published.state.run_state(job) == RunState::Stopped {
        commands.push(format!("pliant start {}", job.name));
    }
    if job.ended.as_ref().is_some_and(|end| end.success) {
        commands.push(format!("pliant job results {}", job.name));
    }
    commands
}
