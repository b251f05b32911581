//! Figures in the text format of Prometheus.

use super::{context::Api, error::ApiError};
use axum::{
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use pliant_types::codes::Code;
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{
        counter::Counter,
        family::Family,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::Registry,
};
use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RequestLabels {
    method: String,
    route: String,
    status: u16,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct WordLabel {
    word: String,
}

/// Figures of one controller process.
#[derive(Debug)]
pub struct Figures {
    registry: Mutex<Registry>,
    requests: Family<RequestLabels, Counter>,
    seconds: Histogram,
    jobs: Family<WordLabel, Gauge>,
    hosts: Family<WordLabel, Gauge>,
    executions: Gauge,
    waiting: Gauge,
    revision: Gauge,
    free_permille: Gauge,
    journal_ok: Gauge,
}

impl Default for Figures {
    fn default() -> Self {
        Self::new()
    }
}

impl Figures {
    /// All figures at zero.
    #[must_use]
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("pliant");
        let figures = Self {
            registry: Mutex::default(),
            requests: Family::default(),
            // From 100 microseconds to about 13 seconds.
            seconds: Histogram::new(exponential_buckets(0.0001, 2.0, 18)),
            jobs: Family::default(),
            hosts: Family::default(),
            executions: Gauge::default(),
            waiting: Gauge::default(),
            revision: Gauge::default(),
            free_permille: Gauge::default(),
            journal_ok: Gauge::default(),
        };
        registry.register("http_requests", "Requests by route", figures.requests.clone());
        registry.register("http_seconds", "Time of requests", figures.seconds.clone());
        registry.register("jobs", "Jobs by state", figures.jobs.clone());
        registry.register("hosts", "Hosts by stage", figures.hosts.clone());
        registry.register("live_executions", "Live executions", figures.executions.clone());
        registry.register(
            "inbox_waiting",
            "Requests that wait for the writer",
            figures.waiting.clone(),
        );
        registry.register("revision", "Facts so far", figures.revision.clone());
        registry.register(
            "disk_free_permille",
            "Free share of the journal's disk",
            figures.free_permille.clone(),
        );
        registry.register(
            "journal_writable",
            "1 while the journal takes writes",
            figures.journal_ok.clone(),
        );
        *figures.registry.lock().unwrap_or_else(PoisonError::into_inner) = registry;
        figures
    }

    /// Counts a request.
    pub fn request(&self, method: &str, route: &str, status: u16, took: Duration) {
        let labels = RequestLabels { method: method.into(), route: route.into(), status };
        self.requests.get_or_create(&labels).inc();
        self.seconds.observe(took.as_secs_f64());
    }

    fn read(&self, api: &Api) {
        let state = api.newest().state;
        let count = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        self.jobs.clear();
        for (_, job) in state.jobs.iter() {
            let word = state.run_state(job).as_str().to_owned();
            self.jobs.get_or_create(&WordLabel { word }).inc();
        }
        self.hosts.clear();
        let mut live = 0;
        for (id, host) in state.hosts.iter() {
            let word = host.stage.as_str().to_owned();
            self.hosts.get_or_create(&WordLabel { word }).inc();
            live += state.index.load(*id).executions as usize;
        }
        self.executions.set(count(live));
        self.waiting.set(count(api.inbox.waiting()));
        self.revision.set(i64::try_from(state.revision().get()).unwrap_or(i64::MAX));
        self.free_permille.set(api.space.free_permille().map_or(-1, i64::from));
        let trouble = api.journal.lock().unwrap_or_else(PoisonError::into_inner).trouble.is_some();
        self.journal_ok.set(i64::from(!trouble));
    }
}

/// GET `/metrics`
pub(super) async fn serve(State(api): State<Api>) -> Result<Response, ApiError> {
    api.figures().read(&api);
    let mut text = String::new();
    let registry = api.figures().registry.lock().unwrap_or_else(PoisonError::into_inner);
    encode(&mut text, &registry).map_err(|e| ApiError::new(Code::Internal, e.to_string()))?;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}
