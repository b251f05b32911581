#!/usr/bin/env bash
# Fuzzes the spec parser or submissions: tests/fuzz.sh parse|submit [SECONDS]. The kept corpus is
# tests/fuzz/corpus-TARGET.tar; a run that finds nothing wrong writes it again, reduced to what covers
# all that is known. Not a part of `make test`, which sends the corpus through the same code.
#
# Works on the stable toolchain: coverage without a sanitizer. Memory and time are libFuzzer's own limits.
set -euo pipefail
cd "$(dirname "$0")/fuzz"

target="${1:?usage: tests/fuzz.sh parse|submit [SECONDS]}"
seconds="${2:-600}"
kept="corpus-$target.tar"
command -v cargo-fuzz >/dev/null || cargo install --quiet --locked cargo-fuzz
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
mkdir "$work/corpus" "$work/reduced"
tar -xf "$kept" -C "$work/corpus"
fuzz() { cargo fuzz run --fuzz-dir . --sanitizer none "$target" "$@"; }
fuzz "$work/corpus" -- -max_total_time="$seconds" -max_len=8192 -timeout=10 -rss_limit_mb=1024 -print_final_stats=1
fuzz "$work/reduced" "$work/corpus" -- -set_cover_merge=1
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -C "$work/reduced" -cf "$kept" .
