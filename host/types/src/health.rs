//! The probes of a task with their numbers, as the agent runs them; spec/probe.rs has what users write.
//!
//! Not the verdict: that is `phase::Health`, worked out by the agent from these checks.

use crate::{
    duration::Millis,
    name::PortName,
    spec::{Health as Written, Probe},
};
use alloc::{string::String, vec::Vec};
use serde::{Deserialize, Serialize};

/// The checks of a task. With none of them, a task that is up counts as healthy
/// (03-jobs.md, section 6).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Probes {
    /// Gates the other two: they begin when it has succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub startup: Option<Check>,
    /// Whether the task takes traffic; a failure does nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readiness: Option<Check>,
    /// Whether the task must be restarted in place, by its restart policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub liveness: Option<Check>,
}

impl Probes {
    /// Whether there is no check at all.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.startup.is_none() && self.readiness.is_none() && self.liveness.is_none()
    }
}

/// One check and its clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Check {
    /// What is looked at.
    pub how: CheckKind,
    /// Time between the starts of two checks; for `report`, the longest silence of the guest.
    pub period: Millis,
    /// Time for one check; no answer within it is a failure.
    pub timeout: Millis,
    /// Good checks in a row until it counts as passed.
    pub success: u32,
    /// Bad checks in a row until it counts as failed.
    pub failure: u32,
}

/// What a check looks at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum CheckKind {
    /// `GET` of a path on a port of the task; 2xx and 3xx are good.
    Http {
        /// The port's name.
        port: PortName,
        /// The path.
        path: String,
    },
    /// A connection to a port of the task.
    Tcp {
        /// The port's name.
        port: PortName,
    },
    /// A command inside a container; exit code 0 is good.
    Exec {
        /// The command and its arguments.
        command: Vec<String>,
    },
    /// An exported function of a component; a return without error is good.
    Call {
        /// The function, as `interface#function` or a plain name.
        function: String,
    },
    /// The guest reports by itself within each period.
    Report,
}

impl CheckKind {
    /// What a written probe looks at; nothing unless it names exactly one thing.
    #[must_use]
    pub fn of(probe: &Probe) -> Option<Self> {
        let http = probe.http.as_ref().and_then(|http| {
            let path = http.path.clone().unwrap_or_else(|| "/".into());
            Some(Self::Http { port: http.port.clone()?, path })
        });
        let tcp = probe.tcp.as_ref().and_then(|tcp| Some(Self::Tcp { port: tcp.port.clone()? }));
        let exec = probe
            .exec
            .as_ref()
            .map(|exec| Self::Exec { command: exec.command.clone().unwrap_or_default() });
        let call = probe
            .call
            .as_ref()
            .and_then(|call| Some(Self::Call { function: call.function.clone()? }));
        let report = probe.report.as_ref().map(|_| Self::Report);
        let mut found = [http, tcp, exec, call, report].into_iter().flatten();
        found.next().filter(|_| found.next().is_none())
    }
}

/// Failures until a startup probe gives up; the others have [`FAILURE`].
pub const STARTUP_FAILURE: u32 = 30;
/// Failures in a row until a readiness or liveness probe has failed.
pub const FAILURE: u32 = 3;
/// Good checks in a row until a probe has passed.
pub const SUCCESS: u32 = 1;
/// Time between checks.
pub const PERIOD: Millis = Millis::from_secs(10);
/// Time for one check.
pub const TIMEOUT: Millis = Millis::from_secs(2);

/// Fills what a written set of probes leaves open (03-jobs.md, section 6).
pub(crate) fn fill(written: &mut Written) {
    let probes = [
        (&mut written.startup, STARTUP_FAILURE),
        (&mut written.readiness, FAILURE),
        (&mut written.liveness, FAILURE),
    ];
    for (probe, failure) in probes {
        let Some(probe) = probe else { continue };
        probe.period.get_or_insert(PERIOD);
        probe.timeout.get_or_insert(TIMEOUT);
        probe.success.get_or_insert(SUCCESS);
        probe.failure.get_or_insert(failure);
        if let Some(http) = &mut probe.http {
            http.path.get_or_insert_with(|| "/".into());
        }
    }
}

/// The checks of a filled set of probes.
pub(crate) fn probes(filled: Option<&Written>) -> Probes {
    let check = |probe: &Option<Probe>, failure| {
        let probe = probe.as_ref()?;
        Some(Check {
            how: CheckKind::of(probe)?,
            period: probe.period.unwrap_or(PERIOD),
            timeout: probe.timeout.unwrap_or(TIMEOUT),
            success: probe.success.unwrap_or(SUCCESS),
            failure: probe.failure.unwrap_or(failure),
        })
    };
    filled.map_or_else(Probes::default, |written| Probes {
        startup: check(&written.startup, STARTUP_FAILURE),
        readiness: check(&written.readiness, FAILURE),
        liveness: check(&written.liveness, FAILURE),
    })
}
