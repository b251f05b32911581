//! PUT a job: parse strictly, resolve its source to a digest, ask the core once.

use super::{
    answer,
    artifacts::in_use,
    context::Api,
    error::ApiError,
    hosts::json,
    jobs::{JobPath, find, parse_path},
    verbs::{admin, expect_of, job_ref, key_of, verb_expect},
};
use crate::artifacts::{ArtifactMeta, Verdict};
use axum::{
    Json,
    body::Bytes,
    extract::{
        Path, Query, State,
        rejection::{BytesRejection, QueryRejection},
    },
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use pliant_api::{
    body::{ArtifactKind, RollbackBody, SubmitAnswer, SubmitQuery},
    headers::{Precondition, etag},
    parse::{Format, ParsedJob, parse},
    problem::{FieldError, Problem},
    routes::JobRef,
};
use pliant_core::{Command, Expect, Force, Request, Rollback, Submit};
use pliant_types::{
    Digest, JobName, Namespace,
    codes::Code,
    spec::{Engine, RESERVED_PREFIX, Source, WrittenMap},
    validate::ProblemKind,
};
use std::sync::Arc;

const COMPONENT: &str = "/spec/engine/wasm/component";

/// PUT `/v1/namespaces/{namespace}/jobs/{job}`
pub(super) async fn submit(
    State(api): State<Api>,
    Path((namespace, job)): JobPath,
    query: Result<Query<SubmitQuery>, QueryRejection>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let (Query(query), body) = (query?, body?);
    let (namespace, reference) = parse_path(&namespace, &job)?;
    let JobRef::Name(name) = reference else {
        let words = "a submission names its job, not a uid";
        return Err(ApiError::new(Code::BodyInvalid, words));
    };
    let parsed = parse_one(&headers, &body)?;
    check_place(&parsed, &namespace, &name)?;
    check_rules(&parsed)?;
    if let Some(words) = api.space.refusal().filter(|_| !query.dry_run) {
        return Err(ApiError::new(Code::NoSpace, words));
    }
    let expect = expect_for(&api, expect_of(&headers)?, &namespace, &name)?;
    let (digest, warning) = resolve(&api, &parsed, &namespace, &name).await?;
    let command = Command::Submit(command(
        parsed,
        &query,
        (namespace.clone(), name.clone()),
        (digest, expect),
    ));
    let asked =
        [namespace.as_bytes(), name.as_bytes(), &body, format!("{query:?}{expect:?}").as_bytes()]
            .concat();
    let key = key_of(&headers, &[&asked])?;
    let request = Request { principal: admin(), key, command };
    let (view, status) = answer::carry_out(&api, request, (namespace, name), &query).await?;
    respond(view, status, warning)
}

/// POST `…/rollback`
pub(super) async fn rollback(
    State(api): State<Api>,
    Path((namespace, job)): JobPath,
    query: Result<Query<SubmitQuery>, QueryRejection>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let (Query(query), body) = (query?, body?);
    let RollbackBody { to, message } =
        if body.is_empty() { RollbackBody::default() } else { json(&body)? };
    let reference = job_ref(&namespace, &job)?;
    let (namespace, path) = parse_path(&namespace, &job)?;
    let published = api.newest();
    let name = find(&published, &namespace, &path)?.name.clone();
    let expect = verb_expect(&headers)?;
    let command = Command::Rollback(Rollback { job: reference, expect, to, message });
    let asked = format!("{command:?}{query:?}");
    let key = key_of(&headers, &[asked.as_bytes()])?;
    let request = Request { principal: admin(), key, command };
    let (view, status) = answer::carry_out(&api, request, (namespace, name), &query).await?;
    respond(view, status, None)
}

fn respond(
    mut view: SubmitAnswer,
    status: StatusCode,
    warning: Option<String>,
) -> Result<Response, ApiError> {
    view.warnings.extend(warning);
    Ok((status, [(header::ETAG, etag(view.revision))], Json(view)).into_response())
}

fn parse_one(headers: &HeaderMap, body: &Bytes) -> Result<ParsedJob, ApiError> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let format = Format::of_content_type(kind).ok_or_else(|| {
        let words = format!(
            "Content-Type {kind:?} is none of application/yaml, application/json, \
             application/toml, in UTF-8"
        );
        ApiError::new(Code::MediaUnsupported, words)
    })?;
    let text = std::str::from_utf8(body)
        .map_err(|e| ApiError::new(Code::BodyInvalid, format!("the body is not UTF-8: {e}")))?;
    let mut jobs = parse(text, format).map_err(|failure| ApiError::from(Problem::from(failure)))?;
    match (jobs.pop(), jobs.len()) {
        (Some(job), 0) => Ok(job),
        (_, others) => {
            let words = format!("the body holds {} jobs; a path names one", others + 1);
            Err(ApiError::new(Code::BodyInvalid, words))
        }
    }
}

/// The path says where; the text may leave it out but not say otherwise.
fn check_place(parsed: &ParsedJob, namespace: &Namespace, name: &JobName) -> Result<(), ApiError> {
    let metadata = &parsed.manifest.metadata;
    let mut errors = Vec::new();
    if metadata.name != *name {
        let words = format!("the path names job {name}, the text {}", metadata.name);
        errors.push(parsed.error("/metadata/name", words));
    }
    if let Some(written) = metadata.namespace.as_ref().filter(|written| *written != namespace) {
        let words = format!("the path names namespace {namespace}, the text {written}");
        errors.push(parsed.error("/metadata/namespace", words));
    }
    if errors.is_empty() { Ok(()) } else { Err(invalid(Code::SpecInvalid, errors)) }
}

fn check_rules(parsed: &ParsedJob) -> Result<(), ApiError> {
    let found = parsed.problems();
    if found.is_empty() {
        return Ok(());
    }
    let only_absent = found.iter().all(|p| p.kind == ProblemKind::NotOffered);
    let code = if only_absent { Code::NotOffered } else { Code::SpecInvalid };
    Err(invalid(code, found.into_iter().map(|p| p.error).collect()))
}

fn invalid(code: Code, errors: Vec<FieldError>) -> ApiError {
    let words = match errors.len() {
        1 => "one place is wrong".to_owned(),
        several => format!("{several} places are wrong"),
    };
    Problem::new(code).with_detail(words).with_errors(errors).into()
}

fn expect_for(
    api: &Api,
    precondition: Precondition,
    namespace: &Namespace,
    name: &JobName,
) -> Result<Expect, ApiError> {
    match precondition {
        Precondition::None => Ok(Expect::Anything),
        Precondition::Absent => Ok(Expect::Absent),
        Precondition::Revision(revision) => Ok(Expect::Revision(revision)),
        Precondition::Present => {
            let published = api.newest();
            let uid = published.state.index.job(namespace, name);
            let job = uid.and_then(|uid| published.state.jobs.get(&uid));
            job.map(|job| Expect::Revision(job.spec_revision)).ok_or_else(|| {
                ApiError::new(
                    Code::RevisionMismatch,
                    format!("job {name} must exist, but it does not"),
                )
            })
        }
    }
}

/// The digest of the component's source. A source that cannot be reached keeps the digest of the
/// current version when the text is the same (03-jobs.md, section 3), with a warning.
async fn resolve(
    api: &Api,
    parsed: &ParsedJob,
    namespace: &Namespace,
    name: &JobName,
) -> Result<(Digest, Option<String>), ApiError> {
    let Some(Engine::Wasm(wasm)) = &parsed.manifest.spec.engine else {
        return Err(ApiError::new(
            Code::NotOffered,
            "the engine is not carried out by this release",
        ));
    };
    let Some(source) = &wasm.component else {
        return Err(ApiError::new(Code::SpecInvalid, "the spec names no component"));
    };
    let fetched = match source {
        Source::Digest(digest) => stored(api, *digest).map(|meta| (*digest, meta)),
        Source::File(path) => Err(ApiError::new(
            Code::SpecInvalid,
            format!("file://{path} is a file of your machine; it must be uploaded first"),
        )
        .hint("submit with `pliant run`, which uploads it, or `pliant artifact push` and name its digest")),
        Source::Https(rest) => api.fetcher.https(rest).await.map_err(ApiError::from),
        Source::Oci(rest) => api.fetcher.oci(rest).await.map_err(ApiError::from),
    };
    match fetched {
        Ok((digest, meta)) => match check_verdict(parsed, &meta) {
            Ok(()) => Ok((digest, None)),
            Err(refusal) => {
                forget(api, digest, &meta)?;
                Err(refusal)
            }
        },
        Err(error) if error.0.code == Code::ArtifactUnreachable => {
            let published = api.newest();
            let uid = published.state.index.job(namespace, name);
            let job = uid.and_then(|uid| published.state.jobs.get(&uid));
            let current = job.and_then(|job| published.state.current_version(job));
            let same = current.filter(|v| component_of(&v.record.spec) == Some(source));
            match same {
                Some(version) => {
                    let words = error.0.detail.unwrap_or_default();
                    let warning =
                        format!("{source} could not be asked ({words}); its digest is kept");
                    Ok((version.record.digest, Some(warning)))
                }
                None => Err(error),
            }
        }
        Err(error) => Err(error),
    }
}

/// What was sent for a submission that is refused was a mistake, perhaps a private file: nobody
/// shall find it in the store. What a version or result names stays, and so do archives.
fn forget(api: &Api, digest: Digest, meta: &ArtifactMeta) -> Result<(), ApiError> {
    if meta.kind == ArtifactKind::Archive || in_use(api).contains(&digest) {
        return Ok(());
    }
    Ok(api.artifacts.remove(digest)?)
}

fn component_of(spec: &pliant_types::JobSpec) -> Option<&Source> {
    match &spec.engine {
        Some(Engine::Wasm(wasm)) => wasm.component.as_ref(),
        _ => None,
    }
}

fn stored(api: &Api, digest: Digest) -> Result<ArtifactMeta, ApiError> {
    api.artifacts.meta(digest)?.ok_or_else(|| {
        ApiError::new(Code::ArtifactNotFound, format!("the store has no artifact {digest}"))
    })
}

fn check_verdict(parsed: &ParsedJob, meta: &ArtifactMeta) -> Result<(), ApiError> {
    match &meta.verdict {
        Verdict::Runs => Ok(()),
        Verdict::Refused { code, reasons } => {
            let errors =
                reasons.iter().map(|reason| parsed.error(COMPONENT, reason.clone())).collect();
            Err(invalid(*code, errors))
        }
    }
}

fn command(
    parsed: ParsedJob,
    query: &SubmitQuery,
    (namespace, name): (Namespace, JobName),
    (digest, expect): (Digest, Expect),
) -> Submit {
    let free = |map: WrittenMap| -> WrittenMap {
        map.into_iter().filter(|(key, _)| !key.starts_with(RESERVED_PREFIX)).collect()
    };
    let metadata = parsed.manifest.metadata;
    Submit {
        namespace,
        name,
        labels: free(metadata.labels),
        annotations: free(metadata.annotations),
        spec: Arc::new(parsed.manifest.spec),
        text: Some(parsed.text),
        source: query.source.clone(),
        digest,
        force: if query.force { Force::Yes } else { Force::No },
        expect,
        message: query.message.clone(),
    }
}
