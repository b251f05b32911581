//! Versions of a job: list, show, compare, tag, go back.

use super::{Context, follow, run::print_answer};
use crate::{
    args::{Diff, Rollback, Tag},
    fail::Failure,
    output,
};
use pliant_api::{
    body::{DiffQuery, DiffView, RollbackBody, TagBody, VersionView},
    parse::{Format, render},
};
use pliant_types::{
    Revision, VersionRef,
    codes::{Code, exit_code::DONE},
    spec::{API_VERSION, Manifest, WrittenMetadata},
};
use similar::TextDiff;
use std::collections::BTreeMap;

pub(crate) async fn list(context: &Context<'_>, job: &str) -> Result<u8, Failure> {
    let job = context.job(job)?;
    let found = context.client.versions(&context.global.namespace, &job).await?.items;
    output::list(context.global.output, &found)?;
    Ok(DONE)
}

/// One version: as a job that can be submitted, or only its text.
pub(crate) async fn show(
    context: &Context<'_>,
    job: &str,
    (version, text): (&VersionRef, bool),
) -> Result<u8, Failure> {
    let namespace = &context.global.namespace;
    let reference = context.job(job)?;
    let view = context.client.version(namespace, &reference, version).await?;
    if text {
        let Some(text) = &view.text else {
            let words = format!("version {} was submitted without a text", view.version);
            return Err(Failure::new(Code::ResultsNotFound, words));
        };
        print!("{text}");
        return Ok(DONE);
    }
    let name = context.client.job(namespace, &reference).await?.metadata.name;
    let written = |map: &BTreeMap<String, String>| {
        map.iter().map(|(key, value)| (key.clone(), Some(value.clone()))).collect()
    };
    let manifest = Manifest {
        api_version: API_VERSION.to_owned(),
        metadata: WrittenMetadata {
            name,
            namespace: Some(namespace.clone()),
            labels: written(&view.labels),
            annotations: written(&view.annotations),
        },
        spec: view.spec.clone(),
    };
    output::one(context.global.output, &view, &view.version.to_string(), || {
        format!("{}{}", render(&manifest, Format::Yaml), describe(&view))
    })?;
    Ok(DONE)
}

fn describe(view: &VersionView) -> String {
    let mut text = format!("\nversion {}, {}, by {}", view.version, view.result, view.author);
    if let Some(from) = view.from {
        text += &format!(", a copy of version {from}");
    }
    if let Some(failure) = &view.failure {
        text += &format!("\nfailed: {failure}");
    }
    if let Some(message) = &view.message {
        text += &format!("\nmessage: {}", output::visible(message));
    }
    text
}

pub(crate) async fn diff(context: &Context<'_>, asked: Diff) -> Result<u8, Failure> {
    let job = context.job(&asked.job)?;
    let query = DiffQuery { from: Some(asked.from), to: Some(asked.to) };
    let view = context.client.diff(&context.global.namespace, &job, &query).await?;
    let name = format!("{}..{}", view.from, view.to);
    output::one(context.global.output, &view, &name, || {
        if asked.text { texts(&view) } else { fields(&view) }
    })?;
    Ok(DONE)
}

fn fields(view: &DiffView) -> String {
    if view.changes.is_empty() {
        return format!("versions {} and {} say the same", view.from, view.to);
    }
    super::run::changes(&view.changes)
}

fn texts(view: &DiffView) -> String {
    let (old, new) = (view.from_text.clone().unwrap_or_default(), view.to_text.clone());
    TextDiff::from_lines(&old, &new.unwrap_or_default())
        .unified_diff()
        .header(&format!("version {}", view.from), &format!("version {}", view.to))
        .to_string()
}

pub(crate) async fn tag(context: &Context<'_>, asked: Tag) -> Result<u8, Failure> {
    let job = context.job(&asked.job)?;
    let body = TagBody { version: Some(asked.version.clone()) };
    let to = (!asked.remove).then_some(&body);
    let answer = context.client.tag(&context.global.namespace, &job, &asked.tag, to).await?;
    output::one(context.global.output, &answer, &asked.job, || match (answer.changed, to) {
        (false, _) => format!("job {}: nothing to do", asked.job),
        (true, Some(_)) => {
            format!("job {}: {} is tagged {}", asked.job, version_words(&asked.version), asked.tag)
        }
        (true, None) => format!("job {}: no version is tagged {} any more", asked.job, asked.tag),
    })?;
    Ok(DONE)
}

fn version_words(version: &VersionRef) -> String {
    match version {
        VersionRef::Number(number) => format!("version {number}"),
        VersionRef::Tag(tag) => format!("the version tagged {tag}"),
        other => format!("the {other} version"),
    }
}

pub(crate) async fn rollback(context: &Context<'_>, asked: Rollback) -> Result<u8, Failure> {
    let job = context.job(&asked.job)?;
    let body = RollbackBody { to: asked.to, message: asked.message };
    let how = (asked.expect_revision.map(Revision::new), asked.dry_run);
    let answer = context.client.rollback(&context.global.namespace, &job, &body, how).await?;
    print_answer(context, &answer)?;
    if asked.detach || asked.dry_run {
        return Ok(DONE);
    }
    let goal = follow::Goal { rollout: answer.rollout, until_done: false };
    follow::follow(context, &job, (&asked.wait, goal)).await
}
