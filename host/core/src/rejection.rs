//! A refusal that is the caller's: a stable code, a sentence, a way out.

use crate::answer::Change;
use alloc::{string::String, vec::Vec};
use core::fmt;
use pliant_types::{codes::Code, number::Revision, validate::SpecProblem};

/// Why a command changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// The stable code.
    pub code: Code,
    /// One sentence in the user's words, with what was seen.
    pub message: String,
    /// What to do instead of the code's general advice.
    pub hint: Option<String>,
    /// Places in the spec, when it is invalid.
    pub problems: Vec<SpecProblem>,
    /// The job's present spec revision, when a precondition failed.
    pub current: Option<Revision>,
    /// What the refused submission says otherwise than the job's current version.
    pub changes: Vec<Change>,
}

impl Rejection {
    /// A refusal with a sentence.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            hint: None,
            problems: Vec::new(),
            current: None,
            changes: Vec::new(),
        }
    }

    /// Adds a way out.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl core::error::Error for Rejection {}
