//! Every transcript of tests/scenarios is told again; `UPDATE_EXPECT=1` rewrites what is told.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a transcript that differs ends the test")]

#[test]
fn every_transcript_is_told_as_it_is_written() {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/scenarios");
    let mut paths: Vec<_> =
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "there are transcripts");
    for path in paths {
        let written = std::fs::read_to_string(&path).unwrap();
        expect_test::expect_file![path].assert_eq(&pliant_sim::scenario::run(&written));
    }
}
