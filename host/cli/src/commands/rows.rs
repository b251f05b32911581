//! How each kind of thing looks as a row of a table.

use crate::output::{Show, ago, bytes, state};
use pliant_api::body::{
    ArtifactView, EventView, ExecutionView, HostView, JobSummary, NamespaceView, ResultsView,
    RolloutView, VersionView,
};

impl Show for JobSummary {
    fn header(wide: bool) -> Vec<&'static str> {
        let plain = vec!["NAME", "KIND", "STATE", "TASKS", "VERSION", "AGE", "NOTE"];
        if wide { [vec!["NAMESPACE", "ID"], plain].concat() } else { plain }
    }
    fn row(&self, wide: bool) -> Vec<String> {
        let done = self.tasks.running + self.tasks.completed;
        let plain = vec![
            self.name.to_string(),
            self.kind.to_string(),
            state(&self.run_state),
            format!("{done}/{}", self.tasks.wanted),
            self.version.to_string(),
            ago(self.created_at),
            self.note.clone().unwrap_or_default(),
        ];
        if wide {
            [vec![self.namespace.to_string(), self.uid.to_string()], plain].concat()
        } else {
            plain
        }
    }
    fn name(&self) -> String {
        self.name.to_string()
    }
}

impl Show for RolloutView {
    fn header(wide: bool) -> Vec<&'static str> {
        let plain = vec!["ROLLOUT", "STATE", "VERSION", "HEALTHY", "CAUSE", "AGE", "NOTE"];
        if wide { [plain, vec!["RUN", "STRATEGY", "FROM"]].concat() } else { plain }
    }
    fn row(&self, wide: bool) -> Vec<String> {
        let wait = self.waits.first().map(|wait| wait.message.clone());
        let plain = vec![
            self.id.to_string(),
            state(&self.state),
            self.version.to_string(),
            format!("{}/{}", self.tasks.healthy, self.tasks.wanted),
            self.cause.clone(),
            ago(self.started_at),
            self.message.clone().or(wait).unwrap_or_default(),
        ];
        let from = self.from.map(|from| from.to_string()).unwrap_or_default();
        if wide {
            [plain, vec![self.incarnation.to_string(), self.strategy.clone(), from]].concat()
        } else {
            plain
        }
    }
    fn name(&self) -> String {
        self.id.to_string()
    }
}

impl Show for ExecutionView {
    fn header(wide: bool) -> Vec<&'static str> {
        let plain = vec![
            "EXECUTION",
            "JOB",
            "TASK",
            "VERSION",
            "HOST",
            "PHASE",
            "ATTEMPT",
            "PORTS",
            "EXIT",
        ];
        if wide { [plain, vec!["RUN", "HEALTH", "PLACED", "DETAIL"]].concat() } else { plain }
    }
    fn row(&self, wide: bool) -> Vec<String> {
        let ports: Vec<_> =
            self.ports.iter().map(|p| format!("{}={}", p.name, p.address)).collect();
        let exit = self.exit.as_ref().map(|exit| {
            exit.code
                .map_or_else(|| exit.reason.to_string(), |code| format!("{} {code}", exit.reason))
        });
        let plain = vec![
            self.id.to_string(),
            self.job.to_string(),
            self.task.to_string(),
            self.version.to_string(),
            self.host_name.to_string(),
            state(self.phase.as_str()),
            self.attempt.to_string(),
            ports.join(" "),
            exit.unwrap_or_default(),
        ];
        if !wide {
            return plain;
        }
        let health = format!("{:?}", self.health).to_lowercase();
        let detail = self.detail.clone().unwrap_or_default();
        [plain, vec![self.incarnation.to_string(), health, ago(self.placed_at), detail]].concat()
    }
    fn name(&self) -> String {
        self.id.to_string()
    }
}

impl Show for HostView {
    fn header(_: bool) -> Vec<&'static str> {
        vec!["HOST", "NAME", "STAGE", "MODE", "CPU HELD", "MEMORY HELD", "EXECUTIONS", "HEARD"]
    }
    fn row(&self, _: bool) -> Vec<String> {
        vec![
            self.id.to_string(),
            self.name.to_string(),
            state(self.stage.as_str()),
            self.mode.to_string(),
            format!("{}m of {}m", self.held.cpu_millis, self.capacity.cpu_millis),
            format!("{} of {}", bytes(self.held.memory_bytes), bytes(self.capacity.memory_bytes)),
            self.held.executions.to_string(),
            self.last_heard_ms.map(|ms| format!("{}s ago", ms / 1000)).unwrap_or_default(),
        ]
    }
    fn name(&self) -> String {
        self.id.to_string()
    }
}

impl Show for VersionView {
    fn header(wide: bool) -> Vec<&'static str> {
        let plain = vec!["VERSION", "RESULT", "AUTHOR", "AGE", "DIGEST", "TAGS", "MESSAGE"];
        if wide { [plain, vec!["SOURCE", "TEMPLATE", "FAILURE"]].concat() } else { plain }
    }
    fn row(&self, wide: bool) -> Vec<String> {
        let current = if self.current { " *" } else { "" };
        let from = self.from.map(|from| format!(" (copy of {from})")).unwrap_or_default();
        let tags: Vec<_> = self.tags.iter().map(|tag| tag.as_str()).collect();
        let proven = if self.proven_at.is_some() { "proven" } else { self.result.as_str() };
        let plain = vec![
            format!("{}{current}{from}", self.version),
            proven.to_owned(),
            self.author.clone(),
            ago(self.created_at),
            self.digest.short(),
            tags.join(" "),
            self.message.clone().unwrap_or_default(),
        ];
        if !wide {
            return plain;
        }
        let source = self.source.clone().unwrap_or_default();
        let failure = self.failure.clone().unwrap_or_default();
        [plain, vec![source, self.template_hash.clone(), failure]].concat()
    }
    fn name(&self) -> String {
        self.version.to_string()
    }
}

impl Show for NamespaceView {
    fn header(_: bool) -> Vec<&'static str> {
        vec!["NAMESPACE", "JOBS", "AGE"]
    }
    fn row(&self, _: bool) -> Vec<String> {
        vec![
            self.name.to_string(),
            self.jobs.to_string(),
            self.created_at.map(ago).unwrap_or_default(),
        ]
    }
    fn name(&self) -> String {
        self.name.to_string()
    }
}

impl Show for ArtifactView {
    fn header(wide: bool) -> Vec<&'static str> {
        let plain = vec!["DIGEST", "KIND", "SIZE", "IN USE", "AGE"];
        if wide { [plain, vec!["IMPORTS"]].concat() } else { plain }
    }
    fn row(&self, wide: bool) -> Vec<String> {
        let digest = if wide { self.digest.to_string() } else { self.digest.short() };
        let kind = format!("{:?}", self.kind).to_lowercase();
        let used = if self.in_use { "yes" } else { "no" };
        let plain =
            vec![digest, kind, bytes(self.size_bytes), used.to_owned(), ago(self.created_at)];
        if wide { [plain, vec![self.imports.join(" ")]].concat() } else { plain }
    }
    fn name(&self) -> String {
        self.digest.to_string()
    }
}

impl Show for ResultsView {
    fn header(_: bool) -> Vec<&'static str> {
        vec!["RUN", "VERSION", "TASK", "EXECUTION", "FILES", "SIZE", "DIGEST"]
    }
    fn row(&self, _: bool) -> Vec<String> {
        vec![
            self.incarnation.to_string(),
            self.version.to_string(),
            self.task.to_string(),
            self.execution.to_string(),
            self.result.files.to_string(),
            bytes(self.result.size_bytes),
            self.result.digest.short(),
        ]
    }
    fn name(&self) -> String {
        self.result.digest.to_string()
    }
}

impl Show for EventView {
    fn header(_: bool) -> Vec<&'static str> {
        vec!["REVISION", "TIME", "KIND", "JOB", "WHAT"]
    }
    fn row(&self, _: bool) -> Vec<String> {
        vec![
            self.revision.to_string(),
            self.at.to_string(),
            self.kind.clone(),
            self.job.as_ref().map(ToString::to_string).unwrap_or_default(),
            self.message.clone(),
        ]
    }
    fn name(&self) -> String {
        self.revision.to_string()
    }
}
