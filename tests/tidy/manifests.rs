//! Members inherit versions, lints and package keys from the root. Source: CONTRIBUTING.md.

use std::collections::BTreeSet;
use std::fs;

use crate::tree::{manifest, members, none, root};

const INHERITED: [&str; 5] = ["version", "edition", "rust-version", "license", "publish"];

fn inherits(value: Option<&toml::Value>) -> bool {
    value.and_then(|value| value.get("workspace")).and_then(toml::Value::as_bool).unwrap_or(false)
}

#[test]
fn every_member_inherits_lints_versions_and_package_keys() {
    let mut complaints = Vec::new();
    for member in members() {
        let manifest = manifest(&format!("{member}/Cargo.toml"));
        if !inherits(manifest.get("lints")) {
            complaints.push(format!("{member}: [lints] workspace = true is missing"));
        }
        for key in INHERITED {
            if !inherits(manifest["package"].get(key)) {
                complaints.push(format!("{member}: package.{key} is not inherited"));
            }
        }
        for table in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let Some(dependencies) = manifest.get(table).and_then(toml::Value::as_table) else {
                continue;
            };
            for (name, dependency) in dependencies {
                // A crate that names itself, to switch its own features on, has nothing to inherit.
                let itself = manifest["package"]["name"].as_str() == Some(name);
                if !itself && !inherits(Some(dependency)) {
                    complaints.push(format!("{member}: {table}.{name} has its own version"));
                }
            }
        }
    }
    none(&complaints, "manifests that go their own way");
}

#[test]
fn every_crate_of_host_is_a_member() {
    let members: BTreeSet<String> = members().into_iter().collect();
    let complaints: Vec<String> = fs::read_dir(root().join("host"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().join("Cargo.toml").exists())
        .map(|entry| format!("host/{}", entry.file_name().to_string_lossy()))
        .filter(|folder| !members.contains(folder))
        .collect();
    none(&complaints, "crates that the workspace does not know");
}
