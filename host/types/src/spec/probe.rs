//! Probes: how a task's health is found out.

use super::written;
use crate::{duration::Millis, name::PortName};
use alloc::{string::String, vec::Vec};

written! {
    /// The three probes of a task.
    pub struct Health {
        /// Gates the other two.
        startup: Probe,
        /// Whether the task takes traffic.
        readiness: Probe,
        /// Whether the task must be restarted.
        liveness: Probe,
    }
}

written! {
    /// One probe: exactly one check, and its clock.
    pub struct Probe {
        /// A request that must be answered with 2xx or 3xx.
        http: HttpProbe,
        /// A connection that must be accepted.
        tcp: TcpProbe,
        /// A command inside a container that must return 0.
        exec: ExecProbe,
        /// An exported function of a component.
        call: CallProbe,
        /// The guest reports by itself and must keep doing so.
        report: ReportProbe,
        /// Time between checks.
        period: Millis,
        /// Time for one check.
        timeout: Millis,
        /// Good checks in a row until healthy.
        success: u32,
        /// Bad checks in a row until unhealthy.
        failure: u32,
    }
}

written! {
    /// An HTTP check.
    pub struct HttpProbe {
        /// Which port.
        port: PortName,
        /// Path; `/` when absent.
        path: String,
    }
}

written! {
    /// A TCP check.
    pub struct TcpProbe {
        /// Which port.
        port: PortName,
    }
}

written! {
    /// A command check.
    pub struct ExecProbe {
        /// The command and its arguments.
        command: Vec<String>,
    }
}

written! {
    /// A call of an exported function.
    pub struct CallProbe {
        /// The function.
        function: String,
    }
}

written! {
    /// The guest's own report; it has no settings.
    pub struct ReportProbe {}
}
