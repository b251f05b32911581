//! Every guest is run by a test. Source: CONTRIBUTING.md, "Add a guest".

use std::fs;

use crate::tree::{none, root, rust_files};

/// Folders of guest-examples that hold a guest.
fn guests() -> Vec<String> {
    let Ok(folders) = fs::read_dir(root().join("guest-examples")) else { return Vec::new() };
    let mut guests: Vec<String> = folders
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().join("Cargo.toml").exists())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    guests.sort();
    guests
}

/// Whether a source names the guest as a string of its own or as a file.
fn names(text: &str, guest: &str) -> bool {
    text.contains(&format!("\"{guest}\"")) || text.contains(&format!("{guest}.wasm"))
}

#[test]
fn every_guest_is_named_in_a_test() {
    let sources: Vec<String> = rust_files()
        .into_iter()
        .filter(|file| !file.path.starts_with("tests/tidy/") && !file.path.starts_with("guest-"))
        .filter(|file| file.text.contains("#[test]") || file.text.contains("::test"))
        .map(|file| file.text)
        .collect();
    let unnamed: Vec<String> = guests()
        .into_iter()
        .filter(|guest| !sources.iter().any(|text| names(text, guest)))
        .collect();
    none(&unnamed, "guests that no test names");
}

#[test]
fn a_guest_is_named_by_its_whole_name() {
    assert!(names("run(\"hello\")", "hello"));
    assert!(names("guests/hello.wasm", "hello"));
    assert!(!names("run(\"hello-more\")", "hello"));
}
