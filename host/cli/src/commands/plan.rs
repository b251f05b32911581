//! `plan`: what `run` would do, kept in a file if asked; and `run --plan`, which does exactly that.

use super::{
    Context, follow,
    run::{Prepared, prepare, print_answer, read, send},
};
use crate::{
    args::{Plan, Run},
    fail::Failure,
};
use pliant_api::{
    body::{ChangeView, SubmitAnswer, SubmitOutcome},
    parse::Format,
    routes::JobRef,
};
use pliant_types::{
    Revision,
    codes::{Code, exit_code::DONE},
};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// `plan --detailed-exitcode`: something changes, no running task is touched.
const CHANGES: u8 = 20;
/// `plan --detailed-exitcode`: running tasks are touched.
const TOUCHES: u8 = 21;

/// A plan in a file: what is sent, and what it was said to do.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SavedPlan {
    /// The form of this file.
    plan_version: u32,
    namespace: pliant_types::Namespace,
    name: pliant_types::JobName,
    /// YAML, JSON or TOML, by its media type.
    content_type: String,
    /// The text with its component uploaded.
    text: String,
    source: Option<String>,
    force: bool,
    message: Option<String>,
    /// The job's spec revision that the plan was made for; 0 is "no such job".
    expect_revision: Revision,
    outcome: SubmitOutcome,
    changes: Vec<ChangeView>,
}

pub(crate) async fn plan(context: &Context<'_>, plan: Plan) -> Result<u8, Failure> {
    let jobs = read(&plan.files)?;
    if plan.out.is_some() && jobs.len() != 1 {
        let words = format!("--out keeps the plan of one job, the files hold {}", jobs.len());
        return Err(Failure::new(Code::BodyInvalid, words));
    }
    let mut code = DONE;
    for job in jobs {
        let mut prepared = prepare(context, job).await?;
        prepared.force = plan.force;
        prepared.message.clone_from(&plan.message);
        prepared.expect = plan.expect_revision.map(Revision::new);
        let answer = send(context, &prepared, true).await?;
        print_answer(context, &answer)?;
        match &plan.out {
            Some(out) => {
                save(out, &prepared, &answer)?;
                eprintln!("run it with: pliant run --plan {}", out.display());
            }
            None => eprintln!("run it with: {}", command(&plan, &answer)),
        }
        code = code.max(detailed(&answer));
    }
    Ok(if plan.detailed_exitcode { code } else { DONE })
}

fn detailed(answer: &SubmitAnswer) -> u8 {
    let touched = answer.plan.as_ref().is_some_and(|plan| {
        ["restart", "replace", "stop"]
            .iter()
            .any(|step| plan.counts.get(*step).is_some_and(|n| *n > 0))
    });
    match answer.outcome {
        SubmitOutcome::Unchanged => DONE,
        _ if touched => TOUCHES,
        _ => CHANGES,
    }
}

/// The command that runs this plan and nothing else.
fn command(plan: &Plan, answer: &SubmitAnswer) -> String {
    let files: Vec<_> = plan.files.iter().map(|file| file.display().to_string()).collect();
    let revision = answer.plan.as_ref().map_or(Revision::new(0), |plan| plan.expect_revision);
    let mut text = format!("pliant run {}", files.join(" "));
    if plan.files.len() == 1 {
        text += &format!(" --expect-revision {revision}");
    }
    if plan.force {
        text += " --force";
    }
    if let Some(message) = &plan.message {
        text += &format!(" -m {message:?}");
    }
    text
}

fn save(out: &Path, prepared: &Prepared, answer: &SubmitAnswer) -> Result<(), Failure> {
    let saved = SavedPlan {
        plan_version: 1,
        namespace: prepared.namespace.clone(),
        name: prepared.name.clone(),
        content_type: prepared.format.content_type().to_owned(),
        text: prepared.text.clone(),
        source: prepared.source.clone(),
        force: prepared.force,
        message: prepared.message.clone(),
        expect_revision: answer.plan.as_ref().map_or(Revision::new(0), |plan| plan.expect_revision),
        outcome: answer.outcome,
        changes: answer.changes.clone(),
    };
    let text = serde_json::to_string_pretty(&saved).map_err(anyhow::Error::from)?;
    std::fs::write(out, text + "\n").map_err(|error| {
        Failure::new(Code::BodyInvalid, format!("{} cannot be written: {error}", out.display()))
    })
}

/// Runs a saved plan: refused when the job moved on, or when a tag moved so that the same text would
/// now do something else.
pub(crate) async fn run_saved(
    context: &Context<'_>,
    file: &Path,
    run: &Run,
) -> Result<u8, Failure> {
    let shown = file.display();
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::new(Code::BodyInvalid, format!("{shown}: {error}")))?;
    let saved: SavedPlan = serde_json::from_str(&text)
        .map_err(|error| Failure::new(Code::BodyInvalid, format!("{shown} is no plan: {error}")))?;
    let format = Format::of_content_type(&saved.content_type).unwrap_or(Format::Yaml);
    let prepared = Prepared {
        shown: shown.to_string(),
        namespace: saved.namespace,
        name: saved.name,
        text: saved.text,
        format,
        source: saved.source,
        force: saved.force,
        message: saved.message,
        expect: Some(saved.expect_revision),
    };
    let now = send(context, &prepared, true).await?;
    if now.outcome != saved.outcome || now.changes != saved.changes {
        let words = format!(
            "the plan said {} changes and would now make {}; a tag of its component has moved",
            saved.changes.len(),
            now.changes.len()
        );
        return Err(Failure::new(Code::RevisionMismatch, words));
    }
    let answer = send(context, &prepared, false).await?;
    print_answer(context, &answer)?;
    if run.detach {
        return Ok(DONE);
    }
    follow::follow(
        context,
        &JobRef::Name(answer.name.clone()),
        (&run.wait, super::run::goal(&answer, run.until)),
    )
    .await
}
