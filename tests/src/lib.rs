//! Shared by the test targets: where things are, how a real cluster is started and asked.
//!
//! Not a test itself. Everything here uses the real binary and real guests.
#![allow(clippy::unwrap_used, clippy::panic, reason = "what fails here fails the test that asked")]

pub mod cluster;
pub mod http;
pub mod registry;

use std::path::{Path, PathBuf};

/// The top of the checkout.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("tests/ lies in the checkout")
        .to_path_buf()
}

/// The built binary; `make test` builds it before the tests run.
///
/// # Panics
/// When it was not built.
#[must_use]
pub fn binary() -> PathBuf {
    let found = std::env::var_os("PLIANT_BIN").map_or_else(
        || {
            let test = std::env::current_exe().expect("a test has a path");
            let target =
                test.parent().and_then(Path::parent).expect("tests lie in target/PROFILE/deps");
            target.join("pliant")
        },
        PathBuf::from,
    );
    assert!(found.is_file(), "{} is missing: `cargo build -p pliant` first", found.display());
    found
}

/// A built guest.
///
/// # Panics
/// When it was not built.
#[must_use]
pub fn guest(name: &str) -> PathBuf {
    let dir = std::env::var_os("PLIANT_GUESTS")
        .map_or_else(|| root().join("target/guests"), PathBuf::from);
    let path = dir.join(format!("{name}.wasm"));
    assert!(path.is_file(), "{} is missing: `make guests` first", path.display());
    path
}

/// Waits for a condition; never for a time.
///
/// # Panics
/// When the condition does not hold within two minutes: then it never will.
pub fn eventually<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let begun = std::time::Instant::now();
    loop {
        if let Some(found) = condition() {
            return found;
        }
        assert!(begun.elapsed().as_secs() < 120, "this never happened: {what}");
        std::thread::park_timeout(std::time::Duration::from_millis(20));
    }
}
