#!/bin/sh
# Compiles the runner of sqllogictest files, once, into DIRECTORY (the first argument), where the corpus is
# there (the second one). Without either its test prints that it was not run.
set -u

directory=${1:?usage: sqllogictest.sh DIRECTORY CORPUS}
corpus=${2:?usage: sqllogictest.sh DIRECTORY CORPUS}
version=0.29.1

[ -d "$corpus" ] || exit 0
[ -x "$directory/sqllogictest-$version/bin/sqllogictest" ] && exit 0
CARGO_TARGET_DIR=$(mktemp -d)
export CARGO_TARGET_DIR
trap 'rm -rf "$CARGO_TARGET_DIR"' EXIT
cargo install --quiet --locked --root "$directory/sqllogictest-$version" --version "=$version" sqllogictest-bin ||
    echo "no sqllogictest-bin $version"
