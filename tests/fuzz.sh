#!/usr/bin/env bash
# Fuzzes the spec parser or submissions: tests/fuzz.sh parse|submit [SECONDS]. Keeps the corpus in
# tests/fuzz/corpus. Not a part of `make test`, which runs the corpus through the same code.
#
# Works on the stable toolchain: coverage without a sanitizer. Memory and time are libFuzzer's own limits.
set -euo pipefail
cd "$(dirname "$0")/fuzz"

target="${1:?usage: tests/fuzz.sh parse|submit [SECONDS]}"
seconds="${2:-600}"
command -v cargo-fuzz >/dev/null || cargo install --quiet --locked cargo-fuzz
exec cargo fuzz run --fuzz-dir . --sanitizer none "$target" "corpus/$target" -- \
    -max_total_time="$seconds" -max_len=8192 -timeout=10 -rss_limit_mb=1024 -print_final_stats=1
