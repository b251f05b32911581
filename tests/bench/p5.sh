#!/usr/bin/env bash
# the journal: durable commits/s in batches of 1 and 256 facts, against append + fdatasync of a plain file
#
# SECONDS_EACH (8) for each batch size; DIR (target) is on the disk that matters.
set -euo pipefail
cd "$(dirname "$0")/../.."

cargo build --quiet --release -p pliant-journal --features sled --example bench_journal
mkdir -p "${DIR:-target}"
exec "${CARGO_TARGET_DIR:-target}/release/examples/bench_journal" "${DIR:-target}" "${SECONDS_EACH:-8}"
