//! The answer of submissions and rollbacks: carried out by the writer, or only foretold.

use super::{context::Api, error::ApiError};
use axum::http::StatusCode;
use pliant_api::body::{ChangeView, PlanView, StepView, SubmitAnswer, SubmitOutcome, SubmitQuery};
use pliant_core::{Answer, Forecast, Request, State, SubmitOutcome as CoreOutcome, forecast};
use pliant_types::{HostId, JobName, Namespace, Revision, codes::Code};

/// Asks the core, or with `dryRun` only what it would do; both by the same decision.
pub(super) async fn carry_out(
    api: &Api,
    request: Request,
    (namespace, name): (Namespace, JobName),
    query: &SubmitQuery,
) -> Result<(SubmitAnswer, StatusCode), ApiError> {
    if query.dry_run {
        let state = api.newest().state;
        let now = api.hosts.now();
        let asked = state.clone();
        let foretold = tokio::task::spawn_blocking(move || forecast(&asked, &request, now))
            .await
            .map_err(|error| ApiError::new(Code::Internal, error.to_string()))??;
        let plan = plan(&state, &foretold, (&namespace, &name));
        let mut view = view(foretold.answer, (namespace, name), true);
        view.plan = Some(plan);
        return Ok((view, StatusCode::OK));
    }
    let (answer, _) = api.inbox.ask(request).await?;
    let Answer::Submitted(answer) = answer else {
        return Err(ApiError::new(Code::Internal, "the core answered another question"));
    };
    let view = view(answer, (namespace, name), false);
    let created = view.outcome == SubmitOutcome::Created;
    Ok((view, if created { StatusCode::CREATED } else { StatusCode::OK }))
}

fn plan(state: &State, foretold: &Forecast, (namespace, name): (&Namespace, &JobName)) -> PlanView {
    let host = |id: HostId| {
        state.hosts.get(&id).map_or_else(|| id.to_string(), |h| h.description.name.to_string())
    };
    let job = state.index.job(namespace, name).and_then(|uid| state.jobs.get(&uid));
    PlanView {
        size_before: foretold.size_before,
        size_after: foretold.size_after,
        expect_revision: job.map_or(Revision::new(0), |job| job.spec_revision),
        counts: foretold
            .counts
            .iter()
            .map(|(step, count)| (step.as_str().to_owned(), *count))
            .collect(),
        steps: foretold
            .steps
            .iter()
            .map(|step| StepView {
                incarnation: step.incarnation,
                task: step.task,
                step: step.step.as_str().to_owned(),
                version: step.version,
                from: step.from.map(host),
                to: step.to.map(host),
                wait: step.wait.clone(),
            })
            .collect(),
    }
}

fn view(
    answer: pliant_core::SubmitAnswer,
    (namespace, name): (Namespace, JobName),
    dry_run: bool,
) -> SubmitAnswer {
    let new = dry_run && answer.outcome == CoreOutcome::Created;
    SubmitAnswer {
        namespace,
        name,
        outcome: match answer.outcome {
            CoreOutcome::Created => SubmitOutcome::Created,
            CoreOutcome::Unchanged => SubmitOutcome::Unchanged,
            CoreOutcome::Started => SubmitOutcome::Started,
            CoreOutcome::Forced => SubmitOutcome::Forced,
            CoreOutcome::Updated => SubmitOutcome::Updated,
        },
        dry_run,
        uid: (!new).then_some(answer.uid),
        version: answer.version,
        previous_version: answer.previous_version,
        revision: if new { Revision::FIRST } else { answer.revision },
        rollout: answer.rollout.filter(|_| !dry_run),
        changes: answer.changes.into_iter().map(change).collect(),
        warnings: answer.warnings,
        plan: None,
    }
}

/// One changed field as answers show it.
pub(super) fn change(change: pliant_core::Change) -> ChangeView {
    ChangeView { field: change.field, old: change.old, new: change.new, class: change.class }
}
