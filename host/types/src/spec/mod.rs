//! The job spec exactly as a user wrote it: every field optional, nothing filled in.
//!
//! Not the effective spec: defaults are in [`crate::effective`], rules in [`crate::validate`].
//! Source of fields and defaults: 03-jobs.md section 1 and 14-decisions.md, 25.

mod capability;
mod constraint;
mod engine;
mod kind;
mod placement;
mod policy;
mod probe;

pub use capability::{Capabilities, Mount, MountMode, Port, Protocol, Route, Service};
pub use constraint::{Constraint, Operator};
pub use engine::{Container, Engine, Isolation, Reuse, Source, Wasm};
pub use kind::Kind;
pub use placement::{Affinity, Placement, Span, Spread, Strategy};
pub use policy::{
    Amount, Anchor, Backoff, Elastic, HostLoss, LossMode, LossPolicy, OnHostChange, OnResubmit,
    Order, Resources, Restart, RestartPolicy, RolloutStrategy, Swap, Timeouts, Update,
};
pub use probe::{CallProbe, ExecProbe, Health, HttpProbe, Probe, ReportProbe, TcpProbe};

use alloc::{collections::BTreeMap, string::String, vec::Vec};
use serde::{Deserialize, Serialize};

/// `skip_serializing_if` for every optional field: absent and null are the same thing.
pub(crate) fn none<T>(value: &Option<T>) -> bool {
    value.is_none()
}

/// Declares a written object: all fields optional, camelCase, unknown fields refused.
macro_rules! written {
    ($(#[$doc:meta])* pub struct $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields, default)]
        pub struct $name {
            $($(#[$field_doc])* #[serde(skip_serializing_if = "crate::spec::none")] pub $field: Option<$type>,)*
        }
    };
}
pub(crate) use written;

/// Declares a closed list of words, kebab-case in text.
macro_rules! words {
    ($(#[$doc:meta])* pub enum $name:ident { $($(#[$var_doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $name { $($(#[$var_doc])* #[serde(rename = $word)] $variant,)* }

        impl $name {
            /// Every word, in order.
            pub const WORDS: &'static [&'static str] = &[$($word),*];
            /// The word in text.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }
        }
        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.pad(self.as_str())
            }
        }
        impl core::str::FromStr for $name {
            type Err = crate::text::InvalidText;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $($word => Ok(Self::$variant),)*
                    _ => Err(crate::text::InvalidText::new(format_args!(
                        "expected one of {:?}, saw {text:?}", Self::WORDS
                    ))),
                }
            }
        }
    };
}
pub(crate) use words;

written! {
    /// What a user wrote under `spec`; the only part of a job that makes versions.
    pub struct JobSpec {
        /// batch, service, daemon or ops; immutable.
        kind: Kind,
        /// Number of tasks; 0 is no task, absent is 1 at creation.
        count: u32,
        /// Bounds between which the job may change its size.
        elastic: Elastic,
        /// 0 to 100, higher first.
        priority: u32,
        /// What runs the tasks.
        engine: Engine,
        /// Environment variables.
        env: BTreeMap<String, Option<String>>,
        /// `wasi:config/store`, and env for containers.
        config: BTreeMap<String, Option<String>>,
        /// CPU and memory of one task.
        resources: Resources,
        /// Ports of one task, keyed by name.
        ports: Vec<Port>,
        /// Directories of the host, keyed by target.
        mounts: Vec<Mount>,
        /// What else is granted; nothing by default.
        capabilities: Capabilities,
        /// Where tasks may and should run.
        placement: Placement,
        /// Probes.
        health: Health,
        /// Restart in place.
        restart: Restart,
        /// How versions replace each other.
        update: Update,
        /// What happens when a host is lost.
        on_host_loss: HostLoss,
        /// What happens when a host's labels stop matching.
        on_host_change: OnHostChange,
        /// Limits in time.
        timeouts: Timeouts,
        /// What a changed submission does to a running batch or ops job.
        on_resubmit: OnResubmit,
        /// Routing of a service.
        service: Service,
    }
}

/// Labels or annotations as written: a null value is the same as no entry.
pub type WrittenMap = BTreeMap<String, Option<String>>;

/// A map as written without its nulls.
#[must_use]
pub fn without_nulls(map: &WrittenMap) -> BTreeMap<String, String> {
    map.iter().filter_map(|(k, v)| v.as_ref().map(|v| (k.clone(), v.clone()))).collect()
}

/// The metadata that a user may write; the server's own members are ignored on input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WrittenMetadata {
    /// The job's name.
    pub name: crate::name::JobName,
    /// Its namespace; absent is the caller's.
    #[serde(default, skip_serializing_if = "none")]
    pub namespace: Option<crate::name::Namespace>,
    /// Free labels; `pliant.dev/` ones are the server's and are ignored.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: WrittenMap,
    /// Free texts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: WrittenMap,
}

/// One job of a file: `apiVersion`, `metadata`, `spec`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Manifest {
    /// `pliant.dev/v1`.
    pub api_version: String,
    /// Name, namespace, labels, annotations.
    pub metadata: WrittenMetadata,
    /// The spec as written.
    pub spec: JobSpec,
}

/// The only `apiVersion` so far.
pub const API_VERSION: &str = "pliant.dev/v1";
/// Prefix of labels and annotations that belong to the server.
pub const RESERVED_PREFIX: &str = "pliant.dev/";
