//! Every source opens by saying what it is. Source: CONTRIBUTING.md, taste.

use crate::tree::{none, rust_files};

#[test]
fn every_source_opens_with_a_module_comment() {
    let complaints: Vec<String> = rust_files()
        .into_iter()
        .filter(|file| !file.text.starts_with("//! "))
        .map(|file| file.path)
        .collect();
    none(&complaints, "these files do not open with `//! `: what is it, and what is it not?");
}
