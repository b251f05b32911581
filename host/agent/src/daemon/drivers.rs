//! The drivers of this host by their engine's word, and what their failures are called in exits.

use std::{collections::BTreeMap, sync::Arc};

use pliant_driver::{Driver, DriverError};
use pliant_types::{ExecutionId, ExitReason, ExitStatus};

use super::AgentError;
use crate::logic::Recovered;

/// All drivers; at most one for an engine.
#[derive(Clone)]
pub(super) struct Drivers(BTreeMap<String, Arc<dyn Driver>>);

impl std::fmt::Debug for Drivers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Drivers {
    pub(super) fn new(drivers: BTreeMap<String, Arc<dyn Driver>>) -> Result<Self, AgentError> {
        if drivers.is_empty() {
            let why = "an agent without a driver can run nothing".to_owned();
            return Err(AgentError::Setting { setting: "drivers", why });
        }
        Ok(Self(drivers))
    }

    /// The driver of an engine, or the exit of what asked for it.
    pub(super) fn get(&self, engine: &str) -> Result<Arc<dyn Driver>, ExitStatus> {
        self.0.get(engine).cloned().ok_or_else(|| {
            let offered: Vec<&str> = self.0.keys().map(String::as_str).collect();
            let words =
                format!("this host has no engine {engine}; it has {}", offered.join(" and "));
            ExitStatus::with_detail(ExitReason::NotGranted, &words)
        })
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<dyn Driver>> {
        self.0.values()
    }

    /// `engine.NAME` = version, and whatever each driver says of itself.
    pub(super) fn attributes(&self) -> BTreeMap<String, String> {
        let mut attributes = BTreeMap::new();
        for (engine, driver) in &self.0 {
            let description = driver.describe();
            attributes.extend(description.attributes);
            attributes.insert(format!("engine.{engine}"), description.engine_version);
            for note in &description.notes {
                tracing::info!(engine, note, "a driver says");
            }
        }
        attributes
    }

    /// The smallest bound on executions that the operator or a driver sets.
    pub(super) fn bounded(&self, most: u32) -> u32 {
        let bounds = self.0.values().filter_map(|driver| driver.describe().max_executions);
        bounds.fold(most, |most, bound| most.min(u32::try_from(bound).unwrap_or(u32::MAX)))
    }

    /// What still runs of these after a restart of the agent.
    pub(super) async fn recover(&self, known: &[(ExecutionId, String)]) -> Vec<Recovered> {
        let mut found = Vec::new();
        for (engine, driver) in &self.0 {
            let ids: Vec<ExecutionId> =
                known.iter().filter(|(_, of)| of == engine).map(|(id, _)| *id).collect();
            for recovered in driver.recover(&ids).await {
                if let pliant_driver::Recovered::Running { execution, attempt, ports } = recovered {
                    let ports = super::spec::port_numbers(&ports);
                    found.push(Recovered { execution, attempt, ports });
                }
            }
        }
        found
    }
}

/// How a driver's failure is told as the end of an attempt.
pub(super) fn exit_of(error: &DriverError) -> ExitStatus {
    let reason = match error {
        DriverError::ArtifactTooLarge { .. }
        | DriverError::DigestMismatch { .. }
        | DriverError::ArtifactInvalid { .. }
        | DriverError::CompileFailed { .. } => ExitReason::ArtifactInvalid,
        DriverError::PortInUse { .. } => ExitReason::PortInUse,
        DriverError::PortInvalid { .. }
        | DriverError::MountUnavailable { .. }
        | DriverError::GrantInvalid { .. }
        | DriverError::Unsupported { .. } => ExitReason::NotGranted,
        _ => ExitReason::HostFailure,
    };
    ExitStatus::with_detail(reason, &chain(error))
}

/// An error and its sources in one sentence.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        words = format!("{words}: {cause}");
        source = cause.source();
    }
    words
}
