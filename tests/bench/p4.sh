#!/usr/bin/env bash
# plan times in the core alone: a step of a rollout of 1,000 tasks, one host of 10,000 lost (P4)
set -euo pipefail
cd "$(dirname "$0")/../.."

cargo build --quiet --release -p pliant-core --example bench_plan
exec "${CARGO_TARGET_DIR:-target}/release/examples/bench_plan"
