//! The simulated cluster: one controller, some machines, a network that loses, delays and doubles.

mod breaking;
mod network;
mod release;
mod stream;

use crate::{
    book::Coverage,
    chance::Chance,
    host::{Effects, Later, Machine},
    node::Node,
    oracle::Oracle,
    users,
};
use pliant_agent::logic::{Call, Input};
use pliant_core::{Command, ReplyTag, Request, State};
use pliant_journal::{
    ClusterId,
    faulty::{Fault, FaultyStore, Rates, Script},
    memory::{MemoryStore, Sharing},
};
use pliant_types::{Generation, HostId, JobUid, Time};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// How often what goes wrong, in thousandths of the occasions.
#[derive(Clone, Copy, Debug)]
pub struct Faults {
    /// A message is lost.
    pub lost: u64,
    /// A message arrives twice.
    pub doubled: u64,
    /// Longest delay of a message, in milliseconds.
    pub delay_millis: u64,
    /// An append fails in one of the six ways; for each way.
    pub journal: u16,
    /// Guests and drivers fail.
    pub failing: u64,
    /// Between two steps something breaks: machine, agent, controller, network, stream.
    pub breaking: u64,
}

impl Faults {
    /// Nothing goes wrong.
    pub const NONE: Self =
        Self { lost: 0, doubled: 0, delay_millis: 5, journal: 0, failing: 0, breaking: 0 };
    /// Everything does, now and then.
    pub const ALL: Self =
        Self { lost: 40, doubled: 20, delay_millis: 300, journal: 2, failing: 120, breaking: 60 };
}

#[derive(Clone, Debug)]
enum Due {
    /// A call of a machine reaches the controller.
    Call {
        machine: usize,
        life: u64,
        call: Call,
    },
    /// Something reaches an agent, or comes from its driver.
    Input {
        machine: usize,
        life: u64,
        input: Input,
    },
    /// An agent has something to do.
    Tick {
        machine: usize,
        life: u64,
    },
    /// An agent's process begins.
    AgentUp {
        machine: usize,
    },
    /// The controller begins, or has something to do.
    ControllerUp,
    ControllerWake,
    /// A stream connects again.
    Follow {
        machine: usize,
        life: u64,
    },
}

#[derive(Debug)]
enum Caller {
    User { name: Option<String> },
    Register { machine: usize, life: u64 },
    Report { machine: usize, life: u64, ticket: pliant_agent::logic::Ticket },
    Renew { machine: usize, life: u64, host: HostId, sent: Time },
}

/// The whole cluster.
pub struct World {
    /// Virtual time.
    pub now: Time,
    faults: Faults,
    chance: Chance,
    store: FaultyStore,
    node: Option<Node>,
    machines: Vec<Machine>,
    queue: BTreeMap<(Time, u64), Due>,
    sequence: u64,
    callers: BTreeMap<ReplyTag, Caller>,
    next_tag: u64,
    /// Newest generation that a machine's stream has carried.
    streams: BTreeMap<usize, (HostId, Option<Generation>)>,
    oracle: Oracle,
    coverage: Coverage,
    placed_elsewhere: BTreeSet<HostId>,
    dying: BTreeSet<JobUid>,
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World").field("now", &self.now).finish_non_exhaustive()
    }
}

/// When simulated time begins.
const BEGIN: Time = Time::from_millis(1_000_000_000);
/// Events of one step; more is a loop without end.
const MAX_EVENTS: usize = 2_000_000;

impl World {
    /// A cluster of so many machines, all down; they and the controller begin at once.
    #[must_use]
    pub fn new(seed: u64, machines: usize, faults: Faults) -> Self {
        let memory = MemoryStore::new(ClusterId([7; 16]), Sharing::Single);
        let script = Script::seeded(seed, Rates::even(faults.journal));
        let mut world = Self {
            now: BEGIN,
            faults,
            chance: Chance::new(seed),
            store: FaultyStore::new(Arc::new(memory), script),
            node: None,
            machines: (1..=machines).map(Machine::new).collect(),
            queue: BTreeMap::new(),
            sequence: 0,
            callers: BTreeMap::new(),
            next_tag: 0,
            streams: BTreeMap::new(),
            oracle: Oracle::default(),
            coverage: Coverage::default(),
            placed_elsewhere: BTreeSet::new(),
            dying: BTreeSet::new(),
        };
        world.push(0, Due::ControllerUp);
        for machine in 0..machines {
            world.machines[machine].failing = faults.failing;
            world.push(1, Due::AgentUp { machine });
        }
        world
    }

    /// The newest durable state; the last one while the controller is down.
    #[must_use]
    pub fn state(&self) -> Arc<State> {
        self.node.as_ref().map(|node| Arc::clone(&node.published)).unwrap_or_default()
    }

    /// The planner's newest report.
    #[must_use]
    pub fn report(&self) -> pliant_core::PlanReport {
        self.node.as_ref().map(|node| node.report.clone()).unwrap_or_default()
    }

    /// Whether the controller is up.
    #[must_use]
    pub const fn is_up(&self) -> bool {
        self.node.is_some()
    }

    /// Every broken rule so far.
    #[must_use]
    pub fn violations(&self) -> Vec<String> {
        self.oracle.violations().to_vec()
    }

    /// Names and uids of jobs that users may rely on.
    #[must_use]
    pub fn promised(&self) -> Vec<(String, JobUid)> {
        self.oracle.promised().map(|(name, uid)| (name.clone(), uid)).collect()
    }

    /// Guests that run now, as (execution, host).
    #[must_use]
    pub fn running(&self) -> Vec<(pliant_types::ExecutionId, String)> {
        let named = |begun: &crate::oracle::Begun| {
            (begun.execution, self.machines[begun.host - 1].name.clone())
        };
        self.oracle.running().map(named).collect()
    }

    /// What has happened, the journal's faults included.
    #[must_use]
    pub fn coverage(&self) -> Coverage {
        let mut coverage = self.coverage.clone();
        for (_, fault) in self.store.happened() {
            coverage.note(match fault {
                Fault::Fenced => "writer fenced with a batch in flight",
                Fault::NoSpace => "journal refused for space",
                Fault::UnknownPresent => "commit unknown and found present",
                Fault::UnknownAbsent => "commit unknown and found absent",
                Fault::CrashPresent => "controller crashed between append and release",
                Fault::CrashAbsent => "controller crashed before the append",
            });
        }
        coverage
    }

    /// From here on nothing goes wrong any more.
    pub fn stop_breaking(&mut self) {
        self.faults = Faults { delay_millis: 20, ..Faults::NONE };
        self.store.set_script(Script::default());
        for machine in &mut self.machines {
            machine.failing = 0;
            machine.cut_off_until = Time::default();
        }
    }

    /// A user asks; the answer may never come.
    pub fn ask(&mut self, name: Option<String>, command: Command) {
        let Some(node) = &mut self.node else { return };
        if let (Some(name), Command::Delete(_)) = (&name, &command) {
            self.oracle.release(name);
            let uid = node.published.index.job(
                &pliant_types::Namespace::default_namespace(),
                &name.parse().expect("Invariant: users use DNS labels"),
            );
            self.dying.extend(uid);
        }
        if let (Some(name), Command::Submit(_)) = (&name, &command) {
            let old = self.dying.iter().filter_map(|uid| node.published.jobs.get(uid));
            if old.into_iter().any(|job| *job.name == **name) {
                self.coverage.note("same name submitted while the old one dies");
            }
        }
        self.next_tag += 1;
        let tag = ReplyTag(self.next_tag);
        self.callers.insert(tag, Caller::User { name });
        node.engine.submit(tag, Request::internal(command));
        self.run_node();
    }

    /// A random user asks something.
    pub fn random_user(&mut self) {
        let (name, command) = users::wish(&mut self.chance, self.machines.len() as u64);
        self.ask(name, command);
    }

    /// Draws from the world's chance, for callers that steer it.
    pub fn draw(&mut self, below: u64) -> u64 {
        self.chance.below(below)
    }

    fn push(&mut self, after_millis: u64, due: Due) {
        self.sequence += 1;
        let at = Time::from_millis(self.now.millis() + after_millis);
        self.queue.insert((at, self.sequence), due);
    }

    /// Lets virtual time pass; everything that is due happens.
    pub fn pass(&mut self, millis: u64) {
        let until = Time::from_millis(self.now.millis() + millis);
        for _ in 0..MAX_EVENTS {
            let Some((&(at, sequence), _)) = self.queue.first_key_value() else { break };
            if at > until {
                break;
            }
            self.now = self.now.max(at);
            if let Some(due) = self.queue.remove(&(at, sequence)) {
                self.happen(due);
            }
        }
        self.now = self.now.max(until);
        self.run_node();
    }

    fn happen(&mut self, due: Due) {
        match due {
            Due::ControllerUp if self.node.is_none() => {
                match Node::start(&self.store, self.now, &mut self.coverage) {
                    Some(node) => {
                        self.node = Some(node);
                        self.reconnect();
                        self.run_node();
                    }
                    None => self.push(1_000, Due::ControllerUp),
                }
            }
            Due::ControllerUp => {}
            Due::ControllerWake => self.run_node(),
            Due::AgentUp { machine } => {
                let output = self.machines[machine].start(self.now);
                let with = (&mut self.chance, &mut self.oracle);
                let effects = self.machines[machine].carry_out(output, with);
                self.effects(machine, effects);
                self.input(machine, Input::Tick);
            }
            Due::Tick { machine, life } if self.machines[machine].life == life => {
                self.input(machine, Input::Tick);
            }
            Due::Input { machine, life, input } if self.machines[machine].life == life => {
                if self.machines[machine].is_current(&input, &mut self.oracle) {
                    self.input(machine, input);
                }
            }
            Due::Call { machine, life, call } if self.machines[machine].life == life => {
                self.call(machine, call);
            }
            Due::Follow { machine, life } if self.machines[machine].life == life => {
                self.follow_again(machine);
            }
            Due::Tick { .. } | Due::Input { .. } | Due::Call { .. } | Due::Follow { .. } => {}
        }
    }

    pub(super) fn input(&mut self, machine: usize, input: Input) {
        let with = (&mut self.chance, &mut self.oracle);
        let effects = self.machines[machine].handle(input, self.now, with);
        self.effects(machine, effects);
    }

    pub(super) fn effects(&mut self, machine: usize, effects: Effects) {
        let life = self.machines[machine].life;
        for Later { after_millis, input } in effects.later {
            self.push(after_millis, Due::Input { machine, life, input });
        }
        for call in effects.calls {
            match call {
                Call::Unfollow => {
                    self.machines[machine].follows = false;
                    self.streams.remove(&machine);
                }
                Call::Follow(_) => {
                    self.machines[machine].follows = true;
                    self.send(machine, call);
                }
                other => self.send(machine, other),
            }
        }
        let due = self.machines[machine].logic.as_ref().and_then(|logic| logic.next_due());
        if let Some(due) = due {
            let after = due.millis().saturating_sub(self.now.millis()).max(1);
            self.push(after, Due::Tick { machine, life });
        }
    }

    /// Runs the controller until it rests; hands out what is durable.
    pub(super) fn run_node(&mut self) {
        let Some(mut node) = self.node.take() else { return };
        let mut done = Vec::new();
        let result = node.run(self.now, &mut self.chance, |release| done.push(release));
        let wake = node.wake_at();
        if result.is_ok() {
            self.node = Some(node);
        }
        for release in done {
            self.released(release);
        }
        if result.is_err() {
            self.lose_controller();
            let after = self.chance.between(50, 4_000);
            self.push(after, Due::ControllerUp);
            return;
        }
        if let Some(wake) = wake {
            let after = wake.millis().saturating_sub(self.now.millis()).clamp(1, 3_600_000);
            self.push(after, Due::ControllerWake);
        }
        self.feed();
    }
}
