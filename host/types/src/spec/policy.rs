//! Policies: resources, restart, update, host loss, timeouts, elasticity.

use super::{words, written};
use crate::{
    duration::Millis,
    quantity::{Cpu, Memory},
    text::{InvalidText, serde_as_text},
};
use core::{fmt, str::FromStr};

written! {
    /// CPU and memory of one task.
    pub struct Resources {
        /// Share of a core.
        cpu: Cpu,
        /// Upper bound of the guest's memory.
        memory: Memory,
    }
}

written! {
    /// Bounds of a job's size.
    pub struct Elastic {
        /// Smallest size.
        min: u32,
        /// Largest size.
        max: u32,
        /// The task that a shrink by count never takes.
        anchor: Anchor,
        /// How much longer a task may ask to stay, once.
        max_extend: Millis,
    }
}

words! {
    /// Which task a shrink by count never takes.
    pub enum Anchor {
        /// Task 0.
        TaskZero = "task-0",
        /// None.
        None = "none",
    }
}

/// Restart delays from the first to the longest, written `1s..60s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// Before the first restart.
    pub first: Millis,
    /// Upper bound; each delay is twice the one before.
    pub longest: Millis,
}

impl fmt::Display for Backoff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.first, self.longest)
    }
}

impl FromStr for Backoff {
    type Err = InvalidText;
    fn from_str(text: &str) -> Result<Self, InvalidText> {
        let bad = || {
            InvalidText::new(format_args!(
                "expected a range of durations such as 1s..60s, saw {text:?}"
            ))
        };
        let (first, longest) = text.split_once("..").ok_or_else(bad)?;
        let backoff = Self { first: first.parse()?, longest: longest.parse()? };
        if backoff.first > backoff.longest || backoff.longest == Millis::ZERO {
            Err(bad())
        } else {
            Ok(backoff)
        }
    }
}

serde_as_text!(Backoff);

written! {
    /// Restart in place by the agent.
    pub struct Restart {
        /// When an ended attempt is followed by another.
        policy: RestartPolicy,
        /// Delays between attempts.
        backoff: Backoff,
        /// Restarts allowed within the window.
        attempts: u32,
        /// The window.
        within: Millis,
    }
}

words! {
    /// When an ended attempt is followed by another in the same execution.
    pub enum RestartPolicy {
        /// After every end.
        Always = "always",
        /// After an end without success; a service's or daemon's end is one whatever its code.
        OnFailure = "on-failure",
        /// Never.
        Never = "never",
    }
}

/// A number of tasks or a percentage of the count, written `2` or `25%`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// So many tasks.
    Tasks(u32),
    /// So many hundredths of the count.
    Percent(u32),
}

impl Amount {
    /// So many of `count`; a part counts as none.
    #[must_use]
    pub fn rounded_down(self, count: u32) -> u32 {
        match self {
            Self::Tasks(tasks) => tasks,
            Self::Percent(percent) => part(percent, count, 0),
        }
    }

    /// So many of `count`; a part counts as a whole.
    #[must_use]
    pub fn rounded_up(self, count: u32) -> u32 {
        match self {
            Self::Tasks(tasks) => tasks,
            Self::Percent(percent) => part(percent, count, 99),
        }
    }
}

fn part(percent: u32, count: u32, round: u64) -> u32 {
    let hundredths = u64::from(percent) * u64::from(count) + round;
    u32::try_from(hundredths / 100).unwrap_or(u32::MAX)
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tasks(n) => n.fmt(f),
            Self::Percent(n) => write!(f, "{n}%"),
        }
    }
}

impl FromStr for Amount {
    type Err = InvalidText;
    fn from_str(text: &str) -> Result<Self, InvalidText> {
        let bad = || {
            InvalidText::new(format_args!(
                "expected a number or a percentage such as 25%, saw {text:?}"
            ))
        };
        let number = |t: &str| {
            t.parse::<u32>().ok().filter(|_| t.bytes().all(|b| b.is_ascii_digit())).ok_or_else(bad)
        };
        match text.strip_suffix('%') {
            Some(percent) => number(percent).map(Self::Percent),
            None => number(text).map(Self::Tasks),
        }
    }
}

impl serde::Serialize for Amount {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Tasks(n) => s.serialize_u32(*n),
            Self::Percent(_) => s.collect_str(self),
        }
    }
}

impl<'de> serde::Deserialize<'de> for Amount {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Amount;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number or a percentage such as 25%")
            }
            fn visit_u64<E: serde::de::Error>(self, v: u64) -> Result<Amount, E> {
                u32::try_from(v).map(Amount::Tasks).map_err(E::custom)
            }
            fn visit_i64<E: serde::de::Error>(self, v: i64) -> Result<Amount, E> {
                u32::try_from(v).map(Amount::Tasks).map_err(E::custom)
            }
            fn visit_str<E: serde::de::Error>(self, v: &str) -> Result<Amount, E> {
                v.parse().map_err(E::custom)
            }
        }
        d.deserialize_any(Visitor)
    }
}

written! {
    /// How versions replace each other.
    pub struct Update {
        /// The shape of a rollout.
        strategy: RolloutStrategy,
        /// Whether the new task starts before the old one stops.
        order: Order,
        /// Tasks in motion at once.
        max_parallel: u32,
        /// Tasks that may be missing.
        max_unavailable: Amount,
        /// Executions above the count.
        max_surge: Amount,
        /// Tasks that go first and wait for a word.
        canary: u32,
        /// Whether canaries promote themselves.
        auto_promote: bool,
        /// How long a task must be healthy.
        min_healthy_time: Millis,
        /// How long one task may take to get healthy.
        healthy_deadline: Millis,
        /// How long nothing may get better.
        progress_deadline: Millis,
        /// Failures that a rollout survives.
        max_failures: u32,
        /// Wait before an automatic promotion.
        bake: Millis,
        /// How long the old set is kept.
        retire_after: Millis,
        /// Whether a failed rollout goes back by itself.
        auto_rollback: bool,
        /// Whether code is swapped in place.
        swap: Swap,
        /// How long the old code has to hand over.
        swap_timeout: Millis,
        /// Upper bound of the handed-over state.
        max_state: Memory,
    }
}

words! {
    /// The shape of a rollout.
    pub enum RolloutStrategy {
        /// Some tasks at a time.
        Rolling = "rolling",
        /// A whole second set.
        BlueGreen = "blue-green",
        /// Everything down, then up.
        Recreate = "recreate",
    }
}

words! {
    /// Whether the new task starts before the old one stops.
    pub enum Order {
        /// Start-first where it is possible.
        Auto = "auto",
        /// Start, then stop.
        StartFirst = "start-first",
        /// Stop, then start.
        StopFirst = "stop-first",
    }
}

words! {
    /// Whether code is swapped in place.
    pub enum Swap {
        /// Where it is possible.
        Prefer = "prefer",
        /// Or the submission is rejected.
        Require = "require",
        /// Never.
        Never = "never",
    }
}

written! {
    /// What happens when a host is lost.
    pub struct HostLoss {
        /// What the job does.
        policy: LossPolicy,
        /// Whether two copies may overlap.
        mode: LossMode,
        /// How long a job below min waits.
        wait: Millis,
        /// Requeues before the job is held.
        attempts: u32,
    }
}

words! {
    /// What a job does when a host is lost.
    pub enum LossPolicy {
        /// The task is placed again.
        Rerun = "rerun",
        /// The job ends with reason host-lost.
        Fail = "fail",
        /// An elastic job goes on with fewer tasks.
        Shrink = "shrink",
        /// The task waits for the host.
        Keep = "keep",
    }
}

words! {
    /// Whether two copies of a task may overlap when a host is cut off.
    pub enum LossMode {
        /// They may, for a short time.
        Fast = "fast",
        /// Never.
        Exclusive = "exclusive",
    }
}

words! {
    /// What happens to a task whose host stops matching.
    pub enum OnHostChange {
        /// It stays.
        Ignore = "ignore",
        /// It is moved.
        Move = "move",
    }
}

written! {
    /// Limits in time; 0 is no limit.
    pub struct Timeouts {
        /// How long a job may wait for its first placement.
        queue: Millis,
        /// How long an execution of a batch or ops job may run.
        execution: Millis,
        /// Between being asked to stop and being ended.
        kill: Millis,
    }
}

words! {
    /// What a changed submission does to a running batch or ops job.
    pub enum OnResubmit {
        /// The running incarnation is stopped.
        Replace = "replace",
        /// The new version waits.
        FinishFirst = "finish-first",
        /// Both run.
        Parallel = "parallel",
        /// The submission is refused.
        Reject = "reject",
    }
}
