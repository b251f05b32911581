//! An agent with a fake driver, a ledger that outlives it, and a scripted controller.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use pliant_agent::{Agent, Config, LedgerPlace};
use pliant_driver::{
    Driver,
    fake::{FakeDriver, Survival},
};
use pliant_journal::store::MemoryMap;
use pliant_types::{
    Digest, ExecutionId, Incarnation, JobUid, Kind, Millis, TaskNumber, Version,
    assignment::{AssignedExecution, Desired, RestartRule, TaskTemplate},
    quantity::{Cpu, Memory},
    spec::{Backoff, Capabilities, RestartPolicy},
};

use crate::controller::{Controller, TOKEN};

pub(crate) struct Rig {
    pub(crate) controller: Controller,
    pub(crate) driver: Arc<FakeDriver>,
    pub(crate) agent: Agent,
    pub(crate) data: tempfile::TempDir,
    pub(crate) digest: Digest,
    pub(crate) ledger: MemoryMap,
    mount_roots: Vec<PathBuf>,
}

pub(crate) fn id(number: u64) -> ExecutionId {
    ExecutionId::new(number)
}

impl Rig {
    pub(crate) async fn start() -> Self {
        Self::with_mounts(vec![]).await
    }

    pub(crate) async fn with_mounts(mount_roots: Vec<PathBuf>) -> Self {
        let controller = Controller::start().await;
        let digest = controller.put_artifact(b"a guest");
        let data = tempfile::tempdir().unwrap();
        let ledger = MemoryMap::default();
        let driver = Arc::new(FakeDriver::new(Survival::EndsWithProcess));
        let config = config(&data, &controller, &ledger, &mount_roots);
        let agent = agent(config, &driver).await;
        Self { controller, driver, agent, data, digest, ledger, mount_roots }
    }

    /// The agent's process ends, with an error if it could not end in order, and another begins
    /// once the ledger can be written.
    pub(crate) async fn restart_after_failure(self) -> Self {
        assert!(self.agent.stop().await.is_err());
        self.ledger.fail_commits(None);
        let driver = Arc::new(FakeDriver::new(Survival::EndsWithProcess));
        let config = config(&self.data, &self.controller, &self.ledger, &self.mount_roots);
        let agent = agent(config, &driver).await;
        Self { driver, agent, ..self }
    }

    /// The agent's process ends in order and another begins on the same disk.
    pub(crate) async fn restart(self) -> Self {
        self.agent.stop().await.unwrap();
        let driver = Arc::new(FakeDriver::new(Survival::EndsWithProcess));
        let config = config(&self.data, &self.controller, &self.ledger, &self.mount_roots);
        let agent = agent(config, &driver).await;
        Self { driver, agent, ..self }
    }

    pub(crate) async fn stop(self) {
        self.agent.stop().await.unwrap();
        self.controller.stop().await;
    }

    pub(crate) fn job(&self, number: u64, kind: Kind) -> AssignedExecution {
        AssignedExecution {
            execution: id(number),
            job: JobUid::new(1),
            namespace: "default".parse().unwrap(),
            name: "job".parse().unwrap(),
            incarnation: Incarnation::FIRST,
            task: TaskNumber::FIRST,
            version: Version::new(u32::try_from(number).unwrap()),
            desired: Desired::Run,
            in_place: pliant_types::assignment::InPlace::Live,
            template: Arc::new(self.template(kind)),
        }
    }

    pub(crate) fn template(&self, kind: Kind) -> TaskTemplate {
        TaskTemplate {
            kind,
            engine: "wasm".to_owned(),
            digest: self.digest,
            args: vec![],
            env: BTreeMap::new(),
            config: BTreeMap::new(),
            cpu: Cpu::from_millis(100),
            memory: Memory::from_mib(64),
            ports: vec![],
            mounts: vec![],
            capabilities: Capabilities::default(),
            reuse: None,
            restart: RestartRule {
                policy: RestartPolicy::OnFailure,
                backoff: Backoff { first: Millis::new(10), longest: Millis::new(20) },
                attempts: 2,
                within: Millis::from_secs(600),
            },
            execution_timeout: Millis::ZERO,
            kill_timeout: Millis::from_secs(10),
            exclusive: false,
            probes: pliant_types::health::Probes::default(),
            drain: Millis::ZERO,
        }
    }

    pub(crate) fn output(&self, number: u64) -> PathBuf {
        self.data.path().join("executions").join(id(number).to_string()).join("output")
    }
}

fn config(
    data: &tempfile::TempDir,
    controller: &Controller,
    ledger: &MemoryMap,
    mount_roots: &[PathBuf],
) -> Config {
    let name = "one".parse().unwrap();
    let (address, token) = (controller.address.clone(), TOKEN.to_owned());
    let mut config = Config::new(data.path().to_owned(), address, token, name);
    config.ledger = LedgerPlace::Memory(ledger.clone());
    config.mount_roots = mount_roots.to_vec();
    config
}

async fn agent(config: Config, driver: &Arc<FakeDriver>) -> Agent {
    let driver: Arc<dyn Driver> = driver.clone();
    let agent = Agent::start(config, BTreeMap::from([("wasm".to_owned(), driver)])).await.unwrap();
    agent.ready().await.unwrap();
    agent
}
