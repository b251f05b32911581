//! A tiny world round the core for tests: one state, its journal, short ways to ask for things.
#![allow(dead_code, unreachable_pub, reason = "each test target uses a part")]
#![allow(clippy::panic, reason = "a broken law ends the test")]

pub mod invariants;

use pliant_core::{
    Answer, Command, Decision, DeleteJob, Engine, Expect, Fact, FactKind, Force, HostSilent,
    IdempotencyKey, JobRef, NamespaceCommand, Plan, Principal, RegisterHost, Rejection, ReportHost,
    Request, RerunJob, Rollback, RolloutCommand, RolloutVerb, ScaleJob, ScaleTo, StartJob, State,
    StopJob, Submit, SubmitAnswer, TagVersion, apply, check, decide, decode_batch, encode_batch,
    plan,
    state::{Execution, Job, Rollout, RolloutState, RunState},
};
use pliant_types::{
    Attempt, Cpu, Digest, ExecutionId, ExitStatus, Fence, Health, HostId, Memory, Namespace, Phase,
    Time, Version,
    host::{HostDescription, HostStage},
    phase::AttemptState,
    report::{InventoryItem, Observation, Registered, Report},
};
use std::{collections::BTreeMap, sync::Arc};

pub const WASM: &str = r#""engine":{"wasm":{"component":"oci://r/x:1"}}"#;

/// A state with the bytes of every batch that led to it.
pub struct World {
    pub state: State,
    pub now: Time,
    pub journal: Vec<Vec<u8>>,
}

impl World {
    pub fn new() -> Self {
        Self { state: State::default(), now: Time::from_millis(1_000_000), journal: Vec::new() }
    }

    pub fn with_hosts(count: u32) -> Self {
        let mut world = Self::new();
        (1..=count).for_each(|n| {
            world.host(&format!("host-{n}"));
        });
        world
    }

    /// Decides, journals, applies, and judges every law that can be judged after one decision.
    pub fn ask(&mut self, request: Request) -> Result<Answer, Rejection> {
        let before = self.state.hash();
        let decided = decide(&self.state, &request, self.now);
        assert_eq!(self.state.hash(), before, "law 1: deciding changes nothing");
        let decided = decided?;
        let made = !decided.facts.is_empty();
        let before = self.state.clone();
        if made {
            let revision = self.state.revision().get();
            for kind in &decided.facts {
                apply(&mut self.state, &Fact { at: self.now, kind: kind.clone() });
            }
            assert_eq!(self.state.revision().get(), revision + decided.facts.len() as u64);
            assert_eq!(check(&self.state), [], "law 6 after {}", request.command.word());
            if request.command == Command::Tick {
                invariants::hold(&before, &decided.facts, &self.state);
            }
            let decision = Decision { now: self.now, request, facts: decided.facts };
            self.journal.push(encode_batch(&[decision], self.state.hash()));
        }
        if made {
            self.check_answer(&decided.answer);
        }
        Ok(decided.answer)
    }

    /// The revision in an answer is the job's spec revision: its ETag.
    fn check_answer(&self, answer: &Answer) {
        let (uid, revision) = match answer {
            Answer::Submitted(answer) => (answer.uid, answer.revision),
            Answer::Job { uid, spec_revision } => (*uid, *spec_revision),
            _ => return,
        };
        let now = self.state.jobs.get(&uid).map(|job| job.spec_revision);
        assert_eq!(now, Some(revision), "the answered revision of {uid}");
    }

    pub fn command(&mut self, command: Command) -> Result<Answer, Rejection> {
        self.ask(Request::internal(command))
    }

    pub fn later(&mut self, millis: u64) {
        self.now = Time::from_millis(self.now.millis() + millis);
    }

    /// Plans until nothing more is proposed; the last plan is returned.
    pub fn settle(&mut self) -> Plan {
        for _ in 0..1_000 {
            let plan = plan(&self.state, self.now);
            if plan.facts.is_empty() {
                return plan;
            }
            let more = plan.more;
            self.command(Command::Tick).expect("a tick is never refused");
            let again = pliant_core::plan(&self.state, self.now);
            assert!(more || again.facts.is_empty(), "law 5: {:?}", again.facts);
        }
        panic!("law 5: the planner never comes to rest")
    }

    pub fn host(&mut self, name: &str) -> HostId {
        self.register(name, "boot-1", None, &[]).host
    }

    pub fn register(
        &mut self,
        name: &str,
        boot: &str,
        host: Option<HostId>,
        inventory: &[(ExecutionId, Fence)],
    ) -> Registered {
        let command = RegisterHost {
            description: description(name, boot),
            host,
            inventory: inventory
                .iter()
                .map(|(execution, fence)| InventoryItem { execution: *execution, fence: *fence })
                .collect(),
        };
        match self.command(Command::RegisterHost(command)).expect("registered") {
            Answer::Registered(registered) => registered,
            other => panic!("unexpected {other:?}"),
        }
    }

    pub fn silent(&mut self, host: HostId, stage: HostStage) {
        let lease_end = self.now;
        self.command(Command::HostSilent(HostSilent { host, stage, lease_end })).expect("silent");
    }

    pub fn submit(&mut self, name: &str, spec: &str) -> Result<SubmitAnswer, Rejection> {
        self.submit_with(submission(name, spec))
    }

    pub fn submit_with(&mut self, submit: Submit) -> Result<SubmitAnswer, Rejection> {
        match self.command(Command::Submit(submit))? {
            Answer::Submitted(answer) => Ok(answer),
            other => panic!("unexpected {other:?}"),
        }
    }

    pub fn stop(&mut self, name: &str) -> Result<Answer, Rejection> {
        self.command(Command::Stop(StopJob {
            job: by_name(name),
            expect: Expect::Anything,
            version: None,
        }))
    }

    pub fn start(&mut self, name: &str) -> Result<Answer, Rejection> {
        self.command(Command::Start(StartJob { job: by_name(name), expect: Expect::Anything }))
    }

    pub fn delete(&mut self, name: &str) -> Result<Answer, Rejection> {
        self.command(Command::Delete(DeleteJob { job: by_name(name), expect: Expect::Anything }))
    }

    pub fn rollback(&mut self, name: &str, to: Option<&str>) -> Result<SubmitAnswer, Rejection> {
        let rollback = Rollback {
            job: by_name(name),
            expect: Expect::Anything,
            to: to.map(|text| text.parse().expect("a reference")),
            message: None,
        };
        match self.command(Command::Rollback(rollback))? {
            Answer::Submitted(answer) => Ok(answer),
            other => panic!("unexpected {other:?}"),
        }
    }

    pub fn tag(
        &mut self,
        name: &str,
        tag: &str,
        version: Option<&str>,
    ) -> Result<Answer, Rejection> {
        self.command(Command::Tag(TagVersion {
            job: by_name(name),
            expect: Expect::Anything,
            tag: tag.parse().expect("a tag"),
            version: version.map(|text| text.parse().expect("a reference")),
        }))
    }

    pub fn rerun(&mut self, name: &str) -> Result<Answer, Rejection> {
        self.command(Command::Rerun(RerunJob { job: by_name(name), expect: Expect::Anything }))
    }

    pub fn scale(&mut self, name: &str, to: ScaleTo) -> Result<Answer, Rejection> {
        let scale = ScaleJob { job: by_name(name), expect: Expect::Anything, to };
        self.command(Command::Scale(scale))
    }

    pub fn stop_version(&mut self, name: &str, version: u32) -> Result<Answer, Rejection> {
        self.command(Command::Stop(StopJob {
            job: by_name(name),
            expect: Expect::Anything,
            version: Some(Version::new(version)),
        }))
    }

    pub fn namespace(&mut self, name: &str, create: bool) -> Result<Answer, Rejection> {
        let asked = NamespaceCommand { namespace: name.parse().expect("a namespace") };
        self.command(match create {
            true => Command::CreateNamespace(asked),
            false => Command::DeleteNamespace(asked),
        })
    }

    /// Every live execution of a job completes with success.
    pub fn complete(&mut self, name: &str) {
        self.settle();
        for execution in self.live(name) {
            self.report(execution.id, Phase::Running, None);
            self.report(execution.id, Phase::Completed, Some(ExitStatus::exited(0)));
        }
        self.settle();
    }

    /// Numbers of the kept versions, oldest first.
    pub fn versions(&self, name: &str) -> Vec<u32> {
        self.state.versions_of(self.job(name).uid).map(|v| v.record.number.get()).collect()
    }

    pub fn job(&self, name: &str) -> &Job {
        let uid = self
            .state
            .index
            .job(&Namespace::default_namespace(), &name.parse().expect("a name"))
            .expect("the job exists");
        self.state.jobs.get(&uid).expect("the index is exact")
    }

    pub fn run_state(&self, name: &str) -> RunState {
        self.state.run_state(self.job(name))
    }

    /// Live executions of a job, by task.
    pub fn live(&self, name: &str) -> Vec<Execution> {
        let job = self.job(name);
        self.state
            .all_tasks_of(job.uid)
            .filter_map(|task| self.state.live_execution(task))
            .cloned()
            .collect()
    }

    /// The host of an execution reports it.
    pub fn report(&mut self, id: ExecutionId, phase: Phase, exit: Option<ExitStatus>) {
        let execution = self.state.executions.get(&id).expect("known").clone();
        self.observe(observation(&execution, phase, exit));
    }

    /// The host of an execution refuses its change in place.
    pub fn refuse(&mut self, id: ExecutionId) {
        let execution = self.state.executions.get(&id).expect("known").clone();
        let mut observation = observation(&execution, Phase::Running, None);
        observation.version = Some(execution.runs());
        observation.refused = Some(execution.version);
        self.observe(observation);
    }

    /// A probe of an execution says no.
    pub fn unhealthy(&mut self, id: ExecutionId) {
        let execution = self.state.executions.get(&id).expect("known").clone();
        let mut observation = observation(&execution, Phase::Running, None);
        observation.health = Health::Unhealthy;
        self.observe(observation);
    }

    /// The host of an execution says this of it.
    pub fn observe(&mut self, observation: Observation) {
        let execution = self.state.executions.get(&observation.execution).expect("known").clone();
        let host = self.state.hosts.get(&execution.host).expect("known").clone();
        let report = Report {
            boot: host.description.boot.clone(),
            fence: host.fence,
            epoch: self.state.epoch(),
            generation: host.generation,
            observations: vec![observation],
        };
        self.command(Command::Report(ReportHost { host: host.id, report })).expect("a report");
    }

    /// Every live execution does what its assignment says.
    pub fn obey(&mut self) {
        self.settle();
        let live: Vec<_> = self
            .state
            .executions
            .iter()
            .filter(|(_, e)| e.is_live())
            .map(|(id, e)| (*id, e.is_wanted()))
            .collect();
        for (id, wanted) in live {
            let phase = if wanted { Phase::Running } else { Phase::Stopped };
            self.report(id, phase, None);
        }
        self.settle();
    }

    /// Every host obeys and time passes until the rollout of a job has ended or stands still.
    pub fn roll(&mut self, name: &str) -> Rollout {
        for _ in 0..400 {
            self.obey();
            let rollout = self.rollout(name);
            if !rollout.is_active() || rollout.progress.state == RolloutState::AwaitingPromotion {
                return rollout;
            }
            self.later(5_000);
        }
        panic!("the rollout of {name} never ends: {:?}", self.rollout(name))
    }

    /// The newest rollout of a job.
    pub fn rollout(&self, name: &str) -> Rollout {
        let uid = self.job(name).uid;
        self.state.rollouts_of(uid).next_back().expect("a rollout").clone()
    }

    /// What people do to a rollout.
    pub fn verb(&mut self, name: &str, verb: RolloutVerb) -> Result<Answer, Rejection> {
        let expect = Expect::Anything;
        self.command(Command::Rollout(RolloutCommand {
            job: by_name(name),
            expect,
            rollout: None,
            verb,
        }))
    }

    /// Every live execution of a job, successors included, by task and age.
    pub fn all_live(&self, name: &str) -> Vec<Execution> {
        let job = self.job(name);
        self.state
            .all_tasks_of(job.uid)
            .flat_map(|task| self.state.executions_of(task))
            .filter(|e| e.is_live())
            .cloned()
            .collect()
    }

    /// Law 3 and 4: the journal alone gives the same state, byte for byte.
    pub fn replayed(&self) -> State {
        let mut state = State::default();
        for bytes in &self.journal {
            let batch = decode_batch(bytes).expect("own bytes are readable");
            Engine::replay(&mut state, &batch);
            assert_eq!(state.hash(), batch.hash, "law 3: the hash of each batch");
        }
        state
    }
}

pub fn by_name(name: &str) -> JobRef {
    JobRef::Name(Namespace::default_namespace(), name.parse().expect("a name"))
}

pub fn description(name: &str, boot: &str) -> HostDescription {
    let mut attributes = BTreeMap::from([
        ("engine.wasm".to_string(), "48".to_string()),
        ("arch".to_string(), "x86_64".to_string()),
    ]);
    attributes.insert("cores".into(), "4".into());
    let zone = if name.len().is_multiple_of(2) { "a" } else { "b" };
    HostDescription {
        name: name.parse().expect("a host name"),
        boot: boot.into(),
        address: "http://127.0.0.1:1".into(),
        cpu: Cpu::from_millis(4000),
        memory: Memory::from_mib(1024),
        max_executions: 100,
        attributes,
        labels: BTreeMap::from([("zone".to_string(), zone.to_string())]),
    }
}

pub fn submission(name: &str, spec: &str) -> Submit {
    Submit {
        namespace: Namespace::default_namespace(),
        name: name.parse().expect("a name"),
        labels: BTreeMap::new(),
        annotations: BTreeMap::new(),
        spec: Arc::new(serde_json::from_str(spec).expect("a spec")),
        text: Some(spec.to_string()),
        source: None,
        digest: Digest::new([7; 32]),
        force: Force::No,
        expect: Expect::Anything,
        message: None,
    }
}

pub fn keyed(command: Command, key: &str, body: u8) -> Request {
    Request {
        principal: Principal("tester".into()),
        key: Some((IdempotencyKey(key.into()), Digest::new([body; 32]))),
        command,
    }
}

pub fn observation(execution: &Execution, phase: Phase, exit: Option<ExitStatus>) -> Observation {
    let attempt_state = match phase {
        Phase::Running => AttemptState::Up,
        Phase::Preparing => AttemptState::Preparing,
        _ => AttemptState::Ended,
    };
    Observation {
        execution: execution.id,
        job: execution.task.job,
        incarnation: execution.task.incarnation,
        fence: execution.fence,
        phase,
        attempt: Attempt::FIRST,
        attempt_state,
        health: if phase == Phase::Running { Health::Healthy } else { Health::Unknown },
        ports: BTreeMap::new(),
        exit,
        results: None,
        detail: None,
        version: Some(execution.version),
        refused: None,
    }
}

pub fn service(count: u32) -> String {
    format!(r#"{{"kind":"service","count":{count},{WASM}}}"#)
}

pub fn batch(count: u32) -> String {
    format!(r#"{{"kind":"batch","count":{count},{WASM}}}"#)
}

pub fn of_kind(kind: &str) -> String {
    format!(r#"{{"kind":"{kind}",{WASM}}}"#)
}

/// Facts of a kind's word in a world's journal.
pub fn facts_in(world: &World, word: &str) -> usize {
    world
        .journal
        .iter()
        .flat_map(|bytes| decode_batch(bytes).expect("readable").decisions)
        .flat_map(|decision| decision.facts)
        .filter(|fact: &FactKind| fact.word() == word)
        .count()
}
