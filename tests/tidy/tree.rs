//! The files of the project, found by walking from the workspace root. Knows no rule.

use std::fs;
use std::path::{Path, PathBuf};

/// One text file: its path from the root with `/`, and what it holds.
pub(crate) struct TextFile {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// Directories that builds and running clusters fill.
const NOT_OURS: [&str; 5] = ["target", ".git", ".pliant", "node_modules", "__pycache__"];

pub(crate) fn root() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().expect("the tests package is a folder of the workspace").to_owned()
}

/// Every text file whose name ends in one of `endings`, sorted by path.
pub(crate) fn files(endings: &[&str]) -> Vec<TextFile> {
    let root = root();
    let mut paths = Vec::new();
    let mut open = vec![root.clone()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.file_type().unwrap().is_dir() {
                if !NOT_OURS.contains(&name.as_str()) {
                    open.push(entry.path());
                }
            } else if endings.iter().any(|ending| name.ends_with(ending)) {
                paths.push(entry.path());
            }
        }
    }
    paths.sort();
    paths
        .into_iter()
        .filter_map(|path| {
            let text = fs::read_to_string(&path).ok()?;
            let path = path.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/");
            Some(TextFile { path, text })
        })
        .collect()
}

/// Every Rust source of the project.
pub(crate) fn rust_files() -> Vec<TextFile> {
    files(&[".rs"])
}

/// Whether a Rust file holds tests only.
pub(crate) fn is_test_code(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    path.starts_with("tests/") || path.contains("/tests/") || name == "tests.rs"
}

/// A manifest, parsed.
pub(crate) fn manifest(path: &str) -> toml::Table {
    let text = fs::read_to_string(root().join(path)).unwrap();
    text.parse().unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Folders of the members of the workspace, as the root manifest lists them.
pub(crate) fn members() -> Vec<String> {
    manifest("Cargo.toml")["workspace"]["members"]
        .as_array()
        .expect("members is a list")
        .iter()
        .map(|member| member.as_str().expect("a member is a string").to_owned())
        .collect()
}

/// Fails with all complaints at once, one a line.
#[track_caller]
pub(crate) fn none(complaints: &[String], rule: &str) {
    assert!(complaints.is_empty(), "{rule}:\n  {}\n", complaints.join("\n  "));
}
