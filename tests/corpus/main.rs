//! The kept corpus of the fuzz targets goes through the same code in every test run.
#![allow(clippy::unwrap_used, clippy::panic, reason = "what fails here fails the test")]
#![allow(unreachable_pub, reason = "shared with the fuzz targets, which see it as a library")]

#[path = "../fuzz/src/lib.rs"]
mod fuzz;

fn each(name: &str, check: impl Fn(&[u8])) {
    let kept = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz").join(name);
    let mut archive = tar::Archive::new(std::fs::File::open(kept).unwrap());
    let mut seen = 0;
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut entry, &mut bytes).unwrap();
        check(&bytes);
        seen += 1;
    }
    assert!(seen > 1_000, "the corpus is gone: {seen} inputs");
}

#[test]
fn every_kept_input_of_the_parser_is_refused_or_read() {
    each("corpus-parse.tar", fuzz::parse_any);
}

#[test]
fn every_kept_input_of_submissions_keeps_the_invariants() {
    each("corpus-submit.tar", fuzz::submit_any);
}
