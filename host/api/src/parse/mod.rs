//! Job files in YAML, JSON and TOML: text to manifests, with every error and its place; and back.
//!
//! Not the judge of what a job means: `pliant_types::validate` is, and [`ParsedJob::position`] tells where
//! a field that it names was written.

mod explain;
mod hint;
mod json;
mod json_schema;
mod node;
mod render;
mod schema;
mod shape;
mod text;
mod toml;
mod walk;
mod yaml;

pub use explain::{Explained, explain};
pub use hint::nearest;
pub use json_schema::{default_of, json_schema};
pub use node::{Position, dotted};
pub use render::render;

use std::collections::BTreeMap;

use pliant_types::codes::Code;
use pliant_types::spec::Manifest;
use pliant_types::validate;

use crate::problem::FieldError;
use node::Node;

/// Largest text of a file, in bytes (14-decisions, 12: a spec with its text is at most 256 KiB).
pub const MAX_TEXT_BYTES: usize = 256 * 1024;
/// Deepest nesting of lists and objects.
pub const MAX_DEPTH: usize = 32;
/// Most jobs in one file.
pub const MAX_JOBS: usize = 256;

/// The language of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// YAML 1.2; several jobs are separated by `---`.
    Yaml,
    /// JSON: one job.
    Json,
    /// TOML: one job.
    Toml,
}

impl Format {
    /// By the end of a file's name; YAML when it says nothing.
    #[must_use]
    pub fn of_path(path: &str) -> Self {
        match path.rsplit('.').next() {
            Some("json") => Self::Json,
            Some("toml") => Self::Toml,
            _ => Self::Yaml,
        }
    }

    /// By a media type; case does not matter. `None` when it is none of the three, or names another
    /// character set than UTF-8.
    #[must_use]
    pub fn of_content_type(content_type: &str) -> Option<Self> {
        let content_type = content_type.to_ascii_lowercase();
        let mut parts = content_type.split(';').map(str::trim);
        let media = parts.next()?;
        let charset = parts.find_map(|part| part.strip_prefix("charset="));
        if charset.is_some_and(|name| !matches!(name.trim_matches('"'), "utf-8" | "utf8")) {
            return None;
        }
        match media {
            "application/json" => Some(Self::Json),
            "application/yaml" | "application/x-yaml" | "text/yaml" => Some(Self::Yaml),
            "application/toml" => Some(Self::Toml),
            _ => None,
        }
    }

    /// The media type under which a text is sent.
    #[must_use]
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Yaml => "application/yaml",
            Self::Json => "application/json",
            Self::Toml => "application/toml",
        }
    }
}

/// One job of a text.
#[derive(Clone, Debug)]
pub struct ParsedJob {
    /// What was written, typed; nothing is filled in.
    pub manifest: Manifest,
    /// The job's own part of the text, as written.
    pub text: String,
    root: Node,
}

impl ParsedJob {
    /// Where the field of a JSON pointer was written; for an absent field, the object that lacks it.
    #[must_use]
    pub fn position(&self, pointer: &str) -> Position {
        self.root.nearest(pointer).at
    }

    /// What the rules over several fields say about it, with places; empty when all hold.
    #[must_use]
    pub fn problems(&self) -> Vec<SpecError> {
        let metadata = &self.manifest.metadata;
        let problems = validate::metadata("labels", &metadata.labels)
            .into_iter()
            .chain(validate::metadata("annotations", &metadata.annotations))
            .chain(validate::spec(&self.manifest.spec));
        let located = problems.map(|problem| {
            let mut error = self.error(&problem.pointer, problem.message);
            error.hint = Some(problem.hint);
            SpecError { error, kind: problem.kind }
        });
        let mut located: Vec<SpecError> = located.collect();
        located.sort_by_key(|found| (found.error.line, found.error.column));
        located
    }

    /// An error about a field, with its place.
    #[must_use]
    pub fn error(&self, pointer: &str, message: impl Into<String>) -> FieldError {
        FieldError::at(pointer, self.position(pointer), message)
    }
}

/// A broken rule and where it was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError {
    /// Place, sentence, hint.
    pub error: FieldError,
    /// Whether it is a rule of the spec, or a thing that this release does not carry out.
    pub kind: validate::ProblemKind,
}

/// A text that cannot be taken: every reason, in the order of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseFailure {
    /// `body-invalid` for broken syntax, `too-large`, else `spec-invalid`.
    pub code: Code,
    /// At least one.
    pub errors: Vec<FieldError>,
}

impl ParseFailure {
    fn whole(code: Code, message: String) -> Self {
        Self { code, errors: vec![FieldError::at("", Position { line: 1, column: 1 }, message)] }
    }
}

/// Parses every job of a text.
///
/// # Errors
/// Everything that is wrong in all of them, or why the text cannot be read at all.
pub fn parse(text: &str, format: Format) -> Result<Vec<ParsedJob>, ParseFailure> {
    if text.len() > MAX_TEXT_BYTES {
        let message = format!("the text has {} bytes, the limit is {MAX_TEXT_BYTES}", text.len());
        return Err(ParseFailure::whole(Code::TooLarge, message));
    }
    let documents = match format {
        Format::Yaml => yaml_documents(text)?,
        Format::Json => vec![(text, json::read(text).map_err(|error| vec![error]))],
        Format::Toml => vec![(text, toml::read(text))],
    };
    if documents.is_empty() {
        let message = "the text holds no job".to_owned();
        return Err(ParseFailure::whole(Code::SpecInvalid, message));
    }
    let mut jobs = Vec::new();
    let mut failure = ParseFailure { code: Code::SpecInvalid, errors: Vec::new() };
    for (text, tree) in documents {
        match tree {
            Err(errors) => {
                failure.code = Code::BodyInvalid;
                failure.errors.extend(errors);
            }
            Ok(root) => match typed(&root) {
                Err(errors) => failure.errors.extend(errors),
                Ok(manifest) => jobs.push(ParsedJob { manifest, text: text.to_owned(), root }),
            },
        }
    }
    failure.errors.extend(named_twice(&jobs));
    if failure.errors.is_empty() { Ok(jobs) } else { Err(failure) }
}

/// One job twice in a text is a slip of copying: the later one would silently win.
fn named_twice(jobs: &[ParsedJob]) -> Vec<FieldError> {
    let mut seen = BTreeMap::new();
    let mut errors = Vec::new();
    for job in jobs {
        let metadata = &job.manifest.metadata;
        let line = job.position("/metadata/name").line;
        if let Some(first) = seen.insert((&metadata.namespace, &metadata.name), line) {
            let words = format!("job {} is in this text already, in line {first}", metadata.name);
            errors.push(job.error("/metadata/name", words));
        }
    }
    errors
}

type Tree = Result<Node, Vec<FieldError>>;

fn yaml_documents(text: &str) -> Result<Vec<(&str, Tree)>, ParseFailure> {
    let documents = yaml::documents(text);
    if documents.len() > MAX_JOBS {
        let message = format!("the text holds {} jobs, the limit is {MAX_JOBS}", documents.len());
        return Err(ParseFailure::whole(Code::TooLarge, message));
    }
    let read = documents.into_iter().map(|document| {
        let tree = yaml::read(document.text, document.lines_before).map_err(|error| vec![error]);
        (document.text, tree)
    });
    Ok(read.collect())
}

fn typed(root: &Node) -> Result<Manifest, Vec<FieldError>> {
    let json = walk::document(root)?;
    // The schema lets through exactly what the types take; a test holds the two together, and should
    // they ever differ, the user gets the types' own words.
    serde_json::from_value(json)
        .map_err(|error| vec![FieldError::at("", root.at, error.to_string())])
}
