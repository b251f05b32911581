//! Bounds of an artifact, checked before anything is compiled. Source: 06-cluster.md section 4;
//! those without a figure there are chosen so that components of componentize-py (14 core
//! instances, 18 MB) and componentize-js pass with room.

/// Size of the whole artifact, bytes.
pub const ARTIFACT_BYTES: u64 = 32 << 20;
/// Functions with a body, over all core modules.
pub const FUNCTIONS: u32 = 100_000;
/// One function body, bytes.
pub const FUNCTION_BODY_BYTES: u64 = 1 << 20;
/// Tables defined, over all core modules.
pub const TABLES: u32 = 64;
/// Memories defined, over all core modules.
pub const MEMORIES: u32 = 16;
/// Core modules and components within the artifact.
pub const MODULES: u32 = 256;
/// Components within components.
pub const NESTING: u32 = 8;
/// Imports of the artifact.
pub const IMPORTS: u32 = 1_000;
