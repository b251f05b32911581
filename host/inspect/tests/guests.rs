//! What `inspect` says of real artifacts: our guests and programs of others.

#![allow(clippy::unwrap_used, clippy::panic)] // a test helper outside a #[test] is a test too

use std::path::PathBuf;

use pliant_inspect::{ArtifactKind, InspectError, Inspection, Problem, as_component, inspect};

fn guest(name: &str) -> Vec<u8> {
    let dir = std::env::var_os("PLIANT_GUESTS").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/guests"),
        PathBuf::from,
    );
    let path = dir.join(format!("{name}.wasm"));
    std::fs::read(&path)
        .unwrap_or_else(|_| panic!("{} is missing: run `make guests` first", path.display()))
}

fn look(name: &str) -> Inspection {
    inspect(&guest(name)).unwrap()
}

#[test]
fn tells_commands_handlers_and_core_modules_apart() {
    for (name, kind) in [
        ("word-count", ArtifactKind::ComponentCommand),
        ("hello-http", ArtifactKind::ComponentHttp),
        ("commonmark", ArtifactKind::ComponentCommand),
        ("resvg", ArtifactKind::CoreCommand),
    ] {
        let found = look(name);
        assert_eq!((found.kind, found.problems), (Some(kind), vec![]), "{name}");
    }
}

#[test]
fn lists_what_is_imported() {
    let imports = look("echo-env").imports;
    assert!(imports.contains(&"wasi:config/store@0.2.0-rc.1".to_owned()), "{imports:?}");
    let imports = look("resvg").imports;
    assert!(imports.contains(&"wasi_snapshot_preview1.path_open".to_owned()), "{imports:?}");
    assert!(imports.is_sorted());
    let memory_bytes = look("hello-http").memory_bytes;
    assert!((1 << 20..2 << 20).contains(&memory_bytes), "stack and data: {memory_bytes}");
}

#[test]
fn a_core_module_becomes_a_component_that_needs_only_what_is_offered() {
    let module = guest("resvg");
    let component = as_component(ArtifactKind::CoreCommand, &module).unwrap();
    let found = inspect(&component).unwrap();
    assert_eq!((found.kind, found.problems), (Some(ArtifactKind::ComponentCommand), vec![]));
}

/// Replaces every `from` by `to` of the same length, which keeps the file well-formed.
fn patched(mut bytes: Vec<u8>, from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let places: Vec<usize> = bytes
        .windows(from.len())
        .enumerate()
        .filter(|(_, w)| *w == from)
        .map(|(at, _)| at)
        .collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at..at + to.len()].copy_from_slice(to);
    }
    bytes
}

#[test]
fn names_imports_that_no_host_knows_with_the_nearest() {
    let bytes = patched(guest("echo-env"), b"wasi:config/store", b"wasi:konfig/store");
    let problems = inspect(&bytes).unwrap().problems;
    let expected = Problem::UnknownImport {
        import: "wasi:konfig/store@0.2.0-rc.1".to_owned(),
        nearest: Some("wasi:config/store@0.2.0-rc.1".to_owned()),
    };
    assert_eq!(problems, [expected]);
    let text = problems[0].to_string();
    assert!(text.contains("konfig") && text.contains("the nearest is wasi:config/store"), "{text}");

    let bytes = patched(guest("resvg"), b"path_open", b"path_opne");
    let problems = inspect(&bytes).unwrap().problems;
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].to_string().ends_with("wasi_snapshot_preview1.path_open"), "{problems:?}");
}

#[test]
fn every_cut_of_a_file_is_refused_and_none_panics() {
    let whole = guest("hello-http");
    for cut in (0..whole.len()).step_by(997).chain([1, 4, 8, whole.len() - 1]) {
        match inspect(&whole[..cut]) {
            Err(error) => {
                let expected = if cut == 0 { "not-wasm" } else { "wasm-truncated" };
                assert_eq!(error.code(), expected, "cut at {cut}: {error}");
            }
            // A cut between two sections leaves a valid component without its exports.
            Ok(found) => assert!(!found.problems.is_empty(), "cut at {cut}: {found:?}"),
        }
    }
}

#[test]
fn flipped_bytes_never_panic() {
    let whole = guest("exit-code");
    for at in (0..whole.len()).step_by(61) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0xff;
        // Whatever it says, it says it.
        if let Ok(found) = inspect(&bytes)
            && let (Some(kind), []) = (found.kind, found.problems.as_slice())
        {
            drop(as_component(kind, &bytes));
        }
    }
}

#[test]
fn over_limit_is_named_with_both_figures() {
    // A core module with one function type and a function section that says 100,001.
    let mut module = b"\0asm\x01\0\0\0".to_vec();
    module.extend([1, 4, 1, 0x60, 0, 0]);
    let count = 100_001u32;
    let leb = |mut value: u32, out: &mut Vec<u8>| loop {
        let byte = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            out.push(byte);
            return;
        }
        out.push(byte | 0x80);
    };
    let mut functions = Vec::new();
    leb(count, &mut functions);
    functions.extend(vec![0; count as usize]);
    module.push(3);
    leb(functions.len() as u32, &mut module);
    module.extend(functions);
    let mut code = Vec::new();
    leb(count, &mut code);
    code.extend([2, 0, 0x0b].repeat(count as usize));
    module.push(10);
    leb(code.len() as u32, &mut module);
    module.extend(code);
    let error = inspect(&module).unwrap_err();
    let InspectError::OverLimit { name, found, limit, .. } = &error else { panic!("{error}") };
    assert_eq!((*name, *found, *limit), ("wasm-functions", 100_001, 100_000));
}
