//! Rules of `update`: which shapes of a rollout go together.

use super::Problems;
use crate::spec::{Amount, JobSpec, LossMode, Order, RolloutStrategy, Update};
use alloc::format;

/// Longest time of any member of `update`: a week.
const LONGEST_MILLIS: u64 = 7 * 24 * 3_600_000;

pub(super) fn check(spec: &JobSpec, problems: &mut Problems) {
    let Some(update) = &spec.update else { return };
    check_numbers(update, problems);
    let strategy = update.strategy.unwrap_or(RolloutStrategy::Rolling);
    let canary = update.canary.is_some_and(|count| count > 0);
    let ends = spec.kind.is_some_and(crate::spec::Kind::ends);
    if ends && (canary || strategy != RolloutStrategy::Rolling) {
        problems.rule(
            "/spec/update",
            "a batch or ops job starts a new run instead of moving its tasks",
            "use onResubmit, and leave strategy and canary out",
        );
        return;
    }
    if canary && strategy != RolloutStrategy::Rolling {
        let message = format!("canaries belong to the strategy rolling, not {}", strategy.as_str());
        problems.rule("/spec/update/canary", message, "leave canary or strategy out");
    }
    if strategy == RolloutStrategy::BlueGreen {
        check_blue_green(spec, update, problems);
    }
    let exclusive = spec.on_host_loss.as_ref().and_then(|l| l.mode) == Some(LossMode::Exclusive);
    if exclusive && update.order == Some(Order::StartFirst) {
        problems.rule(
            "/spec/update/order",
            "an exclusive task may not run beside its successor",
            "use auto or stop-first",
        );
    }
}

/// The whole second set runs beside the first.
fn check_blue_green(spec: &JobSpec, update: &Update, problems: &mut Problems) {
    if update.order == Some(Order::StopFirst) {
        let message = "with blue-green the new set runs beside the old one";
        problems.rule("/spec/update/order", message, "leave order out");
    }
    for (index, port) in spec.ports.iter().flatten().enumerate() {
        if port.static_port.is_some() && spec.kind == Some(crate::spec::Kind::Daemon) {
            let message = "two sets on one host cannot hold the same static port";
            problems.rule(format!("/spec/ports/{index}/static"), message, "use a dynamic port");
        }
    }
    if spec.on_host_loss.as_ref().and_then(|l| l.mode) == Some(LossMode::Exclusive) {
        let message = "an exclusive task may not run beside its successor";
        problems.rule("/spec/update/strategy", message, "use rolling or recreate");
    }
}

fn check_numbers(update: &Update, problems: &mut Problems) {
    if update.max_parallel == Some(0) {
        let message = "with 0 tasks at once nothing would ever move";
        problems.rule("/spec/update/maxParallel", message, "use 1 or more");
    }
    for (member, amount) in
        [("maxUnavailable", update.max_unavailable), ("maxSurge", update.max_surge)]
    {
        if matches!(amount, Some(Amount::Percent(percent)) if percent > 100) {
            let message = "a percentage is 0% to 100%";
            problems.rule(format!("/spec/update/{member}"), message, "use 100% or less");
        }
    }
    let times = [
        ("minHealthyTime", update.min_healthy_time),
        ("healthyDeadline", update.healthy_deadline),
        ("progressDeadline", update.progress_deadline),
        ("bake", update.bake),
        ("retireAfter", update.retire_after),
    ];
    for (member, time) in times {
        if time.is_some_and(|time| time.get() > LONGEST_MILLIS) {
            problems.rule(format!("/spec/update/{member}"), "at most 7 days", "use a shorter time");
        }
    }
    let short = |deadline: Option<crate::Millis>| {
        let healthy = update.min_healthy_time.unwrap_or(crate::Millis::from_secs(10));
        deadline.is_some_and(|deadline| deadline <= healthy)
    };
    for (member, deadline) in [
        ("healthyDeadline", update.healthy_deadline),
        ("progressDeadline", update.progress_deadline),
    ] {
        if short(deadline) {
            problems.rule(
                format!("/spec/update/{member}"),
                "a task must be healthy for minHealthyTime within this time",
                "make it longer than minHealthyTime",
            );
        }
    }
}
