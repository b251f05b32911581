//! Logs of a job's tasks, or of one execution.

use super::Context;
use crate::{args::Logs, fail::Failure, output::visible};
use futures::{StreamExt, stream::FuturesUnordered};
use pliant_api::body::{ExecutionView, LogQuery, LogStream, PageQuery};
use pliant_client::Received;
use pliant_types::{
    ExecutionId, TaskNumber,
    codes::{Code, exit_code::DONE},
};
use std::collections::BTreeMap;

/// Tasks whose logs are followed at once.
const MAX_FOLLOWED: usize = 64;

pub(crate) async fn logs(context: &Context<'_>, asked: Logs) -> Result<u8, Failure> {
    let query = LogQuery { follow: asked.follow, tail: asked.tail, ..LogQuery::default() };
    if let Ok(execution) = asked.subject.parse::<ExecutionId>() {
        print(context, execution, &query, Look { prefix: String::new(), raw: asked.raw }).await?;
        return Ok(DONE);
    }
    let found = executions(context, &asked).await?;
    let many = found.len() > 1;
    let look = |execution: &ExecutionView| Look {
        prefix: if many { format!("{}/{} ", execution.job, execution.task) } else { String::new() },
        raw: asked.raw,
    };
    if !asked.follow {
        for execution in &found {
            print(context, execution.id, &query, look(execution)).await?;
        }
        return Ok(DONE);
    }
    let mut running: FuturesUnordered<_> = found
        .iter()
        .take(MAX_FOLLOWED)
        .map(|execution| print(context, execution.id, &query, look(execution)))
        .collect();
    while let Some(result) = running.next().await {
        result?;
    }
    Ok(DONE)
}

/// The newest execution of each task, or the one before it.
async fn executions(context: &Context<'_>, asked: &Logs) -> Result<Vec<ExecutionView>, Failure> {
    let job = context.job(&asked.subject)?;
    let namespace = &context.global.namespace;
    let mut all =
        super::job::all_pages!(query => context.client.executions(Some((namespace, &job)), &query));
    all.retain(|e| asked.version.is_none_or(|version| e.version == version));
    let mut by_task: BTreeMap<_, Vec<ExecutionView>> = BTreeMap::new();
    let newest_run = all.iter().map(|e| e.incarnation).max();
    for execution in all.into_iter().filter(|e| Some(e.incarnation) == newest_run) {
        if asked.task.is_none_or(|task| execution.task == TaskNumber::new(task)) {
            by_task.entry(execution.task).or_default().push(execution);
        }
    }
    let back = if asked.previous { 2 } else { 1 };
    let found: Vec<_> = by_task
        .into_values()
        .filter_map(|mut kept| {
            let index = kept.len().checked_sub(back)?;
            Some(kept.swap_remove(index))
        })
        .collect();
    if found.is_empty() {
        let words = format!("job {} has no execution whose log that would be", asked.subject);
        return Err(Failure::new(Code::ExecutionNotFound, words));
    }
    Ok(found)
}

struct Look {
    prefix: String,
    raw: bool,
}

async fn print(
    context: &Context<'_>,
    execution: ExecutionId,
    query: &LogQuery,
    look: Look,
) -> Result<(), Failure> {
    let mut lines = context.client.logs(execution, query);
    while let Some(received) = lines.next().await? {
        match received {
            Received::Body(line) => {
                let text = if look.raw { line.line.clone() } else { visible(&line.line) };
                match line.stream {
                    LogStream::Agent => eprintln!("{}# {text}", look.prefix),
                    LogStream::Stdout | LogStream::Stderr => println!("{}{text}", look.prefix),
                }
            }
            Received::Lost(error) => {
                eprintln!("… the connection was lost and is made again ({error})")
            }
        }
    }
    Ok(())
}
