#!/usr/bin/env bash
# Runs one figure of docs/performance.md: `make bench NAME=p1`. Without a name it lists what there is.
# A figure is a script tests/bench/NAME.sh; figures are recorded, never asserted.
set -euo pipefail
cd "$(dirname "$0")/.."

name="${1:-}"
script="tests/bench/$name.sh"
if [ -z "$name" ] || [ ! -x "$script" ]; then
    [ -z "$name" ] || printf 'bench: there is no figure "%s"\n' "$name" >&2
    printf 'usage: make bench NAME=<figure>; figures:\n' >&2
    for script in tests/bench/*.sh; do
        [ -e "$script" ] || continue
        printf '  %-6s %s\n' "$(basename "$script" .sh)" "$(sed -n '2s/^# //p' "$script")" >&2
    done
    exit 2
fi
exec "$script"
