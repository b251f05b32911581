//! The simulated cluster: one controller, some machines, a network that loses, delays and doubles.

use crate::{
    book::Coverage,
    chance::Chance,
    host::{Effects, Later, Machine},
    node::Node,
    oracle::Oracle,
    users,
};
use pliant_agent::logic::{Call, Input, Offer, Trouble};
use pliant_core::{
    Answer, Command, FactKind, RegisterHost, Release, ReplyTag, ReportHost, Request, State,
    SubmitOutcome, assignment,
};
use pliant_journal::{
    ClusterId,
    faulty::{Fault, FaultyStore, Rates, Script},
    memory::{MemoryStore, Sharing},
};
use pliant_types::{
    Cpu, Generation, HostId, JobUid, Memory, Time,
    codes::Code,
    host::{HostDescription, HostStage},
    report::Renewed,
};
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

    /// Something breaks, by chance.
    pub fn random_break(&mut self) {
        if !self.chance.permille(self.faults.breaking) {
            return;
        }
        let machine = usize::try_from(self.chance.below(self.machines.len() as u64)).unwrap_or(0);
        match self.chance.below(6) {
            0 => self.kill_controller(),
            1 => self.restart_agent(machine),
            2 => self.reboot(machine),
            3 => {
                let millis = self.chance.between(1_000, 25_000);
                self.cut_off(machine, millis);
            }
            4 => {
                let millis = self.chance.between(46_000, 90_000);
                self.cut_off(machine, millis);
            }
            _ => self.break_stream(machine),
        }
    }

    /// The controller's process ends now and begins again after a while.
    pub fn kill_controller(&mut self) {
        self.node = None;
        self.lose_controller();
        let after = self.chance.between(50, 8_000);
        if self.chance.permille(100) {
            // The clock of the next one is ahead.
            self.now = Time::from_millis(self.now.millis() + 3_600);
            self.coverage.note("clock jump at a start");
        }
        self.push(after, Due::ControllerUp);
    }

    /// Connections break: whoever waits for an answer learns that none comes.
    fn lose_controller(&mut self) {
        for caller in std::mem::take(&mut self.callers).into_values() {
            let (machine, life, input) = match caller {
                Caller::User { .. } => continue,
                Caller::Register { machine, life } => {
                    (machine, life, Input::RegisterFailed(Trouble::NoAnswer))
                }
                Caller::Report { machine, life, .. } => {
                    (machine, life, Input::ReportFailed(Trouble::NoAnswer))
                }
                Caller::Renew { machine, life, .. } => {
                    (machine, life, Input::RenewFailed(Trouble::NoAnswer))
                }
            };
            self.push(50, Due::Input { machine, life, input });
        }
        self.streams.clear();
    }

    /// An agent's process is killed and begins again.
    pub fn restart_agent(&mut self, machine: usize) {
        if self.machines[machine].logic.is_none() {
            return;
        }
        if self.machines[machine].has_guests() {
            self.coverage.note("agent restarted with running tasks");
        }
        self.machines[machine].kill(&mut self.chance, &mut self.oracle);
        self.streams.remove(&machine);
        let after = self.chance.between(10, 5_000);
        self.push(after, Due::AgentUp { machine });
    }

    /// A machine is reset.
    pub fn reboot(&mut self, machine: usize) {
        if self.machines[machine].logic.is_none() {
            return;
        }
        self.coverage.note("host rebooted");
        self.machines[machine].kill(&mut self.chance, &mut self.oracle);
        self.machines[machine].boots += 1;
        self.streams.remove(&machine);
        let after = self.chance.between(1_000, 60_000);
        self.push(after, Due::AgentUp { machine });
    }

    /// Nothing gets to or from a machine for a while.
    pub fn cut_off(&mut self, machine: usize, millis: u64) {
        let until = Time::from_millis(self.now.millis() + millis);
        self.machines[machine].cut_off_until = until;
        if millis < 30_000 {
            self.coverage.note("host cut off and back in time");
        }
        self.break_stream(machine);
    }

    fn break_stream(&mut self, machine: usize) {
        if self.streams.remove(&machine).is_none() {
            return;
        }
        self.coverage.note("assignment stream broken");
        let life = self.machines[machine].life;
        let after = self.chance.between(10, 2_000);
        self.push(after, Due::Follow { machine, life });
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

    fn input(&mut self, machine: usize, input: Input) {
        let with = (&mut self.chance, &mut self.oracle);
        let effects = self.machines[machine].handle(input, self.now, with);
        self.effects(machine, effects);
    }

    fn effects(&mut self, machine: usize, effects: Effects) {
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

    /// A call on its way to the controller. A lost one is answered by its time-out.
    fn send(&mut self, machine: usize, call: Call) {
        let life = self.machines[machine].life;
        if self.chance.permille(self.faults.lost) {
            self.coverage.note("message lost");
            let timeout = self.chance.between(1_000, 3_000);
            return self.answer_trouble(machine, call, timeout);
        }
        let delay = self.chance.between(1, self.faults.delay_millis);
        if self.chance.permille(self.faults.doubled) {
            self.coverage.note("message doubled");
            let again = self.chance.between(1, self.faults.delay_millis * 2);
            self.push(again, Due::Call { machine, life, call: call.clone() });
        }
        self.push(delay, Due::Call { machine, life, call });
    }

    fn answer_trouble(&mut self, machine: usize, call: Call, after_millis: u64) {
        let life = self.machines[machine].life;
        let input = match call {
            Call::Register { .. } => Input::RegisterFailed(Trouble::NoAnswer),
            Call::Renew(_) => Input::RenewFailed(Trouble::NoAnswer),
            Call::Report { .. } => Input::ReportFailed(Trouble::NoAnswer),
            // A stream connects again by itself.
            Call::Follow(_) => return self.push(after_millis, Due::Follow { machine, life }),
            Call::Unfollow => return,
        };
        self.push(after_millis, Due::Input { machine, life, input });
    }

    fn call(&mut self, machine: usize, call: Call) {
        if self.node.is_none() || self.machines[machine].cut_off_until > self.now {
            return self.answer_trouble(machine, call, 1_000);
        }
        let life = self.machines[machine].life;
        match call {
            Call::Register { host, inventory, .. } => {
                let description = self.describe(machine);
                let command = Command::RegisterHost(RegisterHost { description, host, inventory });
                self.submit(Caller::Register { machine, life }, command);
            }
            Call::Renew(host) => self.renew(machine, host),
            Call::Report { host, report, ticket } => {
                let command = Command::Report(ReportHost { host, report: *report });
                self.submit(Caller::Report { machine, life, ticket }, command);
            }
            Call::Follow(host) => {
                self.streams.insert(machine, (host, None));
                self.feed();
            }
            Call::Unfollow => {}
        }
    }

    fn describe(&self, machine: usize) -> HostDescription {
        let machine = &self.machines[machine];
        HostDescription {
            name: machine.name.parse().expect("Invariant: machines are named by DNS labels"),
            boot: machine.boot(),
            address: "http://127.0.0.1:1".into(),
            cpu: Cpu::from_millis(2_000),
            memory: Memory::from_mib(1_024),
            max_executions: 64,
            attributes: BTreeMap::from([("engine.wasm".to_owned(), "simulated".to_owned())]),
            labels: BTreeMap::new(),
        }
    }

    fn submit(&mut self, caller: Caller, command: Command) {
        let Some(node) = &mut self.node else { return };
        self.next_tag += 1;
        let tag = ReplyTag(self.next_tag);
        self.callers.insert(tag, caller);
        node.engine.submit(tag, Request::internal(command));
        self.run_node();
    }

    fn renew(&mut self, machine: usize, host: HostId) {
        let (life, boot) = (self.machines[machine].life, self.machines[machine].boot());
        let Some(node) = &mut self.node else { return };
        let known = node.published.hosts.get(&host);
        if known.is_none_or(|known| known.description.boot != boot) {
            let input = Input::RenewFailed(Trouble::Fenced);
            return self.push(1, Due::Input { machine, life, input });
        }
        let rejoining = known.is_some_and(|known| known.stage == HostStage::Rejoining);
        match node.leases.renew(host, &boot, self.now) {
            Some(command) => {
                self.submit(Caller::Renew { machine, life, host, sent: self.now }, command);
            }
            // As the controller does: whoever renews while rejoining registers again.
            None if rejoining => {
                let input = Input::RenewFailed(Trouble::Fenced);
                self.push(1, Due::Input { machine, life, input });
            }
            None => self.renewed(machine, (life, host, self.now)),
        }
    }

    fn renewed(&mut self, machine: usize, (life, host, sent): (u64, HostId, Time)) {
        let Some(node) = &self.node else { return };
        let Some(known) = node.published.hosts.get(&host) else { return };
        let renewed = Renewed {
            epoch: node.published.epoch(),
            fence: known.fence,
            lease: node.leases.rules().lease,
        };
        let input = Input::Renewed { sent: crate::host::moment(sent), renewed };
        self.answer(machine, life, input);
    }

    /// An answer on its way to an agent; a lost one shows as a time-out.
    fn answer(&mut self, machine: usize, life: u64, input: Input) {
        let cut_off = self.machines[machine].cut_off_until > self.now;
        if cut_off || self.chance.permille(self.faults.lost) {
            let lost = match input {
                Input::Registered(_) => Input::RegisterFailed(Trouble::NoAnswer),
                Input::Renewed { .. } => Input::RenewFailed(Trouble::NoAnswer),
                _ => Input::ReportFailed(Trouble::NoAnswer),
            };
            return self.push(1_500, Due::Input { machine, life, input: lost });
        }
        let delay = self.chance.between(1, self.faults.delay_millis);
        self.push(delay, Due::Input { machine, life, input });
    }

    /// Runs the controller until it rests; hands out what is durable.
    fn run_node(&mut self) {
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

    fn released(&mut self, release: Release) {
        for (_, fact) in &release.facts {
            self.cover(&fact.kind, &release.state);
        }
        if release.report.as_ref().is_some_and(|report| {
            report.waits.values().flatten().any(|w| w.code.as_str().starts_with("no-"))
        }) {
            self.coverage.note("task could not be placed");
        }
        for reply in release.replies {
            let Some(caller) = self.callers.remove(&reply.tag) else { continue };
            self.replied(caller, reply.result);
        }
    }

    fn replied(&mut self, caller: Caller, result: Result<Answer, pliant_core::Rejection>) {
        match (caller, result) {
            (Caller::User { name: Some(name) }, Ok(Answer::Submitted(answer))) => {
                if answer.outcome != SubmitOutcome::Unchanged {
                    self.oracle.promise(&name, answer.uid);
                }
            }
            (Caller::User { .. }, _) => {}
            (Caller::Register { machine, life }, Ok(Answer::Registered(registered))) => {
                if !registered.kill.is_empty() {
                    self.coverage.note("leftovers had to end before a host was up again");
                }
                if self.placed_elsewhere.remove(&registered.host) {
                    self.coverage.note("host back after its tasks were placed elsewhere");
                }
                if let Some(node) = &mut self.node {
                    let boot = self.machines[machine].boot();
                    // A registration is a renewal, and the host is up by it.
                    let _ = node.leases.renew(registered.host, &boot, self.now);
                }
                self.answer(machine, life, Input::Registered(registered));
            }
            (Caller::Register { machine, life }, _) => {
                self.answer(machine, life, Input::RegisterFailed(Trouble::NoAnswer));
            }
            (Caller::Report { machine, life, ticket }, Ok(_)) => {
                let fence = self.machines[machine].logic.as_ref().and_then(|l| l.host().fence);
                let Some(fence) = fence else { return };
                self.answer(machine, life, Input::Reported { ticket, fence });
            }
            (Caller::Report { machine, life, .. }, Err(refusal)) => {
                let fenced = refusal.code == Code::Fenced || refusal.code == Code::HostNotFound;
                let trouble = if fenced { Trouble::Fenced } else { Trouble::NoAnswer };
                self.answer(machine, life, Input::ReportFailed(trouble));
            }
            (Caller::Renew { machine, life, host, sent }, Ok(_)) => {
                self.renewed(machine, (life, host, sent));
            }
            (Caller::Renew { machine, life, .. }, Err(_)) => {
                self.answer(machine, life, Input::RenewFailed(Trouble::Fenced));
            }
        }
    }

    fn cover(&mut self, fact: &FactKind, state: &State) {
        match fact {
            FactKind::HostStaged { host, stage: HostStage::Lost, .. } => {
                self.coverage.note("host declared lost");
                self.placed_elsewhere.insert(*host);
            }
            FactKind::TaskRetried { failures, .. } if *failures > 0 => {
                self.coverage.note("task placed again after a failure");
            }
            FactKind::ExecutionObserved { observation } if observation.attempt.get() > 1 => {
                self.coverage.note("attempt restarted in place");
            }
            FactKind::JobEnded { end, .. } => {
                self.coverage.note(if end.success { "job completed" } else { "job failed" });
            }
            FactKind::IncarnationStarted { job, incarnation, .. }
                if incarnation.get() > 1 && state.index.job_live(*job) > 0 =>
            {
                self.coverage.note("job replaced while it runs");
            }
            _ => {}
        }
    }

    /// Streams that a controller's end has broken connect again.
    fn reconnect(&mut self) {
        for machine in 0..self.machines.len() {
            if self.machines[machine].follows {
                let life = self.machines[machine].life;
                let after = self.chance.between(5, 500);
                self.push(after, Due::Follow { machine, life });
            }
        }
    }

    fn follow_again(&mut self, machine: usize) {
        let host = self.machines[machine].logic.as_ref().and_then(|logic| logic.host().host);
        let Some(host) = host.filter(|_| self.machines[machine].follows) else { return };
        if self.node.is_none() || self.machines[machine].cut_off_until > self.now {
            let life = self.machines[machine].life;
            return self.push(1_000, Due::Follow { machine, life });
        }
        self.streams.insert(machine, (host, None));
        self.feed();
    }

    /// Sends what changed down every stream, in order and without loss while it stands.
    fn feed(&mut self) {
        let Some(node) = &self.node else { return };
        let state = Arc::clone(&node.published);
        let mut offers = Vec::new();
        for (machine, (host, sent)) in &mut self.streams {
            let Some(known) = state.hosts.get(host) else { continue };
            if *sent == Some(known.generation) {
                continue;
            }
            *sent = Some(known.generation);
            offers.extend(assignment(&state, *host).map(|whole| (*machine, whole)));
        }
        for (machine, whole) in offers {
            let life = self.machines[machine].life;
            if self.machines[machine].cut_off_until > self.now {
                self.streams.remove(&machine);
                self.push(1_000, Due::Follow { machine, life });
                continue;
            }
            let input = Input::Offered(Offer::Whole(whole));
            self.push(3, Due::Input { machine, life, input });
        }
    }
}

impl World {
    /// Where every live execution stands, on both sides; for the report of a failing run.
    #[must_use]
    pub fn describe_live(&self) -> String {
        let state = self.state();
        let mut text = String::new();
        for (id, found) in state.executions.iter().filter(|(_, e)| e.is_live()) {
            let here = self.machines.iter().find_map(|machine| {
                let known = machine.logic.as_ref()?.execution(*id)?;
                Some(format!(
                    "{} {:?} attempt {} fence {} told {:?}",
                    machine.name,
                    known.record.stage,
                    known.record.attempt,
                    known.record.fence,
                    known.told
                ))
            });
            text += &format!(
                "{id} {} {:?} on {} fence {} run {}: {here:?}\n",
                found.phase, found.desired, found.host, found.fence, found.task.incarnation
            );
        }
        for machine in &self.machines {
            let host = machine.logic.as_ref().map(|logic| logic.host().clone());
            text += &format!("{} follows {} {host:?}\n", machine.name, machine.follows);
        }
        text
    }
}
