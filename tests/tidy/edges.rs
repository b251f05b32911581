//! Which crate may depend on which. Source: docs/ARCHITECTURE.md, "Who may depend on whom".

use crate::tree::{manifest, members, none};

/// (crate, crates of ours that it may name). `pliant-tests` may name all.
const ALLOWED: [(&str, &[&str]); 13] = [
    ("pliant-types", &[]),
    ("pliant-journal", &[]),
    ("pliant-inspect", &[]),
    ("pliant-core", &["types"]),
    ("pliant-driver", &["types"]),
    ("pliant-api", &["types"]),
    ("pliant-client", &["types", "api"]),
    ("pliant-driver-wasm", &["types", "driver", "inspect"]),
    ("pliant-controller", &["types", "core", "journal", "api", "inspect"]),
    ("pliant-agent", &["types", "client", "api", "driver", "journal"]),
    ("pliant-sim", &["types", "core", "agent", "driver", "journal"]),
    (
        "pliant",
        &[
            "types",
            "controller",
            "agent",
            "driver",
            "driver-wasm",
            "client",
            "api",
            "inspect",
            "journal",
            "sim",
        ],
    ),
    (
        "pliant-tests",
        &[
            "types",
            "core",
            "journal",
            "api",
            "client",
            "controller",
            "driver",
            "driver-wasm",
            "agent",
            "sim",
            "inspect",
        ],
    ),
];

/// Tables of a manifest that name dependencies.
const TABLES: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

#[test]
fn crates_depend_only_along_the_drawn_edges() {
    let mut complaints = Vec::new();
    for member in members() {
        let manifest = manifest(&format!("{member}/Cargo.toml"));
        let name = manifest["package"]["name"].as_str().expect("a name is a string");
        let Some((_, allowed)) = ALLOWED.iter().find(|(of, _)| *of == name) else {
            complaints.push(format!("{name}: not in the table; a new crate needs its edges drawn"));
            continue;
        };
        for table in TABLES {
            let Some(dependencies) = manifest.get(table).and_then(toml::Value::as_table) else {
                continue;
            };
            for dependency in dependencies.keys() {
                // A crate may name itself among its dev-dependencies, to switch its own features on.
                if dependency == name {
                    continue;
                }
                let ours = dependency.strip_prefix("pliant-");
                if ours.is_some_and(|ours| !allowed.contains(&ours)) {
                    complaints.push(format!("{name} -> {dependency} ({table})"));
                }
            }
        }
    }
    none(&complaints, "edges that the architecture does not have");
}

#[test]
fn guests_and_sdk_depend_on_nothing_of_the_host() {
    let complaints: Vec<String> = crate::tree::files(&["Cargo.toml"])
        .into_iter()
        .filter(|file| file.path.starts_with("guest-examples/") || file.path.starts_with("sdk/"))
        .filter(|file| file.text.contains("/host/") || file.text.contains("pliant-types"))
        .map(|file| file.path)
        .collect();
    none(&complaints, "these manifests reach into host/");
}
