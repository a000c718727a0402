#!/bin/sh
# Builds TARGET/release/cohort-tuned, the release binary by what it does under load; TARGET (the first argument) is cargo's
# target directory. Twice a server that counts runs the loads of `cohort-bench train`:
#
# 1. it counts where its branches go, and the compiler inlines and places code by that (profile-guided optimisation);
# 2. what comes of it, RocksDB and the allocator included, counts again, and BOLT lays out the linked code by that: what
#    runs stands together, and branches fall through.
#
# RocksDB is compiled by what it counts in the first of these, once for each version.
#
# Nothing is built that has been built from the same code.
set -eu

target=${1:?usage: tuned.sh TARGET}
tuned="$target/release/cohort-tuned"
folder="$target/tuned"
bench="$target/release/cohort-bench"
host=$(rustc -vV | sed -n 's/^host: //p')
flags=${RUSTFLAGS:-}

# The path of LLVM's tool $1, the newest one.
llvm() {
    found=$(find /usr/lib/llvm-*/bin/ "$(rustc --print sysroot)/lib/rustlib/$host/bin/" -name "$1" 2>/dev/null | sort -V | tail -n 1)
    [ -n "$found" ] || { echo "no $1 below /usr/lib/llvm-*: run scripts/install.sh tuned" >&2; exit 1; }
    echo "$found"
}
profdata=$(llvm llvm-profdata)
bolt=$(llvm llvm-bolt)

# RocksDB that counts, what it has counted, and what the compiler makes of that.
rocksdb=${ROCKSDB_LIB_DIR:?is set by make tuned}
counting_rocksdb="$rocksdb-counting"
branches="$rocksdb-branches"
compiled_rocksdb="$rocksdb-compiled"

# Builds the server in a target directory of its own, $1, with RocksDB from $2 and the flags $3 besides the usual ones. With
# a target named, build scripts go without them.
server() {
    ROCKSDB_LIB_DIR=$2 ROCKSDB_INCLUDE_DIR="$2/include" RUSTFLAGS="$flags $3" CARGO_TARGET_DIR="$folder/$1" \
        cargo build --release --package cohort-server --target "$host"
}

scripts/rocksdb.sh "$counting_rocksdb" -fprofile-generate="$branches" -fprofile-update=prefer-atomic
server counting "$counting_rocksdb" "-Cprofile-generate -Clink-arg=-lgcov"
counting="$folder/counting/$host/release/cohort"
if [ "$tuned" -nt "$counting" ] && [ "$tuned" -nt "$0" ]; then
    exit 0
fi

work=$(mktemp -d "$folder/work.XXXXXX")
trap 'rm -rf "$work"' EXIT

LLVM_PROFILE_FILE="$work/%p.profraw" COHORT_BIN="$counting" "$bench" train
"$profdata" merge -o "$folder/branches.profdata" "$work"/*.profraw

# What was not called is compiled as usual, and threads may have lost a count.
scripts/rocksdb.sh "$compiled_rocksdb" -fprofile-use="$branches" -fprofile-partial-training -fprofile-correction \
    -Wno-missing-profile

# With the linker's relocations BOLT can move functions.
server compiled "$compiled_rocksdb" "-Cprofile-use=$folder/branches.profdata -Clink-arg=-Wl,--emit-relocs"
compiled="$folder/compiled/$host/release/cohort"
"$bolt" "$compiled" -instrument -instrumentation-file="$work/blocks.fdata" -o "$work/counting" >"$work/bolt.log" 2>&1 ||
    { cat "$work/bolt.log" >&2; exit 1; }
# The allocator's thread would begin before the counters are there.
MALLOC_CONF=background_thread:false COHORT_BIN="$work/counting" "$bench" train
# What is written in assembly stays as it is.
"$bolt" "$compiled" -data="$work/blocks.fdata" -o "$work/cohort" -skip-funcs='aws_lc_.*' -update-debug-sections \
    -reorder-blocks=ext-tsp -reorder-functions=cdsort -split-functions -split-all-cold -split-eh -icf=1 \
    >"$work/bolt.log" 2>&1 || { cat "$work/bolt.log" >&2; exit 1; }
"$work/cohort" version
# Without this header the C library makes the stacks of all threads executable, which the service's sandbox forbids.
readelf -lW "$work/cohort" | grep -q 'GNU_STACK.* RW ' || { echo "tuned.sh: stacks would be executable" >&2; exit 1; }
mv "$work/cohort" "$tuned"
