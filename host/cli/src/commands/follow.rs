//! Following a job until its rollout is healthy, or its run has ended: one line on stderr per change,
//! truthful exit codes.

use super::{
    Context,
    rollout::{line, span},
};
use crate::{args::WaitFlags, fail::Failure};
use pliant_api::{
    body::{JobStatus, JobView, RolloutView, WatchEvent},
    routes::JobRef,
};
use pliant_client::Received;
use pliant_types::{
    Kind, RolloutId,
    codes::{Code, exit_code},
};
use std::time::Duration;

/// Silence after which a line says that the wait goes on.
const HEARTBEAT: Duration = Duration::from_secs(30);
/// Lines of a failed task's log that are shown.
const LAST_LINES: u32 = 20;
/// How long the lines of a failed task are waited for.
const LINES_WAIT: Duration = Duration::from_secs(5);

/// What is waited for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Goal {
    /// The rollout; the newest when absent.
    pub(crate) rollout: Option<RolloutId>,
    /// Until it has ended, and not only until every task is healthy.
    pub(crate) until_done: bool,
}

/// Waits until the rollout of a service or daemon is healthy, or a batch or ops job has ended. The
/// answer is the exit code.
pub(crate) async fn follow(
    context: &Context<'_>,
    job: &JobRef,
    (wait, goal): (&WaitFlags, Goal),
) -> Result<u8, Failure> {
    let waiting = wait_for(context, job, goal);
    let limit = wait.timeout.map(|timeout| Duration::from_millis(timeout.get()));
    let interrupted = tokio::signal::ctrl_c();
    tokio::select! {
        code = waiting => code,
        () = sleep_or_never(limit) => timed_out(context, job).await,
        _ = interrupted => {
            eprintln!("interrupted; the work goes on. `pliant job wait {job}` waits again");
            Ok(exit_code::INTERRUPTED)
        }
    }
}

async fn sleep_or_never(limit: Option<Duration>) {
    match limit {
        Some(limit) => tokio::time::sleep(limit).await,
        None => std::future::pending().await,
    }
}

async fn timed_out(context: &Context<'_>, job: &JobRef) -> Result<u8, Failure> {
    let why = context.client.why(&context.global.namespace, job).await?;
    eprintln!("the wait is over and the work goes on: {}", why.sentence);
    let view = context.client.job(&context.global.namespace, job).await?;
    let placed = view.status.is_some_and(|s| s.tasks.pending == 0);
    Ok(if placed { exit_code::TIMED_OUT } else { exit_code::NOT_PLACED })
}

async fn wait_for(context: &Context<'_>, job: &JobRef, goal: Goal) -> Result<u8, Failure> {
    let namespace = &context.global.namespace;
    let mut events = context.client.watch(namespace, job);
    let mut said = String::new();
    loop {
        let view = context.client.job(namespace, job).await?;
        let rollout = rollout_of(context, job, (&view, goal)).await?;
        say(&view, rollout.as_ref(), &mut said);
        if let Some(code) = verdict(context, job, (&view, rollout.as_ref(), goal)).await? {
            return Ok(code);
        }
        match tokio::time::timeout(HEARTBEAT, events.next()).await {
            Err(_) => eprintln!("… still waiting: {said}{}", countdown(rollout.as_ref())),
            Ok(Ok(Some(Received::Body(WatchEvent::Gone)))) => {
                return Err(Failure::new(Code::JobNotFound, format!("job {job} was deleted")));
            }
            Ok(Ok(Some(Received::Body(_)))) => {}
            Ok(Ok(Some(Received::Lost(error)))) => {
                eprintln!("… the connection was lost and is made again ({error})");
            }
            Ok(Ok(None)) => return Err(Failure::new(Code::Unreachable, "the watch ended")),
            Ok(Err(error)) => return Err(error.into()),
        }
    }
}

/// The rollout that is waited for; the newest one stands in the job's status.
async fn rollout_of(
    context: &Context<'_>,
    job: &JobRef,
    (view, goal): (&JobView, Goal),
) -> Result<Option<RolloutView>, Failure> {
    let newest = view.status.as_ref().and_then(|status| status.rollout.clone());
    match goal.rollout {
        Some(id) if newest.as_ref().is_none_or(|newest| newest.id != id) => {
            let namespace = &context.global.namespace;
            Ok(Some(context.client.rollout(namespace, job, Some(id)).await?))
        }
        _ => Ok(newest),
    }
}

fn countdown(rollout: Option<&RolloutView>) -> String {
    let Some(rollout) = rollout.filter(|rollout| rollout.active) else { return String::new() };
    match (rollout.until_left_ms, rollout.deadline_left_ms) {
        (Some(left), _) => format!(" (goes on in {})", span(left)),
        (None, Some(left)) => format!(" (fails in {} unless it gets better)", span(left)),
        (None, None) => String::new(),
    }
}

fn say(view: &JobView, rollout: Option<&RolloutView>, said: &mut String) {
    let Some(status) = &view.status else { return };
    let ends = view.spec.kind.is_some_and(Kind::ends);
    let mut words = match rollout.filter(|rollout| rollout.active && !ends) {
        Some(rollout) => line(rollout),
        None => counts(status),
    };
    let wait = rollout.and_then(|rollout| rollout.waits.first()).map(|wait| &wait.message);
    let condition = status.conditions.first().map(|condition| &condition.message);
    if let Some(why) = wait.or(condition) {
        words += &format!(" ({why})");
    }
    if words != *said {
        eprintln!("… {}", crate::output::visible(&words));
        *said = words;
    }
}

fn counts(status: &JobStatus) -> String {
    let tasks = &status.tasks;
    format!(
        "{}: {} running, {} completed, {} pending of {}",
        status.run_state, tasks.running, tasks.completed, tasks.pending, tasks.wanted
    )
}

/// Whether the wait is over, and with which exit code.
async fn verdict(
    context: &Context<'_>,
    job: &JobRef,
    (view, rollout, goal): (&JobView, Option<&RolloutView>, Goal),
) -> Result<Option<u8>, Failure> {
    let Some(status) = &view.status else { return Ok(None) };
    let kind = view.spec.kind.unwrap_or(Kind::Service);
    if kind.ends() {
        return of_run(context, job, (status, rollout)).await;
    }
    let Some(rollout) = rollout else { return Ok(None) };
    match rollout.state.as_str() {
        "verifying" if !goal.until_done => Ok(Some(healthy(view, status, rollout))),
        "successful" => Ok(Some(healthy(view, status, rollout))),
        "failed" => failed(context, job, rollout).await.map(Some),
        "superseded" | "cancelled" => {
            let why = rollout.message.clone().unwrap_or_default();
            eprintln!("· rollout {} is {}: {why}", rollout.id, rollout.state);
            Ok(Some(exit_code::CONFLICT))
        }
        _ => Ok(None),
    }
}

async fn of_run(
    context: &Context<'_>,
    job: &JobRef,
    (status, rollout): (&JobStatus, Option<&RolloutView>),
) -> Result<Option<u8>, Failure> {
    let superseded = rollout.filter(|rollout| rollout.state == "superseded");
    match status.run_state.as_str() {
        _ if superseded.is_some() => {
            let why = superseded.and_then(|r| r.message.clone()).unwrap_or_default();
            eprintln!("· the run was replaced while it was waited for: {why}");
            Ok(Some(exit_code::CONFLICT))
        }
        "completed" => {
            eprintln!("✓ completed: {}", status.end_reason.clone().unwrap_or_default());
            Ok(Some(exit_code::DONE))
        }
        "failed" => {
            eprintln!("✗ failed: {}", status.end_reason.clone().unwrap_or_default());
            last_lines(context, job).await?;
            Ok(Some(exit_code::JOB_FAILED))
        }
        "stopped" => {
            eprintln!("· stopped by somebody while it was waited for");
            Ok(Some(exit_code::CONFLICT))
        }
        _ => Ok(None),
    }
}

fn healthy(view: &JobView, status: &JobStatus, rollout: &RolloutView) -> u8 {
    for endpoint in &status.endpoints {
        eprintln!("✓ listening on {endpoint}");
    }
    let tasks = &rollout.tasks;
    let draining = match tasks.draining {
        0 => String::new(),
        draining => format!(", {draining} draining"),
    };
    let proof = match rollout.until_left_ms.filter(|_| rollout.state == "verifying") {
        Some(left) => format!("; proven in {} if it stays so", span(left)),
        None => String::new(),
    };
    // A version that only changed words or rules took no rollout.
    let version = view.metadata.current_version.max(rollout.version);
    eprintln!(
        "✓ healthy: {} of {} tasks at version {version}{draining}{proof}",
        tasks.healthy, tasks.wanted
    );
    exit_code::DONE
}

async fn failed(context: &Context<'_>, job: &JobRef, rollout: &RolloutView) -> Result<u8, Failure> {
    let why = rollout.message.clone().unwrap_or_default();
    eprintln!(
        "✗ rollout {} to version {} failed: {}",
        rollout.id,
        rollout.version,
        crate::output::visible(&why)
    );
    last_lines(context, job).await?;
    let namespace = &context.global.namespace;
    let all = context.client.rollouts(namespace, job).await?.items;
    match all.iter().find(|other| other.undoes == Some(rollout.id)) {
        Some(back) => {
            let version = context
                .client
                .version(namespace, job, &pliant_types::VersionRef::Number(back.version))
                .await?;
            let copy = version.from.map(|from| format!(", a copy of version {from}"));
            eprintln!(
                "  it is rolled back to version {}{} by rollout {}",
                back.version,
                copy.unwrap_or_default(),
                back.id
            );
        }
        None => eprintln!("  nothing was rolled back"),
    }
    Ok(exit_code::ROLLOUT_FAILED)
}

/// The end of the log of the newest execution that failed.
async fn last_lines(context: &Context<'_>, job: &JobRef) -> Result<(), Failure> {
    let why = context.client.why(&context.global.namespace, job).await?;
    let Some(end) = why.ends.first() else { return Ok(()) };
    if let Some(detail) = &end.exit.detail {
        eprintln!("  {} of task {}:", end.exit.reason, end.task);
        detail.lines().for_each(|line| eprintln!("    {}", crate::output::visible(line)));
    }
    let query = pliant_api::body::LogQuery { tail: Some(LAST_LINES), ..Default::default() };
    let mut lines = context.client.logs(end.execution, &query);
    eprintln!("  last lines of {}:", end.execution);
    let print = async {
        while let Ok(Some(Received::Body(line))) = lines.next().await {
            eprintln!("    {}", crate::output::visible(&line.line));
        }
    };
    // A log that cannot be had in time keeps nobody from the exit code.
    let _ = tokio::time::timeout(LINES_WAIT, print).await;
    Ok(())
}
