//! Fault runs: a phase in which everything breaks, then one in which nothing does any more.
//!
//! Safety: no rule of the oracle is ever broken, `check` is empty after every batch, replay gives
//! the written state. Liveness: once faults have stopped, every job comes to its goal or says why
//! it cannot, and nothing is left running that nobody wants.

use crate::{
    book::Coverage,
    world::{Faults, World},
};
use pliant_core::state::{RolloutState, RunState, Wanted};
use std::collections::BTreeSet;

/// Virtual time after the last fault within which everything must be at rest: longest back-off
/// (5 min), host loss (45 s), three restarts, and room for their sum.
const REST_MILLIS: u64 = 20 * 60_000;

/// What one seed gave.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Broken rules; empty is a good run.
    pub violations: Vec<String>,
    /// What has happened.
    pub coverage: Coverage,
    /// Hash of the state at the end: the same seed gives the same.
    pub hash: u128,
}

/// Runs one seed for so many steps.
#[must_use]
pub fn run(seed: u64, steps: u32) -> Outcome {
    let mut world = World::new(seed, 4, Faults::ALL);
    world.pass(2_000);
    for _ in 0..steps {
        if world.draw(100) < 30 {
            world.random_user();
        }
        world.random_break();
        let millis = world.draw(3_000);
        world.pass(millis);
        if !world.violations().is_empty() {
            return finish(&world, Vec::new());
        }
    }
    world.stop_breaking();
    world.pass(REST_MILLIS);
    let late = liveness(&mut world);
    finish(&world, late)
}

fn finish(world: &World, late: Vec<String>) -> Outcome {
    let mut violations = world.violations();
    violations.extend(late);
    Outcome { violations, coverage: world.coverage(), hash: world.state().hash() }
}

fn liveness(world: &mut World) -> Vec<String> {
    let mut broken = Vec::new();
    if !world.is_up() {
        broken.push("the controller never came back".to_owned());
        return broken;
    }
    let state = world.state();
    let report = world.report();
    for (name, uid) in world.promised() {
        if !state.jobs.contains(&uid) {
            broken.push(format!("job {name} ({uid}) was acknowledged and is gone"));
        }
    }
    for (_, host) in state.hosts.iter() {
        if host.stage.as_str() != "up" {
            broken.push(format!("{} is {} long after the last fault", host.id, host.stage));
        }
    }
    for (uid, job) in state.jobs.iter() {
        let word = state.run_state(job);
        if word == RunState::Stopping || job.wanted == Wanted::Deleted {
            broken.push(format!("job {} ({uid}) is still {}", job.name, word.as_str()));
        }
        let tally = state.index.tally(*uid, job.incarnation);
        let settled = tally.up + tally.completed + tally.failed;
        let waits: usize =
            report.waits.get(uid).into_iter().flatten().map(|wait| wait.tasks.len()).sum();
        let runs = job.wanted == Wanted::Running && job.ended.is_none();
        if runs && !job.kind.ends() && (settled as usize) + waits < tally.wanted as usize {
            broken.push(format!(
                "job {} ({uid}): {} of {} tasks are neither up nor wait with a reason",
                job.name,
                tally.wanted as usize - settled as usize - waits,
                tally.wanted
            ));
        }
    }
    for (key, rollout) in state.rollouts.iter().filter(|(_, rollout)| rollout.is_active()) {
        let progress = &rollout.progress;
        let ends = state.jobs.get(&key.job).is_none_or(|job| job.kind.ends());
        let waits =
            matches!(progress.state, RolloutState::AwaitingPromotion | RolloutState::Paused);
        let armed = [progress.deadline, progress.until].into_iter().flatten();
        if !ends && !waits && !armed.into_iter().any(|at| at > world.now) {
            broken.push(format!(
                "{} of {} is {} for ever, and no time ends it",
                rollout.id, key.job, progress.state
            ));
        }
    }
    let live: BTreeSet<_> =
        state.executions.iter().filter(|(_, e)| e.is_live()).map(|(id, _)| *id).collect();
    for (execution, host) in world.running() {
        if !live.contains(&execution) {
            broken.push(format!("{execution} still runs on {host} and nobody wants it"));
        }
    }
    if !broken.is_empty() {
        broken.push(world.describe_live());
    }
    broken
}
