#!/bin/sh
# Fetches what `make follow` follows a server with, beside what `drivers.sh` and `peers.sh` fetch, with Maven into
# DIRECTORY (the first argument): `debezium` (with Kafka), `canal` and `connector`, with `jars/` and the tests' own
# `classes/` in each. What is there already is left alone.
#
# They are optional: one that cannot be had is named, and its test says that it was not run.
set -u

directory=${1:?usage: followers.sh DIRECTORY}
sources=$(cd "$(dirname "$0")/../crates/blackbox/testdata/followers" && pwd)
mkdir -p "$directory"
directory=$(cd "$directory" && pwd)
work=$(mktemp -d "$directory/fetching.XXXXXX")
trap 'rm -rf "$work"' EXIT

# follower NAME CLASS: jars as `NAME.pom.xml` has them, whose sums `NAME.sha256` knows, and CLASS compiled with them.
follower() {
    for tool in mvn javac; do
        command -v "$tool" >/dev/null || { echo "$tool is not installed"; return 1; }
    done
    if [ ! -d "$directory/$1" ]; then
        timeout 900 mvn --batch-mode --quiet --file "$sources/$1.pom.xml" dependency:copy-dependencies \
            -DoutputDirectory="$work/$1/jars" || return 1
        (cd "$work/$1/jars" && sha256sum --check --strict --quiet "$sources/$1.sha256") || return 1
        [ "$(ls "$work/$1/jars" | wc -l)" = "$(wc -l <"$sources/$1.sha256")" ] || { echo "other jars came as well"; return 1; }
        mv "$work/$1" "$directory/$1"
    fi
    for source in Changes "$2"; do
        [ "$directory/$1/classes/$source.class" -nt "$sources/$source.java" ] && continue
        javac -cp "$directory/$1/jars/*" -d "$directory/$1/classes" "$sources/Changes.java" "$sources/$2.java" || return 1
    done
}

for follower in "debezium DebeziumFollower" "canal CanalFollower" "connector ConnectorFollower"; do
    set -- $follower
    follower "$1" "$2" >"$work/log" 2>&1 || { echo "no $1:"; tail -3 "$work/log"; }
done
