//! What a change of a field does to a task: the one table of classes (03-jobs.md, section 4).
//!
//! Not how a class is carried out: that is the planner's and the agent's, which may take a stronger
//! class where the host cannot do the gentler one.

use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};

/// What a change does to a task, gentlest first; the strongest of a submission wins.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Encode, Decode,
)]
#[serde(rename_all = "kebab-case")]
#[cbor(index_only)]
pub enum ChangeClass {
    /// Nothing restarts; a label or a text.
    #[n(0)]
    Metadata,
    /// Nothing restarts; live at the next decision.
    #[n(1)]
    Policy,
    /// Tasks are added or removed; the others stay.
    #[n(2)]
    Scale,
    /// A live task gets another limit.
    #[n(4)]
    Resize,
    /// A live task gets new code and keeps its state.
    #[n(5)]
    Swap,
    /// A task ends and starts again on its host.
    #[n(6)]
    Restart,
    /// A task ends and is placed again.
    #[n(3)]
    Replace,
    /// The submission is refused.
    #[n(7)]
    Rejected,
}

impl ChangeClass {
    /// Every class, gentlest first.
    pub const ALL: &'static [Self] = &[
        Self::Metadata,
        Self::Policy,
        Self::Scale,
        Self::Resize,
        Self::Swap,
        Self::Restart,
        Self::Replace,
        Self::Rejected,
    ];

    /// The word in text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Metadata => "metadata",
            Self::Policy => "policy",
            Self::Scale => "scale",
            Self::Resize => "resize",
            Self::Swap => "swap",
            Self::Restart => "restart",
            Self::Replace => "replace",
            Self::Rejected => "rejected",
        }
    }

    /// Whether a guest notices: it is stopped, started or swapped.
    #[must_use]
    pub fn touches_guests(self) -> bool {
        self >= Self::Resize
    }
}

impl core::fmt::Display for ChangeClass {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(self.as_str())
    }
}

/// Path prefixes with their class under Wasm and under a container; the longest that fits counts.
const RULES: &[(&str, ChangeClass, ChangeClass)] = {
    use ChangeClass::{Metadata, Policy, Rejected, Replace, Resize, Restart, Scale, Swap};
    &[
        ("metadata", Metadata, Metadata),
        ("metadata.name", Rejected, Rejected),
        ("metadata.namespace", Rejected, Rejected),
        ("digest", Swap, Replace),
        ("spec", Policy, Policy),
        ("spec.kind", Rejected, Rejected),
        ("spec.count", Scale, Scale),
        ("spec.priority", Metadata, Metadata),
        ("spec.engine", Replace, Replace),
        ("spec.engine.wasm", Restart, Replace),
        ("spec.engine.wasm.component", Metadata, Replace),
        ("spec.engine.container.args", Replace, Restart),
        ("spec.engine.container.command", Replace, Restart),
        ("spec.env", Restart, Restart),
        ("spec.config", Restart, Restart),
        ("spec.resources", Resize, Resize),
        ("spec.ports", Restart, Replace),
        ("spec.mounts", Restart, Replace),
        ("spec.capabilities", Restart, Restart),
    ]
};

/// The class of a changed path such as `spec.env.PATH`, `metadata.labels.team` or `digest`.
///
/// A component's text is metadata by itself: what it resolves to is the path `digest`.
#[must_use]
pub fn class_of(path: &str, container: bool) -> ChangeClass {
    RULES
        .iter()
        .filter(|(prefix, ..)| {
            path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
        .max_by_key(|(prefix, ..)| prefix.len())
        .map_or(ChangeClass::Replace, |(_, wasm, other)| if container { *other } else { *wasm })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_counts_and_names_are_not_prefixes() {
        let words = [
            ("spec.env.PATH", "restart"),
            ("spec.environment", "policy"),
            ("spec.engine.wasm.component", "metadata"),
            ("spec.engine.wasm.args", "restart"),
            ("spec.engine.container.image", "replace"),
            ("digest", "swap"),
            ("spec.resources.memory", "resize"),
            ("spec.placement.constraints", "policy"),
            ("metadata.labels.team", "metadata"),
            ("spec.count", "scale"),
            ("spec.kind", "rejected"),
            ("elsewhere", "replace"),
        ];
        for (path, word) in words {
            assert_eq!(class_of(path, false).as_str(), word, "{path}");
        }
        assert_eq!(class_of("spec.ports", true), ChangeClass::Replace, "case I9: mounts and ports");
    }
}
