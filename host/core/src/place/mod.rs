//! Placement as a small problem: who is eligible, who has room, who is best.
//!
//! A [`Placer`] is made once for a job's tasks of one version; equal tasks differ in nothing but
//! their number, so a host is looked at once, then only when something was placed on it.

mod room;
mod score;
mod why;

use crate::{
    State,
    state::{Host, HostLoad, Job},
};
use alloc::{
    collections::{BTreeMap, BTreeSet},
    string::String,
    vec::Vec,
};
use pliant_types::{
    Cpu, Effective, HostId, JobUid, Memory,
    codes::WaitCode,
    spec::{Span, Strategy},
};
pub(crate) use room::{fits_instead, grows};
use score::Score;

/// A host for a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chosen {
    pub(crate) host: HostId,
    pub(crate) static_ports: Vec<u16>,
}

/// What is asked besides the version.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Want {
    /// The only host that the task may run on.
    pub(crate) pinned: Option<HostId>,
    /// The host of the execution that the new one takes over from.
    pub(crate) beside: Option<HostId>,
}

/// No host for a task, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) code: WaitCode,
    pub(crate) sentence: String,
}

/// Why a host is out of the question for a version whatever its load.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Unfit {
    Engine(String),
    Constraint(String),
}

/// Whether a host satisfies the engine and the constraints of a version.
pub(crate) fn eligible(effective: &Effective, host: &Host) -> Result<(), Unfit> {
    let engine = effective.engine().map_or("", |engine| engine.as_str());
    if !host.description.offers_engine(engine) {
        return Err(Unfit::Engine(engine.into()));
    }
    let constraints = effective.placement().constraints.iter().flatten();
    for constraint in constraints {
        if !constraint.holds(host.description.value(&constraint.key)) {
            return Err(Unfit::Constraint(alloc::format!("{constraint}")));
        }
    }
    Ok(())
}

/// What one task asks of a host.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    cpu: Cpu,
    memory: Memory,
    ports: Vec<u16>,
}

impl Ask {
    fn of(effective: &Effective) -> Self {
        let ports = effective.spec().ports.iter().flatten();
        Self {
            cpu: effective.cpu(),
            memory: effective.memory(),
            ports: ports.filter_map(|port| port.static_port).collect(),
        }
    }

    /// How many such tasks still fit on a host.
    fn fitting(&self, host: &Host, load: &HostLoad) -> u32 {
        if self.ports.iter().any(|port| load.ports.contains(port)) {
            return 0;
        }
        let free_cpu = host.description.cpu.millis().saturating_sub(load.cpu.millis());
        let free_memory = host.description.memory.bytes().saturating_sub(load.memory.bytes());
        let by_cpu = free_cpu / self.cpu.millis().max(1);
        let by_memory = u32::try_from(free_memory / self.memory.bytes().max(1)).unwrap_or(u32::MAX);
        let by_count = host.description.max_executions.saturating_sub(load.executions);
        let by_ports = if self.ports.is_empty() { u32::MAX } else { 1 };
        by_cpu.min(by_memory).min(by_count).min(by_ports)
    }
}

/// The values of the spread keys on a host.
type Group = Vec<Option<String>>;

/// Chooses hosts for the tasks of one version of a job.
pub(crate) struct Placer {
    job: JobUid,
    ask: Ask,
    effective: Effective,
    span: Span,
    strategy: Strategy,
    groups: BTreeMap<Group, BTreeSet<Score>>,
    scores: BTreeMap<HostId, Score>,
    spread_counts: BTreeMap<(usize, Option<String>), u32>,
}

impl Placer {
    /// Looks at every host once; `tasks` is how many are to be placed.
    pub(crate) fn new(state: &State, job: &Job, effective: &Effective, tasks: usize) -> Self {
        let mut placer = Self {
            job: job.uid,
            ask: Ask::of(effective),
            effective: effective.clone(),
            span: if job.kind.follows_hosts() { Span::OnePerHost } else { effective.span() },
            strategy: effective.strategy(),
            groups: BTreeMap::new(),
            scores: BTreeMap::new(),
            spread_counts: BTreeMap::new(),
        };
        for (host, count) in state.index.hosts_of(job.uid) {
            if let Some(host) = state.hosts.get(&host) {
                placer.count_spread(host, count);
            }
        }
        let together = placer.together(state, tasks);
        for (_, host) in state.hosts.iter() {
            placer.consider(state, host, together);
        }
        placer
    }

    /// With `span: one-host` and no task placed yet, all tasks must fit on the host.
    fn together(&self, state: &State, tasks: usize) -> u32 {
        let first = self.span == Span::OneHost && state.index.job_live(self.job) == 0;
        if first { u32::try_from(tasks).unwrap_or(u32::MAX) } else { 1 }
    }

    fn consider(&mut self, state: &State, host: &Host, together: u32) {
        let open = host.takes_work() && eligible(&self.effective, host).is_ok();
        let load = state.index.load(host.id);
        if open && self.ask.fitting(host, &load) >= together {
            let group = self.group(host);
            let score = self.score(state, host, &load);
            self.groups.entry(group).or_default().insert(score);
            self.scores.insert(host.id, score);
        }
    }

    fn score(&self, state: &State, host: &Host, load: &HostLoad) -> Score {
        Score::of(&score::Input {
            host,
            load,
            ask: &self.ask,
            placement: self.effective.placement(),
            strategy: self.strategy,
            same_job: state.index.job_on_host(self.job, host.id),
        })
    }

    fn group(&self, host: &Host) -> Group {
        let keys = self.effective.placement().spread.iter().flatten();
        keys.map(|spread| host.description.value(&spread.over).map(String::from)).collect()
    }

    fn count_spread(&mut self, host: &Host, count: u32) {
        for (key, value) in self.group(host).into_iter().enumerate() {
            *self.spread_counts.entry((key, value)).or_default() += count;
        }
    }

    fn spread_cost(&self, group: &Group) -> u32 {
        let count = |(key, value): (usize, &Option<String>)| {
            self.spread_counts.get(&(key, value.clone())).copied().unwrap_or(0)
        };
        group.iter().enumerate().map(count).sum()
    }

    /// `beside` is the host of an execution that the new one takes over from, which does not count.
    fn span_allows(&self, state: &State, host: HostId, beside: Option<HostId>) -> bool {
        let count = |host: HostId, all: u32| all.saturating_sub(u32::from(Some(host) == beside));
        let on_host = count(host, state.index.job_on_host(self.job, host));
        let hosts = state.index.hosts_of(self.job).filter(|(h, all)| count(*h, *all) > 0);
        let others = |limit: u32| on_host > 0 || hosts.count() < limit as usize;
        match self.span {
            Span::Any => true,
            Span::OneHost => others(1),
            Span::OnePerHost => on_host == 0,
            Span::PerHost(limit) => on_host < limit,
            Span::MaxHosts(limit) => others(limit),
        }
    }

    /// The best host. The host of a predecessor comes first: what it has fetched is there already.
    pub(crate) fn choose(&self, state: &State, want: Want) -> Result<Chosen, Refused> {
        let Want { pinned, beside } = want;
        let open = |host: &HostId| {
            self.scores.contains_key(host) && self.span_allows(state, *host, beside)
        };
        if let Some(host) = pinned {
            return if open(&host) {
                Ok(self.chosen(host))
            } else {
                Err(why::refused(self, state, want))
            };
        }
        if let Some(host) = beside.filter(open) {
            return Ok(self.chosen(host));
        }
        let mut groups: Vec<_> =
            self.groups.iter().map(|(group, hosts)| (self.spread_cost(group), hosts)).collect();
        groups.sort_by_key(|(cost, hosts)| (*cost, hosts.first().copied()));
        let fits = |score: &&Score| self.span_allows(state, score.host, beside);
        let best = groups.into_iter().find_map(|(_, hosts)| hosts.iter().find(fits));
        match best {
            Some(score) => Ok(self.chosen(score.host)),
            None => Err(why::refused(self, state, want)),
        }
    }

    fn chosen(&self, host: HostId) -> Chosen {
        Chosen { host, static_ports: self.ask.ports.clone() }
    }

    fn drop_host(&mut self, host: &Host) {
        let group = self.group(host);
        if let Some((hosts, score)) = self.groups.get_mut(&group).zip(self.scores.remove(&host.id))
        {
            hosts.remove(&score);
        }
    }

    /// Takes note that a task was placed on a host; `state` has it already.
    pub(crate) fn placed(&mut self, state: &State, host: HostId) {
        let Some(known) = state.hosts.get(&host) else { return };
        self.count_spread(known, 1);
        self.refresh(state, host);
    }

    /// Looks at a host again, after something on it has changed.
    pub(crate) fn refresh(&mut self, state: &State, host: HostId) {
        let Some(host) = state.hosts.get(&host) else { return };
        self.drop_host(host);
        self.consider(state, host, 1);
    }
}
