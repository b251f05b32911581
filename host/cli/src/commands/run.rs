//! `run`: parse, upload, submit, follow; and how the answer of a submission is printed.

use super::{
    Context,
    follow::{self, Goal},
};
use crate::{
    args::{Run, Until},
    fail::Failure,
    output,
};
use pliant_api::{
    body::{ChangeView, PlanView, SubmitAnswer, SubmitOutcome, SubmitQuery},
    parse::{Format, ParsedJob, parse, render},
    problem::Problem,
    routes::JobRef,
};
use pliant_client::{IdempotencyKey, Submission};
use pliant_types::{
    Revision,
    codes::{Code, exit_code::DONE},
    spec::{Engine, Source},
};
use std::{
    io::Read,
    path::{Path, PathBuf},
};

/// A job of a file.
pub(crate) struct FromFile {
    pub(crate) file: PathBuf,
    pub(crate) format: Format,
    pub(crate) job: ParsedJob,
}

/// Reads every job of every file; all errors of a file at once.
pub(crate) fn read(files: &[PathBuf]) -> Result<Vec<FromFile>, Failure> {
    let mut jobs = Vec::new();
    for file in files {
        let shown = file.display().to_string();
        let text = read_text(file).map_err(|error| {
            Failure::new(Code::BodyInvalid, format!("{shown} cannot be read: {error}"))
        })?;
        let format = Format::of_path(&shown);
        let parsed = parse(&text, format)
            .map_err(|failure| Failure::in_file(Problem::from(failure), &shown))?;
        for job in parsed {
            jobs.push(FromFile { file: file.clone(), format, job });
        }
    }
    Ok(jobs)
}

/// Longest file of jobs, as the controller takes bodies.
const MAX_FILE_BYTES: u64 = 4 << 20;

fn read_text(file: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    if file.as_os_str() == "-" {
        std::io::stdin().take(MAX_FILE_BYTES + 1).read_to_string(&mut text)?;
    } else {
        std::fs::File::open(file)?.take(MAX_FILE_BYTES + 1).read_to_string(&mut text)?;
    }
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(std::io::Error::other(format!("it has more than {MAX_FILE_BYTES} bytes")));
    }
    Ok(text)
}

pub(crate) async fn run(context: &Context<'_>, run: Run) -> Result<u8, Failure> {
    if let Some(file) = run.plan.clone() {
        return super::plan::run_saved(context, &file, &run).await;
    }
    let mut code = DONE;
    for job in read(&run.files)? {
        let mut prepared = prepare(context, job).await?;
        prepared.force = run.force;
        prepared.message.clone_from(&run.message);
        prepared.expect = run.expect_revision.map(Revision::new);
        let answer = send(context, &prepared, run.dry_run).await?;
        print_answer(context, &answer)?;
        if run.detach || run.dry_run {
            continue;
        }
        let reference = JobRef::Name(answer.name.clone());
        let goal = goal(&answer, run.until);
        let waited = follow::follow(context, &reference, (&run.wait, goal)).await?;
        code = code.max(waited);
    }
    Ok(code)
}

/// What is waited for after a submission or a rollback.
pub(crate) fn goal(answer: &SubmitAnswer, until: Until) -> Goal {
    Goal { rollout: answer.rollout, until_done: until == Until::Done }
}

/// A submission whose component is uploaded.
pub(crate) struct Prepared {
    pub(crate) shown: String,
    pub(crate) namespace: pliant_types::Namespace,
    pub(crate) name: pliant_types::JobName,
    pub(crate) text: String,
    pub(crate) format: Format,
    pub(crate) source: Option<String>,
    pub(crate) force: bool,
    pub(crate) message: Option<String>,
    pub(crate) expect: Option<Revision>,
}

/// Checks a job of a file and uploads its component.
pub(crate) async fn prepare(context: &Context<'_>, from: FromFile) -> Result<Prepared, Failure> {
    let FromFile { file, format, job } = from;
    let shown = file.display().to_string();
    let problems = job.problems();
    if !problems.is_empty() {
        let errors = problems.into_iter().map(|p| p.error).collect();
        let problem = Problem::new(Code::SpecInvalid)
            .with_detail(format!("the spec of {} is invalid", job.manifest.metadata.name))
            .with_errors(errors);
        return Err(Failure::in_file(problem, &shown));
    }
    let metadata = &job.manifest.metadata;
    let namespace = metadata.namespace.clone().unwrap_or_else(|| context.global.namespace.clone());
    let name = metadata.name.clone();
    let (text, source) = upload(context, &file, format, job).await?;
    let (force, message, expect) = (false, None, None);
    Ok(Prepared { shown, namespace, name, text, format, source, force, message, expect })
}

/// Sends a submission, or only asks what it would do.
pub(crate) async fn send(
    context: &Context<'_>,
    prepared: &Prepared,
    dry_run: bool,
) -> Result<SubmitAnswer, Failure> {
    let submission = Submission {
        namespace: prepared.namespace.clone(),
        name: prepared.name.clone(),
        text: prepared.text.clone(),
        format: prepared.format,
        query: SubmitQuery {
            dry_run,
            force: prepared.force,
            message: prepared.message.clone(),
            source: prepared.source.clone(),
        },
        expect: prepared.expect,
        key: IdempotencyKey::random(),
    };
    context.client.submit(&submission).await.map_err(|error| match error {
        pliant_client::ClientError::Refused(problem) => Failure::in_file(*problem, &prepared.shown),
        other => other.into(),
    })
}

/// Uploads a `file://` component and names its digest instead; comments of the text stay.
async fn upload(
    context: &Context<'_>,
    file: &Path,
    format: Format,
    job: ParsedJob,
) -> Result<(String, Option<String>), Failure> {
    let Some(Engine::Wasm(wasm)) = &job.manifest.spec.engine else { return Ok((job.text, None)) };
    let Some(Source::File(path)) = &wasm.component else { return Ok((job.text, None)) };
    let base = if file.as_os_str() == "-" {
        Path::new(".")
    } else {
        file.parent().unwrap_or(Path::new("."))
    };
    let component = base.join(path);
    let place = |words: String| {
        let error = job.error("/spec/engine/wasm/component", words);
        let problem = Problem::new(Code::ArtifactInvalid)
            .with_detail("the component cannot be uploaded")
            .with_errors(vec![error]);
        Failure::in_file(problem, &file.display().to_string())
    };
    let metadata = std::fs::metadata(&component)
        .map_err(|error| place(format!("{}: {error}", component.display())))?;
    if !metadata.is_file() {
        return Err(place(format!("{} is no regular file", component.display())));
    }
    let size = metadata.len();
    let limit = pliant_inspect::limits::ARTIFACT_BYTES;
    if size > limit {
        let words =
            format!("{} has {size} bytes, a component has at most {limit}", component.display());
        return Err(place(words));
    }
    let view = context.client.upload(&component).await?;
    let source = Source::File(path.clone()).to_string();
    let digest = view.digest.to_string();
    let replaced = job.text.replacen(&source, &digest, 1);
    let same =
        parse(&replaced, format).ok().and_then(|mut jobs| jobs.pop()).is_some_and(|parsed| {
            matches!(&parsed.manifest.spec.engine, Some(Engine::Wasm(wasm))
            if wasm.component == Some(Source::Digest(view.digest)))
        });
    if same {
        return Ok((replaced, Some(source)));
    }
    // The path was written in a form that does not stand in the text as it is read.
    let mut manifest = job.manifest;
    if let Some(Engine::Wasm(wasm)) = &mut manifest.spec.engine {
        wasm.component = Some(Source::Digest(view.digest));
    }
    Ok((render(&manifest, format), Some(source)))
}

/// Prints what a submission or a rollback did, or would do.
pub(crate) fn print_answer(context: &Context<'_>, answer: &SubmitAnswer) -> Result<(), Failure> {
    for warning in &answer.warnings {
        eprintln!("warning: {warning}");
    }
    output::one(context.global.output, answer, &answer.name, || {
        let word = match answer.outcome {
            SubmitOutcome::Created => "created",
            SubmitOutcome::Unchanged => "unchanged",
            SubmitOutcome::Started => "started",
            SubmitOutcome::Forced => "forced",
            SubmitOutcome::Updated => "updated",
        };
        let would = if answer.dry_run { "would be " } else { "" };
        let mut text = format!(
            "job {} {would}{word}: version {}, revision {}\n",
            answer.name, answer.version, answer.revision
        );
        text += &changes(&answer.changes);
        if let Some(plan) = &answer.plan {
            text += &steps(plan);
        }
        text
    })
}

/// Changed fields, one in a line, each with its class.
pub(crate) fn changes(changes: &[ChangeView]) -> String {
    let none = || "(none)".to_owned();
    changes
        .iter()
        .map(|change| {
            let (old, new) = (change.old.clone(), change.new.clone());
            format!(
                "  {} {} -> {} [{}]\n",
                change.field,
                old.unwrap_or_else(none),
                new.unwrap_or_else(none),
                change.class
            )
        })
        .collect()
}

/// Tasks that a plan prints by themselves.
const SHOWN_STEPS: usize = 20;

fn steps(plan: &PlanView) -> String {
    let counts: Vec<_> =
        plan.counts.iter().map(|(step, count)| format!("{count} {step}")).collect();
    let mut text = match plan.size_before {
        Some(before) if before != plan.size_after => {
            format!("  size {before} -> {}\n", plan.size_after)
        }
        Some(_) => format!("  size {} is kept\n", plan.size_after),
        None => format!("  size {}\n", plan.size_after),
    };
    if !counts.is_empty() {
        text += &format!("  tasks: {}\n", counts.join(", "));
    }
    let moved = plan.steps.iter().filter(|step| step.step != "keep");
    for step in moved.clone().take(SHOWN_STEPS) {
        let place = match (&step.from, &step.to) {
            (Some(from), Some(to)) if from == to => format!("on {to}"),
            (Some(from), Some(to)) => format!("{from} -> {to}"),
            (None, Some(to)) => format!("on {to}"),
            (Some(from), None) => format!("on {from}"),
            (None, None) => String::new(),
        };
        let wait = step.wait.as_ref().map(|wait| format!(" waits: {wait}")).unwrap_or_default();
        text += &format!("    task {} {} {place}{wait}\n", step.task, step.step);
    }
    let hidden = moved.count().saturating_sub(SHOWN_STEPS);
    if hidden > 0 {
        text += &format!("    … and {hidden} more; `-o json` lists a thousand\n");
    }
    text
}
