#!/usr/bin/env bash
# Installs what building and testing Pliant need and nothing else; does nothing for what is there already.
# Works as root and as a user who may sudo. The guest toolchain is the concern of tests/guests/build.sh.
set -euo pipefail

NEXTEST_VERSION=0.9.143

say() { printf 'setup: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        fail "need root for: $* (neither root nor sudo)"
    fi
}

# need COMMAND PACKAGE: remembers the package when the command is not there.
missing=()
need() { command -v "$1" >/dev/null || missing+=("$2"); }

system_packages() {
    need cc gcc
    need make make
    need curl curl
    need git git
    need docker-registry docker-registry
    [ -e /etc/ssl/certs/ca-certificates.crt ] || missing+=(ca-certificates)
    [ "${#missing[@]}" = 0 ] && return
    command -v apt-get >/dev/null || fail "install these by hand, this is no Debian: ${missing[*]}"
    say "apt-get install ${missing[*]}"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q >/dev/null
    # Services of these packages must not be started: the tests start their own, on free ports.
    as_root env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
        apt-get install -qy --no-install-recommends "${missing[@]}" >/dev/null
}

rust_toolchain() {
    command -v cargo >/dev/null || fail "no cargo: install Rust from https://rustup.rs and run again"
    local component
    for component in fmt clippy; do
        cargo "$component" --version >/dev/null 2>&1 && continue
        command -v rustup >/dev/null || fail "cargo $component is missing and there is no rustup to add it"
        say "rustup component add $component"
        rustup component add "${component/fmt/rustfmt}"
    done
}

test_runner() {
    cargo nextest --version >/dev/null 2>&1 && return
    say "cargo install cargo-nextest $NEXTEST_VERSION (a few minutes)"
    cargo install cargo-nextest --locked --version "$NEXTEST_VERSION"
}

system_packages
rust_toolchain
test_runner
say "ready"
