//! Following a job until it runs or has ended: one line on stderr per change, truthful exit codes.

use super::Context;
use crate::{args::WaitFlags, fail::Failure};
use pliant_api::{
    body::{JobView, WatchEvent},
    routes::JobRef,
};
use pliant_client::Received;
use pliant_types::{
    Kind, Phase,
    codes::{Code, exit_code},
};
use std::time::Duration;

/// Silence after which a line says that the wait goes on.
const HEARTBEAT: Duration = Duration::from_secs(30);
/// Lines of a failed task's log that are shown.
const LAST_LINES: u32 = 20;

/// Waits until every task of a service or daemon runs at the current version, or a batch or ops job
/// has ended. The answer is the exit code.
pub(crate) async fn follow(
    context: &Context<'_>,
    job: &JobRef,
    wait: &WaitFlags,
) -> Result<u8, Failure> {
    let waiting = wait_for(context, job);
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

async fn wait_for(context: &Context<'_>, job: &JobRef) -> Result<u8, Failure> {
    let namespace = &context.global.namespace;
    let mut events = context.client.watch(namespace, job);
    let mut said = String::new();
    loop {
        let view = context.client.job(namespace, job).await?;
        say(&view, &mut said);
        if let Some(code) = verdict(context, job, &view).await? {
            return Ok(code);
        }
        match tokio::time::timeout(HEARTBEAT, events.next()).await {
            Err(_) => eprintln!("… still waiting: {said}"),
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

fn say(view: &JobView, said: &mut String) {
    let Some(status) = &view.status else { return };
    let tasks = &status.tasks;
    let mut line = format!(
        "{}: {} running, {} completed, {} pending of {}",
        status.run_state, tasks.running, tasks.completed, tasks.pending, tasks.wanted
    );
    if let Some(condition) = status.conditions.first() {
        line += &format!(" ({})", condition.message);
    }
    if line != *said {
        eprintln!("… {line}");
        *said = line;
    }
}

/// Whether the wait is over, and with which exit code.
async fn verdict(
    context: &Context<'_>,
    job: &JobRef,
    view: &JobView,
) -> Result<Option<u8>, Failure> {
    let Some(status) = &view.status else { return Ok(None) };
    let kind = view.spec.kind.unwrap_or(Kind::Service);
    match status.run_state.as_str() {
        "completed" => {
            eprintln!("✓ completed: {}", status.end_reason.clone().unwrap_or_default());
            return Ok(Some(exit_code::DONE));
        }
        "failed" => {
            eprintln!("✗ failed: {}", status.end_reason.clone().unwrap_or_default());
            last_lines(context, job).await?;
            return Ok(Some(exit_code::JOB_FAILED));
        }
        "stopped" => {
            eprintln!("· stopped by somebody while it was waited for");
            return Ok(Some(exit_code::CONFLICT));
        }
        _ => {}
    }
    if kind.ends() {
        return Ok(None);
    }
    let failed = status
        .executions
        .iter()
        .any(|e| e.phase == Phase::Failed && e.version == view.metadata.current_version);
    if failed {
        let why = context.client.why(&context.global.namespace, job).await?;
        eprintln!("✗ a task keeps failing: {}", why.sentence);
        last_lines(context, job).await?;
        return Ok(Some(exit_code::ROLLOUT_FAILED));
    }
    let current =
        status.tasks.wanted == 0 || status.observed_version == Some(view.metadata.current_version);
    let up = status.tasks.running >= status.tasks.wanted
        && status.executions.len() >= status.tasks.wanted.min(100) as usize;
    let fixed = kind != Kind::Daemon || status.tasks.wanted > 0;
    if current && up && fixed {
        for endpoint in &status.endpoints {
            eprintln!("✓ listening on {endpoint}");
        }
        eprintln!("✓ running: {} of {} tasks", status.tasks.running, status.tasks.wanted);
        return Ok(Some(exit_code::DONE));
    }
    Ok(None)
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
    while let Ok(Some(Received::Body(line))) = lines.next().await {
        eprintln!("    {}", crate::output::visible(&line.line));
    }
    Ok(())
}
