#!/usr/bin/env bash
# The main story on real guests: builds, starts a one-machine cluster in a directory of its own, runs
# an HTTP component and a batch component to their end, shows what a user sees, leaves no litter.
set -euo pipefail
cd "$(dirname "$0")/.."

tests/setup.sh
tests/guests/build.sh
cargo build --locked -p pliant
pliant="$(realpath "${CARGO_TARGET_DIR:-target}/debug/pliant")"
guests="$(realpath "${PLIANT_GUESTS:-target/guests}")"

dir="$(mktemp -d)"
up=""
finish() {
    [ -n "$up" ] && kill -INT "$up" 2>/dev/null && wait "$up" 2>/dev/null
    rm -rf "$dir"
}
trap finish EXIT
cd "$dir"

# Prints a command as one would type it, then runs it.
show() {
    local word
    printf '\n$ pliant'
    for word; do
        case "$word" in
            *[!A-Za-z0-9_./:=@-]*) printf ' "%s"' "$word" ;;
            *) printf ' %s' "$word" ;;
        esac
    done
    printf '\n'
    "$pliant" "$@"
}

cat > hello.yaml <<YAML
apiVersion: pliant.dev/v1
metadata: {name: hello}
spec:
  kind: service
  count: 2
  engine: {wasm: {component: "file://$guests/hello-http.wasm"}}
  ports: [{name: http, protocol: http}]
  service: {route: {host: hello.localhost}}
  update: {minHealthyTime: 2s}
YAML
cat > words.yaml <<YAML
apiVersion: pliant.dev/v1
metadata: {name: words}
spec:
  kind: batch
  engine: {wasm: {component: "file://$guests/word-count.wasm", args: [/text/GPL-3]}}
  mounts: [{source: /usr/share/common-licenses, target: /text}]
YAML

printf '$ pliant up --allow-mount /usr/share/common-licenses &\n'
"$pliant" up --listen 127.0.0.1:0 --allow-mount /usr/share/common-licenses --ready-file ready 2> up.log &
up=$!
for _ in $(seq 600); do
    [ -s ready ] && break
    kill -0 "$up" 2>/dev/null || { cat up.log; exit 1; }
    sleep 0.1
done

show run hello.yaml --wait done
url="http://$(cat .pliant/routes.address)/"
printf '\n$ curl -H "Host: hello.localhost" %s\n' "$url"
curl -sS -H "Host: hello.localhost" "$url"
show run words.yaml
printf '\n$ pliant job results words --cat words.txt | head -n 5\n'
"$pliant" job results words --cat words.txt > table.txt
head -n 5 table.txt
show logs words
show ps
show run hello.yaml
printf '\n# the same name, another spec: a plan, a new version, a look at the history, and back\n'
sed 's/count: 2/count: 2\n  env: {COLOUR: red}/' hello.yaml > hello-red.yaml
show plan hello-red.yaml
show run hello-red.yaml --wait done -m "try red"
show job tag hello tried-red
printf '\n# a version whose guest traps: the rollout fails, says why, and goes back by itself; the old one served on\n'
sed 's/hello-http.wasm/trap.wasm/; s/count: 2/count: 2\n  restart: {policy: never}/' hello.yaml > hello-bad.yaml
show run hello-bad.yaml || echo "(exit code $?)"
curl -sS -H "Host: hello.localhost" "$url"
show rollout list hello
show rollback hello --to 1 -m "blue was better"
show job versions hello
show job diff hello tried-red current
show stop hello
show ps
printf '\nCtrl-C\n'
kill -INT "$up"
wait "$up"
up=""
show journal check
