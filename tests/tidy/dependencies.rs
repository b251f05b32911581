//! Every dependency has a line with its reason. Source: docs/decisions/dependencies.md.

use std::collections::BTreeSet;
use std::fs;

use crate::tree::{manifest, none, root};

#[test]
fn every_dependency_has_its_reason_written_down() {
    let root_manifest = manifest("Cargo.toml");
    let named: BTreeSet<String> = root_manifest["workspace"]["dependencies"]
        .as_table()
        .expect("dependencies is a table")
        .keys()
        .filter(|name| !name.starts_with("pliant-"))
        .cloned()
        .collect();
    let text = fs::read_to_string(root().join("docs/decisions/dependencies.md")).unwrap();
    let written: BTreeSet<String> = text
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(" | ").next())
        .filter(|name| *name != "crate")
        .map(str::to_owned)
        .collect();
    let without = named.difference(&written).map(|name| format!("{name}: no line"));
    let gone = written.difference(&named).map(|name| format!("{name}: not in Cargo.toml"));
    let complaints: Vec<String> = without.chain(gone).collect();
    none(&complaints, "docs/decisions/dependencies.md and Cargo.toml differ");
}
