//! An agent's logic with a clock that the test moves, an image that takes its edits, and all that
//! it asked for.

use std::{collections::BTreeMap, sync::Arc};

use pliant_types::{
    Attempt, Digest, Epoch, ExecutionId, ExitStatus, Fence, Generation, HostId, Incarnation,
    JobUid, Kind, Millis, Phase, TaskNumber, Version,
    assignment::{
        AssignedExecution, Assignment, AssignmentDelta, Desired, RestartRule, TaskTemplate,
    },
    quantity::{Cpu, Memory},
    report::{Observation, Registered, Renewed},
    spec::{Backoff, Capabilities, RestartPolicy},
};

use crate::logic::{
    AgentLogic, Call, Event, Image, Input, Moment, Offer, Output, Recovered, Stage, Step, Then,
    Ticket,
};

pub(super) const HOST: HostId = HostId::new(1);
pub(super) const BOOT: &str = "boot-a";
pub(super) const ONE: Attempt = Attempt::FIRST;
pub(super) const TWO: Attempt = Attempt::new(2);

pub(super) fn id(number: u64) -> ExecutionId {
    ExecutionId::new(number)
}

pub(crate) fn template(kind: Kind) -> TaskTemplate {
    TaskTemplate {
        kind,
        engine: "wasm".to_owned(),
        digest: Digest::new([7; 32]),
        args: Vec::new(),
        env: BTreeMap::new(),
        config: BTreeMap::new(),
        cpu: Cpu::from_millis(100),
        memory: Memory::from_mib(64),
        ports: Vec::new(),
        mounts: Vec::new(),
        capabilities: Capabilities::default(),
        reuse: None,
        restart: RestartRule {
            policy: RestartPolicy::OnFailure,
            backoff: Backoff { first: Millis::from_secs(1), longest: Millis::from_secs(60) },
            attempts: 3,
            within: Millis::from_secs(600),
        },
        execution_timeout: Millis::ZERO,
        kill_timeout: Millis::from_secs(10),
        exclusive: false,
        probes: pliant_types::health::Probes::default(),
        drain: Millis::ZERO,
    }
}

pub(super) fn assigned(number: u64, template: TaskTemplate) -> AssignedExecution {
    AssignedExecution {
        execution: id(number),
        job: JobUid::new(1),
        namespace: "default".parse().unwrap(),
        name: "job".parse().unwrap(),
        incarnation: Incarnation::FIRST,
        task: TaskNumber::FIRST,
        version: Version::FIRST,
        desired: Desired::Run,
        in_place: pliant_types::assignment::InPlace::Live,
        template: Arc::new(template),
    }
}

pub(super) fn stopped(mut one: AssignedExecution) -> AssignedExecution {
    one.desired = Desired::Stop { kill: one.template.kill_timeout };
    one
}

pub(super) fn whole(generation: u64, executions: Vec<AssignedExecution>) -> Offer {
    Offer::Whole(Assignment {
        host: HOST,
        epoch: Epoch::new(1),
        generation: Generation::new(generation),
        fence: Fence::FIRST,
        executions,
    })
}

pub(super) fn delta(base: u64, put: Vec<AssignedExecution>, remove: Vec<ExecutionId>) -> Offer {
    Offer::Delta(AssignmentDelta {
        epoch: Epoch::new(1),
        generation: Generation::new(base + 1),
        base: Generation::new(base),
        put,
        remove,
    })
}

pub(super) struct Rig {
    pub(super) logic: AgentLogic,
    pub(super) image: Image,
    pub(super) now: Moment,
    pub(super) steps: Vec<Step>,
    pub(super) calls: Vec<Call>,
    /// The newest report that was asked for.
    pub(super) report: Vec<Observation>,
    ticket: Option<Ticket>,
}

impl Rig {
    /// A new agent that has not asked anything yet.
    pub(super) fn new() -> Self {
        Self::recovered(Image::default(), BOOT, &[])
    }

    /// An agent that comes back from an image.
    pub(super) fn recovered(image: Image, boot: &str, running: &[Recovered]) -> Self {
        let now = Moment::new(1_000_000);
        let (logic, first) = AgentLogic::recover(image.clone(), boot, running, now);
        let mut rig = Self {
            logic,
            image,
            now,
            steps: Vec::new(),
            calls: Vec::new(),
            report: Vec::new(),
            ticket: None,
        };
        rig.take(first);
        rig.tell(Input::Tick);
        rig
    }

    /// Registered, leased, and with this assignment of generation 1.
    pub(super) fn joined(executions: Vec<AssignedExecution>) -> Self {
        let mut rig = Self::new();
        rig.join();
        rig.offer(whole(1, executions));
        rig
    }

    pub(super) fn join(&mut self) {
        self.tell(Input::Registered(Registered { host: HOST, fence: Fence::FIRST, kill: vec![] }));
        self.renew();
    }

    pub(super) fn renew(&mut self) {
        let renewed =
            Renewed { epoch: Epoch::new(1), fence: Fence::FIRST, lease: Millis::from_secs(15) };
        self.tell(Input::Renewed { sent: self.now, renewed });
    }

    /// The process is killed: only what is durable is left; containers may still run.
    pub(super) fn crash(&self, running: &[Recovered]) -> Self {
        let mut rig = Self::recovered(self.image.clone(), BOOT, running);
        rig.now = self.now;
        rig
    }

    pub(super) fn offer(&mut self, offer: Offer) {
        self.tell(Input::Offered(offer));
    }

    pub(super) fn event(&mut self, number: u64, event: Event) {
        self.tell(Input::Execution(id(number), event));
    }

    pub(super) fn prepared(&mut self, number: u64, attempt: Attempt) {
        self.event(number, Event::Prepared { attempt });
    }

    pub(super) fn started(&mut self, number: u64, attempt: Attempt) {
        self.event(number, Event::Started { attempt, ports: BTreeMap::new() });
    }

    pub(super) fn ended(&mut self, number: u64, attempt: Attempt, exit: ExitStatus) {
        self.event(number, Event::Ended { attempt, exit });
    }

    /// Prepared and started.
    pub(super) fn up(&mut self, number: u64, attempt: Attempt) {
        self.prepared(number, attempt);
        self.started(number, attempt);
    }

    pub(super) fn tell(&mut self, input: Input) -> Output {
        let output = self.logic.handle(input, self.now);
        self.take(output.clone());
        output
    }

    fn take(&mut self, output: Output) {
        for edit in output.edits.iter().chain(&output.later) {
            self.image.apply(edit);
        }
        self.steps.extend(output.steps);
        for call in &output.calls {
            if let Call::Report { report, ticket, .. } = call {
                self.report.clone_from(&report.observations);
                self.ticket = Some(ticket.clone());
            }
        }
        self.calls.extend(output.calls);
    }

    /// The controller makes the report under way durable.
    pub(super) fn acknowledge(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            self.tell(Input::Reported { ticket, fence: Fence::FIRST });
        }
    }

    /// Time passes; whatever is due happens at its own moment.
    pub(super) fn pass(&mut self, secs: u64) {
        let end = self.now.after(Millis::from_secs(secs));
        // A tick that changes nothing would come again at once: the bound makes that a failure.
        for _ in 0..10_000 {
            let Some(due) = self.logic.next_due().filter(|due| *due <= end) else { break };
            self.now = self.now.max(due);
            self.tell(Input::Tick);
        }
        assert!(self.logic.next_due().is_none_or(|due| due > end), "it does not come to rest");
        self.now = end;
        self.tell(Input::Tick);
    }

    pub(super) fn stage(&self, number: u64) -> Option<Stage> {
        self.logic.execution(id(number)).map(|one| one.record.stage)
    }

    pub(super) fn phase(&self, number: u64) -> Phase {
        self.logic.execution(id(number)).expect("it is known").record.reached
    }

    pub(super) fn exit(&self, number: u64) -> ExitStatus {
        self.logic.execution(id(number)).unwrap().record.exit.clone().expect("it has ended")
    }

    /// The steps since the last call, in short words.
    pub(super) fn words(&mut self) -> String {
        let words: Vec<String> = self.steps.drain(..).map(|step| word(&step)).collect();
        words.join(", ")
    }

    /// The calls since the last call, in short words.
    pub(super) fn call_words(&mut self) -> String {
        let words: Vec<&str> = self
            .calls
            .drain(..)
            .map(|call| match call {
                Call::Register { .. } => "register",
                Call::Renew(_) => "renew",
                Call::Report { .. } => "report",
                Call::Follow(_) => "follow",
                Call::Unfollow => "unfollow",
            })
            .collect();
        words.join(", ")
    }
}

pub(super) fn word(step: &Step) -> String {
    match step {
        Step::Prepare { execution, attempt, .. } => format!("prepare {execution}/{attempt}"),
        Step::Start { assigned, attempt } => format!("start {}/{attempt}", assigned.execution),
        Step::PrepareNext { execution, version, .. } => {
            format!("prepare next {execution} v{version}")
        }
        Step::Resize { execution, to, .. } => {
            let below = to.below_bytes.map_or(String::new(), |bytes| format!(" below {bytes}"));
            format!("resize {execution} to {} {}{below}", to.cpu, to.memory)
        }
        Step::Stop { execution, grace, then: Then::Over, .. } => {
            format!("stop {execution} in {grace}")
        }
        Step::Stop { execution, grace, then: Then::Next, .. } => {
            format!("end {execution} in {grace}")
        }
        Step::Collect { execution, .. } => format!("collect {execution}"),
        Step::Remove { execution, .. } => format!("remove {execution}"),
    }
}
