#!/usr/bin/env bash
# HTTP hello at the agent's own listener: fresh and reused instances of a job, against `wasmtime serve`
#
# SECONDS_EACH (5) with 1 and 64 connections of wrk, which shares the machine. `wasmtime` of the engine's
# own version is built once to target/bench-tools (a long build), or named by WASMTIME.
set -euo pipefail
cd "$(dirname "$0")/../.."

command -v wrk >/dev/null || { apt-get update -q && apt-get install -y -q wrk; } >&2
tests/guests/build.sh
if [ -z "${WASMTIME:-}" ]; then
    tools="$PWD/target/bench-tools"
    [ -x "$tools/bin/wasmtime" ] ||
        cargo install --quiet --locked --root "$tools" wasmtime-cli --version 48.0.8 >&2
    WASMTIME="$tools/bin/wasmtime"
fi
cargo build --quiet --release -p pliant
pliant="$(realpath "${CARGO_TARGET_DIR:-target}/release/pliant")"
guest="$(realpath target/guests/hello-http.wasm)"
# With backtraces on, each error value of the engine takes one; servers run without.
export RUST_BACKTRACE=0
dir=$(mktemp -d)
trap 'kill "$up" "${serve:-}" 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$dir"' EXIT

load() { # NAME ADDRESS
    local connections
    for connections in 1 64; do
        wrk -t1 -c"$connections" -d"${SECONDS_EACH:-5}s" --latency "http://$2/" >"$dir/wrk"
        awk -v name="$1" -v c="$connections" '
            $1 == "50%" { p50 = $2 } $1 == "99%" { p99 = $2 } /Requests\/sec/ { rate = $2 } /Non-2xx/ { bad = $NF }
            END { printf "{\"figure\":\"P7\",\"what\":\"%s\",\"connections\":%d,\"requests_per_s\":%d,\"p50\":\"%s\",\"p99\":\"%s\",\"bad\":%d}\n", name, c, rate, p50, p99, bad }
        ' "$dir/wrk"
    done
}

"$pliant" up --cpu 8 --data-dir "$dir/data" --listen 127.0.0.1:0 --ready-file "$dir/ready" >"$dir/log" 2>&1 &
up=$!
for _ in $(seq 100); do [ -s "$dir/ready" ] && break; sleep 0.1; done
for name in fresh reuse; do
    reuse=""
    [ "$name" = reuse ] && reuse=", reuse: {maxRequests: 100000, maxIdle: 10s}"
    cat >"$dir/$name.yaml" <<YAML
apiVersion: pliant.dev/v1
metadata: {name: $name}
spec:
  kind: service
  engine: {wasm: {component: "file://$guest"$reuse}}
  ports: [{name: http, protocol: http}]
  resources: {cpu: 4000m}
YAML
    "$pliant" run "$dir/$name.yaml" --data-dir "$dir/data" >/dev/null 2>&1
    load "pliant, $name" "$("$pliant" job show "$name" --data-dir "$dir/data" -o json |
        sed -nE '/"endpoints"/{n;s/.*"(.*)".*/\1/p}')"
done
kill -INT "$up"
wait "$up" || true
for reuse in 1 100000; do
    "$WASMTIME" serve --addr 127.0.0.1:18080 --max-instance-reuse-count "$reuse" -Scli "$guest" >/dev/null 2>&1 &
    serve=$!
    sleep 1.5
    load "wasmtime serve, $reuse requests an instance" 127.0.0.1:18080
    kill "$serve"
    wait "$serve" 2>/dev/null || true
done
