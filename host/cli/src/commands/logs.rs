//! Logs of a job's tasks, or of one execution.

use super::Context;
use crate::{
    args::{Logs, Output},
    fail::Failure,
    output::visible,
};
use futures::{StreamExt, stream::FuturesUnordered};
use pliant_api::body::{ExecutionView, LogLine, LogQuery, LogStream, PageQuery};
use pliant_client::Received;
use pliant_types::{
    ExecutionId, TaskNumber,
    codes::{Code, exit_code::DONE},
};
use serde::Serialize;
use std::collections::BTreeMap;

/// Tasks whose logs are followed at once.
const MAX_FOLLOWED: usize = 64;

pub(crate) async fn logs(context: &Context<'_>, asked: Logs) -> Result<u8, Failure> {
    let query = LogQuery { follow: asked.follow, tail: asked.tail, ..LogQuery::default() };
    if let Ok(execution) = asked.subject.parse::<ExecutionId>() {
        let look = Look { form: context.global.output, prefix: String::new(), raw: asked.raw };
        print(context, execution, &query, look).await?;
        return Ok(DONE);
    }
    let found = executions(context, &asked).await?;
    let many = found.len() > 1;
    let look = |execution: &ExecutionView| Look {
        form: context.global.output,
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

/// How lines are shown.
struct Look {
    form: Output,
    prefix: String,
    raw: bool,
}

/// A line with where it comes from, for programs.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Whole<'a> {
    execution: ExecutionId,
    #[serde(flatten)]
    line: &'a LogLine,
}

/// Connections in a row that give no line before a log that is not followed is given up.
const MAX_LOST: u32 = 3;

async fn print(
    context: &Context<'_>,
    execution: ExecutionId,
    query: &LogQuery,
    look: Look,
) -> Result<(), Failure> {
    if look.form == Output::Name {
        println!("{execution}");
        return Ok(());
    }
    let mut lines = context.client.logs(execution, query);
    let mut lost = 0;
    while let Some(received) = lines.next().await? {
        match received {
            Received::Body(line) => {
                lost = 0;
                show(execution, &line, &look)?;
            }
            Received::Lost(error) => {
                lost += 1;
                if !query.follow && lost >= MAX_LOST {
                    return Err(error.into());
                }
                eprintln!("… the connection was lost and is made again ({error})");
            }
        }
    }
    Ok(())
}

/// A log has no end that could be waited for, so each line is a document of its own.
fn show(execution: ExecutionId, line: &LogLine, look: &Look) -> Result<(), Failure> {
    let whole = Whole { execution, line };
    match (look.form, line.stream) {
        (Output::Json | Output::Jsonl, _) => {
            println!("{}", serde_json::to_string(&whole).map_err(anyhow::Error::from)?);
        }
        (Output::Yaml, _) => {
            let text = serde_saphyr::to_string(&whole).map_err(anyhow::Error::from)?;
            println!("---\n{}", text.trim_end());
        }
        (Output::Table | Output::Wide | Output::Name, stream) => {
            let text = if look.raw { line.line.clone() } else { visible(&line.line) };
            match stream {
                LogStream::Agent => eprintln!("{}# {text}", look.prefix),
                LogStream::Stdout | LogStream::Stderr => println!("{}{text}", look.prefix),
            }
        }
    }
    Ok(())
}
