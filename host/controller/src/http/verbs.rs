//! Verbs on a job: stop, start, scale, rerun, tag, delete.

use super::{
    context::Api,
    error::ApiError,
    hosts::json,
    jobs::{JobPath, parse_path},
};
use axum::{
    Json,
    body::Bytes,
    extract::{
        Path, Query, State,
        rejection::{BytesRejection, QueryRejection},
    },
    http::{HeaderMap, header},
    response::{IntoResponse, Response},
};
use pliant_api::{
    body::{ScaleBody, StopQuery, TagBody, VerbAnswer},
    headers::{IDEMPOTENCY_KEY, Precondition, check_key, etag, precondition},
    routes::JobRef as PathRef,
};
use pliant_core::{
    Answer, Command, DeleteJob, Expect, IdempotencyKey, JobRef, Principal, Request, RerunJob,
    ScaleJob, ScaleTo, StartJob, StopJob, TagVersion,
};
use pliant_types::{Digest, Tag, VersionRef, codes::Code};
use sha2::{Digest as _, Sha256};

/// The path of a tag: namespace, job, tag.
type TagPath = Path<(String, String, String)>;

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
    let mut sent = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(value) = sent.next() else { return Ok(None) };
    if sent.next().is_some() {
        let words = "a request has one Idempotency-Key, this one has several";
        return Err(ApiError::new(Code::BodyInvalid, words));
    }
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

/// POST `…/stop`, of the whole job or of the runs of one version.
pub(super) async fn stop(
    State(api): State<Api>,
    Path((namespace, job)): JobPath,
    query: Result<Query<StopQuery>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let Query(StopQuery { version }) = query?;
    let job = job_ref(&namespace, &job)?;
    let stop = |job, expect| Command::Stop(StopJob { job, expect, version });
    carry_out(&api, &headers, job, stop).await
}

/// POST `…/scale`
pub(super) async fn scale(
    State(api): State<Api>,
    Path((namespace, job)): JobPath,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let body: ScaleBody = json(&body?)?;
    let to = match (body.count, body.by) {
        (Some(count), None) => ScaleTo::Exactly(count),
        (None, Some(by)) => ScaleTo::By(by),
        _ => {
            let words = "a scale has either `count` or `by`";
            return Err(ApiError::new(Code::BodyInvalid, words));
        }
    };
    let job = job_ref(&namespace, &job)?;
    let scale = |job, expect| Command::Scale(ScaleJob { job, expect, to });
    carry_out(&api, &headers, job, scale).await
}

/// POST `…/rerun`
pub(super) async fn rerun(
    State(api): State<Api>,
    Path((namespace, job)): JobPath,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let job = job_ref(&namespace, &job)?;
    carry_out(&api, &headers, job, |job, expect| Command::Rerun(RerunJob { job, expect })).await
}

/// PUT `…/tags/{tag}`
pub(super) async fn tag(
    State(api): State<Api>,
    Path((namespace, job, tag)): TagPath,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let body = body?;
    let TagBody { version } = if body.is_empty() { TagBody::default() } else { json(&body)? };
    put_tag(&api, &headers, (namespace, job, tag), version.or(Some(VersionRef::Current))).await
}

/// DELETE `…/tags/{tag}`
pub(super) async fn untag(
    State(api): State<Api>,
    Path((namespace, job, tag)): TagPath,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    put_tag(&api, &headers, (namespace, job, tag), None).await
}

async fn put_tag(
    api: &Api,
    headers: &HeaderMap,
    (namespace, job, tag): (String, String, String),
    version: Option<VersionRef>,
) -> Result<Response, ApiError> {
    let job = job_ref(&namespace, &job)?;
    let tag: Tag =
        tag.parse().map_err(|e| ApiError::new(Code::BodyInvalid, format!("in the path: {e}")))?;
    let command = |job, expect| Command::Tag(TagVersion { job, expect, tag, version });
    carry_out(api, headers, job, command).await
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

/// The precondition of a verb, which acts on a job that exists: `*` asks for nothing more.
pub(super) fn verb_expect(headers: &HeaderMap) -> Result<Expect, ApiError> {
    Ok(match expect_of(headers)? {
        Precondition::None | Precondition::Present => Expect::Anything,
        Precondition::Absent => Expect::Absent,
        Precondition::Revision(revision) => Expect::Revision(revision),
    })
}

/// Asks the core for a verb and answers with the job's new revision.
pub(super) async fn carry_out(
    api: &Api,
    headers: &HeaderMap,
    job: JobRef,
    command: impl FnOnce(JobRef, Expect) -> Command,
) -> Result<Response, ApiError> {
    let expect = verb_expect(headers)?;
    let before = api.newest().state.revision();
    let command = command(job, expect);
    let asked = format!("{command:?}");
    let key = key_of(headers, &[asked.as_bytes()])?;
    // Only what changed something is remembered, so a repeated request did.
    let repeated = is_remembered(api, key.as_ref());
    let (answer, revision) = api.inbox.ask(Request { principal: admin(), key, command }).await?;
    let Answer::Job { uid, spec_revision } = answer else {
        return Err(ApiError::new(Code::Internal, "the core answered another question"));
    };
    let changed = repeated || (spec_revision > before && spec_revision <= revision);
    let body = VerbAnswer { uid, revision: spec_revision, changed };
    Ok(([(header::ETAG, etag(spec_revision))], Json(body)).into_response())
}

fn is_remembered(api: &Api, key: Option<&(IdempotencyKey, Digest)>) -> bool {
    let Some((key, body)) = key else { return false };
    let state = api.newest().state;
    state.requests.get(&(admin(), key.clone())).is_some_and(|old| old.body == *body)
}
