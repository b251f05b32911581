//! Failures as a person reads them: code, sentence, places, what to do; and the exit code.

use pliant_api::problem::Problem;
use pliant_client::ClientError;
use pliant_types::codes::{Code, exit_code};

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

    /// Prints to stderr.
    pub(crate) fn print(&self) {
        match self {
            Self::Problem { problem, file } => print_problem(problem, file.as_deref()),
            Self::Client(error) => match &**error {
                ClientError::Refused(problem) => print_problem(problem, None),
                other => {
                    eprintln!("error[{}]: {}", other.code(), chain(other));
                    eprintln!("  do: {}", other.code().row().action);
                }
            },
            Self::Other(error) => eprintln!("error[internal]: {error:#}"),
            Self::Said(_) => {}
        }
    }
}

fn print_problem(problem: &Problem, file: Option<&str>) {
    let sentence = problem.detail.as_ref().unwrap_or(&problem.title);
    eprintln!("error[{}]: {sentence}", problem.code);
    for error in &problem.errors {
        match (file, error.line, error.column) {
            (Some(file), Some(line), Some(column)) => eprint!("  {file}:{line}:{column}: "),
            _ => eprint!("  "),
        }
        let path = error.path();
        if !path.is_empty() {
            eprint!("{path}: ");
        }
        eprintln!("{}", error.message);
        if let Some(hint) = &error.hint {
            eprintln!("      {hint}");
        }
    }
    if !problem.difference.is_empty() {
        eprintln!("  what is, and what was sent:");
        for change in &problem.difference {
            let none = || "(none)".to_owned();
            let (old, new) = (change.old.clone(), change.new.clone());
            let (old, new) = (old.unwrap_or_else(none), new.unwrap_or_else(none));
            eprintln!("    {} {old} -> {new}", change.field);
        }
    }
    eprintln!("  do: {}", problem.hint);
    eprintln!("  more: pliant explain {}", problem.code);
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
