//! Rules of a spec that its types alone cannot hold; all problems at once, each with its place.
//!
//! Needs no server: whether a host or an artifact fits is decided elsewhere.

mod grants;
mod route;
mod shape;
mod update;

use crate::spec::{JobSpec, WrittenMap};
use alloc::{string::String, vec::Vec};
use serde::{Deserialize, Serialize};

/// Most tasks of one job; a limit of this release, so that one decision stays bounded.
pub const MAX_COUNT: u32 = 100_000;
/// Most entries in any map or list of a spec.
pub const MAX_ENTRIES: usize = 256;
/// Longest label, annotation key or environment name, in bytes.
pub const MAX_KEY_BYTES: usize = 253;
/// Longest value of an environment variable, label or annotation, in bytes.
pub const MAX_VALUE_BYTES: usize = 32 * 1024;

/// One broken rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpecProblem {
    /// JSON pointer from the top of the job's document, such as `/spec/ports/0/name`.
    pub pointer: String,
    /// What is wrong, with what was seen.
    pub message: String,
    /// What to do.
    pub hint: String,
    /// Whether the rule is only "this release does not carry it out".
    pub kind: ProblemKind,
}

/// Whether a problem is a broken rule or a thing that is not carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProblemKind {
    /// A rule of the spec.
    Rule,
    /// This release does not carry it out; to accept it in silence would be a lie.
    NotOffered,
}

/// Collects problems while a spec is walked.
#[derive(Debug, Default)]
pub(crate) struct Problems(Vec<SpecProblem>);

impl Problems {
    fn rule(
        &mut self,
        pointer: impl Into<String>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.push(ProblemKind::Rule, pointer.into(), message.into(), hint.into());
    }
    fn not_offered(&mut self, pointer: impl Into<String>, what: &str) {
        let message = alloc::format!("{what} is not carried out by this release");
        self.push(ProblemKind::NotOffered, pointer.into(), message, "leave it out".into());
    }
    fn push(&mut self, kind: ProblemKind, pointer: String, message: String, hint: String) {
        self.0.push(SpecProblem { pointer, message, hint, kind });
    }
}

/// Every problem of a spec, in the order of its fields; empty means valid.
#[must_use]
pub fn spec(spec: &JobSpec) -> Vec<SpecProblem> {
    let mut problems = Problems::default();
    shape::check(spec, &mut problems);
    update::check(spec, &mut problems);
    route::check(spec, &mut problems);
    grants::check(spec, &mut problems);
    problems.0
}

/// Every problem of labels or annotations; `member` is `labels` or `annotations`.
#[must_use]
pub fn metadata(member: &str, map: &WrittenMap) -> Vec<SpecProblem> {
    let mut problems = Problems::default();
    shape::check_map(&alloc::format!("/metadata/{member}"), map, &mut problems);
    problems.0
}

/// Escapes a key for a JSON pointer (RFC 6901).
pub(crate) fn pointer_key(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
