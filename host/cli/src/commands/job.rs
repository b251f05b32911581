//! Reading jobs, executions and reasons.

use super::Context;
use crate::{
    fail::Failure,
    output::{self, Show, ago, state, table, trimmed},
};
use pliant_api::{
    body::{ExecutionView, JobView, PageQuery, WatchEvent, WhyView},
    parse::render,
    routes::JobRef,
};
use pliant_client::Received;
use pliant_types::{
    ExecutionId,
    codes::exit_code::DONE,
    spec::{Manifest, WrittenMetadata},
};

/// Every page of a list.
macro_rules! all_pages {
    ($query:ident => $call:expr) => {{
        let mut all = Vec::new();
        let mut $query = PageQuery { limit: Some(1_000), ..PageQuery::default() };
        loop {
            let page = $call.await?;
            all.extend(page.items);
            match page.next_cursor {
                Some(cursor) => $query.cursor = Some(cursor),
                None => break,
            }
        }
        all
    }};
}
pub(crate) use all_pages;

pub(crate) async fn list(context: &Context<'_>) -> Result<u8, Failure> {
    let namespace = &context.global.namespace;
    let jobs = all_pages!(query => context.client.jobs(Some(namespace), &query));
    output::list(context.global.output, &jobs)?;
    Ok(DONE)
}

/// `show`: with `-o yaml` or `-o json` the spec as written, ready to be submitted again.
pub(crate) async fn show(context: &Context<'_>, job: &str) -> Result<u8, Failure> {
    let view = context.client.job(&context.global.namespace, &context.job(job)?).await?;
    let name = view.metadata.name.to_string();
    output::one(context.global.output, &view, &name, || {
        render(&manifest(&view), pliant_api::parse::Format::Yaml) + &describe(&view)
    })?;
    Ok(DONE)
}

fn manifest(view: &JobView) -> Manifest {
    let written = |map: &std::collections::BTreeMap<String, String>| {
        map.iter().map(|(key, value)| (key.clone(), Some(value.clone()))).collect()
    };
    Manifest {
        api_version: view.api_version.clone(),
        metadata: WrittenMetadata {
            name: view.metadata.name.clone(),
            namespace: Some(view.metadata.namespace.clone()),
            labels: written(&view.metadata.labels),
            annotations: written(&view.metadata.annotations),
        },
        spec: view.spec.clone(),
    }
}

pub(crate) async fn status(context: &Context<'_>, job: &str) -> Result<u8, Failure> {
    let view = context.client.job(&context.global.namespace, &context.job(job)?).await?;
    let name = view.metadata.name.to_string();
    output::one(context.global.output, &view, &name, || describe(&view))?;
    Ok(DONE)
}

fn describe(view: &JobView) -> String {
    let meta = &view.metadata;
    let Some(status) = &view.status else { return String::new() };
    let mut text = format!(
        "\n{} {} ({}), version {}, run {}, created {} ago\n",
        meta.name,
        state(&status.run_state),
        meta.uid,
        meta.current_version,
        meta.incarnation,
        ago(meta.created_at)
    );
    let tasks = &status.tasks;
    text += &format!(
        "tasks: {} running, {} completed, {} failed, {} pending of {}\n",
        tasks.running, tasks.completed, tasks.failed, tasks.pending, tasks.wanted
    );
    if let Some(reason) = &status.end_reason {
        text += &format!("end: {reason}\n");
    }
    for endpoint in &status.endpoints {
        text += &format!("endpoint: {endpoint}\n");
    }
    for condition in &status.conditions {
        text += &format!("{}: {} ({})\n", condition.kind, condition.message, condition.reason);
    }
    text + &rows(&status.executions)
}

fn rows(executions: &[ExecutionView]) -> String {
    if executions.is_empty() {
        return String::new();
    }
    let mut table = table();
    table.set_header(ExecutionView::header(false));
    executions.iter().for_each(|execution| {
        table.add_row(execution.row(false));
    });
    trimmed(&table)
}

pub(crate) async fn why(context: &Context<'_>, subject: &str) -> Result<u8, Failure> {
    let view = match subject.parse::<ExecutionId>() {
        Ok(execution) => context.client.execution_why(execution).await?,
        Err(_) => context.client.why(&context.global.namespace, &context.job(subject)?).await?,
    };
    output::one(context.global.output, &view, &view.subject, || why_text(&view))?;
    Ok(DONE)
}

fn why_text(view: &WhyView) -> String {
    let mut text = format!("{}: {}\n", view.subject, view.sentence);
    for wait in &view.waiting {
        let task = wait.task.map(|task| format!("task {task}: ")).unwrap_or_default();
        let until = wait.until.map(|until| format!(", until {until}")).unwrap_or_default();
        text += &format!("  waits [{}] {task}{}{until}\n", wait.code, wait.message);
    }
    for end in &view.ends {
        let code = end.exit.code.map(|code| format!(" {code}")).unwrap_or_default();
        let detail = end.exit.detail.as_deref().and_then(|d| d.lines().next());
        let detail = detail.map(|line| format!(": {line}")).unwrap_or_default();
        text += &format!(
            "  ended {} (task {}): {}{code}{detail}\n",
            end.execution, end.task, end.exit.reason
        );
    }
    for command in &view.suggestions {
        text += &format!("  try: {command}\n");
    }
    text
}

pub(crate) async fn executions(context: &Context<'_>, job: Option<String>) -> Result<u8, Failure> {
    let job: Option<JobRef> = job.map(|job| context.job(&job)).transpose()?;
    let namespace = &context.global.namespace;
    let of = job.as_ref().map(|job| (namespace, job));
    let found = all_pages!(query => context.client.executions(of, &query));
    output::list(context.global.output, &found)?;
    Ok(DONE)
}

pub(crate) async fn execution(context: &Context<'_>, id: ExecutionId) -> Result<u8, Failure> {
    let view = context.client.execution(id).await?;
    output::one(context.global.output, &view, &id.to_string(), || {
        let mut text = rows(std::slice::from_ref(&view));
        if let Some(detail) = view.exit.as_ref().and_then(|exit| exit.detail.as_ref()) {
            text += "\n";
            text += detail;
        }
        if let Some(detail) = &view.detail {
            text += &format!("\nnow: {detail}");
        }
        text
    })?;
    Ok(DONE)
}

pub(crate) async fn events(context: &Context<'_>, job: &str, follow: bool) -> Result<u8, Failure> {
    let job = context.job(job)?;
    let namespace = &context.global.namespace;
    let past = context.client.events(Some((namespace, &job)), &PageQuery::default()).await?;
    output::list(context.global.output, &past.items)?;
    if !follow {
        return Ok(DONE);
    }
    let mut events = context.client.watch(namespace, &job);
    while let Some(received) = events.next().await? {
        match received {
            Received::Body(WatchEvent::Event { event }) => {
                println!("{}", output::visible(&event.row(false).join("  ")));
            }
            Received::Body(WatchEvent::Gone) => break,
            Received::Body(_) => {}
            Received::Lost(error) => {
                eprintln!("… the connection was lost and is made again ({error})")
            }
        }
    }
    Ok(DONE)
}
