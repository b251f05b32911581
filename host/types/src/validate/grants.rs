//! Rules of ports, mounts and outbound allow-lists.

use super::{MAX_ENTRIES, Problems};
use crate::spec::{Capabilities, JobSpec};
use alloc::{collections::BTreeMap, format, string::String};

pub(super) fn check(spec: &JobSpec, problems: &mut Problems) {
    check_ports(spec, problems);
    check_mounts(spec, problems);
    if let Some(grants) = &spec.capabilities {
        check_capabilities(spec, grants, problems);
    }
}

fn check_ports(spec: &JobSpec, problems: &mut Problems) {
    let mut names = BTreeMap::new();
    let mut numbers = BTreeMap::new();
    for (index, port) in spec.ports.iter().flatten().enumerate() {
        if let Some(first) = names.insert(port.name.clone(), index) {
            let pointer = format!("/spec/ports/{index}/name");
            problems.rule(
                pointer,
                format!("the name {:?} is already port {first}", &*port.name),
                "rename one",
            );
        }
        let Some(number) = port.static_port else { continue };
        let pointer = format!("/spec/ports/{index}/static");
        if number == 0 {
            problems.rule(
                pointer,
                "a static port is 1 to 65535",
                "leave static out for a dynamic port",
            );
        } else if let Some(first) = numbers.insert(number, index) {
            problems.rule(pointer, format!("{number} is already port {first}"), "choose another");
        }
    }
    if names.len() > MAX_ENTRIES {
        problems.rule("/spec/ports", format!("at most {MAX_ENTRIES} ports"), "use fewer");
    }
}

fn check_mounts(spec: &JobSpec, problems: &mut Problems) {
    let mut targets = BTreeMap::new();
    for (index, mount) in spec.mounts.iter().flatten().enumerate() {
        for (member, path) in [("source", &mount.source), ("target", &mount.target)] {
            if let Some(reason) = bad_path(path) {
                let pointer = format!("/spec/mounts/{index}/{member}");
                problems.rule(pointer, format!("{path:?} {reason}"), "use an absolute, plain path");
            }
        }
        if mount.target == "/output" || mount.target.starts_with("/output/") {
            let pointer = format!("/spec/mounts/{index}/target");
            problems.rule(pointer, "/output is where results go", "choose another target");
        }
        if let Some(first) = targets.insert(mount.target.clone(), index) {
            let pointer = format!("/spec/mounts/{index}/target");
            problems.rule(
                pointer,
                format!("{:?} is already mount {first}", mount.target),
                "choose another",
            );
        }
        if mount.exclusive == Some(true) {
            problems.not_offered(format!("/spec/mounts/{index}/exclusive"), "an exclusive mount");
        }
    }
}

fn bad_path(path: &str) -> Option<&'static str> {
    if !path.starts_with('/') {
        return Some("is not absolute");
    }
    if path.chars().any(char::is_control) {
        return Some("has a control character");
    }
    path.split('/').skip(1).any(|part| part == ".." || part == ".").then_some("has a . or .. part")
}

fn check_capabilities(spec: &JobSpec, grants: &Capabilities, problems: &mut Problems) {
    for (index, entry) in grants.http_out.iter().flatten().enumerate() {
        let rest = entry
            .strip_prefix("http://")
            .or_else(|| entry.strip_prefix("https://"))
            .unwrap_or(entry);
        if !is_host_and_port(rest, PortRule::Optional) {
            let pointer = format!("/spec/capabilities/http-out/{index}");
            problems.rule(
                pointer,
                format!("{entry:?} is not [SCHEME://]HOST[:PORT]"),
                "write api.example.com",
            );
        }
    }
    for (member, list) in [("tcp-out", &grants.tcp_out), ("udp-out", &grants.udp_out)] {
        for (index, entry) in list.iter().flatten().enumerate() {
            if !is_host_and_port(entry, PortRule::Required) {
                let pointer = format!("/spec/capabilities/{member}/{index}");
                problems.rule(
                    pointer,
                    format!("{entry:?} is not HOST:PORT"),
                    "write db.example.com:5432",
                );
            }
        }
    }
    for (index, name) in grants.tcp_listen.iter().flatten().enumerate() {
        if !spec.ports.iter().flatten().any(|port| port.name == *name) {
            let pointer = format!("/spec/capabilities/tcp-listen/{index}");
            problems.rule(
                pointer,
                format!("there is no port {:?}", &**name),
                "add it under spec.ports",
            );
        }
    }
    if grants.peers == Some(true) {
        problems.not_offered("/spec/capabilities/peers", "connections between tasks");
    }
    if grants.jobs.as_ref().is_some_and(|jobs| !jobs.is_empty()) {
        problems.not_offered("/spec/capabilities/jobs", "connections to other jobs");
    }
}

#[derive(Clone, Copy, PartialEq)]
enum PortRule {
    Optional,
    Required,
}

fn is_host_and_port(text: &str, rule: PortRule) -> bool {
    let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, rest)) => (String::from(address), rest.strip_prefix(':')),
        None => match text.rsplit_once(':') {
            Some((host, port)) => (host.into(), Some(port)),
            None => (text.into(), None),
        },
    };
    let host_ok = !host.is_empty()
        && host.len() <= 253
        && host.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '*' | ':'));
    let port_ok = match port {
        Some(port) => port.parse::<u16>().is_ok_and(|p| p > 0),
        None => rule == PortRule::Optional,
    };
    host_ok && port_ok
}
