//! Judges an artifact: its kind, what it asks of the host, what stands in its way.

use std::fmt;

use crate::offered::{HTTP_EXPORTS, RUN_EXPORTS, is_offered, nearest};
use crate::scan::{InspectError, Scan, scan};
use crate::{limits, preview1};

/// What can be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArtifactKind {
    /// A component that exports `wasi:cli/run`.
    ComponentCommand,
    /// A component that exports an HTTP handler; it wins over `run` if both are there.
    ComponentHttp,
    /// A core module of wasip1 with `_start`; it is adapted to a component.
    CoreCommand,
}

impl fmt::Display for ArtifactKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ComponentCommand => "component command",
            Self::ComponentHttp => "component http",
            Self::CoreCommand => "core module wasip1",
        })
    }
}

/// A valid artifact, described.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// `None`: it is valid but nothing of it can be started; a problem says why.
    pub kind: Option<ArtifactKind>,
    /// `package/interface@version`, or `module.field` for core modules; sorted.
    pub imports: Vec<String>,
    /// As imports.
    pub exports: Vec<String>,
    /// What its memories begin with, bytes; an instance takes at least this much.
    pub memory_bytes: u64,
    /// What keeps it from running on any host. Empty: it can run.
    pub problems: Vec<Problem>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    UnknownImport { import: String, nearest: Option<String> },
    NothingToStart { exports: usize },
}

impl Problem {
    /// The stable code, as documented in docs/reference/wasm.md.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownImport { .. } => "import-unknown",
            Self::NothingToStart { .. } => "nothing-to-start",
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownImport { import, nearest: Some(near) } => {
                write!(f, "no host offers the import {import}; the nearest is {near}")
            }
            Self::UnknownImport { import, nearest: None } => {
                write!(f, "no host offers the import {import}")
            }
            Self::NothingToStart { exports } => write!(
                f,
                "nothing can be started: none of its {exports} exports is wasi:cli/run, \
                 wasi:http/incoming-handler or, for a core module, _start"
            ),
        }
    }
}

/// Reads an artifact. Pure: the same bytes give the same answer.
pub fn inspect(bytes: &[u8]) -> Result<Inspection, InspectError> {
    let mut found = scan(bytes)?;
    if found.imports.len() as u64 > u64::from(limits::IMPORTS) {
        return Err(InspectError::OverLimit {
            name: "wasm-imports",
            what: "imports",
            found: found.imports.len() as u64,
            limit: limits::IMPORTS.into(),
        });
    }
    found.exports.sort_unstable();
    found.imports.sort_unstable();
    let kind = kind(&found);
    let memory_bytes = found.memory_bytes;
    let mut problems: Vec<Problem> = found.imports.iter().filter_map(unknown).collect();
    if kind.is_none() {
        problems.push(Problem::NothingToStart { exports: found.exports.len() });
    }
    let imports = found.imports.into_iter().map(joined).collect();
    Ok(Inspection { kind, imports, exports: found.exports, memory_bytes, problems })
}

fn kind(found: &Scan) -> Option<ArtifactKind> {
    let exports = |names: &[&str]| {
        found.exports.iter().any(|export| names.iter().any(|name| export.starts_with(name)))
    };
    if !found.is_component {
        let starts = found.exports.iter().any(|export| export == "_start");
        return starts.then_some(ArtifactKind::CoreCommand);
    }
    if exports(&HTTP_EXPORTS) {
        Some(ArtifactKind::ComponentHttp)
    } else if exports(&RUN_EXPORTS) {
        Some(ArtifactKind::ComponentCommand)
    } else {
        None
    }
}

fn unknown((name, field): &(String, Option<String>)) -> Option<Problem> {
    let known = match field {
        None => is_offered(name),
        Some(field) => name == preview1::MODULE && preview1::FUNCTIONS.contains(&field.as_str()),
    };
    if known {
        return None;
    }
    let nearest = match field {
        None => nearest(name),
        Some(field) => nearest_preview1(field),
    };
    Some(Problem::UnknownImport { import: joined((name.clone(), field.clone())), nearest })
}

fn nearest_preview1(field: &str) -> Option<String> {
    preview1::FUNCTIONS
        .iter()
        .map(|known| (strsim::damerau_levenshtein(field, known), known))
        .filter(|(distance, known)| distance * 3 <= known.len())
        .min()
        .map(|(_, known)| format!("{}.{known}", preview1::MODULE))
}

fn joined((name, field): (String, Option<String>)) -> String {
    match field {
        Some(field) => format!("{name}.{field}"),
        None => name,
    }
}
