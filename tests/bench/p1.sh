#!/usr/bin/env bash
# submit to running of one cached Wasm task on the durable journal, against `podman run` of a program that does as little
#
# ROUNDS (300) submissions, REFERENCE_ROUNDS (20) containers; NO_PODMAN=1 leaves the reference out.
set -euo pipefail
cd "$(dirname "$0")/../.."

tests/guests/build.sh
cargo build --quiet --release -p pliant
cargo build --quiet --release -p pliant-client --example bench_submit
release="${CARGO_TARGET_DIR:-target}/release"
dir=$(mktemp -d)
trap 'kill "$up" 2>/dev/null || true; wait "$up" 2>/dev/null || true; rm -rf "$dir"' EXIT
"$release/pliant" up --data-dir "$dir/data" --listen 127.0.0.1:0 --ready-file "$dir/ready" >"$dir/log" 2>&1 &
up=$!
for _ in $(seq 100); do [ -s "$dir/ready" ] && break; sleep 0.1; done
"$release/examples/bench_submit" "$(cat "$dir/ready")" "$dir/data/admin.token" target/guests/ticker.wasm "${ROUNDS:-300}"

[ -n "${NO_PODMAN:-}" ] && exit 0
command -v podman runc >/dev/null || { apt-get update -q && apt-get install -y -q podman runc; } >&2
# An image of one static program that says it runs and ends: less work than the ticker's start.
printf 'fn main() { println!("running"); }\n' >"$dir/tick.rs"
rustc --edition 2024 -C opt-level=2 -C target-feature=+crt-static --target x86_64-unknown-linux-gnu -o "$dir/tick" "$dir/tick.rs"
printf 'FROM scratch\nCOPY tick /tick\nENTRYPOINT ["/tick"]\n' >"$dir/Containerfile"
podman build -q -t localhost/pliant-bench-tick "$dir" >&2
trap 'kill "$up" 2>/dev/null || true; wait "$up" 2>/dev/null || true; podman rmi -f localhost/pliant-bench-tick >/dev/null 2>&1 || true; rm -rf "$dir"' EXIT
rounds="${REFERENCE_ROUNDS:-20}"
for _ in $(seq "$rounds"); do
    begin=$(date +%s%N)
    podman --runtime runc run --rm --network none --ulimit nofile=1024:1024 --ulimit nproc=1000:1000 \
        localhost/pliant-bench-tick >/dev/null
    echo $((($(date +%s%N) - begin) / 1000))
done | sort -n >"$dir/times"
printf '{"figure":"P1 reference","what":"podman run of a static program, to its end","rounds":%d,"p50_us":%d,"max_us":%d}\n' \
    "$rounds" "$(sed -n "$((rounds / 2 + 1))p" "$dir/times")" "$(tail -n 1 "$dir/times")"
