//! The compile worker as a program, for tests and benchmarks. `pliant compile-worker` is the same.

fn main() -> std::process::ExitCode {
    pliant_driver_wasm::compile_worker().into()
}
