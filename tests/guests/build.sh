#!/usr/bin/env bash
# Builds every guest of guest-examples/ and fetches the foreign ones, each to target/guests/NAME.wasm.
#
# First choice is the rustup target; where it cannot be had, Debian's second rustc builds std from
# source. Nothing is built again while sources, toolchain and this script are unchanged.
# PLIANT_GUESTS names another output directory.
set -euo pipefail

root="$(cd "$(dirname "$0")/../.." && pwd)"
out="${PLIANT_GUESTS:-$root/target/guests}"
sources="$root/guest-examples"
build_dir="$out/build"
target=wasm32-wasip2

say() { echo "guests: $*" >&2; }

has_rustup_target() {
    command -v rustup >/dev/null || return 1
    rustup target list --installed 2>/dev/null | grep -qx "$target" && return 0
    [ -e "$out/.no-rustup-target" ] && return 1
    say "trying rustup target add $target"
    # A machine without access to the rustup server must not wait for it.
    timeout 60 rustup target add "$target" >/dev/null 2>&1 && return 0
    touch "$out/.no-rustup-target"
    return 1
}

install_debian_toolchain() {
    local missing=()
    for package in rustc-web rust-web-src wasi-libc; do
        dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q "install ok installed" ||
            missing+=("$package")
    done
    [ ${#missing[@]} -eq 0 ] && return 0
    say "installing ${missing[*]}"
    apt-get update -q >&2
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
        "${missing[@]}" >&2
}

# cargo_guest VERB ARGS...: cargo for the guest target, by whichever toolchain there is.
cargo_guest() {
    local verb="$1" mode=()
    shift
    # `cargo install` builds for release by itself and knows no such flag.
    [ "$verb" = build ] && mode=(--release)
    if [ "$toolchain" = rustup ]; then
        CARGO_TARGET_DIR="$build_dir" cargo "$verb" "${mode[@]}" --target "$target" "$@"
        return
    fi
    local libc linker
    libc="$(dirname "$(dpkg -L wasi-libc | grep '/libc\.a$' | head -1)")"
    linker="$(find "$(/usr/bin/rustc --print sysroot)/lib/rustlib" "$(rustc --print sysroot)/lib/rustlib" \
        -name wasm-component-ld -print -quit)"
    # -Zbuild-std needs the unstable flag; one set of flags for all guests keeps std built once.
    PATH="$(dirname "$linker"):$PATH" RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 \
        CARGO_TARGET_DIR="$build_dir" PLIANT_REAL_LD="$linker" PLIANT_CRT_DIR="$libc" \
        RUSTFLAGS="-L $libc -C link-self-contained=no -C linker=$root/tests/guests/linker/wasm-component-ld" \
        cargo "$verb" "${mode[@]}" -Zbuild-std=std,panic_abort --target "$target" "$@"
}

checksum() {
    {
        cat "$0" "$root"/tests/guests/foreign.* "$root/tests/guests/linker"/*
        rustc --version
        cd "$sources"
        find . -type f \( -name '*.rs' -o -name '*.toml' -o -name '*.lock' -o -name '*.wit' \) \
            -print0 | sort -z | xargs -0 sha256sum
    } | sha256sum | cut -d' ' -f1
}

build_own() {
    cd "$sources"
    cargo_guest build --locked --workspace
    local built="$build_dir/$target/release" name file
    for manifest in */Cargo.toml; do
        name="$(dirname "$manifest")"
        for file in "$built/$name.wasm" "$built/${name//-/_}.wasm"; do
            [ -e "$file" ] && cp "$file" "$out/$name.wasm.new" && mv "$out/$name.wasm.new" "$out/$name.wasm"
        done
        [ -e "$out/$name.wasm" ] || { say "$name was not built"; exit 1; }
    done
}

mkdir -p "$out"
now="$(checksum)"
if [ "$(cat "$out/.checksum" 2>/dev/null)" = "$now" ]; then
    exit 0
fi
rm -f "$out/.checksum"

if has_rustup_target; then
    toolchain=rustup
else
    toolchain=debian
    install_debian_toolchain
fi
say "building with the $toolchain toolchain"
build_own
export -f cargo_guest
export toolchain root target build_dir
"$root/tests/guests/foreign.sh" "$out"
echo "$now" >"$out/.checksum"
say "$(ls "$out"/*.wasm | wc -l) guests in $out"
