//! A machine of the simulated cluster: the real agent logic, what it remembers, guests that behave
//! as chance wants.

use crate::{
    chance::Chance,
    oracle::{Begun, Oracle},
};
use pliant_agent::logic::{AgentLogic, Call, Edit, Event, Image, Input, Moment, Output, Step};
use pliant_types::{
    Attempt, Digest, ExecutionId, ExitReason, ExitStatus, JobName, Kind, Time, Version,
    assignment::AssignedExecution, report::Results,
};
use std::collections::{BTreeMap, BTreeSet};

/// A guest that runs.
#[derive(Clone, Debug)]
pub(crate) struct Guest {
    pub(crate) attempt: Attempt,
    /// It does not end when it is asked to, only when it is cut off.
    stubborn: bool,
}

/// What a driver will say later.
#[derive(Clone, Debug)]
pub(crate) struct Later {
    pub(crate) after_millis: u64,
    pub(crate) input: Input,
}

/// One machine.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) index: usize,
    pub(crate) name: String,
    pub(crate) boots: u32,
    /// Counts lives of the agent's process; what was meant for an older one is dropped.
    pub(crate) life: u64,
    /// The running agent.
    pub(crate) logic: Option<AgentLogic>,
    /// What is durable on its disk.
    image: Image,
    /// What may be lost with the process.
    unsynced: Vec<Edit>,
    guests: BTreeMap<ExecutionId, Guest>,
    /// Nothing gets through until then.
    pub(crate) cut_off_until: Time,
    /// It reads its assignment as a stream.
    pub(crate) follows: bool,
    /// How often guests fail, in thousandths.
    pub(crate) failing: u64,
    /// Versions whose guests always trap soon after their start, by the job's name.
    pub(crate) bad: BTreeSet<(JobName, Version)>,
}

/// What an input led to, for the world to carry out.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    pub(crate) later: Vec<Later>,
    pub(crate) calls: Vec<Call>,
}

impl Machine {
    pub(crate) fn new(index: usize) -> Self {
        Self {
            index,
            name: format!("host-{index}"),
            boots: 1,
            life: 0,
            logic: None,
            image: Image::default(),
            unsynced: Vec::new(),
            guests: BTreeMap::new(),
            cut_off_until: Time::default(),
            follows: false,
            failing: 0,
            bad: BTreeSet::new(),
        }
    }

    pub(crate) fn boot(&self) -> String {
        format!("{}-boot-{}", self.name, self.boots)
    }

    pub(crate) fn has_guests(&self) -> bool {
        !self.guests.is_empty()
    }

    /// The agent's process begins; Wasm guests of an earlier life are gone with it.
    pub(crate) fn start(&mut self, now: Time) -> Output {
        self.life += 1;
        let (logic, output) =
            AgentLogic::recover(self.image.clone(), &self.boot(), &[], moment(now));
        self.logic = Some(logic);
        output
    }

    /// The agent's process ends at once. What was not synced may be lost.
    pub(crate) fn kill(&mut self, chance: &mut Chance, oracle: &mut Oracle) {
        for edit in std::mem::take(&mut self.unsynced) {
            if chance.permille(500) {
                break;
            }
            self.image.apply(&edit);
        }
        self.life += 1;
        self.logic = None;
        self.follows = false;
        self.guests.clear();
        oracle.host_down(self.index);
    }

    pub(crate) fn handle(
        &mut self,
        input: Input,
        now: Time,
        with: (&mut Chance, &mut Oracle),
    ) -> Effects {
        let Some(logic) = &mut self.logic else { return Effects::default() };
        let output = logic.handle(input, moment(now));
        self.carry_out(output, with)
    }

    /// Edits first, as the agent's contract demands, then steps and calls.
    pub(crate) fn carry_out(
        &mut self,
        output: Output,
        (chance, oracle): (&mut Chance, &mut Oracle),
    ) -> Effects {
        for edit in std::mem::take(&mut self.unsynced) {
            self.image.apply(&edit);
        }
        for edit in &output.edits {
            self.note_success(edit, oracle);
            self.image.apply(edit);
        }
        self.unsynced = output.later;
        let mut effects = Effects { later: Vec::new(), calls: output.calls };
        for step in output.steps {
            effects.later.extend(self.step(step, (chance, oracle)));
        }
        effects
    }

    /// The oracle learns that an execution has succeeded when that is durable.
    fn note_success(&self, edit: &Edit, oracle: &mut Oracle) {
        if let Edit::Put(record) = edit
            && record.assigned.template.kind.ends()
            && record.exit.as_ref().is_some_and(ExitStatus::is_success)
        {
            oracle.succeed(record.id());
        }
    }

    fn step(&mut self, step: Step, (chance, oracle): (&mut Chance, &mut Oracle)) -> Vec<Later> {
        let say = |after_millis, execution, event| {
            vec![Later { after_millis, input: Input::Execution(execution, event) }]
        };
        match step {
            Step::Prepare { execution, attempt, .. } => {
                let event = if chance.permille(self.failing / 4) {
                    let exit = ExitStatus::with_detail(ExitReason::ArtifactInvalid, "simulated");
                    Event::Failed { attempt, exit }
                } else {
                    Event::Prepared { attempt }
                };
                say(chance.between(1, 400), execution, event)
            }
            Step::PrepareNext { execution, version, .. } => {
                let event = if chance.permille(self.failing / 4) {
                    let exit = ExitStatus::with_detail(ExitReason::ArtifactInvalid, "simulated");
                    Event::NextFailed { version, exit }
                } else {
                    Event::NextPrepared { version }
                };
                say(chance.between(1, 400), execution, event)
            }
            Step::Resize { execution, attempt, to, .. } => {
                let event = if to.below_bytes.is_some() && chance.permille(200) {
                    Event::ResizeRefused { attempt, why: "simulated".to_owned() }
                } else {
                    Event::Resized { attempt }
                };
                say(chance.between(1, 50), execution, event)
            }
            Step::Start { assigned, attempt } => {
                self.start_guest(*assigned, attempt, (chance, oracle))
            }
            Step::Stop { execution, attempt, grace, .. } => {
                let Some(guest) = self.guests.get(&execution) else {
                    let exit = ExitStatus::of(ExitReason::Stopped);
                    return say(1, execution, Event::Ended { attempt, exit });
                };
                if guest.stubborn && grace.get() > 0 {
                    return Vec::new();
                }
                let reason =
                    if grace.get() == 0 { ExitReason::Killed } else { ExitReason::Stopped };
                let exit = ExitStatus::of(reason);
                say(
                    chance.between(1, grace.get().max(2)),
                    execution,
                    Event::Ended { attempt, exit },
                )
            }
            Step::Collect { execution, attempt } => {
                let results = chance.permille(700).then(|| Results {
                    digest: Digest::new([9; 32]),
                    size_bytes: 1,
                    files: 1,
                });
                say(chance.between(1, 50), execution, Event::Collected { attempt, results })
            }
            Step::Remove { execution, .. } => {
                self.guests.remove(&execution);
                oracle.end(self.index, execution);
                say(1, execution, Event::Removed)
            }
        }
    }

    fn start_guest(
        &mut self,
        assigned: AssignedExecution,
        attempt: Attempt,
        (chance, oracle): (&mut Chance, &mut Oracle),
    ) -> Vec<Later> {
        let execution = assigned.execution;
        let say =
            |after_millis, event| Later { after_millis, input: Input::Execution(execution, event) };
        if chance.permille(self.failing / 4) {
            let exit = ExitStatus::of(ExitReason::PortInUse);
            return vec![say(1, Event::Failed { attempt, exit })];
        }
        oracle.begin(Begun {
            task: (assigned.job, assigned.incarnation, assigned.task),
            execution,
            attempt,
            exclusive: assigned.template.exclusive,
            host: self.index,
        });
        let kind = assigned.template.kind;
        self.guests.insert(execution, Guest { attempt, stubborn: chance.permille(50) });
        let mut said = vec![say(1, Event::Started { attempt, ports: BTreeMap::new() })];
        let bad = self.bad.contains(&(assigned.name.clone(), assigned.version));
        let fails = bad || chance.permille(self.failing);
        if kind.ends() || fails {
            let exit =
                if fails { ExitStatus::of(ExitReason::Trapped) } else { ExitStatus::exited(0) };
            let after = match kind {
                _ if bad => 500,
                Kind::Ops => chance.between(5, 500),
                _ => chance.between(10, 20_000),
            };
            said.push(say(after, Event::Ended { attempt, exit }));
        }
        said
    }

    /// Whether an input still means something: the end of a guest that is gone does not.
    pub(crate) fn is_current(&mut self, input: &Input, oracle: &mut Oracle) -> bool {
        let Input::Execution(execution, Event::Ended { attempt, .. }) = input else { return true };
        match self.guests.get(execution) {
            Some(guest) if guest.attempt == *attempt => {
                self.guests.remove(execution);
                oracle.end(self.index, *execution);
                true
            }
            // Asked to stop what never began: the driver says so.
            None => true,
            Some(_) => false,
        }
    }
}

/// Virtual time as the agent's monotonic clock.
pub(crate) const fn moment(now: Time) -> Moment {
    Moment::new(now.millis())
}
