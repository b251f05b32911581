//! Rules of kind, size, resources, policies, and what this release does not carry out.

use super::{MAX_COUNT, MAX_ENTRIES, MAX_KEY_BYTES, MAX_VALUE_BYTES, Problems, pointer_key};
use crate::{
    duration::Millis,
    quantity::{Cpu, Memory},
    spec::{Engine, Isolation, JobSpec, LossPolicy, OnHostChange, Source, Span, Swap, WrittenMap},
};
use alloc::format;

/// The smallest memory limit that a component can start with: one page of 64 KiB.
const MIN_MEMORY: Memory = Memory::from_bytes(64 << 10);

pub(super) fn check(spec: &JobSpec, problems: &mut Problems) {
    check_kind_and_count(spec, problems);
    check_engine(spec, problems);
    for (member, map) in [("env", &spec.env), ("config", &spec.config)] {
        if let Some(map) = map {
            check_map(&format!("/spec/{member}"), map, problems);
        }
    }
    if let Some(env) = &spec.env {
        for key in env.keys().filter(|k| k.contains('=') || k.is_empty()) {
            let pointer = format!("/spec/env/{}", pointer_key(key));
            problems.rule(
                pointer,
                format!("{key:?} cannot name a variable"),
                "use a name without =",
            );
        }
    }
    check_resources(spec, problems);
    check_placement(spec, problems);
    check_policies(spec, problems);
    check_not_offered(spec, problems);
}

fn check_kind_and_count(spec: &JobSpec, problems: &mut Problems) {
    match spec.kind {
        None => problems.rule(
            "/spec/kind",
            "a job needs a kind",
            "write kind: batch, service, daemon or ops",
        ),
        Some(kind) if kind.follows_hosts() && spec.count.is_some() => {
            let message = format!(
                "a job of kind {kind} has one task on each eligible host and takes no count"
            );
            problems.rule("/spec/count", message, "leave count out");
        }
        Some(kind) if kind.ends() && spec.service.is_some() => {
            let message = format!("a job of kind {kind} is not routed to");
            problems.rule("/spec/service", message, "use kind: service");
        }
        Some(_) => {}
    }
    if spec.count.is_some_and(|count| count > MAX_COUNT) {
        problems.rule("/spec/count", format!("count is at most {MAX_COUNT}"), "use several jobs");
    }
    if spec.priority.is_some_and(|priority| priority > 100) {
        problems.rule("/spec/priority", "priority is 0 to 100", "choose a number in that range");
    }
}

fn check_engine(spec: &JobSpec, problems: &mut Problems) {
    match &spec.engine {
        None => problems.rule(
            "/spec/engine",
            "a job needs an engine",
            "write engine: {wasm: {component: …}}",
        ),
        Some(Engine::Container(_)) => {
            problems.not_offered("/spec/engine/container", "the container engine")
        }
        Some(Engine::Wasm(wasm)) => {
            match &wasm.component {
                None => problems.rule(
                    "/spec/engine/wasm/component",
                    "a Wasm engine needs a component",
                    "name one as oci://, https://, file:// or sha256:",
                ),
                Some(Source::File(path)) if path.is_empty() => {
                    problems.rule(
                        "/spec/engine/wasm/component",
                        "the path is empty",
                        "name a file",
                    );
                }
                Some(_) => {}
            }
            if wasm.isolation == Some(Isolation::Process) {
                problems.not_offered("/spec/engine/wasm/isolation", "isolation: process");
            }
            if wasm.reuse.as_ref().and_then(|r| r.max_requests) == Some(0) {
                let pointer = "/spec/engine/wasm/reuse/maxRequests";
                problems.rule(pointer, "an instance serves at least one request", "use 1 or more");
            }
            if wasm.args.as_ref().is_some_and(|a| a.len() > MAX_ENTRIES) {
                problems.rule(
                    "/spec/engine/wasm/args",
                    format!("at most {MAX_ENTRIES} arguments"),
                    "use fewer",
                );
            }
            for (index, _) in
                wasm.args.iter().flatten().enumerate().filter(|(_, a)| a.contains('\0'))
            {
                let pointer = format!("/spec/engine/wasm/args/{index}");
                problems.rule(pointer, "an argument cannot hold a NUL character", "take it out");
            }
        }
    }
}

pub(super) fn check_map(pointer: &str, map: &WrittenMap, problems: &mut Problems) {
    if map.len() > MAX_ENTRIES {
        problems.rule(
            pointer,
            format!("at most {MAX_ENTRIES} entries, this has {}", map.len()),
            "use fewer",
        );
    }
    for (key, value) in map {
        let place = format!("{pointer}/{}", pointer_key(key));
        if key.is_empty() || key.len() > MAX_KEY_BYTES || key.chars().any(char::is_control) {
            let message = format!("a key has 1 to {MAX_KEY_BYTES} bytes and no control characters");
            problems.rule(place.clone(), message, "rename it");
        }
        let Some(value) = value else { continue };
        if value.len() > MAX_VALUE_BYTES {
            problems.rule(
                place,
                format!("a value has at most {MAX_VALUE_BYTES} bytes"),
                "put it into a file",
            );
        } else if value.contains('\0') {
            problems.rule(place, "a value cannot hold a NUL character", "take it out");
        }
    }
}

fn check_resources(spec: &JobSpec, problems: &mut Problems) {
    let Some(resources) = &spec.resources else { return };
    if resources.cpu == Some(Cpu::from_millis(0)) {
        problems.rule("/spec/resources/cpu", "a task needs some CPU", "use 10m or more");
    }
    if resources.memory.is_some_and(|memory| memory < MIN_MEMORY) {
        problems.rule(
            "/spec/resources/memory",
            format!("memory is at least {MIN_MEMORY}"),
            "use 1Mi or more",
        );
    }
    if resources.memory.is_some_and(|memory| memory > Memory::from_mib(4096)) {
        problems.rule("/spec/resources/memory", "a Wasm guest has at most 4Gi", "use 4Gi or less");
    }
}

fn check_placement(spec: &JobSpec, problems: &mut Problems) {
    let Some(placement) = &spec.placement else { return };
    let lists = [
        ("constraints", placement.constraints.as_ref().map_or(0, alloc::vec::Vec::len)),
        ("affinities", placement.affinities.as_ref().map_or(0, alloc::vec::Vec::len)),
        ("spread", placement.spread.as_ref().map_or(0, alloc::vec::Vec::len)),
    ];
    for (member, len) in lists.into_iter().filter(|(_, len)| *len > MAX_ENTRIES) {
        let pointer = format!("/spec/placement/{member}");
        problems.rule(
            pointer,
            format!("at most {MAX_ENTRIES} entries, this has {len}"),
            "use fewer",
        );
    }
    for (index, affinity) in placement.affinities.iter().flatten().enumerate() {
        if affinity.weight.is_some_and(|w| !(-100..=100).contains(&w)) {
            let pointer = format!("/spec/placement/affinities/{index}/weight");
            problems.rule(pointer, "a weight is -100 to 100", "choose a number in that range");
        }
    }
    if matches!(placement.span, Some(Span::PerHost(0) | Span::MaxHosts(0))) {
        problems.rule("/spec/placement/span", "a span needs at least one", "use 1 or more");
    }
    if spec.kind.is_some_and(crate::spec::Kind::follows_hosts) && placement.span.is_some() {
        problems.rule(
            "/spec/placement/span",
            "daemon and ops jobs are one-per-host already",
            "leave span out",
        );
    }
}

fn check_policies(spec: &JobSpec, problems: &mut Problems) {
    if spec.timeouts.as_ref().and_then(|t| t.kill) == Some(Millis::ZERO) {
        problems.rule("/spec/timeouts/kill", "a guest needs some time to stop", "use 1s or more");
    }
    let ends = spec.kind.is_some_and(crate::spec::Kind::ends);
    if !ends && spec.timeouts.as_ref().and_then(|t| t.execution).is_some_and(|t| t != Millis::ZERO)
    {
        problems.rule(
            "/spec/timeouts/execution",
            "only batch and ops jobs have one",
            "leave it out",
        );
    }
    if let (Some(elastic), Some(kind)) = (&spec.elastic, spec.kind) {
        if kind.follows_hosts() {
            problems.rule(
                "/spec/elastic",
                format!("a job of kind {kind} follows the hosts"),
                "leave elastic out",
            );
        }
        if elastic.min.zip(elastic.max).is_some_and(|(min, max)| min > max) {
            problems.rule("/spec/elastic/min", "min is larger than max", "exchange the two");
        }
    }
}

fn check_not_offered(spec: &JobSpec, problems: &mut Problems) {
    if spec.elastic.is_some() {
        problems.not_offered("/spec/elastic", "elastic sizing");
    }
    for (name, probe) in spec.health.iter().flat_map(|h| {
        [("startup", &h.startup), ("readiness", &h.readiness), ("liveness", &h.liveness)]
    }) {
        if probe.is_some() {
            problems.not_offered(format!("/spec/health/{name}"), "a probe");
        }
    }
    if spec.on_host_loss.as_ref().is_some_and(|l| matches!(l.policy, Some(LossPolicy::Shrink))) {
        problems.not_offered("/spec/onHostLoss/policy", "onHostLoss: shrink");
    }
    if spec.on_host_change == Some(OnHostChange::Move) {
        problems.not_offered("/spec/onHostChange", "onHostChange: move");
    }
    let Some(update) = &spec.update else { return };
    if update.swap == Some(Swap::Require) {
        problems.not_offered("/spec/update/swap", "a hot swap");
    }
}
