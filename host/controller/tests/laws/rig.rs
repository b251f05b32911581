//! A controller on loopback over a faulty journal in memory, and plain requests to it.

use pliant_controller::{Config, Controller, codec, writer::open_state};
use pliant_core::Command;
use pliant_journal::{
    ClusterId, Opener, Sequence,
    faulty::{Fault, FaultyStore, Script},
    memory::{MemoryStore, Sharing},
};
use reqwest::{Method, RequestBuilder};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::{sync::Arc, time::Duration};

const TOKEN: &str = "a token of at least thirty-two characters";
/// Longer than any test needs; a hang fails instead of staying.
const LIMIT: Duration = Duration::from_secs(30);

/// A core module that exports `memory` and an empty `_start`: the smallest thing that runs.
const MODULE: &[u8] = b"\0asm\x01\0\0\0\x01\x04\x01\x60\0\0\x03\x02\x01\0\x05\x03\x01\0\x01\
    \x07\x13\x02\x06memory\x02\0\x06_start\0\0\x0a\x04\x01\x02\0\x0b";

pub(crate) struct Rig {
    pub(crate) store: FaultyStore,
    pub(crate) memory: MemoryStore,
    pub(crate) digest: String,
    base: String,
    client: reqwest::Client,
    controller: Controller,
    _dir: tempfile::TempDir,
}

/// What a request was answered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

impl Answer {
    pub(crate) fn code(&self) -> &str {
        self.body["code"].as_str().unwrap_or("none")
    }
}

impl Rig {
    pub(crate) async fn start() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let dir = tempfile::tempdir().unwrap();
        let memory = MemoryStore::new(ClusterId([1; 16]), Sharing::Single);
        let store = FaultyStore::new(Arc::new(memory.clone()), Script::default());
        let listen = "127.0.0.1:0".parse().unwrap();
        let config = Config::new(dir.path().to_owned(), listen, TOKEN.to_owned());
        let controller = Controller::start_on(config, Arc::new(store.clone())).await.unwrap();
        let base = format!("http://{}", controller.address());
        let client = reqwest::Client::builder().timeout(LIMIT).build().unwrap();
        let mut rig =
            Self { store, memory, digest: String::new(), base, client, controller, _dir: dir };
        rig.digest = rig.push(MODULE).await;
        rig.eventually_ready().await;
        rig
    }

    pub(crate) async fn push(&self, bytes: &'static [u8]) -> String {
        let hash = Sha256::digest(bytes);
        let digest = hash.iter().fold("sha256:".to_owned(), |t, byte| format!("{t}{byte:02x}"));
        let put = self.request(Method::PUT, &format!("/v1/artifacts/{digest}")).body(bytes);
        let answer = answer(put).await;
        assert!(answer.status < 300, "{answer:?}");
        digest
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.base)).bearer_auth(TOKEN)
    }

    pub(crate) async fn execute(&self, request: reqwest::Request) -> Answer {
        read(self.client.execute(request).await.unwrap()).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        answer(self.request(Method::GET, path)).await
    }

    /// PUT of a job with one task of so many MiB.
    pub(crate) fn submission(&self, name: &str, mib: u32) -> RequestBuilder {
        let text = format!(
            "apiVersion: pliant.dev/v1\nmetadata: {{name: {name}}}\nspec:\n  kind: batch\n  \
             engine: {{wasm: {{component: \"{}\"}}}}\n  resources: {{memory: {mib}Mi}}\n",
            self.digest
        );
        self.request(Method::PUT, &job(name)).header("content-type", "application/yaml").body(text)
    }

    pub(crate) async fn submit(&self, name: &str) -> Answer {
        answer(self.submission(name, 16)).await
    }

    pub(crate) async fn stop_job(&self, name: &str) -> Answer {
        answer(self.request(Method::POST, &format!("{}/stop", job(name)))).await
    }

    /// Injects faults into the appends that come next, in this order.
    pub(crate) fn fail_next(&self, faults: &[Fault]) {
        let next = self.store.appends() + 1;
        let numbered = faults.iter().zip(next..);
        let script = numbered.fold(Script::default(), |s, (fault, number)| s.at(number, *fault));
        self.store.set_script(script);
    }

    pub(crate) fn happened(&self) -> Vec<Fault> {
        self.store.happened().into_iter().map(|(_, fault)| fault).collect()
    }

    /// Writes are taken.
    pub(crate) async fn eventually_ready(&self) {
        self.eventually("writes are taken", async || {
            (self.get("/readyz").await.status == 200).then_some(())
        })
        .await;
    }

    pub(crate) async fn eventually<T>(
        &self,
        what: &str,
        mut condition: impl AsyncFnMut() -> Option<T>,
    ) -> T {
        let begun = tokio::time::Instant::now();
        loop {
            if let Some(found) = condition().await {
                return found;
            }
            assert!(begun.elapsed() < LIMIT, "this never happened: {what}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Stops it in order; how often each job was submitted, as the journal has it. Reading it
    /// compares the hash of the state with the one that was written.
    pub(crate) async fn journaled_submissions(self) -> Vec<String> {
        self.controller.stop().await.unwrap();
        let opened = open_state(&self.memory).unwrap();
        drop(opened);
        let opened = self.memory.open().unwrap();
        let mut names = Vec::new();
        for batch in opened.journal.replay(Sequence(1)..=opened.head) {
            for decision in codec::decode_batch(&batch.unwrap().payload).unwrap().decisions {
                if let Command::Submit(submit) = decision.request.command {
                    names.push(submit.name.to_string());
                }
            }
        }
        names
    }

    pub(crate) async fn stop(self) {
        self.controller.stop().await.unwrap();
    }
}

/// A job's path.
pub(crate) fn job(name: &str) -> String {
    format!("/v1/namespaces/default/jobs/{name}")
}

pub(crate) async fn answer(request: RequestBuilder) -> Answer {
    read(request.send().await.unwrap()).await
}

async fn read(answer: reqwest::Response) -> Answer {
    let status = answer.status().as_u16();
    let text = answer.text().await.unwrap();
    let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    Answer { status, body }
}
