#!/usr/bin/env bash
# idle Wasm tasks on one host: resident memory for each, time to start them, processor time at rest
#
# COUNT tasks (10,000) that sleep.
set -euo pipefail
cd "$(dirname "$0")/../.."

tests/guests/build.sh
cargo build --quiet --release -p pliant-driver-wasm --bins --example bench_idle
exec "${CARGO_TARGET_DIR:-target}/release/examples/bench_idle" "${COUNT:-10000}"
