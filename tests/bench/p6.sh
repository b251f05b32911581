#!/usr/bin/env bash
# replay of FACTS (1,000,000) facts at start, without and with a snapshot
set -euo pipefail
cd "$(dirname "$0")/../.."

cargo build --quiet --release -p pliant-controller --example bench_replay
mkdir -p "${DIR:-target}"
exec "${CARGO_TARGET_DIR:-target}/release/examples/bench_replay" "${FACTS:-1000000}" "${DIR:-target}"
