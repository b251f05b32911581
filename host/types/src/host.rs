//! What a host says of itself and where it stands with the controller.

use crate::{
    name::HostName,
    quantity::{Cpu, Memory},
};
use alloc::{collections::BTreeMap, string::String};
use serde::{Deserialize, Serialize};

/// What an agent registers with.
#[derive(
    Clone, Debug, PartialEq, Eq, Serialize, Deserialize, minicbor::Encode, minicbor::Decode,
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cbor(map)]
pub struct HostDescription {
    /// The host's own name.
    #[n(0)]
    pub name: HostName,
    /// Changes at each boot of the machine.
    #[n(1)]
    pub boot: String,
    /// `http://ADDRESS:PORT` at which the agent serves logs.
    #[n(2)]
    pub address: String,
    /// CPU that tasks may use.
    #[n(3)]
    pub cpu: Cpu,
    /// Memory that tasks may use.
    #[n(4)]
    pub memory: Memory,
    /// Most executions at once.
    #[n(5)]
    pub max_executions: u32,
    /// Found by the agent: `arch`, `os`, `kernel`, `cores`, `engine.wasm` …
    #[n(6)]
    pub attributes: BTreeMap<String, String>,
    /// Given by the operator; constraints name them `label.KEY`.
    #[n(7)]
    pub labels: BTreeMap<String, String>,
}

impl HostDescription {
    /// The value of a constraint's key: `label.KEY`, `host`, or an attribute.
    #[must_use]
    pub fn value(&self, key: &str) -> Option<&str> {
        match key.strip_prefix("label.") {
            Some(label) => self.labels.get(label).map(String::as_str),
            None if key == "host" => Some(&self.name),
            None => self.attributes.get(key).map(String::as_str),
        }
    }

    /// Whether the host offers an engine, by its word.
    #[must_use]
    pub fn offers_engine(&self, engine: &str) -> bool {
        self.attributes.contains_key(&alloc::format!("engine.{engine}"))
    }
}

macro_rules! stage {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $index:literal $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
            minicbor::Encode, minicbor::Decode,
        )]
        #[cbor(index_only)]
        pub enum $name { $($(#[$vdoc])* #[n($index)] #[serde(rename = $word)] $variant,)* }
        impl $name {
            /// Every one, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];
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
    };
}

stage! {
    /// Where a host stands with the controller (06-cluster.md, section 1).
    HostStage {
        /// Renews in time.
        0 Up = "up",
        /// A renewal is late: no new placement.
        1 Suspect = "suspect",
        /// Lease and grace are over: its tasks are unknown.
        2 Unreachable = "unreachable",
        /// Declared lost: fenced, its tasks are placed again.
        3 Lost = "lost",
        /// Back, and must end what it should not run before it gets new work.
        4 Rejoining = "rejoining",
    }
}

stage! {
    /// What people want of a host.
    HostMode {
        /// Takes work.
        0 Active = "active",
        /// Takes no new work.
        1 Paused = "paused",
        /// Everything is moved off.
        2 Draining = "draining",
    }
}
