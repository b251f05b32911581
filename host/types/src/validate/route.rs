//! Rules of `service.route`: a host name, a path, and a port that speaks HTTP behind it.

use super::Problems;
use crate::spec::{JobSpec, Protocol};
use alloc::format;

/// Longest path prefix, in bytes.
const MAX_PATH_BYTES: usize = 1_024;

pub(super) fn check(spec: &JobSpec, problems: &mut Problems) {
    let Some(route) = spec.service.as_ref().and_then(|service| service.route.as_ref()) else {
        return;
    };
    if spec.kind.is_some_and(crate::spec::Kind::ends) {
        problems.rule(
            "/spec/service/route",
            "only services and daemons take traffic",
            "leave it out",
        );
        return;
    }
    match route.host.as_deref() {
        None => problems.rule("/spec/service/route/host", "a route has a host name", "name one"),
        Some(host) if !is_host(host) => problems.rule(
            "/spec/service/route/host",
            format!("{host:?} is no host name"),
            "use letters, digits, hyphens and dots, without a port",
        ),
        Some(_) => {}
    }
    let path = route.path.as_deref().unwrap_or("/");
    let odd = |c: char| c.is_control() || c.is_whitespace() || matches!(c, '?' | '#');
    if !path.starts_with('/') || path.contains(odd) || path.len() > MAX_PATH_BYTES {
        problems.rule(
            "/spec/service/route/path",
            format!("{path:?} is no path prefix"),
            "begin it with / and leave out ? and #",
        );
    }
    let http = |port: &crate::spec::Port| port.protocol == Some(Protocol::Http);
    match spec.ports.iter().flatten().filter(|port| http(port)).count() {
        1 => {}
        count => problems.rule(
            "/spec/service/route",
            format!("{count} ports have protocol http, a route needs exactly one"),
            "give one port protocol: http",
        ),
    }
}

fn is_host(host: &str) -> bool {
    let label = |label: &str| {
        let inner = label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        inner && !label.is_empty() && label.len() <= 63 && !label.starts_with('-')
    };
    host.len() <= 253 && host.split('.').all(label)
}
