//! Watches: first what is, then each fact as it becomes durable; they resume, and end on shutdown.

use super::{
    context::Api,
    error::ApiError,
    jobs::{JobPath, find, parse_path},
    views,
};
use crate::published::Published;
use axum::{
    body::Body,
    extract::{Path, Query, State, rejection::QueryRejection},
    http::{HeaderMap, header},
    response::{IntoResponse, Response},
};
use futures::{Stream, StreamExt, stream};
use pliant_api::{
    body::{EventView, Page, Timestamp, WatchEvent, WatchQuery},
    headers::LAST_EVENT_ID,
    sse::{EVENT_STREAM, Frame, HEARTBEAT, NDJSON},
};
use pliant_core::{Fact, FactKind};
use pliant_types::{JobUid, Revision, codes::Code};
use std::{collections::VecDeque, convert::Infallible, time::Duration};
use tokio::sync::watch;

/// Silence after which a heartbeat is sent.
const HEARTBEAT_AFTER: Duration = Duration::from_secs(10);
/// Facts that are read at once.
const READ_AT_ONCE: usize = 512;

/// A stream of frames as an answer, with heartbeats in between.
pub(super) fn respond(frames: impl Stream<Item = Frame> + Send + 'static) -> Response {
    let frames = Box::pin(frames);
    let beating = stream::unfold(frames, |mut frames| async move {
        match tokio::time::timeout(HEARTBEAT_AFTER, frames.next()).await {
            Ok(Some(frame)) => Some((Ok::<_, Infallible>(frame.encode()), frames)),
            Ok(None) => None,
            Err(_) => Some((Ok(HEARTBEAT.to_owned()), frames)),
        }
    });
    let headers = [(header::CONTENT_TYPE, EVENT_STREAM), (header::CACHE_CONTROL, "no-store")];
    (headers, Body::from_stream(beating)).into_response()
}

/// The same as one JSON document a line.
fn respond_lines(frames: impl Stream<Item = Frame> + Send + 'static) -> Response {
    let lines = frames.map(|frame| Ok::<_, Infallible>(frame.data + "\n"));
    ([(header::CONTENT_TYPE, NDJSON)], Body::from_stream(lines)).into_response()
}

/// GET `/v1/events`
pub(super) async fn cluster(
    State(api): State<Api>,
    query: Result<Query<WatchQuery>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let Query(query) = query?;
    let since = since(&headers, &query)?;
    watch(&api, None, Asked { since, follow: query.follow }, &headers)
}

/// GET `…/events` of a job.
pub(super) async fn job(
    State(api): State<Api>,
    Path((namespace, job)): JobPath,
    query: Result<Query<WatchQuery>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let Query(query) = query?;
    let (namespace, reference) = parse_path(&namespace, &job)?;
    let uid = find(&api.newest(), &namespace, &reference)?.uid;
    let since = since(&headers, &query)?;
    watch(&api, Some(uid), Asked { since, follow: query.follow }, &headers)
}

struct Asked {
    since: Option<Revision>,
    follow: bool,
}

fn since(headers: &HeaderMap, query: &WatchQuery) -> Result<Option<Revision>, ApiError> {
    let Some(value) = headers.get(LAST_EVENT_ID) else {
        return Ok(query.since.map(Revision::new));
    };
    let number = value.to_str().ok().and_then(|text| text.parse().ok());
    number
        .map(|n| Some(Revision::new(n)))
        .ok_or_else(|| ApiError::new(Code::BodyInvalid, "Last-Event-ID is not a revision"))
}

/// A caller that takes neither a stream nor lines gets a page of what is past.
fn past(api: &Api, job: Option<JobUid>, asked: &Asked) -> Response {
    let published = api.newest();
    let present = published.state.revision();
    let kept = crate::published::KEPT_FACTS;
    let oldest = Revision::new(present.get().saturating_sub(kept as u64));
    let since = asked.since.unwrap_or(oldest).max(oldest);
    let facts =
        api.board.facts_after(since, &published.state, kept).or_else(|| api.board.kept_facts());
    let mut items: Vec<_> = facts
        .into_iter()
        .flatten()
        .map(|(revision, fact)| (revision, job_of(&published, &fact.kind), fact))
        .filter(|(_, of, _)| job.is_none_or(|wanted| *of == Some(wanted)))
        .map(|(revision, of, fact)| event(&published, revision, &fact, of))
        .collect();
    let more = items.len().saturating_sub(pliant_api::body::MAX_LIMIT as usize);
    items.drain(..more);
    axum::Json(Page { items, revision: present, next_cursor: None }).into_response()
}

fn watch(
    api: &Api,
    job: Option<JobUid>,
    asked: Asked,
    headers: &HeaderMap,
) -> Result<Response, ApiError> {
    let accepts = |kind: &str| {
        let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
        accept.is_some_and(|accept| accept.contains(kind))
    };
    if !asked.follow && !accepts(EVENT_STREAM) && !accepts(NDJSON) {
        return Ok(past(api, job, &asked));
    }
    let watcher = Watcher {
        api: api.clone(),
        job,
        states: api.board.watch(),
        at: asked.since,
        follow: asked.follow,
        ready: VecDeque::new(),
        over: false,
    };
    let frames = stream::unfold(watcher, |mut watcher| async move {
        let frame = watcher.next().await?;
        Some((frame, watcher))
    });
    Ok(if accepts(NDJSON) { respond_lines(frames) } else { respond(frames) })
}

/// One reader's place in the order of facts.
struct Watcher {
    api: Api,
    job: Option<JobUid>,
    states: watch::Receiver<Published>,
    at: Option<Revision>,
    follow: bool,
    ready: VecDeque<Frame>,
    over: bool,
}

/// Whether a reader has seen everything; facts of other jobs count as seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    More,
    UpToDate,
}

impl Watcher {
    async fn next(&mut self) -> Option<Frame> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Some(frame);
            }
            if self.over {
                return None;
            }
            let progress = self.read();
            if progress == Progress::More || !self.ready.is_empty() {
                continue;
            }
            if !self.follow {
                return None;
            }
            let stopping = tokio::select! {
                changed = self.states.changed() => changed.is_err(),
                () = self.api.stop.cancelled() => true,
            };
            if stopping {
                self.over = true;
                return Some(frame(&WatchEvent::Shutdown, None));
            }
        }
    }

    fn read(&mut self) -> Progress {
        let published = self.states.borrow_and_update().clone();
        let present = published.state.revision();
        let Some(at) = self.at else {
            self.begin(&published, present);
            return Progress::UpToDate;
        };
        let facts = self.api.board.facts_after(at, &published.state, READ_AT_ONCE);
        let Some(facts) = facts else {
            self.at = None;
            self.ready.push_back(frame(&WatchEvent::Reset { revision: present }, Some(present)));
            return Progress::More;
        };
        for (revision, fact) in facts {
            self.at = Some(revision);
            let job = job_of(&published, &fact.kind);
            if self.job.is_some_and(|wanted| job != Some(wanted)) {
                continue;
            }
            let event = event(&published, revision, &fact, job);
            self.ready.push_back(frame(&WatchEvent::Event { event }, Some(revision)));
        }
        if self.at != Some(present) {
            return Progress::More;
        }
        if self.job.is_some_and(|uid| !published.state.jobs.contains(&uid)) {
            self.over = true;
            self.ready.push_back(frame(&WatchEvent::Gone, Some(present)));
        }
        Progress::UpToDate
    }

    /// The first frame of a job's watch is the job; a cluster's watch begins with the next fact.
    fn begin(&mut self, published: &Published, present: Revision) {
        self.at = Some(present);
        let job = self.job.and_then(|uid| published.state.jobs.get(&uid));
        let shown = job.and_then(|job| Some((job, published.state.current_version(job)?)));
        if let Some((job, version)) = shown {
            let job = Box::new(views::job(&self.api, published, job, version));
            self.ready.push_back(frame(&WatchEvent::Snapshot { job }, Some(present)));
        }
    }
}

fn frame(event: &WatchEvent, revision: Option<Revision>) -> Frame {
    Frame {
        id: revision.map(|r| r.to_string()),
        event: Some(event.word().to_owned()),
        data: serde_json::to_string(event).unwrap_or_default(),
    }
}

fn job_of(published: &Published, fact: &FactKind) -> Option<JobUid> {
    fact.job().or_else(|| {
        let execution = published.state.executions.get(&fact.execution()?)?;
        Some(execution.task.job)
    })
}

fn event(published: &Published, revision: Revision, fact: &Fact, job: Option<JobUid>) -> EventView {
    let state = &published.state;
    let known = job.and_then(|uid| state.jobs.get(&uid));
    let execution = fact.kind.execution();
    let placed = execution.and_then(|id| state.executions.get(&id));
    EventView {
        revision,
        at: Timestamp(fact.at),
        kind: fact.kind.word().to_owned(),
        message: super::sentence::sentence(&fact.kind),
        namespace: known.map(|job| job.namespace.clone()),
        job: known.map(|job| job.name.clone()),
        job_uid: job,
        task: placed.map(|execution| execution.task.number),
        execution,
        host: placed.map(|execution| execution.host),
    }
}
