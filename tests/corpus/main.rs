//! The kept corpus of the fuzz targets goes through the same code in every test run.
#![allow(clippy::unwrap_used, clippy::panic, reason = "what fails here fails the test")]
#![allow(unreachable_pub, reason = "shared with the fuzz targets, which see it as a library")]

#[path = "../fuzz/src/lib.rs"]
mod fuzz;

fn each(folder: &str, check: impl Fn(&[u8])) {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(folder);
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        check(&std::fs::read(entry.unwrap().path()).unwrap());
        seen += 1;
    }
    assert!(seen > 1, "the corpus is empty");
}

#[test]
fn every_kept_input_of_the_parser_is_refused_or_read() {
    each("parse", fuzz::parse_any);
}

#[test]
fn every_kept_input_of_submissions_keeps_the_invariants() {
    each("submit", fuzz::submit_any);
}
