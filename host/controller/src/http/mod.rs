//! The HTTP API: one router over the writer's inbox and the published state.
//!
//! Handlers translate; they decide nothing. Paths and bodies are those of `pliant_api`.

mod agents;
mod answer;
mod artifacts;
mod auth;
mod cluster;
mod context;
mod error;
mod executions;
mod guard;
mod hosts;
mod jobs;
mod logs;
mod metrics;
mod namespaces;
mod openapi;
mod page;
mod rollouts;
mod routes;
mod sentence;
mod strict;
mod submit;
mod verbs;
mod versions;
mod views;
mod watch;
mod why;

pub use context::{Api, ApiSettings};
pub use openapi::document as openapi_document;

use axum::{
    Router,
    extract::DefaultBodyLimit,
    middleware,
    routing::{get, post, put},
};
use pliant_api::routes as path;

/// Largest body of a request other than an artifact: a spec with its text, or a report.
pub const MAX_BODY_BYTES: usize = 4 << 20;

/// The whole router.
pub fn router(api: Api) -> Router {
    let bounded = Router::new()
        .route(path::ALL_JOBS, get(jobs::list_all))
        .route(path::JOBS, get(jobs::list))
        .route(path::JOB, put(submit::submit).get(jobs::show).delete(verbs::delete))
        .route(path::JOB_STOP, post(verbs::stop))
        .route(path::JOB_START, post(verbs::start))
        .route(path::JOB_WHY, get(why::job))
        .route(path::JOB_EVENTS, get(watch::job))
        .route(path::JOB_EXECUTIONS, get(executions::of_job))
        .route(path::JOB_RESULTS, get(executions::results))
        .route(path::JOB_VERSIONS, get(versions::list))
        .route(path::JOB_VERSION, get(versions::show))
        .route(path::JOB_DIFF, get(versions::diff))
        .route(path::JOB_SCALE, post(verbs::scale))
        .route(path::JOB_RERUN, post(verbs::rerun))
        .route(path::JOB_ROLLBACK, post(submit::rollback))
        .route(path::JOB_ROLLOUTS, get(rollouts::list))
        .route(path::JOB_ROLLOUT, get(rollouts::show))
        .route(path::JOB_ROLLOUT_VERB, post(rollouts::act))
        .route(path::JOB_ENDPOINTS, get(rollouts::endpoints))
        .route(path::JOB_TAG, put(verbs::tag).delete(verbs::untag))
        .route(path::NAMESPACES, get(namespaces::list))
        .route(path::NAMESPACE, put(namespaces::create).delete(namespaces::delete))
        .route(path::EXECUTIONS, get(executions::list))
        .route(path::EXECUTION, get(executions::show))
        .route(path::EXECUTION_WHY, get(why::execution))
        .route(path::EXECUTION_LOGS, get(logs::of_execution))
        .route(path::HOSTS, get(hosts::list).post(agents::register))
        .route(path::HOST, get(hosts::show))
        .route(path::HOST_MODE, put(hosts::set_mode))
        .route(path::HOST_RENEWALS, post(agents::renew))
        .route(path::HOST_ASSIGNMENT, get(agents::assignment))
        .route(path::HOST_REPORTS, post(agents::report))
        .route(path::EVENTS, get(watch::cluster))
        .route(path::ROUTES, get(routes::routes))
        .route(path::JOURNAL, get(cluster::journal))
        .route(path::ARTIFACTS, get(artifacts::list))
        .route(path::ARTIFACT_VIEW, get(artifacts::view))
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES));
    let streamed = Router::new()
        .route(path::ARTIFACT, put(artifacts::put).get(artifacts::get).head(artifacts::get))
        .layer(DefaultBodyLimit::disable());
    let open = Router::new()
        .route(path::HEALTH, get(cluster::health))
        .route(path::READY, get(cluster::ready))
        .route(path::SERVER_VERSION, get(cluster::version))
        .route(path::OPENAPI, get(openapi::serve));
    let closed = bounded
        .merge(streamed)
        .route(path::METRICS, get(metrics::serve))
        .layer(middleware::from_fn_with_state(api.clone(), auth::require_token));
    closed
        .merge(open)
        .fallback(error::no_route)
        .method_not_allowed_fallback(error::no_method)
        .layer(middleware::from_fn_with_state(api.clone(), guard::every_request))
        .with_state(api)
}
