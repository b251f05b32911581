//! One bounded pass over the sections of an artifact. Knows sizes and names, judges no interface.

use wasmparser::{Encoding, Parser, Payload, Validator, WasmFeatures};

use crate::limits;

/// A page of memory is 64 KiB unless it says otherwise.
const DEFAULT_PAGE_LOG2: u32 = 16;

/// Why bytes are not an artifact at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InspectError {
    #[error("not a Wasm file: it begins with {found:?}, not with \\0asm")]
    NotWasm { found: String },
    #[error("this is the text format: convert it to binary first (wasm-tools parse)")]
    TextFormat,
    #[error("the file is empty")]
    Empty,
    #[error("the file ends in the middle, after {bytes} bytes: it was cut off on its way")]
    Truncated { bytes: usize },
    #[error("not valid Wasm at byte {offset}: {message}")]
    Invalid { offset: usize, message: String },
    #[error("{found} {what}, the limit is {limit} ({name})")]
    OverLimit { name: &'static str, what: &'static str, found: u64, limit: u64 },
}

impl InspectError {
    /// The stable code, as documented in docs/reference/wasm.md.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotWasm { .. } | Self::TextFormat | Self::Empty => "not-wasm",
            Self::Truncated { .. } => "wasm-truncated",
            Self::Invalid { .. } => "wasm-invalid",
            Self::OverLimit { .. } => "wasm-over-limit",
        }
    }
}

/// What the walk found at the top level.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    pub(crate) is_component: bool,
    /// Component: interface names. Core module: (module, field).
    pub(crate) imports: Vec<(String, Option<String>)>,
    pub(crate) exports: Vec<String>,
    /// What the memories of all core modules begin with, bytes.
    pub(crate) memory_bytes: u64,
    counts: Counts,
}

#[derive(Debug, Default)]
struct Counts {
    functions: u64,
    tables: u64,
    memories: u64,
    modules: u64,
}

/// Walks and validates. What it returns is within every limit and valid.
pub(crate) fn scan(bytes: &[u8]) -> Result<Scan, InspectError> {
    check_start(bytes)?;
    at_most("artifact-bytes", "bytes", bytes.len() as u64, limits::ARTIFACT_BYTES)?;
    let mut scan = Scan::default();
    let mut depth = 0u32;
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload.map_err(|error| unreadable(&error, bytes.len()))?;
        match &payload {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => {
                depth += 1;
                scan.counts.modules += 1;
                at_most("wasm-nesting", "levels of nesting", depth.into(), limits::NESTING.into())?;
            }
            // The end of the artifact itself comes at depth 0.
            Payload::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
        scan.count(&payload)?;
        if depth == 0 {
            scan.note_top_level(&payload).map_err(|error| unreadable(&error, bytes.len()))?;
        }
    }
    validate(bytes)?;
    Ok(scan)
}

impl Scan {
    fn count(&mut self, payload: &Payload<'_>) -> Result<(), InspectError> {
        match payload {
            Payload::CodeSectionStart { count, .. } => self.counts.functions += u64::from(*count),
            Payload::TableSection(reader) => self.counts.tables += u64::from(reader.count()),
            Payload::MemorySection(reader) => {
                self.counts.memories += u64::from(reader.count());
                // An entry that cannot be read is for the validator to name.
                for memory in reader.clone().into_iter().flatten() {
                    let page = 1u64 << memory.page_size_log2.unwrap_or(DEFAULT_PAGE_LOG2).min(63);
                    let bytes = memory.initial.saturating_mul(page);
                    self.memory_bytes = self.memory_bytes.saturating_add(bytes);
                }
            }
            Payload::CodeSectionEntry(body) => at_most(
                "wasm-function-bytes",
                "bytes in one function",
                body.range().len() as u64,
                limits::FUNCTION_BODY_BYTES,
            )?,
            _ => return Ok(()),
        }
        let Counts { functions, tables, memories, modules } = self.counts;
        at_most("wasm-functions", "functions", functions, limits::FUNCTIONS.into())?;
        at_most("wasm-tables", "tables", tables, limits::TABLES.into())?;
        at_most("wasm-memories", "memories", memories, limits::MEMORIES.into())?;
        at_most("wasm-modules", "modules", modules, limits::MODULES.into())
    }

    fn note_top_level(&mut self, payload: &Payload<'_>) -> wasmparser::Result<()> {
        match payload {
            Payload::Version { encoding, .. } => {
                self.is_component = *encoding == Encoding::Component;
            }
            Payload::ImportSection(reader) => {
                for import in reader.clone().into_imports() {
                    let import = import?;
                    self.imports.push((import.module.to_owned(), Some(import.name.to_owned())));
                }
            }
            Payload::ExportSection(reader) => {
                for export in reader.clone() {
                    self.exports.push(export?.name.to_owned());
                }
            }
            Payload::ComponentImportSection(reader) => {
                for import in reader.clone() {
                    self.imports.push((import?.name.name.to_owned(), None));
                }
            }
            Payload::ComponentExportSection(reader) => {
                for export in reader.clone() {
                    self.exports.push(export?.name.name.to_owned());
                }
            }
            _ => {}
        }
        Ok(())
    }
}

fn check_start(bytes: &[u8]) -> Result<(), InspectError> {
    const MAGIC: &[u8] = b"\0asm";
    if bytes.is_empty() {
        return Err(InspectError::Empty);
    }
    if bytes.starts_with(MAGIC) {
        return Ok(());
    }
    if MAGIC.starts_with(bytes) {
        return Err(InspectError::Truncated { bytes: bytes.len() });
    }
    if bytes.trim_ascii_start().starts_with(b"(module")
        || bytes.trim_ascii_start().starts_with(b"(component")
    {
        return Err(InspectError::TextFormat);
    }
    let found = String::from_utf8_lossy(&bytes[..bytes.len().min(4)]).into_owned();
    Err(InspectError::NotWasm { found })
}

fn validate(bytes: &[u8]) -> Result<(), InspectError> {
    // What the engine has switched off would only fail later, and less clearly.
    let features = WasmFeatures::default()
        .difference(WasmFeatures::GC | WasmFeatures::EXCEPTIONS)
        .union(WasmFeatures::COMPONENT_MODEL | WasmFeatures::CM_ASYNC);
    Validator::new_with_features(features)
        .validate_all(bytes)
        .map(|_types| ())
        .map_err(|error| unreadable(&error, bytes.len()))
}

fn unreadable(error: &wasmparser::BinaryReaderError, length: usize) -> InspectError {
    let cut_off = error.offset() >= length || error.message().contains("unexpected end");
    if cut_off {
        return InspectError::Truncated { bytes: length };
    }
    InspectError::Invalid { offset: error.offset(), message: error.message().to_owned() }
}

fn at_most(
    name: &'static str,
    what: &'static str,
    found: u64,
    limit: u64,
) -> Result<(), InspectError> {
    if found > limit {
        return Err(InspectError::OverLimit { name, what, found, limit });
    }
    Ok(())
}
