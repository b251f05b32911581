#!/usr/bin/env bash
# Everything that must hold before a change lands. Goes on after a failed check, so that one run shows
# all that is wrong. The last line is `N passed, N failed`: passed counts tests; failed counts
# failed tests and failed checks (formatting, lints, builds) alike.
set -uo pipefail
cd "$(dirname "$0")/.."

passed=0
failed=0

heading() { printf '\n== %s\n' "$*"; }

# check NAME COMMAND...: a step that is right or wrong as a whole.
check() {
    local name="$1"; shift
    heading "$name"
    if ! "$@"; then
        printf 'FAILED: %s\n' "$name"
        failed=$((failed + 1))
        return 1
    fi
}

# attribute NAME FILE: a number of the root element of a JUnit report.
attribute() {
    sed -nE "s/.*<testsuites[^>]* $1=\"([0-9]+)\".*/\1/p" "$2" | head -n 1
}

run_nextest() {
    heading "tests"
    # The runner keeps its reports in the checkout, wherever the target directory is.
    local report="target/nextest/default/junit.xml"
    rm -f "$report"
    cargo nextest run --locked --workspace
    local status=$?
    if [ ! -s "$report" ]; then
        printf 'FAILED: the tests did not start\n'
        failed=$((failed + 1))
        return
    fi
    local tests bad
    tests=$(attribute tests "$report")
    bad=$(($(attribute failures "$report") + $(attribute errors "$report")))
    passed=$((passed + tests - bad))
    failed=$((failed + bad))
    # A runner that fails without naming a test (a setup script, a signal) is a failure too.
    [ "$status" != 0 ] && [ "$bad" = 0 ] && failed=$((failed + 1))
    return 0
}

# sum_of: adds `1+2+3` from standard input; nothing is 0.
sum_of() { local sum; read -r sum || sum=0; echo "$((${sum:-0}))"; }

run_doc_tests() {
    # rustdoc builds each crate anew, so only crates that have a Rust block in their docs are asked.
    local crate name log
    log=$(mktemp)
    for crate in host/*/; do
        # Odd occurrences of a fence that is not `text`, `yaml`, ... are Rust to rustdoc.
        grep -rqE '^\s*//[/!] ```(rust|no_run|should_panic)' "$crate/src" || continue
        name=$(sed -nE 's/^name = "(.*)"/\1/p' "$crate/Cargo.toml" | head -n 1)
        heading "doc tests of $name"
        cargo test --locked --doc -p "$name" 2>&1 | tee "$log"
        local good bad
        good=$(sed -nE 's/^test result: .* ([0-9]+) passed; .*/\1/p' "$log" | paste -sd+ | sum_of)
        bad=$(sed -nE 's/^test result: .* ([0-9]+) failed; .*/\1/p' "$log" | paste -sd+ | sum_of)
        grep -q '^test result:' "$log" || bad=$((bad + 1))
        passed=$((passed + good))
        failed=$((failed + bad))
    done
    rm -f "$log"
}

supply_chain() {
    if ! cargo deny --version >/dev/null 2>&1; then
        heading "cargo deny: skipped, cargo-deny is not installed (cargo install cargo-deny --locked)"
        return
    fi
    # The advisory database lives on the network; licences, bans and sources do not.
    check "cargo deny" cargo deny check licenses bans sources
}

check "setup" tests/setup.sh || { printf '%d passed, %d failed\n' "$passed" "$failed"; exit 1; }
check "formatting" cargo fmt --all --check
check "guests" tests/guests/build.sh
check "lints" cargo clippy --locked --workspace --all-targets -- -D warnings
check "binary" cargo build --locked -p pliant
run_nextest
run_doc_tests
supply_chain

printf '\n%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
