//! A controller that does as it is told: a few routes, one host, everything in memory.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    sync::{Arc, Mutex},
};

use axum::{
    Json, Router,
    body::{Body, Bytes},
    extract::{Path, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use futures::stream;
use pliant_api::{
    body::{ArtifactKind, ArtifactView, AssignmentEvent, ReportAnswer, Timestamp},
    problem::{PROBLEM_JSON, Problem},
    sse::Frame,
};
use pliant_types::{
    Digest, Epoch, ExecutionId, Fence, Generation, HostId, Millis, Time,
    assignment::{AssignedExecution, Assignment},
    codes::Code,
    report::{Observation, Registered, Registration, Renewed, Report},
};
use sha2::Digest as _;
use tokio::{net::TcpListener, sync::watch, task::JoinHandle};
use tokio_util::sync::CancellationToken;

pub(crate) const HOST: HostId = HostId::new(7);
pub(crate) const TOKEN: &str = "secret-of-the-test";

pub(crate) type Seen = BTreeMap<ExecutionId, Vec<Observation>>;

#[derive(Clone)]
struct Script {
    assignment: watch::Sender<Assignment>,
    seen: watch::Sender<Seen>,
    registrations: watch::Sender<Vec<Registration>>,
    renewals: watch::Sender<u64>,
    artifacts: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
    stop: CancellationToken,
}

pub(crate) struct Controller {
    pub(crate) address: String,
    script: Script,
    server: JoinHandle<()>,
}

pub(crate) fn digest_of(bytes: &[u8]) -> Digest {
    Digest::new(sha2::Sha256::digest(bytes).into())
}

impl Controller {
    pub(crate) async fn start() -> Self {
        let assignment = Assignment {
            host: HOST,
            epoch: Epoch::new(1),
            generation: Generation::new(1),
            fence: Fence::FIRST,
            executions: vec![],
        };
        let script = Script {
            assignment: watch::Sender::new(assignment),
            seen: watch::Sender::new(Seen::new()),
            registrations: watch::Sender::new(Vec::new()),
            renewals: watch::Sender::new(0),
            artifacts: Arc::default(),
            stop: CancellationToken::new(),
        };
        let router = Router::new()
            .route("/v1/hosts", post(register))
            .route("/v1/hosts/{host}/renewals", post(renew))
            .route("/v1/hosts/{host}/reports", post(report))
            .route("/v1/hosts/{host}/assignment", get(follow))
            .route("/v1/artifacts/{digest}", get(download).put(upload))
            .route("/v1/artifacts/{digest}/view", get(view))
            .with_state(script.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let stop = script.stop.clone();
        let serving = axum::serve(listener, router)
            .with_graceful_shutdown(async move { stop.cancelled().await });
        let server = tokio::spawn(async move { serving.await.unwrap() });
        Self { address, script, server }
    }

    pub(crate) async fn stop(self) {
        self.script.stop.cancel();
        self.server.await.unwrap();
    }

    pub(crate) fn put_artifact(&self, bytes: &[u8]) -> Digest {
        let digest = digest_of(bytes);
        self.script.artifacts.lock().unwrap().insert(digest.to_string(), bytes.to_vec());
        digest
    }

    pub(crate) fn artifact(&self, digest: &Digest) -> Option<Vec<u8>> {
        self.script.artifacts.lock().unwrap().get(&digest.to_string()).cloned()
    }

    /// From now on the host must run exactly this.
    pub(crate) fn assign(&self, executions: Vec<AssignedExecution>) {
        self.script.assignment.send_modify(|present| {
            present.generation = present.generation.next();
            present.executions = executions;
        });
    }

    pub(crate) fn registrations(&self) -> Vec<Registration> {
        self.script.registrations.borrow().clone()
    }

    /// Waits until the lease was renewed so often from now on.
    pub(crate) async fn renewed(&self, times: u64) {
        let mut renewals = self.script.renewals.subscribe();
        let enough = *renewals.borrow_and_update() + times;
        renewals.wait_for(|count| *count >= enough).await.unwrap();
    }

    /// Everything that was ever reported of an execution.
    pub(crate) fn history(&self, id: ExecutionId) -> Vec<Observation> {
        self.script.seen.borrow().get(&id).cloned().unwrap_or_default()
    }

    /// Waits until what was reported last of an execution is as it should be.
    pub(crate) async fn sees(
        &self,
        id: ExecutionId,
        is_so: impl Fn(&Observation) -> bool,
    ) -> Observation {
        let mut seen = self.script.seen.subscribe();
        let last = |seen: &Seen| seen.get(&id).and_then(|all| all.last()).cloned();
        let present = seen.wait_for(|seen| last(seen).as_ref().is_some_and(&is_so)).await.unwrap();
        last(&present).unwrap()
    }
}

async fn register(
    State(script): State<Script>,
    Json(asked): Json<Registration>,
) -> Json<Registered> {
    script.registrations.send_modify(|all| all.push(asked));
    Json(Registered { host: HOST, fence: Fence::FIRST, kill: vec![] })
}

async fn renew(State(script): State<Script>, Json(boot): Json<String>) -> Json<Renewed> {
    assert!(!boot.is_empty());
    script.renewals.send_modify(|count| *count += 1);
    Json(Renewed { epoch: Epoch::new(1), fence: Fence::FIRST, lease: Millis::from_secs(15) })
}

async fn report(State(script): State<Script>, Json(report): Json<Report>) -> Json<ReportAnswer> {
    script.seen.send_modify(|seen| {
        for one in report.observations {
            seen.entry(one.execution).or_default().push(one);
        }
    });
    Json(ReportAnswer { epoch: Epoch::new(1), fence: Fence::FIRST })
}

async fn follow(State(script): State<Script>, headers: HeaderMap) -> Response {
    assert_eq!(headers[header::AUTHORIZATION], format!("Bearer {TOKEN}"));
    let mut changes = script.assignment.subscribe();
    changes.mark_changed();
    let events = stream::unfold((changes, script.stop), |(mut changes, stop)| async move {
        tokio::select! {
            () = stop.cancelled() => return None,
            changed = changes.changed() => changed.ok()?,
        }
        let event = AssignmentEvent::Whole { assignment: changes.borrow_and_update().clone() };
        let data = serde_json::to_string(&event).unwrap();
        let frame = Frame { id: event.id(), event: Some(event.word().to_owned()), data };
        Some((Ok::<_, Infallible>(frame.encode()), (changes, stop)))
    });
    ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(events)).into_response()
}

fn not_found() -> Response {
    let body = serde_json::to_vec(&Problem::new(Code::ArtifactNotFound)).unwrap();
    (StatusCode::NOT_FOUND, [(header::CONTENT_TYPE, PROBLEM_JSON)], body).into_response()
}

async fn download(State(script): State<Script>, Path(digest): Path<String>) -> Response {
    let found = script.artifacts.lock().unwrap().get(&digest).cloned();
    found.map_or_else(not_found, IntoResponse::into_response)
}

fn view_of(bytes: &[u8]) -> ArtifactView {
    ArtifactView {
        digest: digest_of(bytes),
        size_bytes: bytes.len() as u64,
        kind: ArtifactKind::Archive,
        imports: vec![],
        exports: vec![],
        created_at: Timestamp(Time::from_millis(0)),
        in_use: false,
    }
}

async fn view(State(script): State<Script>, Path(digest): Path<String>) -> Response {
    let found = script.artifacts.lock().unwrap().get(&digest).cloned();
    found.map_or_else(not_found, |bytes| Json(view_of(&bytes)).into_response())
}

async fn upload(State(script): State<Script>, Path(digest): Path<String>, body: Bytes) -> Response {
    let view = view_of(&body);
    assert_eq!(view.digest.to_string(), digest);
    script.artifacts.lock().unwrap().insert(digest, body.to_vec());
    Json(view).into_response()
}
