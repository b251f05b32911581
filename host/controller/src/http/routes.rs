//! The routing table of the cluster, as one answer or as a stream that routers follow.

use super::{context::Api, error::ApiError, rollouts::serving, views};
use crate::published::Published;
use axum::{
    Json,
    extract::{Query, State, rejection::QueryRejection},
    response::{IntoResponse, Response},
};
use futures::stream;
use pliant_api::{
    body::{RouteEndpoint, RouteTable, RouteView, WatchQuery},
    sse::Frame,
};
use pliant_core::state::{Job, State as CoreState, Wanted};
use pliant_types::spec::Protocol;
use std::time::Duration;
use tokio::sync::watch;

/// Tables that follow each other are at least so far apart: a burst of changes makes one.
const PACE: Duration = Duration::from_millis(5);

/// GET `/v1/routes`; with `?follow=true` each new table as it comes.
pub(super) async fn routes(
    State(api): State<Api>,
    query: Result<Query<WatchQuery>, QueryRejection>,
) -> Result<Response, ApiError> {
    let Query(query) = query?;
    if !query.follow {
        return Ok(Json(table(&api.newest().state)).into_response());
    }
    let follower = Follower { states: api.board.watch(), sent: None };
    let tables = stream::unfold((follower, api.clone()), |(mut follower, api)| async move {
        let table = tokio::select! {
            table = follower.next() => table?,
            () = api.stop.cancelled() => return None,
        };
        let frame = Frame {
            id: Some(table.number.to_string()),
            event: Some("routes".to_owned()),
            data: serde_json::to_string(&table).unwrap_or_default(),
        };
        Some((frame, (follower, api)))
    });
    Ok(super::watch::respond(tables))
}

/// What one router has been sent.
struct Follower {
    states: watch::Receiver<Published>,
    sent: Option<RouteTable>,
}

impl Follower {
    /// The next table that differs from the one before.
    async fn next(&mut self) -> Option<RouteTable> {
        loop {
            let state = self.states.borrow_and_update().state.clone();
            let table = table(&state);
            if self.sent.as_ref().is_none_or(|sent| sent.routes != table.routes) {
                self.sent = Some(table.clone());
                return Some(table);
            }
            self.states.changed().await.ok()?;
            tokio::time::sleep(PACE).await;
        }
    }
}

fn table(state: &CoreState) -> RouteTable {
    let jobs = state.jobs.iter().map(|(_, job)| job).filter(|job| job.wanted != Wanted::Deleted);
    let mut routes: Vec<_> = jobs.filter_map(|job| route(state, job)).collect();
    routes.sort_by(|a, b| (&a.host, &a.path).cmp(&(&b.host, &b.path)));
    RouteTable { number: state.revision().get(), routes }
}

fn route(state: &CoreState, job: &Job) -> Option<RouteView> {
    let version = state.current_version(job)?;
    let (host, path) = version.effective.route()?;
    let spec = version.effective.spec();
    let http = spec.ports.iter().flatten().find(|p| p.protocol == Some(Protocol::Http))?;
    let endpoints = serving(state, job).flat_map(|execution| {
        let ports = views::ports(state, execution).into_iter();
        let ports = ports.filter(|port| port.name == http.name);
        ports.map(|port| RouteEndpoint { execution: execution.id, address: port.address })
    });
    Some(RouteView {
        host,
        path,
        namespace: job.namespace.clone(),
        job: job.name.clone(),
        endpoints: endpoints.collect(),
    })
}
