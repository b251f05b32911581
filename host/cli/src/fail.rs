//! Failures as a person reads them: code, sentence, places, what to do; and the exit code.

use pliant_api::problem::Problem;
use pliant_client::ClientError;
use pliant_types::codes::{Code, exit_code};
use std::io::Write;

/// A command that did not do as asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A refusal with a code, from the controller or found here.
    Problem { problem: Box<Problem>, file: Option<String> },
    /// A call that gave no answer.
    Client(Box<ClientError>),
    /// Anything else, with its causes.
    Other(anyhow::Error),
    /// Said already; only the exit code is left.
    Said(u8),
}

impl Failure {
    /// A refusal that was found on this side.
    pub(crate) fn new(code: Code, detail: impl Into<String>) -> Self {
        Self::Problem { problem: Box::new(Problem::new(code).with_detail(detail)), file: None }
    }

    /// A refusal about a file.
    pub(crate) fn in_file(problem: Problem, file: &str) -> Self {
        Self::Problem { problem: Box::new(problem), file: Some(file.to_owned()) }
    }

    /// Replaces the code's general advice.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        if let Self::Problem { problem, .. } = &mut self {
            problem.hint = hint.into();
        }
        self
    }

    /// The exit code (03-jobs.md, section 7).
    pub(crate) fn exit(&self) -> u8 {
        match self {
            Self::Problem { problem, .. } => problem.code.row().exit,
            Self::Client(error) => error.exit(),
            Self::Other(_) => exit_code::INTERNAL,
            Self::Said(code) => *code,
        }
    }

    /// Prints to stderr. A reader that has closed it changes nothing about the exit code.
    pub(crate) fn print(&self) {
        let text: Vec<_> = self.text().lines().map(crate::output::visible).collect();
        let text = text.iter().map(|line| format!("{line}\n")).collect::<String>();
        let _ = std::io::stderr().write_all(text.as_bytes());
    }

    fn text(&self) -> String {
        match self {
            Self::Problem { problem, file } => problem_text(problem, file.as_deref()),
            Self::Client(error) => match &**error {
                ClientError::Refused(problem) => problem_text(problem, None),
                other => format!(
                    "error[{}]: {}\n  do: {}\n",
                    other.code(),
                    chain(other),
                    other.code().row().action
                ),
            },
            Self::Other(error) => format!("error[internal]: {error:#}\n"),
            Self::Said(_) => String::new(),
        }
    }
}

/// Wrong places that are printed by themselves; the rest is counted.
const SHOWN_PLACES: usize = 50;

fn problem_text(problem: &Problem, file: Option<&str>) -> String {
    let sentence = problem.detail.as_ref().unwrap_or(&problem.title);
    let mut text = format!("error[{}]: {sentence}\n", problem.code);
    for error in problem.errors.iter().take(SHOWN_PLACES) {
        text += &match (file, error.line, error.column) {
            (Some(file), Some(line), Some(column)) => format!("  {file}:{line}:{column}: "),
            _ => "  ".to_owned(),
        };
        let path = error.path();
        if !path.is_empty() {
            text += &format!("{path}: ");
        }
        text += &format!("{}\n", error.message);
        if let Some(hint) = &error.hint {
            text += &format!("      {hint}\n");
        }
    }
    let hidden = problem.errors.len().saturating_sub(SHOWN_PLACES);
    if hidden > 0 {
        text += &format!("  … and {hidden} more\n");
    }
    if !problem.difference.is_empty() {
        text += "  what is, and what was sent:\n";
        for change in &problem.difference {
            let none = || "(none)".to_owned();
            let (old, new) = (change.old.clone(), change.new.clone());
            let (old, new) = (old.unwrap_or_else(none), new.unwrap_or_else(none));
            text += &format!("    {} {old} -> {new}\n", change.field);
        }
    }
    text + &format!("  do: {}\n  more: pliant explain {}\n", problem.hint, problem.code)
}

/// An error with its causes in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        Self::Client(Box::new(error))
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Other(error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::Other(error.into())
    }
}
