//! From what is assigned to what a driver is given. Resolves paths; starts nothing.

use std::{collections::BTreeMap, time::Duration};

use pliant_driver::{
    Access, BoundPort, ExecutionSpec, Grants, HttpSettings, LogSettings, MountSpec, PortNumber,
    PortProtocol, PortSpec, Reuse, Timeouts,
};
use pliant_types::{
    Attempt, ExitStatus, PortName,
    assignment::{AssignedExecution, TaskTemplate},
    spec::{Capabilities, Mount, MountMode, Port, Protocol},
};

use super::{mounts::MountRoots, places::Places};

/// Requests of one HTTP instance where the spec allows reuse and names no number.
const REUSE_REQUESTS: u32 = 1_000;
/// How long such an instance waits where the spec names no time.
const REUSE_IDLE: Duration = Duration::from_secs(10);

/// What the driver is given for an attempt, or the exit of an attempt that cannot begin.
pub(super) fn resolve(
    assigned: &AssignedExecution,
    attempt: Attempt,
    mounts: &MountRoots,
    places: &Places,
) -> Result<ExecutionSpec, ExitStatus> {
    let template = &*assigned.template;
    let id = assigned.execution;
    let granted: Result<Vec<MountSpec>, ExitStatus> =
        template.mounts.iter().map(|mount| resolve_mount(mount, mounts)).collect();
    Ok(ExecutionSpec {
        execution: id,
        attempt,
        digest: template.digest,
        args: template.args.clone(),
        env: template.env.clone(),
        config: template.config.clone(),
        memory: template.memory,
        cpu: template.cpu,
        ports: template.ports.iter().map(port).collect(),
        mounts: granted?,
        grants: grants(&template.capabilities),
        output_dir: template.kind.ends().then(|| places.output(id)),
        logs: LogSettings::in_dir(places.logs(id, attempt)),
        http: http(template),
        // The agent keeps `timeouts.execution` itself: it spans attempts.
        timeouts: Timeouts::default(),
    })
}

fn resolve_mount(mount: &Mount, roots: &MountRoots) -> Result<MountSpec, ExitStatus> {
    Ok(MountSpec {
        host_path: roots.grant(&mount.source)?,
        guest_path: mount.target.clone(),
        access: match mount.mode {
            Some(MountMode::ReadWrite) => Access::ReadWrite,
            Some(MountMode::ReadOnly) | None => Access::ReadOnly,
        },
    })
}

fn port(port: &Port) -> PortSpec {
    PortSpec {
        name: port.name.to_string(),
        protocol: match port.protocol {
            Some(Protocol::Tcp) => PortProtocol::Tcp,
            Some(Protocol::Http) | None => PortProtocol::Http,
        },
        number: port.static_port.map_or(PortNumber::Dynamic, PortNumber::Static),
    }
}

fn grants(capabilities: &Capabilities) -> Grants {
    let listed = |list: &Option<Vec<String>>| list.clone().unwrap_or_default();
    let listen = capabilities.tcp_listen.iter().flatten();
    Grants {
        http_out: listed(&capabilities.http_out),
        tcp_out: listed(&capabilities.tcp_out),
        udp_out: listed(&capabilities.udp_out),
        tcp_listen: listen.map(ToString::to_string).collect(),
    }
}

fn http(template: &TaskTemplate) -> HttpSettings {
    let reuse = template.reuse.as_ref().map(|reuse| Reuse {
        max_requests: u64::from(reuse.max_requests.unwrap_or(REUSE_REQUESTS)),
        max_idle: reuse.max_idle.map_or(REUSE_IDLE, |idle| Duration::from_millis(idle.get())),
    });
    HttpSettings { reuse, ..HttpSettings::default() }
}

/// Real port numbers by name. A name that is none of ours comes from no spec of ours.
pub(super) fn port_numbers(ports: &[BoundPort]) -> BTreeMap<PortName, u16> {
    let named = ports.iter().filter_map(|port| Some((port.name.parse().ok()?, port.address.port())));
    named.collect()
}
