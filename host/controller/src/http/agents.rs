//! What agents ask: to be registered, to renew, for their assignment, to be heard.

use super::{
    context::Api,
    error::ApiError,
    hosts::{host_id, json},
};
use crate::published::Published;
use axum::{
    Json,
    body::Bytes,
    extract::{Path, State, rejection::BytesRejection},
    response::Response,
};
use futures::stream;
use pliant_api::{
    body::{AssignmentEvent, ReportAnswer},
    sse::Frame,
};
use pliant_core::{Answer, Command, Principal, RegisterHost, ReportHost, Request};
use pliant_types::{
    Epoch, ExecutionId, Generation, HostId,
    assignment::{AssignedExecution, Assignment, AssignmentDelta},
    codes::Code,
    host::HostStage,
    report::{Registered, Registration, Renewed, Report},
};
use std::collections::BTreeMap;
use tokio::sync::watch;

fn principal(host: HostId) -> Principal {
    Principal(format!("host:{host}"))
}

/// POST `/v1/hosts`
pub(super) async fn register(
    State(api): State<Api>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<Registered>, ApiError> {
    let asked: Registration = json(&body?)?;
    let present = api.newest().state.epoch();
    if asked.obeyed.is_some_and(|obeyed| obeyed.epoch > present) {
        let words = format!(
            "the agent has obeyed epoch {} and this controller is at {present}: its journal is older",
            asked.obeyed.map_or(Epoch::FIRST, |o| o.epoch)
        );
        return Err(ApiError::new(Code::Fenced, words)
            .hint("this controller was restored from an older copy; do not let it lead"));
    }
    let boot = asked.description.boot.clone();
    let command = Command::RegisterHost(RegisterHost {
        description: asked.description,
        host: asked.host,
        inventory: asked.inventory,
    });
    let principal =
        Principal(format!("host:{}", asked.host.map_or("new".to_owned(), |h| h.to_string())));
    let (answer, _) = api.inbox.ask(Request { principal, key: None, command }).await?;
    let Answer::Registered(registered) = answer else {
        return Err(ApiError::new(Code::Internal, "the core answered another question"));
    };
    // A registration is a renewal; the host is up by the registration itself.
    let _ = api.hosts.renew(registered.host, &boot);
    Ok(Json(registered))
}

/// POST `/v1/hosts/{host}/renewals`: the body is the agent's boot, as a JSON string.
pub(super) async fn renew(
    State(api): State<Api>,
    Path(host): Path<String>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<Renewed>, ApiError> {
    let host = host_id(&api, &host)?;
    let boot: String = json(&body?)?;
    let state = api.newest().state;
    let known = state
        .hosts
        .get(&host)
        .ok_or_else(|| ApiError::new(Code::HostNotFound, format!("there is no host {host}")))?;
    if known.description.boot != boot {
        return Err(ApiError::new(Code::Fenced, format!("host {host} was booted again")));
    }
    if let Some(command) = api.hosts.renew(host, &boot) {
        api.inbox.ask(Request { principal: principal(host), key: None, command }).await?;
    }
    // A registration that arrived late or twice may have put a host back to rejoining while its
    // agent believes itself up: whoever renews then is told to register again with what it has now.
    if known.stage == HostStage::Rejoining {
        let words =
            format!("host {host} is rejoining and must register with its present inventory");
        return Err(ApiError::new(Code::Fenced, words));
    }
    let fence = api.newest().state.hosts.get(&host).map_or(known.fence, |h| h.fence);
    Ok(Json(Renewed { epoch: state.epoch(), fence, lease: api.hosts.lease() }))
}

/// POST `/v1/hosts/{host}/reports`
pub(super) async fn report(
    State(api): State<Api>,
    Path(host): Path<String>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<ReportAnswer>, ApiError> {
    let host = host_id(&api, &host)?;
    let report: Report = json(&body?)?;
    let (epoch, fence) = (api.newest().state.epoch(), report.fence);
    if report.epoch > epoch {
        let words = format!(
            "the agent has obeyed epoch {} and this controller is at {epoch}",
            report.epoch
        );
        return Err(ApiError::new(Code::Fenced, words));
    }
    api.hosts.note_details(&report);
    let command = Command::Report(ReportHost { host, report });
    api.inbox.ask(Request { principal: principal(host), key: None, command }).await?;
    Ok(Json(ReportAnswer { epoch, fence }))
}

/// GET `/v1/hosts/{host}/assignment`: the whole, then what changes.
pub(super) async fn assignment(
    State(api): State<Api>,
    Path(host): Path<String>,
) -> Result<Response, ApiError> {
    let host = host_id(&api, &host)?;
    if !api.newest().state.hosts.contains(&host) {
        return Err(ApiError::new(Code::HostNotFound, format!("there is no host {host}")));
    }
    let follower = Follower { host, states: api.board.watch(), sent: None };
    let events = stream::unfold((follower, api.clone()), |(mut follower, api)| async move {
        let event = tokio::select! {
            event = follower.next() => event?,
            () = api.stop.cancelled() => {
                follower.sent.take()?;
                return Some((frame(&AssignmentEvent::Shutdown), (Follower::ended(follower), api)));
            }
        };
        Some((frame(&event), (follower, api)))
    });
    Ok(super::watch::respond(events))
}

fn frame(event: &AssignmentEvent) -> Frame {
    Frame {
        id: event.id(),
        event: Some(event.word().to_owned()),
        data: serde_json::to_string(event).unwrap_or_default(),
    }
}

/// What one agent has been sent so far.
struct Follower {
    host: HostId,
    states: watch::Receiver<Published>,
    sent: Option<Sent>,
}

struct Sent {
    epoch: Epoch,
    generation: Generation,
    executions: BTreeMap<ExecutionId, AssignedExecution>,
}

impl Follower {
    /// A follower that has said good-bye says nothing more.
    fn ended(self) -> Self {
        Self { sent: None, ..self }
    }

    /// The next event; waits until the host's assignment changes.
    async fn next(&mut self) -> Option<AssignmentEvent> {
        loop {
            let state = self.states.borrow_and_update().state.clone();
            let known = state.hosts.get(&self.host)?;
            let stale = self.sent.as_ref().is_none_or(|sent| {
                sent.generation != known.generation || sent.epoch != state.epoch()
            });
            if stale {
                let whole = pliant_core::assignment(&state, self.host)?;
                return Some(self.advance(whole));
            }
            self.states.changed().await.ok()?;
        }
    }

    fn advance(&mut self, whole: Assignment) -> AssignmentEvent {
        let executions: BTreeMap<_, _> =
            whole.executions.iter().map(|e| (e.execution, e.clone())).collect();
        let before = self.sent.replace(Sent {
            epoch: whole.epoch,
            generation: whole.generation,
            executions,
        });
        let after = self.sent.as_ref();
        match (before, after) {
            (Some(before), Some(after)) if before.epoch == after.epoch => {
                let put = after.executions.iter();
                let put = put.filter(|(id, e)| before.executions.get(id) != Some(e));
                let remove = before.executions.keys();
                let remove = remove.filter(|id| !after.executions.contains_key(id));
                AssignmentEvent::Delta {
                    delta: AssignmentDelta {
                        epoch: after.epoch,
                        generation: after.generation,
                        base: before.generation,
                        put: put.map(|(_, e)| e.clone()).collect(),
                        remove: remove.copied().collect(),
                    },
                }
            }
            _ => AssignmentEvent::Whole { assignment: whole },
        }
    }
}
