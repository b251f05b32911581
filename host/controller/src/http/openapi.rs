//! The API, described (OpenAPI 3.1): one table of operations, schemas from the bodies' own types.

use axum::{
    http::header,
    response::{IntoResponse, Response},
};
use pliant_api::{body, problem::Problem, routes as path};
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, sync::LazyLock};
use utoipa::{
    IntoParams, PartialSchema, ToSchema,
    openapi::{
        RefOr,
        path::{Parameter, ParameterIn},
        schema::Schema,
    },
};

/// One operation: method, path, what it does, request body, answer.
struct Operation {
    method: &'static str,
    path: &'static str,
    summary: &'static str,
    takes: Takes,
    gives: Gives,
}

enum Takes {
    Nothing,
    Job,
    Json(&'static str),
    Bytes,
}

enum Gives {
    Json(&'static str),
    Page(&'static str),
    Stream(&'static str),
    Bytes,
    Text,
    Headers,
}

macro_rules! operations {
    ($($method:literal $path:expr, $summary:literal, $takes:expr, $gives:expr;)*) => {
        const OPERATIONS: &[Operation] = &[$(Operation {
            method: $method, path: $path, summary: $summary, takes: $takes, gives: $gives,
        }),*];
    };
}

operations! {
    "get" path::HEALTH, "The process lives; needs no token.", Takes::Nothing, Gives::Text;
    "get" path::READY, "Writes are taken; needs no token.", Takes::Nothing, Gives::Text;
    "get" path::METRICS, "Figures for Prometheus.", Takes::Nothing, Gives::Text;
    "get" path::OPENAPI, "This description; needs no token.", Takes::Nothing, Gives::Text;
    "get" path::SERVER_VERSION, "Which program answers; needs no token.", Takes::Nothing, Gives::Json("ServerVersion");
    "get" path::ALL_JOBS, "Jobs of all namespaces.", Takes::Nothing, Gives::Page("JobSummary");
    "get" path::JOBS, "Jobs of a namespace.", Takes::Nothing, Gives::Page("JobSummary");
    "put" path::JOB, "Create or update a job by its name; ?dryRun=true is the plan.", Takes::Job, Gives::Json("SubmitAnswer");
    "get" path::JOB, "One job: metadata, spec as written, effective spec, status.", Takes::Nothing, Gives::Json("JobView");
    "delete" path::JOB, "Stop a job, free its name and forget it.", Takes::Nothing, Gives::Json("VerbAnswer");
    "post" path::JOB_STOP, "Stop a job; its spec stays.", Takes::Nothing, Gives::Json("VerbAnswer");
    "post" path::JOB_START, "Start a stopped job.", Takes::Nothing, Gives::Json("VerbAnswer");
    "post" path::JOB_SCALE, "Another number of tasks; makes no version.", Takes::Json("ScaleBody"), Gives::Json("VerbAnswer");
    "post" path::JOB_RERUN, "Run a batch or ops job again at its current version.", Takes::Nothing, Gives::Json("VerbAnswer");
    "post" path::JOB_ROLLBACK, "Go back to a version that the job had, as a new version; ?dryRun=true is the plan.", Takes::Json("RollbackBody"), Gives::Json("SubmitAnswer");
    "get" path::JOB_ROLLOUTS, "Rollouts of a job, newest first.", Takes::Nothing, Gives::Page("RolloutView");
    "get" path::JOB_ROLLOUT, "One rollout by its id, or as `newest`.", Takes::Nothing, Gives::Json("RolloutView");
    "post" path::JOB_ROLLOUT_VERB, "Pause, resume, promote or abort a rollout.", Takes::Nothing, Gives::Json("VerbAnswer");
    "get" path::JOB_ENDPOINTS, "The ready tasks of a job, with a number.", Takes::Nothing, Gives::Json("EndpointsView");
    "put" path::JOB_TAG, "Give a version a tag; another version of the job loses it.", Takes::Json("TagBody"), Gives::Json("VerbAnswer");
    "delete" path::JOB_TAG, "Take a tag away.", Takes::Nothing, Gives::Json("VerbAnswer");
    "get" path::JOB_DIFF, "What differs between two versions, by fields and by text.", Takes::Nothing, Gives::Json("DiffView");
    "get" path::NAMESPACES, "All namespaces.", Takes::Nothing, Gives::Page("NamespaceView");
    "put" path::NAMESPACE, "Make a namespace; one that exists is left as it is.", Takes::Nothing, Gives::Json("NamespaceView");
    "delete" path::NAMESPACE, "Delete an empty namespace.", Takes::Nothing, Gives::Json("NamespaceView");
    "get" path::JOB_WHY, "Why a job waits, restarts or failed.", Takes::Nothing, Gives::Json("WhyView");
    "get" path::JOB_EVENTS, "A job, then its events.", Takes::Nothing, Gives::Stream("WatchEvent");
    "get" path::JOB_EXECUTIONS, "Executions of a job.", Takes::Nothing, Gives::Page("ExecutionView");
    "get" path::JOB_RESULTS, "What completed tasks left in /output.", Takes::Nothing, Gives::Page("ResultsView");
    "get" path::JOB_VERSIONS, "Versions of a job, oldest first.", Takes::Nothing, Gives::Page("VersionView");
    "get" path::JOB_VERSION, "One version of a job.", Takes::Nothing, Gives::Json("VersionView");
    "get" path::EXECUTIONS, "All executions.", Takes::Nothing, Gives::Page("ExecutionView");
    "get" path::EXECUTION, "One execution.", Takes::Nothing, Gives::Json("ExecutionView");
    "get" path::EXECUTION_WHY, "Why an execution waits or failed.", Takes::Nothing, Gives::Json("WhyView");
    "get" path::EXECUTION_LOGS, "The log of an execution.", Takes::Nothing, Gives::Stream("LogLine");
    "get" path::HOSTS, "All hosts.", Takes::Nothing, Gives::Page("HostView");
    "post" path::HOSTS, "By agents: become a host, or stay one.", Takes::Json("Object"), Gives::Json("Object");
    "get" path::HOST, "One host.", Takes::Nothing, Gives::Json("HostView");
    "put" path::HOST_MODE, "What people want of a host.", Takes::Json("HostModeBody"), Gives::Json("HostView");
    "post" path::HOST_RENEWALS, "By agents: the host lives.", Takes::Json("Object"), Gives::Json("Object");
    "get" path::HOST_ASSIGNMENT, "By agents: what the host must run.", Takes::Nothing, Gives::Stream("Object");
    "post" path::HOST_REPORTS, "By agents: what was observed.", Takes::Json("Object"), Gives::Json("ReportAnswer");
    "get" path::EVENTS, "Events of the whole cluster.", Takes::Nothing, Gives::Stream("WatchEvent");
    "get" path::ROUTES, "The routing table: ready tasks by host name and path; ?follow=true streams it.", Takes::Nothing, Gives::Json("RouteTable");
    "get" path::JOURNAL, "The state of the journal.", Takes::Nothing, Gives::Json("JournalStats");
    "get" path::ARTIFACTS, "The artifact store.", Takes::Nothing, Gives::Page("ArtifactView");
    "put" path::ARTIFACT, "Store bytes under their digest.", Takes::Bytes, Gives::Json("ArtifactView");
    "get" path::ARTIFACT, "The bytes of an artifact.", Takes::Nothing, Gives::Bytes;
    "head" path::ARTIFACT, "Whether the store has an artifact, and its size.", Takes::Nothing, Gives::Headers;
    "get" path::ARTIFACT_VIEW, "What an artifact is.", Takes::Nothing, Gives::Json("ArtifactView");
}

/// The whole document.
#[must_use]
pub fn document() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for operation in OPERATIONS {
        let entry = paths.entry(operation.path).or_insert_with(|| json!({}));
        entry[operation.method] = describe(operation);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Pliant",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Jobs that change while they run.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": schemas(),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    })
}

fn describe(operation: &Operation) -> Value {
    let (kind, schema) = match operation.gives {
        Gives::Json(name) => ("application/json", reference(name)),
        Gives::Page(name) => (
            "application/json",
            json!({
                "type": "object",
                "required": ["items", "revision"],
                "properties": {
                    "items": {"type": "array", "items": reference(name)},
                    "revision": {"type": "integer"},
                    "nextCursor": {"type": "string"},
                },
            }),
        ),
        Gives::Stream(name) => ("text/event-stream", reference(name)),
        Gives::Bytes => ("application/octet-stream", json!({"type": "string", "format": "binary"})),
        Gives::Text | Gives::Headers => ("text/plain", json!({"type": "string"})),
    };
    let content = json!({kind: {"schema": schema}});
    let open = [path::HEALTH, path::READY, path::OPENAPI, path::SERVER_VERSION];
    let mut described = json!({
        "summary": operation.summary,
        "operationId": operation_id(operation),
        "parameters": parameters(operation),
        "responses": {
            "200": {"description": "As asked.", "content": content},
            "default": {
                "description": "Refused; the code says why.",
                "content": {"application/problem+json": {"schema": reference("Problem")}},
            },
        },
    });
    match operation.gives {
        Gives::Headers => described["responses"]["200"] = json!({"description": "It is there."}),
        _ if creates(operation) => {
            described["responses"]["201"] =
                json!({"description": "Made anew.", "content": content});
        }
        _ => {}
    }
    if !open.contains(&operation.path) {
        described["security"] = json!([{"token": []}]);
    }
    let body = match operation.takes {
        Takes::Nothing => return described,
        Takes::Job => {
            let text = json!({"schema": {"type": "string"}});
            json!({"application/yaml": text, "application/json": {"schema": {"type": "object"}}, "application/toml": text})
        }
        Takes::Json(name) => json!({"application/json": {"schema": reference(name)}}),
        Takes::Bytes => {
            json!({"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}})
        }
    };
    described["requestBody"] = json!({"required": true, "content": body});
    described
}

/// Whether an operation answers 201 when there was nothing before.
fn creates(operation: &Operation) -> bool {
    matches!((operation.method, operation.path), ("put", path::JOB | path::ARTIFACT))
}

fn reference(name: &str) -> Value {
    if name == "Object" {
        return json!({});
    }
    json!({"$ref": format!("#/components/schemas/{name}")})
}

fn operation_id(operation: &Operation) -> String {
    let words = operation.path.split('/').filter(|part| !part.is_empty() && *part != "v1");
    let words = words.map(|part| part.trim_matches(['{', '}']).replace(['.', '-'], "_"));
    format!("{}_{}", operation.method, words.collect::<Vec<_>>().join("_"))
}

fn parameters(operation: &Operation) -> Value {
    let names = operation.path.split('/');
    let names = names.filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let text = json!({"type": "string"});
    let mut all: Vec<Value> = names
        .map(|name| json!({"name": name, "in": "path", "required": true, "schema": text}))
        .collect();
    all.extend(query(operation).iter().map(|p| serde_json::to_value(p).unwrap_or_default()));
    if operation.method != "get" && operation.path.starts_with(path::JOB) {
        for (name, words) in [
            ("If-Match", "Only at this spec revision; \"0\" is that the job must not exist."),
            ("Idempotency-Key", "Sent twice with the same body, it is carried out once."),
        ] {
            all.push(json!({"name": name, "in": "header", "description": words, "schema": text}));
        }
    }
    all.into()
}

/// What an operation takes behind the question mark.
fn query(operation: &Operation) -> Vec<Parameter> {
    let place = || Some(ParameterIn::Query);
    match (operation.method, operation.path) {
        ("put", path::JOB) | ("post", path::JOB_ROLLBACK) => body::SubmitQuery::into_params(place),
        ("post", path::JOB_STOP) => body::StopQuery::into_params(place),
        ("get", path::JOB_DIFF) => body::DiffQuery::into_params(place),
        ("get", path::JOB_RESULTS) => body::RunQuery::into_params(place),
        ("get", path::EXECUTION_LOGS) => body::LogQuery::into_params(place),
        ("get", path::JOB) => body::RevisionQuery::into_params(place),
        ("get", path::EVENTS | path::JOB_EVENTS | path::ROUTES) => {
            body::WatchQuery::into_params(place)
        }
        _ => match operation.gives {
            Gives::Page(_) if operation.path != path::NAMESPACES => {
                body::PageQuery::into_params(place)
            }
            _ => Vec::new(),
        },
    }
}

/// Names behind the question mark that an operation knows; `None` when there is no such operation.
pub(super) fn query_names(method: &str, path: &str) -> Option<&'static [String]> {
    static NAMES: LazyLock<BTreeMap<String, Vec<String>>> = LazyLock::new(|| {
        let names = |operation| query(operation).into_iter().map(|p| p.name).collect();
        let key = |o: &Operation| format!("{} {}", o.method.to_uppercase(), o.path);
        OPERATIONS.iter().map(|operation| (key(operation), names(operation))).collect()
    });
    // A route of GET answers HEAD as well.
    let method = if method == "HEAD" { "GET" } else { method };
    NAMES.get(&format!("{method} {path}")).map(Vec::as_slice)
}

macro_rules! collect {
    ($schemas:ident, $($type:ty),* $(,)?) => {
        $(
            $schemas.push((<$type as ToSchema>::name().into_owned(), <$type as PartialSchema>::schema()));
            <$type as ToSchema>::schemas(&mut $schemas);
        )*
    };
}

fn schemas() -> Map<String, Value> {
    let mut schemas: Vec<(String, RefOr<Schema>)> = Vec::new();
    collect!(
        schemas,
        body::ServerVersion,
        body::JobSummary,
        body::SubmitAnswer,
        body::JobView,
        body::VerbAnswer,
        body::WhyView,
        body::WatchEvent,
        body::ExecutionView,
        body::ResultsView,
        body::VersionView,
        body::ScaleBody,
        body::RollbackBody,
        body::TagBody,
        body::DiffView,
        body::NamespaceView,
        body::RolloutView,
        body::EndpointsView,
        body::RouteTable,
        body::LogLine,
        body::HostView,
        body::HostModeBody,
        body::ReportAnswer,
        body::JournalStats,
        body::ArtifactView,
        Problem,
    );
    let values = schemas.into_iter();
    values.map(|(name, schema)| (name, serde_json::to_value(schema).unwrap_or_default())).collect()
}

/// GET `/v1/openapi.json`
pub(super) async fn serve() -> Response {
    let text = serde_json::to_string_pretty(&document()).unwrap_or_default();
    ([(header::CONTENT_TYPE, "application/json")], text).into_response()
}
