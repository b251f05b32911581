//! Every path of the API, once: the template that the server routes, and the function that callers use.

use pliant_types::{Digest, ExecutionId, HostId, JobName, JobUid, Namespace, Tag, VersionRef};
use std::fmt::Display;

macro_rules! fixed {
    ($($(#[$doc:meta])* $path:ident = $text:literal;)*) => {
        $($(#[$doc])* pub const $path: &str = $text;)*

        /// Every path without a parameter, for the tests that compare routes with the description.
        pub const FIXED: &[&str] = &[$($path),*];
    };
}

fixed! {
    /// The process lives.
    HEALTH = "/healthz";
    /// The process serves.
    READY = "/readyz";
    /// Figures in the text format of Prometheus.
    METRICS = "/metrics";
    /// This API, described.
    OPENAPI = "/v1/openapi.json";
    /// Which program answers.
    SERVER_VERSION = "/v1/version";
    /// Events of the whole cluster.
    EVENTS = "/v1/events";
    /// The routing table.
    ROUTES = "/v1/routes";
    /// The state of the journal.
    JOURNAL = "/v1/journal";
    /// Jobs of all namespaces.
    ALL_JOBS = "/v1/jobs";
    /// All namespaces.
    NAMESPACES = "/v1/namespaces";
    /// All executions.
    EXECUTIONS = "/v1/executions";
    /// All hosts; agents register here.
    HOSTS = "/v1/hosts";
    /// The artifact store.
    ARTIFACTS = "/v1/artifacts";
}

macro_rules! paths {
    ($($(#[$doc:meta])* $template:ident = $text:literal, $function:ident($($arg:ident: $type:ty),+);)*) => {
        $($(#[$doc])* pub const $template: &str = $text;

        #[doc = concat!("The path `", $text, "`, filled in.")]
        #[must_use]
        pub fn $function($($arg: $type),+) -> String {
            fill($template, &[$((stringify!($arg), &$arg as &dyn Display)),+])
        })*

        /// Every template with a parameter, for the tests that compare routes with the description.
        pub const TEMPLATES: &[&str] = &[$($template),*];
    };
}

paths! {
    /// One namespace: PUT makes it, DELETE deletes it when it is empty.
    NAMESPACE = "/v1/namespaces/{namespace}", namespace(namespace: &Namespace);
    /// Jobs of a namespace.
    JOBS = "/v1/namespaces/{namespace}/jobs", jobs(namespace: &Namespace);
    /// One job: PUT submits, GET reads, DELETE deletes.
    JOB = "/v1/namespaces/{namespace}/jobs/{job}", job(namespace: &Namespace, job: &JobRef);
    /// POST: stop it.
    JOB_STOP = "/v1/namespaces/{namespace}/jobs/{job}/stop", job_stop(namespace: &Namespace, job: &JobRef);
    /// POST: start it again.
    JOB_START = "/v1/namespaces/{namespace}/jobs/{job}/start", job_start(namespace: &Namespace, job: &JobRef);
    /// POST: another number of tasks.
    JOB_SCALE = "/v1/namespaces/{namespace}/jobs/{job}/scale", job_scale(namespace: &Namespace, job: &JobRef);
    /// Why it waits or fails.
    JOB_WHY = "/v1/namespaces/{namespace}/jobs/{job}/why", job_why(namespace: &Namespace, job: &JobRef);
    /// Its events.
    JOB_EVENTS = "/v1/namespaces/{namespace}/jobs/{job}/events", job_events(namespace: &Namespace, job: &JobRef);
    /// Its executions.
    JOB_EXECUTIONS = "/v1/namespaces/{namespace}/jobs/{job}/executions", job_executions(namespace: &Namespace, job: &JobRef);
    /// POST: run a batch or ops job again.
    JOB_RERUN = "/v1/namespaces/{namespace}/jobs/{job}/rerun", job_rerun(namespace: &Namespace, job: &JobRef);
    /// POST: go back to a version that it had.
    JOB_ROLLBACK = "/v1/namespaces/{namespace}/jobs/{job}/rollback", job_rollback(namespace: &Namespace, job: &JobRef);
    /// Its rollouts.
    JOB_ROLLOUTS = "/v1/namespaces/{namespace}/jobs/{job}/rollouts", job_rollouts(namespace: &Namespace, job: &JobRef);
    /// One rollout, by its id or as `newest`.
    JOB_ROLLOUT = "/v1/namespaces/{namespace}/jobs/{job}/rollouts/{rollout}", job_rollout(namespace: &Namespace, job: &JobRef, rollout: &str);
    /// POST: pause, resume, promote or abort it.
    JOB_ROLLOUT_VERB = "/v1/namespaces/{namespace}/jobs/{job}/rollouts/{rollout}/{verb}", job_rollout_verb(namespace: &Namespace, job: &JobRef, rollout: &str, verb: &str);
    /// Its ready tasks.
    JOB_ENDPOINTS = "/v1/namespaces/{namespace}/jobs/{job}/endpoints", job_endpoints(namespace: &Namespace, job: &JobRef);
    /// One tag: PUT gives it to a version, DELETE takes it away.
    JOB_TAG = "/v1/namespaces/{namespace}/jobs/{job}/tags/{tag}", job_tag(namespace: &Namespace, job: &JobRef, tag: &Tag);
    /// What differs between two versions.
    JOB_DIFF = "/v1/namespaces/{namespace}/jobs/{job}/diff", job_diff(namespace: &Namespace, job: &JobRef);
    /// Its results.
    JOB_RESULTS = "/v1/namespaces/{namespace}/jobs/{job}/results", job_results(namespace: &Namespace, job: &JobRef);
    /// Its versions.
    JOB_VERSIONS = "/v1/namespaces/{namespace}/jobs/{job}/versions", job_versions(namespace: &Namespace, job: &JobRef);
    /// One version.
    JOB_VERSION = "/v1/namespaces/{namespace}/jobs/{job}/versions/{version}", job_version(namespace: &Namespace, job: &JobRef, version: &VersionRef);
    /// One execution.
    EXECUTION = "/v1/executions/{execution}", execution(execution: ExecutionId);
    /// Why it waits or failed.
    EXECUTION_WHY = "/v1/executions/{execution}/why", execution_why(execution: ExecutionId);
    /// Its log; the agent of its host serves the same path.
    EXECUTION_LOGS = "/v1/executions/{execution}/logs", execution_logs(execution: ExecutionId);
    /// One host; DELETE removes it.
    HOST = "/v1/hosts/{host}", host(host: HostId);
    /// PUT: what people want of a host.
    HOST_MODE = "/v1/hosts/{host}/mode", host_mode(host: HostId);
    /// POST, by agents: the host lives.
    HOST_RENEWALS = "/v1/hosts/{host}/renewals", host_renewals(host: HostId);
    /// By agents: what the host must run, as a stream.
    HOST_ASSIGNMENT = "/v1/hosts/{host}/assignment", host_assignment(host: HostId);
    /// POST, by agents: what was observed.
    HOST_REPORTS = "/v1/hosts/{host}/reports", host_reports(host: HostId);
    /// One artifact: PUT sends, GET fetches, HEAD asks, DELETE removes.
    ARTIFACT = "/v1/artifacts/{digest}", artifact(digest: &Digest);
    /// What an artifact is.
    ARTIFACT_VIEW = "/v1/artifacts/{digest}/view", artifact_view(digest: &Digest);
}

/// How a job is named in a path: by its name or by its id. The two cannot be mixed up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobRef {
    /// The user's own name.
    Name(JobName),
    /// The server's id.
    Uid(JobUid),
}

impl Display for JobRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Name(name) => name.fmt(f),
            Self::Uid(uid) => uid.fmt(f),
        }
    }
}

impl std::str::FromStr for JobRef {
    type Err = pliant_types::text::InvalidText;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.parse() {
            Ok(uid) => Ok(Self::Uid(uid)),
            Err(_) => text.parse().map(Self::Name),
        }
    }
}

impl From<JobName> for JobRef {
    fn from(name: JobName) -> Self {
        Self::Name(name)
    }
}

/// Names, ids, tags, digests and numbers hold no character that a path would have to escape.
fn fill(template: &str, values: &[(&str, &dyn Display)]) -> String {
    let mut path = template.to_owned();
    for (name, value) in values {
        path = path.replace(&format!("{{{name}}}"), &value.to_string());
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_is_filled() {
        let namespace = "default".parse().unwrap();
        let by_name: JobRef = "web".parse().unwrap();
        let by_id: JobRef = "j_17".parse().unwrap();
        assert_eq!(job(&namespace, &by_name), "/v1/namespaces/default/jobs/web");
        assert_eq!(job_why(&namespace, &by_id), "/v1/namespaces/default/jobs/j_17/why");
        assert_eq!(
            job_version(&namespace, &by_name, &"3".parse().unwrap()),
            "/v1/namespaces/default/jobs/web/versions/3"
        );
        assert_eq!(host_reports("h_3".parse().unwrap()), "/v1/hosts/h_3/reports");
        assert!("../x".parse::<JobRef>().is_err());
    }
}
