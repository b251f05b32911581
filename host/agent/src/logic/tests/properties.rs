//! Whatever happens in whatever order, with crashes between: never two live attempts, never a phase
//! backwards, never a start after a stop was asked, never an attempt twice, ends stay ends. What is
//! told to be obeyed is what runs, and no attempt is ended for a version that is not ready.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use pliant_types::{
    Attempt, Cpu, ExecutionId, ExitReason, ExitStatus, Kind, Millis, Phase, Version,
    assignment::{AssignedExecution, Desired, InPlace},
};
use proptest::prelude::*;

use super::rig::{Rig, assigned, id, stopped, template, whole};
use crate::logic::{Event, Input, Stage, Step, Then, Trouble};

#[derive(Clone, Copy, Debug)]
enum Act {
    Prepare(u8),
    PrepareFails(u8),
    Start(u8),
    StartFails(u8),
    Exit(u8, u8),
    StopEnds(u8),
    Collect(u8),
    Remove(u8),
    AskStop(u8),
    Unlist(u8),
    Assign(u8),
    Change(u8, u8, bool),
    NextReady(u8, bool),
    Resize(u8, bool),
    Pass(u8),
    Acknowledge,
    CutOff,
    Renew,
    Crash,
}

fn act() -> impl Strategy<Value = Act> {
    let which = 0u8..3;
    prop_oneof![
        3 => which.clone().prop_map(Act::Prepare),
        1 => which.clone().prop_map(Act::PrepareFails),
        3 => which.clone().prop_map(Act::Start),
        1 => which.clone().prop_map(Act::StartFails),
        2 => (which.clone(), 0u8..2).prop_map(|(one, code)| Act::Exit(one, code)),
        2 => which.clone().prop_map(Act::StopEnds),
        1 => which.clone().prop_map(Act::Collect),
        1 => which.clone().prop_map(Act::Remove),
        1 => which.clone().prop_map(Act::AskStop),
        1 => which.clone().prop_map(Act::Unlist),
        1 => which.clone().prop_map(Act::Assign),
        3 => (which.clone(), 0u8..6, any::<bool>()).prop_map(|(w, what, may)| Act::Change(w, what, may)),
        2 => (which.clone(), any::<bool>()).prop_map(|(w, is)| Act::NextReady(w, is)),
        2 => (which, any::<bool>()).prop_map(|(w, is)| Act::Resize(w, is)),
        2 => (1u8..40).prop_map(Act::Pass),
        1 => Just(Act::Acknowledge),
        1 => Just(Act::CutOff),
        1 => Just(Act::Renew),
        1 => Just(Act::Crash),
    ]
}

/// The drivers and the controller, as they really are.
struct World {
    rig: Rig,
    generation: u64,
    listed: BTreeMap<ExecutionId, AssignedExecution>,
    preparing: BTreeMap<ExecutionId, Attempt>,
    starting: BTreeMap<ExecutionId, Attempt>,
    running: BTreeMap<ExecutionId, Attempt>,
    stopping: BTreeMap<ExecutionId, Attempt>,
    collecting: BTreeMap<ExecutionId, Attempt>,
    removing: Vec<ExecutionId>,
    started: BTreeMap<ExecutionId, Attempt>,
    /// The furthest phase that was ever told of each.
    told: BTreeMap<ExecutionId, Phase>,
    stop_asked: Vec<ExecutionId>,
    /// Versions that are being made ready beside a running attempt.
    next_ones: Vec<(ExecutionId, Version)>,
    /// Versions that were made ready so.
    ready: BTreeSet<(ExecutionId, Version)>,
    resizing: BTreeMap<ExecutionId, (Attempt, Cpu)>,
    /// What the started attempt of each really has: its arguments and its size.
    has: BTreeMap<ExecutionId, (Vec<String>, Cpu)>,
    next: u64,
}

impl World {
    fn new() -> Self {
        let mut rig = Rig::new();
        rig.join();
        let mut world = Self {
            rig,
            generation: 0,
            listed: BTreeMap::new(),
            preparing: BTreeMap::new(),
            starting: BTreeMap::new(),
            running: BTreeMap::new(),
            stopping: BTreeMap::new(),
            collecting: BTreeMap::new(),
            removing: Vec::new(),
            started: BTreeMap::new(),
            told: BTreeMap::new(),
            stop_asked: Vec::new(),
            next_ones: Vec::new(),
            ready: BTreeSet::new(),
            resizing: BTreeMap::new(),
            has: BTreeMap::new(),
            next: 1,
        };
        (0..3).for_each(|one| world.assign(one));
        world
    }

    fn assign(&mut self, flavour: u8) {
        let mut job = template(if flavour == 0 { Kind::Batch } else { Kind::Service });
        job.exclusive = flavour == 2;
        job.execution_timeout = Millis::from_secs(if flavour == 0 { 100 } else { 0 });
        let one = assigned(self.next, job);
        self.next += 1;
        self.listed.insert(one.execution, one);
        self.offer();
    }

    /// The same execution at the next version: other rules, another size, or other arguments.
    fn change(&mut self, id: ExecutionId, what: u8, in_place: InPlace) {
        let Some(one) = self.listed.get_mut(&id) else { return };
        let template = Arc::make_mut(&mut one.template);
        match what {
            0 => template.kill_timeout = Millis::from_secs(u64::from(one.version.get())),
            1..=3 => template.cpu = Cpu::from_millis(u32::from(what) * 100),
            _ => template.args = vec![one.version.to_string()],
        }
        (one.version, one.in_place) = (one.version.next(), in_place);
        self.offer();
    }

    fn next_ready(&mut self, which: usize, is_ready: bool) {
        if which >= self.next_ones.len() {
            return;
        }
        let (id, version) = self.next_ones.remove(which);
        let exit = ExitStatus::of(ExitReason::ArtifactInvalid);
        let event = if is_ready {
            self.ready.insert((id, version));
            Event::NextPrepared { version }
        } else {
            Event::NextFailed { version, exit }
        };
        self.rig.tell(Input::Execution(id, event));
    }

    fn resize(&mut self, which: usize, is_done: bool) {
        let known = self.resizing.keys().nth(which).copied();
        let Some((id, (attempt, cpu))) = known.and_then(|id| self.resizing.remove_entry(&id))
        else {
            return;
        };
        let event = if is_done {
            if self.running.get(&id) == Some(&attempt)
                && let Some(has) = self.has.get_mut(&id)
            {
                has.1 = cpu;
            }
            Event::Resized { attempt }
        } else {
            Event::ResizeRefused { attempt, why: "no".to_owned() }
        };
        self.rig.tell(Input::Execution(id, event));
    }

    fn offer(&mut self) {
        self.generation += 1;
        self.rig.offer(whole(self.generation, self.listed.values().cloned().collect()));
    }

    fn pick(&self, which: u8) -> Option<ExecutionId> {
        self.listed.keys().nth(usize::from(which)).copied()
    }

    fn exit(&mut self, id: ExecutionId, exit: ExitStatus) {
        if let Some(attempt) = self.running.remove(&id) {
            self.stopping.remove(&id);
            self.rig.tell(Input::ended(id, attempt, exit));
        }
    }

    fn act(&mut self, act: Act) {
        let failure = ExitStatus::of(ExitReason::HostFailure);
        match act {
            Act::Prepare(which) | Act::PrepareFails(which) => {
                let known = self.preparing.keys().nth(usize::from(which)).copied();
                let Some((id, attempt)) = known.and_then(|id| self.preparing.remove_entry(&id))
                else {
                    return;
                };
                let event = match act {
                    Act::Prepare(_) => Event::Prepared { attempt },
                    _ => Event::Failed { attempt, exit: failure },
                };
                self.rig.tell(Input::Execution(id, event));
            }
            Act::Start(which) | Act::StartFails(which) => {
                let known = self.starting.keys().nth(usize::from(which)).copied();
                let Some((id, attempt)) = known.and_then(|id| self.starting.remove_entry(&id))
                else {
                    return;
                };
                let event = if matches!(act, Act::Start(_)) {
                    assert!(self.running.insert(id, attempt).is_none(), "two live attempts");
                    Event::Started { attempt, ports: BTreeMap::new() }
                } else {
                    Event::Failed { attempt, exit: failure }
                };
                self.rig.tell(Input::Execution(id, event));
            }
            Act::Exit(which, code) => {
                if let Some(id) = self.running.keys().nth(usize::from(which)).copied() {
                    self.exit(id, ExitStatus::exited(i32::from(code)));
                }
            }
            Act::StopEnds(which) => {
                if let Some(id) = self.stopping.keys().nth(usize::from(which)).copied() {
                    self.exit(id, ExitStatus::of(ExitReason::Stopped));
                }
            }
            Act::Collect(which) => {
                let known = self.collecting.keys().nth(usize::from(which)).copied();
                if let Some((id, attempt)) = known.and_then(|id| self.collecting.remove_entry(&id))
                {
                    self.rig.tell(Input::collected(id, attempt, None));
                }
            }
            Act::Remove(which) => {
                if usize::from(which) < self.removing.len() {
                    let id = self.removing.remove(usize::from(which));
                    self.rig.tell(Input::Execution(id, Event::Removed));
                }
            }
            Act::AskStop(which) => {
                if let Some(id) = self.pick(which) {
                    let one = self.listed[&id].clone();
                    self.listed.insert(id, stopped(one));
                    self.offer();
                }
            }
            Act::Unlist(which) => {
                if let Some(id) = self.pick(which) {
                    self.listed.remove(&id);
                    self.offer();
                }
            }
            Act::Assign(flavour) => self.assign(flavour),
            Act::Change(which, what, may) => {
                let in_place = if may { InPlace::Restart } else { InPlace::Live };
                if let Some(id) = self.pick(which) {
                    self.change(id, what, in_place);
                }
            }
            Act::NextReady(which, is_ready) => self.next_ready(usize::from(which), is_ready),
            Act::Resize(which, is_done) => self.resize(usize::from(which), is_done),
            Act::Pass(secs) => self.rig.pass(u64::from(secs)),
            Act::Acknowledge => self.rig.acknowledge(),
            Act::CutOff => {
                self.rig.tell(Input::RenewFailed(Trouble::NoAnswer));
            }
            Act::Renew => self.rig.renew(),
            Act::Crash => self.crash(),
        }
    }

    /// The process dies and with it everything that it ran.
    fn crash(&mut self) {
        self.rig = self.rig.crash(&[]);
        self.preparing.clear();
        self.starting.clear();
        self.running.clear();
        self.stopping.clear();
        self.collecting.clear();
        self.removing.clear();
        self.next_ones.clear();
        self.resizing.clear();
        self.observe();
        self.rig.join();
        self.offer();
    }

    /// Takes what the logic asked for, and judges it.
    fn observe(&mut self) {
        for step in std::mem::take(&mut self.rig.steps) {
            match step {
                Step::Prepare { execution, attempt, .. } => {
                    self.preparing.insert(execution, attempt);
                }
                Step::Start { assigned, attempt } => {
                    let id = assigned.execution;
                    assert!(!self.stop_asked.contains(&id), "a start after a stop: {id}");
                    assert!(!self.running.contains_key(&id), "two live attempts: {id}");
                    assert!(self.starting.insert(id, attempt).is_none(), "two starts: {id}");
                    let before = self.started.insert(id, attempt);
                    assert!(before < Some(attempt), "attempt {attempt} of {id} starts twice");
                    self.has.insert(id, (assigned.template.args.clone(), assigned.template.cpu));
                }
                Step::PrepareNext { execution, version, .. } => {
                    self.next_ones.push((execution, version));
                }
                Step::Resize { execution, attempt, to, .. } => {
                    let before = self.resizing.insert(execution, (attempt, to.cpu));
                    assert!(before.is_none_or(|(old, _)| old < attempt), "two sizes at once");
                }
                Step::Stop { execution, attempt, then, .. } => {
                    let is_ready = self.ready.iter().any(|(of, _)| *of == execution);
                    assert!(then == Then::Over || is_ready, "{execution} is ended for nothing");
                    if self.running.get(&execution) == Some(&attempt) {
                        self.stopping.insert(execution, attempt);
                    }
                }
                Step::Collect { execution, attempt } => {
                    self.collecting.insert(execution, attempt);
                }
                Step::Remove { execution, .. } => {
                    assert!(!self.running.contains_key(&execution), "{execution} still runs");
                    self.removing.push(execution);
                }
            }
        }
        let asked = self.listed.values().filter(|one| matches!(one.desired, Desired::Stop { .. }));
        self.stop_asked.extend(asked.map(|one| one.execution));
        for told in &self.rig.report {
            let before = self.told.insert(told.execution, told.phase);
            assert!(
                before.is_none_or(|before| before == told.phase || before.may_become(told.phase)),
                "{}: {before:?} -> {}",
                told.execution,
                told.phase
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_order_of_events_breaks_the_rules(acts in prop::collection::vec(act(), 1..120)) {
        let mut world = World::new();
        world.observe();
        for act in acts {
            world.act(act);
            world.observe();
            let live = world.rig.logic.executions().filter(|one| one.record.stage.may_run());
            for one in live {
                let last = world.started.get(&one.id());
                prop_assert_eq!(last, Some(&one.record.attempt), "{}", id(one.id().get()));
                // A stop does not wait for the answer of a resize.
                if matches!(one.record.stage, Stage::Up { .. }) {
                    let obeys = one.record.obeys.as_ref().expect("it was started");
                    let obeys = (obeys.template.args.clone(), obeys.template.cpu);
                    prop_assert_eq!(world.has.get(&one.id()), Some(&obeys), "{}", one.id());
                }
                let told = one.observation();
                prop_assert!(told.is_none_or(|told| told.refused.is_none() || told.refused != told.version));
            }
        }
    }
}
