//! The routing table: which ready tasks answer for which host name and path.

use pliant_types::{ExecutionId, JobName, Namespace};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Every route, whole; a newer table takes the place of an older one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RouteTable {
    /// Never goes back.
    pub number: u64,
    /// The routes, by host name, then by path.
    pub routes: Vec<RouteView>,
}

/// One route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RouteView {
    /// The host name, in lower case.
    pub host: String,
    /// The path prefix; it ends at a segment.
    pub path: String,
    /// The job's namespace.
    #[schema(value_type = String)]
    pub namespace: Namespace,
    /// The job's name.
    #[schema(value_type = String)]
    pub job: JobName,
    /// Its ready tasks; none: requests wait for one.
    pub endpoints: Vec<RouteEndpoint>,
}

/// A ready task behind a route.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RouteEndpoint {
    /// The execution.
    #[schema(value_type = String, example = "e_412")]
    pub execution: ExecutionId,
    /// Where it listens, `ADDRESS:PORT`.
    pub address: String,
}
