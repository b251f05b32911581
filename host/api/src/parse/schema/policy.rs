//! Fields of the policies: elasticity, restart, update, host loss, timeouts. Data only.

use pliant_types::spec::{
    Amount, Anchor, Backoff, LossMode, LossPolicy, Order, RestartPolicy, RolloutStrategy, Swap,
};

use super::{COUNT, DURATION, MEMORY};
use crate::parse::shape::Shape::{Flag, Scalar, Text, Words};
use crate::parse::shape::{Field, Shape, may, parses};

const AMOUNT: Shape = Scalar(parses::<Amount>);

pub(super) const ELASTIC: &[Field] = &[
    may("min", "Smallest size.", COUNT),
    may("max", "Largest size.", COUNT),
    may("anchor", "The task that a shrink by count never takes.", Words(Anchor::WORDS)),
    may("maxExtend", "How much longer a task may ask to stay, once.", DURATION),
];

pub(super) const RESTART: &[Field] = &[
    may("policy", "When an ended attempt is followed by another.", Words(RestartPolicy::WORDS)),
    may("backoff", "Delays between attempts, such as 1s..60s.", Text(parses::<Backoff>)),
    may("attempts", "Restarts allowed within the window.", COUNT),
    may("within", "The window.", DURATION),
];

pub(super) const UPDATE: &[Field] = &[
    may("strategy", "The shape of a rollout.", Words(RolloutStrategy::WORDS)),
    may("order", "Whether the new starts before the old stops.", Words(Order::WORDS)),
    may("maxParallel", "Tasks in motion at once.", COUNT),
    may("maxUnavailable", "Tasks that may be missing: a number or a percentage.", AMOUNT),
    may("maxSurge", "Executions above the count: a number or a percentage.", AMOUNT),
    may("canary", "Tasks that go first and wait for a word.", COUNT),
    may("autoPromote", "Whether canaries promote themselves.", Flag),
    may("minHealthyTime", "How long a task must be healthy.", DURATION),
    may("healthyDeadline", "How long one task may take to get healthy.", DURATION),
    may("progressDeadline", "How long nothing may get better.", DURATION),
    may("maxFailures", "Failures that a rollout survives.", COUNT),
    may("bake", "Wait before an automatic promotion.", DURATION),
    may("retireAfter", "How long the old set is kept.", DURATION),
    may("autoRollback", "Whether a failed rollout goes back by itself.", Flag),
    may("swap", "Whether code is swapped in place.", Words(Swap::WORDS)),
    may("swapTimeout", "How long the old code has to hand over.", DURATION),
    may("maxState", "Upper bound of the handed-over state.", MEMORY),
];

pub(super) const HOST_LOSS: &[Field] = &[
    may("policy", "What the job does.", Words(LossPolicy::WORDS)),
    may("mode", "Whether two copies may overlap.", Words(LossMode::WORDS)),
    may("wait", "How long a job below its minimum waits.", DURATION),
    may("attempts", "Requeues before the job is held.", COUNT),
];

pub(super) const TIMEOUTS: &[Field] = &[
    may("queue", "How long a job may wait for its first placement.", DURATION),
    may("execution", "How long an execution of a batch or ops job may run.", DURATION),
    may("kill", "Between being asked to stop and being ended.", DURATION),
];
