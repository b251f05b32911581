#!/usr/bin/env bash
# one resubmission of an unchanged spec in the core alone
set -euo pipefail
cd "$(dirname "$0")/../.."

cargo build --quiet --release -p pliant-core --example bench_core
exec "${CARGO_TARGET_DIR:-target}/release/examples/bench_core" "${ROUNDS:-10000}"
