//! Plan times: a step of a rollout of many tasks, and the loss of one host of many (P4). One JSON line for
//! each. Not a test.
#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use pliant_core::{
    Command, Expect, Fact, FactKind, Force, HostSilent, RegisterHost, Request, State, Submit,
    apply, decide, plan,
};
use pliant_types::{
    Attempt, Cpu, Digest, Health, HostId, Memory, Namespace, Phase, Time,
    host::{HostDescription, HostStage},
    phase::AttemptState,
    report::Observation,
};
use std::{
    collections::BTreeMap,
    error::Error,
    sync::Arc,
    time::{Duration, Instant},
};

struct Bench {
    state: State,
    now: Time,
}

impl Bench {
    fn with_hosts(count: u32) -> Result<Self, Box<dyn Error>> {
        let mut bench = Self { state: State::default(), now: Time::from_millis(1_000_000) };
        for number in 0..count {
            let description = HostDescription {
                name: format!("host-{number}").parse()?,
                boot: "boot".into(),
                address: "http://127.0.0.1:1".into(),
                cpu: Cpu::from_millis(128_000),
                memory: Memory::from_mib(1 << 17),
                max_executions: 10_000,
                attributes: BTreeMap::from([("engine.wasm".into(), "48".into())]),
                labels: BTreeMap::from([("zone".into(), format!("z{}", number % 3))]),
            };
            let register = RegisterHost { description, host: None, inventory: Vec::new() };
            bench.ask(Command::RegisterHost(register))?;
        }
        Ok(bench)
    }

    fn ask(&mut self, command: Command) -> Result<(), Box<dyn Error>> {
        let decided = decide(&self.state, &Request::internal(command), self.now)
            .map_err(|refusal| refusal.to_string())?;
        self.take(decided.facts);
        Ok(())
    }

    fn take(&mut self, facts: Vec<FactKind>) {
        for kind in facts {
            apply(&mut self.state, &Fact { at: self.now, kind });
        }
    }

    fn submit(&mut self, name: &str, spec: &str) -> Result<(), Box<dyn Error>> {
        self.ask(Command::Submit(Submit {
            namespace: Namespace::default_namespace(),
            name: name.parse()?,
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
            spec: Arc::new(serde_json::from_str(spec)?),
            text: None,
            source: None,
            digest: Digest::new([7; 32]),
            force: Force::No,
            expect: Expect::Anything,
            message: None,
        }))
    }

    /// Plans until nothing more is proposed; the time of each plan.
    fn settle(&mut self) -> Vec<Duration> {
        let mut times = Vec::new();
        loop {
            let begin = Instant::now();
            let planned = plan(&self.state, self.now);
            times.push(begin.elapsed());
            if planned.facts.is_empty() {
                return times;
            }
            self.take(planned.facts);
        }
    }

    /// Every host does what it is asked to.
    fn obey(&mut self) {
        let told: Vec<_> = self
            .state
            .executions
            .iter()
            .map(|(_, execution)| execution)
            .filter(|e| e.is_live() && (!e.is_wanted() || e.healthy_since.is_none()))
            .map(|e| {
                let up = e.is_wanted();
                let observation = Observation {
                    execution: e.id,
                    job: e.task.job,
                    incarnation: e.task.incarnation,
                    fence: e.fence,
                    phase: if up { Phase::Running } else { Phase::Stopped },
                    attempt: Attempt::FIRST,
                    attempt_state: if up { AttemptState::Up } else { AttemptState::Ended },
                    health: if up { Health::Healthy } else { Health::Unknown },
                    ports: BTreeMap::new(),
                    exit: None,
                    results: None,
                    detail: None,
                    version: Some(e.version),
                    refused: None,
                };
                FactKind::ExecutionObserved { observation }
            })
            .collect();
        self.take(told);
    }

    fn later(&mut self, millis: u64) {
        self.now = Time::from_millis(self.now.millis() + millis);
    }
}

fn print(figure: &str, size: u32, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |permille: usize| {
        let index = (times.len() * permille / 1_000).min(times.len().saturating_sub(1));
        times.get(index).map_or(0, Duration::as_micros)
    };
    println!(
        r#"{{"figure":"{figure}","size":{size},"plans":{},"p50_us":{},"p99_us":{},"max_us":{}}}"#,
        times.len(),
        at(500),
        at(990),
        at(1_000)
    );
}

/// A rolling update of one service: each plan with all its tasks in view.
fn rollout(tasks: u32, parallel: u32) -> Result<(), Box<dyn Error>> {
    let spec = |value: u32| {
        format!(
            r#"{{"kind":"service","count":{tasks},"engine":{{"wasm":{{"component":"oci://r/x:1"}}}},
                "env":{{"A":"{value}"}},"resources":{{"cpu":"10m","memory":"8Mi"}},
                "update":{{"maxParallel":{parallel},"maxSurge":{parallel},"minHealthyTime":"1s","progressDeadline":"1h"}}}}"#
        )
    };
    let mut bench = Bench::with_hosts(100)?;
    bench.submit("web", &spec(1))?;
    for _ in 0..4 {
        bench.settle();
        bench.obey();
        bench.later(2_000);
    }
    bench.submit("web", &spec(2))?;
    let mut times = Vec::new();
    for _ in 0..200 {
        times.extend(bench.settle());
        bench.obey();
        bench.later(2_000);
    }
    print(&format!("plan of a rollout step, maxParallel {parallel}"), tasks, times);
    Ok(())
}

/// One host of many is lost with 100 tasks.
fn host_lost(hosts: u32) -> Result<(), Box<dyn Error>> {
    let mut bench = Bench::with_hosts(hosts)?;
    let spec = r#"{"kind":"service","count":100,"engine":{"wasm":{"component":"oci://r/x:1"}},
        "resources":{"cpu":"10m","memory":"8Mi"}}"#;
    let mut times = Vec::new();
    for round in 0..10 {
        bench.submit(&format!("web-{round}"), spec)?;
        bench.settle();
        bench.obey();
        let lost = bench.state.executions.last().map(|(_, e)| e.host).unwrap_or(HostId::new(1));
        let lease_end = bench.now;
        bench.ask(Command::HostSilent(HostSilent {
            host: lost,
            stage: HostStage::Lost,
            lease_end,
        }))?;
        let begin = Instant::now();
        let planned = plan(&bench.state, bench.now);
        times.push(begin.elapsed());
        assert!(planned.facts.len() >= 100, "they are placed elsewhere");
        bench.take(planned.facts);
        bench.settle();
        bench.obey();
        bench.later(60_000);
        bench.settle();
    }
    print("P4: plan after the loss of one host with 100 tasks or more", hosts, times);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    rollout(1_000, 1)?;
    rollout(1_000, 50)?;
    host_lost(10_000)
}
