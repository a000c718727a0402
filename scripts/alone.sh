#!/bin/sh
# Checks that every crate compiles alone (`-p CRATE`). The whole workspace compiles at this point, so a crate can fail
# only by what others turn on: features of the crates that it names. Compares those, and compiles where they differ.
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# packages FILE ARGUMENTS...: the packages that the arguments select, with their features.
packages() {
    file=$1
    shift
    cargo tree --prefix none --format '{p} {f}' "$@" >"$work/tree"
    sed 's/ (\*)$//' "$work/tree" | sort -u >"$file"
}

# First without what only tests name.
for edges in normal,build normal,build,dev; do
    targets=
    case $edges in *dev) targets=--all-targets ;; esac
    packages "$work/workspace" --workspace --edges "$edges"
    for manifest in crates/*/Cargo.toml; do
        crate=$(sed -n '/^name = /{s/.*"\(.*\)"/\1/p;q}' "$manifest")
        packages "$work/alone" --package "$crate" --depth 1 --edges "$edges"
        differences=$(comm -23 "$work/alone" "$work/workspace")
        if [ -n "$differences" ]; then
            echo "$crate alone has other features: $differences"
            # shellcheck disable=SC2086 # no target or one word
            cargo check --profile checked --package "$crate" $targets
        fi
    done
done
