//! The fuzz target of `pliant_fuzz::submit_any`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pliant_fuzz::submit_any(data));
