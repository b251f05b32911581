//! Problem details (RFC 9457): how the API says that something was refused.
//!
//! Codes and their meaning are the table of `pliant_types::codes`; this is only how one travels.

use std::fmt;

use pliant_types::{Revision, codes::Code};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    body::ChangeView,
    parse::{Position, dotted},
};

/// Media type of a problem.
pub const PROBLEM_JSON: &str = "application/problem+json";

/// A refusal with everything that its reader needs to go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// A reference that names the kind of problem: the code's place in the table of errors.
    #[serde(rename = "type")]
    pub kind: String,
    /// What the code means, one sentence.
    pub title: String,
    /// HTTP status.
    pub status: u16,
    /// The stable word.
    #[schema(value_type = String, example = "spec-invalid")]
    pub code: Code,
    /// What happened this time, with names and numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// What to do.
    pub hint: String,
    /// Whether the same request may succeed later without a change.
    pub retryable: bool,
    /// Places in the request that are wrong, all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldError>,
    /// The job's present spec revision, when a precondition failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u64>)]
    pub current_revision: Option<Revision>,
    /// What the refused submission says otherwise than the job's current version: `old` is what is,
    /// `new` is what was sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub difference: Vec<ChangeView>,
}

/// One place that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FieldError {
    /// JSON pointer into the document; empty is the document itself.
    pub pointer: String,
    /// What was expected and what was seen.
    pub message: String,
    /// What to write instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Line of the submitted text, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Character in that line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
}

impl FieldError {
    /// An error at a place; line 0 is an unknown place.
    #[must_use]
    pub fn at(pointer: &str, at: Position, message: impl Into<String>) -> Self {
        let known = at.line > 0;
        Self {
            pointer: pointer.to_owned(),
            message: message.into(),
            hint: None,
            line: known.then_some(at.line),
            column: known.then_some(at.column),
        }
    }

    /// The path as people write it: `spec.ports[0].name`.
    #[must_use]
    pub fn path(&self) -> String {
        dotted(&self.pointer)
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (Some(line), Some(column)) = (self.line, self.column) {
            write!(f, "{line}:{column}: ")?;
        }
        if !self.pointer.is_empty() {
            write!(f, "{}: ", self.path())?;
        }
        f.write_str(&self.message)?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, "; {hint}"))
    }
}

impl Problem {
    /// A problem by its code, with the table's title, hint, status and retry rule.
    #[must_use]
    pub fn new(code: Code) -> Self {
        let row = code.row();
        Self {
            kind: format!("/docs/errors#{}", row.word),
            title: row.meaning.to_owned(),
            status: row.http_status,
            code,
            detail: None,
            hint: row.action.to_owned(),
            retryable: row.retryable,
            errors: Vec::new(),
            current_revision: None,
            difference: Vec::new(),
        }
    }

    /// Says what happened this time.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// Replaces the table's hint by a better one.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    /// Names the places that are wrong.
    #[must_use]
    pub fn with_errors(mut self, errors: Vec<FieldError>) -> Self {
        self.errors = errors;
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sentence = self.detail.as_ref().unwrap_or(&self.title);
        write!(f, "{}: {sentence}", self.code)?;
        self.errors.iter().try_for_each(|error| write!(f, "\n  {error}"))
    }
}

impl std::error::Error for Problem {}

impl From<crate::parse::ParseFailure> for Problem {
    fn from(failure: crate::parse::ParseFailure) -> Self {
        let detail = match failure.errors.len() {
            1 => "one place is wrong".to_owned(),
            several => format!("{several} places are wrong"),
        };
        Self::new(failure.code).with_detail(detail).with_errors(failure.errors)
    }
}
