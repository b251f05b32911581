//! What a task is given: ports, mounts, outbound connections, routes. Nothing by default.

use super::{words, written};
use crate::{duration::Millis, name::PortName};
use alloc::{string::String, vec::Vec};
use serde::{Deserialize, Serialize};

/// One port of a task; dynamic unless `static` names a number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Port {
    /// Unique in the job.
    pub name: PortName,
    /// What speaks on it; tcp when absent.
    #[serde(default, skip_serializing_if = "super::none")]
    pub protocol: Option<Protocol>,
    /// The fixed number on the host; a resource of that host.
    #[serde(default, rename = "static", skip_serializing_if = "super::none")]
    pub static_port: Option<u16>,
}

words! {
    /// What speaks on a port.
    pub enum Protocol {
        /// HTTP/1.1 and HTTP/2, served by the agent for HTTP components.
        Http = "http",
        /// Plain TCP; the guest listens.
        Tcp = "tcp",
    }
}

/// A directory of the host inside the task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Mount {
    /// Absolute path on the host, below a root that the host allows.
    pub source: String,
    /// Absolute path that the guest sees; unique in the job.
    pub target: String,
    /// Read-only when absent.
    #[serde(default, skip_serializing_if = "super::none")]
    pub mode: Option<MountMode>,
    /// Whether one task at a time may hold it.
    #[serde(default, skip_serializing_if = "super::none")]
    pub exclusive: Option<bool>,
}

words! {
    /// What a guest may do with a mount.
    pub enum MountMode {
        /// Read.
        ReadOnly = "read-only",
        /// Read, write, create, remove.
        ReadWrite = "read-write",
    }
}

/// Connections that a task may make or accept, by allow-list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Capabilities {
    /// `[SCHEME://]HOST[:PORT]` of `wasi:http` requests.
    #[serde(skip_serializing_if = "super::none")]
    pub http_out: Option<Vec<String>>,
    /// `HOST:PORT` of outgoing TCP connections.
    #[serde(skip_serializing_if = "super::none")]
    pub tcp_out: Option<Vec<String>>,
    /// `HOST:PORT` of outgoing UDP.
    #[serde(skip_serializing_if = "super::none")]
    pub udp_out: Option<Vec<String>>,
    /// Names of ports that the guest itself listens on.
    #[serde(skip_serializing_if = "super::none")]
    pub tcp_listen: Option<Vec<PortName>>,
    /// Connections to the published ports of tasks of the job's own allocation.
    #[serde(skip_serializing_if = "super::none")]
    pub peers: Option<bool>,
    /// Jobs of the same namespace whose ready endpoints may be reached.
    #[serde(skip_serializing_if = "super::none")]
    pub jobs: Option<Vec<crate::name::JobName>>,
}

written! {
    /// How a service is reached.
    pub struct Service {
        /// Host name and path that lead to it.
        route: Route,
        /// How long a task that left the endpoints is given for what is under way.
        drain: Millis,
    }
}

written! {
    /// Host name and path of a route.
    pub struct Route {
        /// Host name.
        host: String,
        /// Path prefix; `/` when absent.
        path: String,
    }
}
