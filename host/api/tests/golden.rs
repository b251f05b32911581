//! A golden file for each body: it reads, and is written again as it was. A body whose file must change has
//! changed its format, which needs a decision record.

#![allow(clippy::unwrap_used, clippy::panic, reason = "all of it is test code")]

use std::path::PathBuf;

use pliant_api::body::{
    ArtifactView, AssignmentEvent, DiffView, EventView, ExecutionView, HostModeBody, HostView,
    JobSummary, JobView, JournalStats, LogLine, NamespaceView, Page, ReportAnswer, ResultsView,
    RollbackBody, ScaleBody, ServerVersion, SubmitAnswer, TagBody, VerbAnswer, VersionView,
    WatchEvent, WhyView,
};
use pliant_api::problem::Problem;
use pliant_types::report::{Registered, Registration, Renewed, Report};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use utoipa::PartialSchema;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// The file reads as the body, and the body is written as the file.
fn same<T: Serialize + DeserializeOwned>(name: &str) -> Value {
    let path = folder().join(format!("{name}.json"));
    let text = std::fs::read_to_string(&path).unwrap();
    let body: T = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
    let golden: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::to_value(&body).unwrap(), golden, "{name}");
    golden
}

/// Besides, the file shows every field that the description has.
fn whole<T: Serialize + DeserializeOwned + PartialSchema>(name: &str) {
    let golden = same::<T>(name);
    let schema = serde_json::to_value(T::schema()).unwrap();
    let Some(fields) = schema.get("properties").and_then(Value::as_object) else { return };
    for field in fields.keys() {
        assert!(golden.get(field).is_some(), "{name}.json does not show `{field}`");
    }
}

#[test]
fn bodies_are_written_as_their_golden_files() {
    whole::<Problem>("problem");
    whole::<JobView>("job-view");
    whole::<JobSummary>("job-summary");
    whole::<VersionView>("version-view");
    whole::<ExecutionView>("execution-view");
    whole::<HostView>("host-view");
    whole::<HostModeBody>("host-mode");
    whole::<EventView>("event-view");
    whole::<LogLine>("log-line");
    whole::<SubmitAnswer>("submit-answer");
    whole::<VerbAnswer>("verb-answer");
    whole::<ScaleBody>("scale");
    whole::<RollbackBody>("rollback");
    whole::<TagBody>("tag");
    whole::<DiffView>("diff-view");
    whole::<NamespaceView>("namespace-view");
    whole::<WhyView>("why-view");
    whole::<ArtifactView>("artifact-view");
    whole::<ResultsView>("results-view");
    whole::<JournalStats>("journal-stats");
    whole::<ServerVersion>("server-version");
    whole::<ReportAnswer>("agent-report-answer");
    same::<Page<JobSummary>>("job-page");
    for event in ["snapshot", "event", "reset", "gone", "shutdown"] {
        let golden = same::<WatchEvent>(&format!("watch-{event}"));
        assert_eq!(serde_json::from_value::<WatchEvent>(golden).unwrap().word(), event);
    }
}

#[test]
fn what_agents_say_is_written_as_its_golden_files() {
    same::<Registration>("agent-registration");
    same::<Registered>("agent-registered");
    same::<Renewed>("agent-renewed");
    same::<Report>("agent-report");
    for event in ["whole", "delta", "shutdown"] {
        let golden = same::<AssignmentEvent>(&format!("agent-assignment-{event}"));
        assert_eq!(serde_json::from_value::<AssignmentEvent>(golden).unwrap().word(), event);
    }
}

#[test]
fn every_golden_file_is_used() {
    let source = include_str!("golden.rs");
    for entry in std::fs::read_dir(folder()).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().replace(".json", "");
        let last = name.rsplit('-').next().unwrap();
        let used =
            source.contains(&format!("\"{name}\"")) || source.contains(&format!("\"{last}\""));
        assert!(used, "{name}.json is used by no test");
    }
}
