//! Verbs on a job: stop, start, delete.

use super::{
    context::Api,
    error::ApiError,
    jobs::{JobPath, parse_path},
};
use axum::{
    Json,
    extract::{Path, State},
    http::{HeaderMap, header},
    response::{IntoResponse, Response},
};
use pliant_api::{
    body::VerbAnswer,
    headers::{IDEMPOTENCY_KEY, Precondition, check_key, etag, precondition},
    routes::JobRef as PathRef,
};
use pliant_core::{
    Answer, Command, DeleteJob, Expect, IdempotencyKey, JobRef, Principal, Request, StartJob,
    StopJob,
};
use pliant_types::{Digest, codes::Code};
use sha2::{Digest as _, Sha256};

/// The only principal until tokens with roles exist.
pub(super) fn admin() -> Principal {
    Principal("admin".into())
}

/// The precondition of a write.
pub(super) fn expect_of(headers: &HeaderMap) -> Result<Precondition, ApiError> {
    let text = |name| headers.get(name).map(|v| v.to_str().unwrap_or("unreadable"));
    precondition(text(header::IF_MATCH), text(header::IF_NONE_MATCH))
        .map_err(|words| ApiError::new(Code::BodyInvalid, words))
}

/// The key of an idempotent write with a hash over everything that it asks.
pub(super) fn key_of(
    headers: &HeaderMap,
    asked: &[&[u8]],
) -> Result<Option<(IdempotencyKey, Digest)>, ApiError> {
    let Some(value) = headers.get(IDEMPOTENCY_KEY) else { return Ok(None) };
    let key = value.to_str().unwrap_or_default();
    check_key(key).map_err(|words| ApiError::new(Code::BodyInvalid, words))?;
    let mut hash = Sha256::new();
    for part in asked {
        hash.update(part.len().to_be_bytes());
        hash.update(part);
    }
    Ok(Some((IdempotencyKey(key.to_owned()), Digest::new(hash.finalize().into()))))
}

/// A job of a path, for the core.
pub(super) fn job_ref(namespace: &str, job: &str) -> Result<JobRef, ApiError> {
    let (namespace, reference) = parse_path(namespace, job)?;
    Ok(match reference {
        PathRef::Name(name) => JobRef::Name(namespace, name),
        PathRef::Uid(uid) => JobRef::Uid(namespace, uid),
    })
}

/// POST `…/stop`
pub(super) async fn stop(
    State(api): State<Api>,
    Path((namespace, job)): JobPath,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let job = job_ref(&namespace, &job)?;
    carry_out(&api, &headers, job, |job, expect| Command::Stop(StopJob { job, expect })).await
}

/// POST `…/start`
pub(super) async fn start(
    State(api): State<Api>,
    Path((namespace, job)): JobPath,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let job = job_ref(&namespace, &job)?;
    carry_out(&api, &headers, job, |job, expect| Command::Start(StartJob { job, expect })).await
}

/// DELETE a job.
pub(super) async fn delete(
    State(api): State<Api>,
    Path((namespace, job)): JobPath,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let job = job_ref(&namespace, &job)?;
    carry_out(&api, &headers, job, |job, expect| Command::Delete(DeleteJob { job, expect })).await
}

async fn carry_out(
    api: &Api,
    headers: &HeaderMap,
    job: JobRef,
    command: impl FnOnce(JobRef, Expect) -> Command,
) -> Result<Response, ApiError> {
    let expect = match expect_of(headers)? {
        // A verb acts on a job that exists, so `*` asks for nothing more.
        Precondition::None | Precondition::Present => Expect::Anything,
        Precondition::Absent => Expect::Absent,
        Precondition::Revision(revision) => Expect::Revision(revision),
    };
    let before = api.newest().state.revision();
    let command = command(job, expect);
    let asked = format!("{command:?}");
    let key = key_of(headers, &[asked.as_bytes()])?;
    let (answer, revision) = api.inbox.ask(Request { principal: admin(), key, command }).await?;
    let Answer::Job { uid, spec_revision } = answer else {
        return Err(ApiError::new(Code::Internal, "the core answered another question"));
    };
    let changed = spec_revision > before && spec_revision <= revision;
    let body = VerbAnswer { uid, revision: spec_revision, changed };
    Ok(([(header::ETAG, etag(spec_revision))], Json(body)).into_response())
}
