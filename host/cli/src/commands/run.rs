//! `run`: parse, upload, submit, follow.

use super::{Context, follow};
use crate::{args::Run, fail::Failure, output};
use pliant_api::{
    body::{SubmitAnswer, SubmitOutcome, SubmitQuery},
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

fn read_text(file: &Path) -> std::io::Result<String> {
    if file.as_os_str() == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text)?;
        return Ok(text);
    }
    std::fs::read_to_string(file)
}

pub(crate) async fn run(context: &Context<'_>, run: Run) -> Result<u8, Failure> {
    let mut code = DONE;
    for job in read(&run.files)? {
        let answer = submit(context, &run, job).await?;
        print_answer(context, &answer)?;
        if run.detach || run.dry_run {
            continue;
        }
        let reference = JobRef::Name(answer.name.clone());
        let waited = follow::follow(context, &reference, &run.wait).await?;
        code = code.max(waited);
    }
    Ok(code)
}

async fn submit(context: &Context<'_>, run: &Run, from: FromFile) -> Result<SubmitAnswer, Failure> {
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
    let submission = Submission {
        namespace,
        name,
        text,
        format,
        query: SubmitQuery {
            dry_run: run.dry_run,
            force: run.force,
            message: run.message.clone(),
            source,
        },
        expect: run.expect_revision.map(Revision::new),
        key: IdempotencyKey::random(),
    };
    context.client.submit(&submission).await.map_err(|error| match error {
        pliant_client::ClientError::Refused(problem) => Failure::in_file(*problem, &shown),
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
    let size = std::fs::metadata(&component)
        .map_err(|error| place(format!("{}: {error}", component.display())))?
        .len();
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

fn print_answer(context: &Context<'_>, answer: &SubmitAnswer) -> Result<(), Failure> {
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
        for change in &answer.changes {
            let none = || "(none)".to_owned();
            let class = serde_json::to_string(&change.class).unwrap_or_default();
            text += &format!(
                "  {} {} -> {} [{}]\n",
                change.field,
                change.old.clone().unwrap_or_else(none),
                change.new.clone().unwrap_or_else(none),
                class.trim_matches('"')
            );
        }
        text
    })
}
