#!/usr/bin/env bash
# COUNT (10,000) idle Wasm tasks of one job on one host: time to start them, resident memory, processor time at rest
set -euo pipefail
cd "$(dirname "$0")/../.."

tests/guests/build.sh
cargo build --quiet --release -p pliant
pliant="$(realpath "${CARGO_TARGET_DIR:-target}/release/pliant")"
guest="$(realpath target/guests/ticker.wasm)"
count="${COUNT:-10000}"
export RUST_BACKTRACE=0
dir=$(mktemp -d)
trap 'kill -9 "$up" 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$dir"' EXIT
"$pliant" up --cpu 20 --memory 200Gi --data-dir "$dir/data" --listen 127.0.0.1:0 --ready-file "$dir/ready" >"$dir/log" 2>&1 &
up=$!
for _ in $(seq 100); do [ -s "$dir/ready" ] && break; sleep 0.1; done
cat >"$dir/idle.yaml" <<YAML
apiVersion: pliant.dev/v1
metadata: {name: idle}
spec:
  kind: service
  count: $count
  engine: {wasm: {component: "file://$guest"}}
  env: {INTERVAL_MS: "100000000"}
  resources: {cpu: 1m, memory: 8Mi}
YAML
resident() { awk '/VmRSS/ { print $2 }' "/proc/$up/status"; }
ticks() { awk '{ print $14 + $15 }' "/proc/$up/stat"; }
empty=$(resident)
begin=$(date +%s%N)
"$pliant" run "$dir/idle.yaml" --data-dir "$dir/data" >/dev/null 2>&1
started=$((($(date +%s%N) - begin) / 1000000))
full=$(resident)
sleep 25 # until the version is proven and a snapshot is written
before=$(ticks)
sleep 15
printf '{"figure":"P11","tasks":%d,"started_ms":%d,"resident_kib":%d,"empty_kib":%d,"kib_per_task":%d,"cpu_permille_at_rest":%d}\n' \
    "$count" "$started" "$full" "$empty" $(((full - empty) / count)) $((($(ticks) - before) * 10 / 15))
