#!/bin/sh
# Builds librocksdb.a once into DIRECTORY (the first argument): it takes many minutes, and cargo
# would do it again for every profile and every target directory.
#
# The directory's name has to change with the version; the Makefile takes care of that. Afterwards
# DIRECTORY holds librocksdb.a and include/, for ROCKSDB_LIB_DIR and ROCKSDB_INCLUDE_DIR.
set -eu

directory=${1:?usage: rocksdb.sh DIRECTORY}
[ -e "$directory/librocksdb.a" ] && exit 0

mkdir -p "$(dirname "$directory")"
exec 9>"$directory.lock"
flock 9 || exit 1
[ -e "$directory/librocksdb.a" ] && exit 0

work="$directory.building"
rm -rf "$work/out" && mkdir -p "$work/out"
echo "Building RocksDB once into $directory (fifteen to twenty-five minutes on two cores)"

# The compiler says nothing for minutes on end: count the object files.
(
    while sleep 20 >/dev/null; do
        objects=$(find "$work/target" -path '*rust-librocksdb-sys-*/out/*.o' 2>/dev/null | wc -l)
        echo "  RocksDB: $objects of about 350 files compiled"
    done
) 9>&- &
progress=$!
trap 'kill "$progress" 2>/dev/null || true' EXIT

# Without debug information: 44 MB instead of 1.6 GB for every link, and less to compile.
env -u ROCKSDB_LIB_DIR -u ROCKSDB_STATIC -u ROCKSDB_INCLUDE_DIR -u RUSTFLAGS CARGO_TARGET_DIR="$work/target" \
    CARGO_PROFILE_RELEASE_DEBUG=none \
    cargo build --quiet --release --package cohort-engine

build=$(dirname "$(find "$work/target/release/build" -path '*/rust-librocksdb-sys-*/out/librocksdb.a')")
include=$(sed -n 's/^cargo::metadata=include=//p' "$build/../output")
cp "$build/librocksdb.a" "$work/out/"
cp -R "$include" "$work/out/include"
rm -rf "$directory" && mv "$work/out" "$directory"
rm -rf "$work"
echo "RocksDB is ready"
