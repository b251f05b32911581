//! The effective spec: the canonical form of what was written, plus a numbered table of defaults.
//!
//! Tables are never edited: a version stores its table's number, and a change of defaults is a new
//! table (14-decisions.md, 4). Comparison of submissions is equality of effective specs.

use crate::{
    duration::Millis,
    quantity::{Cpu, Memory},
    spec::{
        Amount, Anchor, Backoff, Capabilities, Elastic, Engine, HostLoss, JobSpec, Kind, LossMode,
        LossPolicy, OnHostChange, OnResubmit, Order, Placement, Resources, Restart, RestartPolicy,
        RolloutStrategy, Service, Span, Strategy, Swap, Timeouts, Update,
    },
};
use alloc::string::String;
use serde::{Deserialize, Serialize};

/// The number of a table of defaults.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    minicbor::Encode,
    minicbor::Decode,
)]
#[serde(transparent)]
#[cbor(transparent)]
pub struct DefaultsTable(#[n(0)] u32);

impl DefaultsTable {
    /// The first table.
    pub const ONE: Self = Self(1);
    /// The table that new versions take.
    pub const NEWEST: Self = Self::ONE;
    /// The number.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }
    /// The table of this number, if this release knows it.
    #[must_use]
    pub const fn known(number: u32) -> Option<Self> {
        if number == 1 { Some(Self::ONE) } else { None }
    }
}

/// A spec with every default filled in, in canonical order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effective(JobSpec);

macro_rules! filled {
    ($value:expr) => {
        $value.expect("Invariant: the table of defaults fills this field")
    };
}

impl Effective {
    /// Canonicalizes `written` and fills it from `table`.
    #[must_use]
    pub fn new(written: &JobSpec, table: DefaultsTable) -> Self {
        let mut spec = canonical(written);
        let DefaultsTable(_one_is_the_only_table) = table;
        fill_table_one(&mut spec);
        Self(spec)
    }
    /// The filled spec, in the shape of the written one.
    #[must_use]
    pub const fn spec(&self) -> &JobSpec {
        &self.0
    }
    /// Number of tasks asked for; daemon and ops have none of their own.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.0.count.unwrap_or(1)
    }
    /// The job's kind.
    #[must_use]
    pub fn kind(&self) -> Kind {
        filled!(self.0.kind)
    }
    /// 0 to 100, higher first.
    #[must_use]
    pub fn priority(&self) -> u32 {
        filled!(self.0.priority)
    }
    /// The engine; validation refuses a spec without one.
    #[must_use]
    pub fn engine(&self) -> Option<&Engine> {
        self.0.engine.as_ref()
    }
    /// CPU of one task.
    #[must_use]
    pub fn cpu(&self) -> Cpu {
        filled!(filled!(self.0.resources.as_ref()).cpu)
    }
    /// Memory of one task.
    #[must_use]
    pub fn memory(&self) -> Memory {
        filled!(filled!(self.0.resources.as_ref()).memory)
    }
    /// Placement, whole.
    #[must_use]
    pub fn placement(&self) -> &Placement {
        filled!(self.0.placement.as_ref())
    }
    /// How many tasks may share a host.
    #[must_use]
    pub fn span(&self) -> Span {
        filled!(self.placement().span)
    }
    /// Which of the hosts with room is taken.
    #[must_use]
    pub fn strategy(&self) -> Strategy {
        filled!(self.placement().strategy)
    }
    /// The restart rule.
    #[must_use]
    pub fn restart(&self) -> crate::assignment::RestartRule {
        let restart = filled!(self.0.restart.as_ref());
        crate::assignment::RestartRule {
            policy: filled!(restart.policy),
            backoff: filled!(restart.backoff),
            attempts: filled!(restart.attempts),
            within: filled!(restart.within),
        }
    }
    /// `timeouts.execution`; 0 is no limit.
    #[must_use]
    pub fn execution_timeout(&self) -> Millis {
        filled!(filled!(self.0.timeouts.as_ref()).execution)
    }
    /// `timeouts.queue`; 0 is no limit.
    #[must_use]
    pub fn queue_timeout(&self) -> Millis {
        filled!(filled!(self.0.timeouts.as_ref()).queue)
    }
    /// `timeouts.kill`.
    #[must_use]
    pub fn kill_timeout(&self) -> Millis {
        filled!(filled!(self.0.timeouts.as_ref()).kill)
    }
    /// How long a task must be healthy before it counts, `update.minHealthyTime`.
    #[must_use]
    pub fn min_healthy_time(&self) -> Millis {
        filled!(filled!(self.0.update.as_ref()).min_healthy_time)
    }
    /// The checks of a task.
    #[must_use]
    pub fn probes(&self) -> crate::health::Probes {
        crate::health::probes(self.0.health.as_ref())
    }
    /// How long a task that leaves the endpoints goes on with what it has, `service.drain`.
    #[must_use]
    pub fn drain(&self) -> Millis {
        self.0.service.as_ref().and_then(|service| service.drain).unwrap_or(Millis::ZERO)
    }
    /// The route to it: host name in lower case, path prefix without a slash at its end.
    #[must_use]
    pub fn route(&self) -> Option<(String, String)> {
        let route = self.0.service.as_ref()?.route.as_ref()?;
        let host = route.host.as_ref()?.to_ascii_lowercase();
        let path = route.path.as_deref().unwrap_or("/").trim_end_matches('/');
        Some((host, if path.is_empty() { "/".into() } else { path.into() }))
    }
    /// How versions replace each other, whole.
    #[must_use]
    pub fn update(&self) -> &Update {
        filled!(self.0.update.as_ref())
    }
    /// `update.progressDeadline`.
    #[must_use]
    pub fn progress_deadline(&self) -> Millis {
        filled!(self.update().progress_deadline)
    }
    /// `update.healthyDeadline`.
    #[must_use]
    pub fn healthy_deadline(&self) -> Millis {
        filled!(self.update().healthy_deadline)
    }
    /// `update.retireAfter`.
    #[must_use]
    pub fn retire_after(&self) -> Millis {
        filled!(self.update().retire_after)
    }
    /// `update.bake`: the wait before an automatic promotion.
    #[must_use]
    pub fn bake(&self) -> Millis {
        filled!(self.update().bake)
    }
    /// `update.strategy`.
    #[must_use]
    pub fn rollout_strategy(&self) -> RolloutStrategy {
        filled!(self.update().strategy)
    }
    /// `update.order`.
    #[must_use]
    pub fn order(&self) -> Order {
        filled!(self.update().order)
    }
    /// `update.autoRollback`.
    #[must_use]
    pub fn auto_rollback(&self) -> bool {
        filled!(self.update().auto_rollback)
    }
    /// `update.autoPromote`.
    #[must_use]
    pub fn auto_promote(&self) -> bool {
        filled!(self.update().auto_promote)
    }
    /// `update.canary`.
    #[must_use]
    pub fn canary(&self) -> u32 {
        filled!(self.update().canary)
    }
    /// `update.maxParallel`, at least 1.
    #[must_use]
    pub fn max_parallel(&self) -> u32 {
        filled!(self.update().max_parallel).max(1)
    }
    /// `update.maxFailures`.
    #[must_use]
    pub fn max_failures(&self) -> u32 {
        filled!(self.update().max_failures)
    }
    /// `update.maxUnavailable` of so many tasks; a percentage is rounded down (14-decisions.md, 7).
    #[must_use]
    pub fn max_unavailable(&self, count: u32) -> u32 {
        filled!(self.update().max_unavailable).rounded_down(count)
    }
    /// `update.maxSurge` of so many tasks; a percentage is rounded up (14-decisions.md, 7).
    #[must_use]
    pub fn max_surge(&self, count: u32) -> u32 {
        filled!(self.update().max_surge).rounded_up(count)
    }
    /// How long every task must stay healthy before a version is proven: `minHealthyTime`, or as
    /// long as a liveness probe needs to fail, at most 5 minutes (03-jobs.md, section 5).
    #[must_use]
    pub fn verification(&self) -> Millis {
        let probe = self.probes().liveness.map_or(Millis::ZERO, |check| {
            Millis::new(check.period.get().saturating_mul(u64::from(check.failure)))
        });
        self.min_healthy_time().max(probe).min(Millis::from_secs(300))
    }
    /// What a lost host means.
    #[must_use]
    pub fn loss_policy(&self) -> LossPolicy {
        filled!(filled!(self.0.on_host_loss.as_ref()).policy)
    }
    /// Whether two copies of a task may never overlap.
    #[must_use]
    pub fn exclusive(&self) -> bool {
        filled!(self.0.on_host_loss.as_ref()).mode == Some(LossMode::Exclusive)
    }
    /// What a changed submission does to a running batch or ops job.
    #[must_use]
    pub fn on_resubmit(&self) -> OnResubmit {
        filled!(self.0.on_resubmit)
    }
    /// Grants, whole.
    #[must_use]
    pub fn capabilities(&self) -> &Capabilities {
        filled!(self.0.capabilities.as_ref())
    }
    /// The part that decides whether tasks must change; everything else is policy or metadata
    /// (03-jobs.md, section 4).
    #[must_use]
    pub fn template(&self) -> JobSpec {
        let spec = &self.0;
        JobSpec {
            kind: spec.kind,
            engine: spec.engine.clone(),
            env: spec.env.clone(),
            config: spec.config.clone(),
            resources: spec.resources.clone(),
            ports: spec.ports.clone(),
            mounts: spec.mounts.clone(),
            capabilities: spec.capabilities.clone(),
            ..JobSpec::default()
        }
    }
}

/// The same spec with nulls dropped and keyed or unordered lists sorted; argument lists stay.
#[must_use]
pub fn canonical(written: &JobSpec) -> JobSpec {
    let mut spec = written.clone();
    for map in [&mut spec.env, &mut spec.config].into_iter().flatten() {
        map.retain(|_, value| value.is_some());
    }
    if let Some(ports) = &mut spec.ports {
        ports.sort_by(|a, b| a.name.cmp(&b.name));
        for port in ports {
            port.protocol.get_or_insert(crate::spec::Protocol::Tcp);
        }
    }
    if let Some(mounts) = &mut spec.mounts {
        mounts.sort_by(|a, b| a.target.cmp(&b.target));
        for mount in mounts {
            mount.mode.get_or_insert(crate::spec::MountMode::ReadOnly);
            mount.exclusive.get_or_insert(false);
        }
    }
    if let Some(grants) = &mut spec.capabilities {
        for list in
            [&mut grants.http_out, &mut grants.tcp_out, &mut grants.udp_out].into_iter().flatten()
        {
            list.sort();
            list.dedup();
        }
        if let Some(ports) = &mut grants.tcp_listen {
            ports.sort();
            ports.dedup();
        }
        if let Some(jobs) = &mut grants.jobs {
            jobs.sort();
            jobs.dedup();
        }
    }
    if let Some(placement) = &mut spec.placement {
        if let Some(constraints) = &mut placement.constraints {
            constraints.sort();
            constraints.dedup();
        }
        for affinity in placement.affinities.iter_mut().flatten() {
            affinity.weight.get_or_insert(50);
        }
    }
    spec
}

fn fill_table_one(spec: &mut JobSpec) {
    let ends = spec.kind.is_some_and(Kind::ends);
    if !spec.kind.is_some_and(Kind::follows_hosts) {
        spec.count.get_or_insert(1);
    }
    spec.kind.get_or_insert(Kind::Service);
    spec.priority.get_or_insert(50);
    spec.env.get_or_insert_default();
    spec.config.get_or_insert_default();
    spec.ports.get_or_insert_default();
    spec.mounts.get_or_insert_default();
    if let Some(Engine::Wasm(wasm)) = &mut spec.engine {
        wasm.args.get_or_insert_default();
        wasm.isolation.get_or_insert(crate::spec::Isolation::Shared);
    }
    let resources = spec.resources.get_or_insert_with(Resources::default);
    resources.cpu.get_or_insert(Cpu::from_millis(100));
    resources.memory.get_or_insert(Memory::from_mib(64));
    fill_grants(spec.capabilities.get_or_insert_default());
    let placement = spec.placement.get_or_insert_with(Placement::default);
    placement.constraints.get_or_insert_default();
    placement.affinities.get_or_insert_default();
    placement.spread.get_or_insert_default();
    placement.span.get_or_insert(Span::Any);
    placement.strategy.get_or_insert(Strategy::Binpack);
    fill_restart(spec.restart.get_or_insert_with(Restart::default));
    fill_update(spec.update.get_or_insert_with(Update::default));
    let loss = spec.on_host_loss.get_or_insert_with(HostLoss::default);
    loss.policy.get_or_insert(LossPolicy::Rerun);
    loss.mode.get_or_insert(LossMode::Fast);
    loss.wait.get_or_insert(Millis::from_secs(600));
    loss.attempts.get_or_insert(5);
    spec.on_host_change.get_or_insert(OnHostChange::Ignore);
    let timeouts = spec.timeouts.get_or_insert_with(Timeouts::default);
    timeouts.queue.get_or_insert(Millis::ZERO);
    timeouts.execution.get_or_insert(Millis::ZERO);
    timeouts.kill.get_or_insert(Millis::from_secs(10));
    spec.on_resubmit.get_or_insert(OnResubmit::Replace);
    if !ends {
        let service = spec.service.get_or_insert_with(Service::default);
        service.drain.get_or_insert(Millis::from_secs(5));
    }
    if let Some(elastic) = &mut spec.elastic {
        fill_elastic(elastic);
    }
    if let Some(health) = &mut spec.health {
        crate::health::fill(health);
    }
}

fn fill_grants(grants: &mut Capabilities) {
    grants.http_out.get_or_insert_default();
    grants.tcp_out.get_or_insert_default();
    grants.udp_out.get_or_insert_default();
    grants.tcp_listen.get_or_insert_default();
    grants.peers.get_or_insert(false);
    grants.jobs.get_or_insert_default();
}

fn fill_restart(restart: &mut Restart) {
    restart.policy.get_or_insert(RestartPolicy::OnFailure);
    restart
        .backoff
        .get_or_insert(Backoff { first: Millis::from_secs(1), longest: Millis::from_secs(60) });
    restart.attempts.get_or_insert(3);
    restart.within.get_or_insert(Millis::from_secs(600));
}

fn fill_elastic(elastic: &mut Elastic) {
    elastic.min.get_or_insert(1);
    elastic.anchor.get_or_insert(Anchor::TaskZero);
    elastic.max_extend.get_or_insert(Millis::from_secs(60));
}

fn fill_update(update: &mut Update) {
    update.strategy.get_or_insert(RolloutStrategy::Rolling);
    update.order.get_or_insert(Order::Auto);
    update.max_parallel.get_or_insert(1);
    update.max_unavailable.get_or_insert(Amount::Tasks(0));
    update.max_surge.get_or_insert(Amount::Tasks(1));
    update.canary.get_or_insert(0);
    update.auto_promote.get_or_insert(false);
    update.min_healthy_time.get_or_insert(Millis::from_secs(10));
    update.healthy_deadline.get_or_insert(Millis::from_secs(300));
    update.progress_deadline.get_or_insert(Millis::from_secs(600));
    update.max_failures.get_or_insert(0);
    update.bake.get_or_insert(Millis::ZERO);
    update.retire_after.get_or_insert(Millis::from_secs(60));
    update.auto_rollback.get_or_insert(true);
    update.swap.get_or_insert(Swap::Prefer);
    update.swap_timeout.get_or_insert(Millis::from_secs(5));
    update.max_state.get_or_insert(Memory::from_mib(64));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effective(json: &str) -> Effective {
        Effective::new(&serde_json::from_str(json).expect("a spec"), DefaultsTable::ONE)
    }

    #[test]
    fn case_v42_absent_count_is_one_and_zero_is_zero() {
        assert_eq!(effective(r#"{"kind":"batch"}"#).count(), 1);
        assert_eq!(effective(r#"{"kind":"batch","count":0}"#).count(), 0);
    }

    #[test]
    fn case_v1_bc13_order_units_nulls_and_explicit_defaults_are_equal() {
        let left = effective(
            r#"{"kind":"service","env":{"B":"2","A":"1"},"resources":{"cpu":"500m"},
                "ports":[{"name":"b"},{"name":"a","protocol":"http"}],
                "placement":{"constraints":["a = b","arch exists"]}}"#,
        );
        let right = effective(
            r#"{"count":1,"kind":"service","env":{"A":"1","B":"2","C":null},"resources":{"cpu":"0.5","memory":"64Mi"},
                "ports":[{"name":"a","protocol":"http"},{"name":"b","protocol":"tcp"}],"mounts":null,
                "placement":{"span":"any","constraints":["arch exists","a=b"]}}"#,
        );
        assert_eq!(left, right);
    }

    #[test]
    fn argument_order_matters() {
        let args = |list: &str| {
            effective(&alloc::format!(
                r#"{{"kind":"batch","engine":{{"wasm":{{"args":{list}}}}}}}"#
            ))
        };
        assert_ne!(args(r#"["a","b"]"#), args(r#"["b","a"]"#));
    }

    #[test]
    fn every_default_is_written_down() {
        let text =
            serde_json::to_string_pretty(effective(r#"{"kind":"service"}"#).spec()).expect("json");
        expect_test::expect_file!["../golden/defaults-1.json"].assert_eq(&(text + "\n"));
    }

    #[test]
    fn filling_a_filled_spec_changes_nothing() {
        let once = effective(r#"{"kind":"batch","elastic":{"max":4}}"#);
        assert_eq!(Effective::new(once.spec(), DefaultsTable::ONE), once);
    }
}
