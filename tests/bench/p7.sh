#!/usr/bin/env bash
# HTTP hello at the agent's own listener: fresh and reused instances, plain hyper, `wasmtime serve`
#
# The reference, `wasmtime` of the engine's own version, is built once to target/bench-tools; with
# NO_WASMTIME=1 it is left out. Seconds for each figure: SECONDS_EACH (5).
set -euo pipefail
cd "$(dirname "$0")/../.."

command -v wrk >/dev/null || { apt-get update -q && apt-get install -y -q wrk; } >&2
tests/guests/build.sh
if [ -z "${NO_WASMTIME:-}" ]; then
    tools="$PWD/target/bench-tools"
    [ -x "$tools/bin/wasmtime" ] ||
        cargo install --quiet --locked --root "$tools" wasmtime-cli --version 48.0.8 >&2
    export WASMTIME="$tools/bin/wasmtime"
fi
cargo build --quiet --release -p pliant-driver-wasm --bins --example bench_http
# With backtraces on, each error value of the engine takes one; servers run without.
export RUST_BACKTRACE=0
exec "${CARGO_TARGET_DIR:-target}/release/examples/bench_http" "${SECONDS_EACH:-5}"
