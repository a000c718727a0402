#!/bin/sh
# Builds librocksdb.a once into DIRECTORY (the first argument): it takes minutes, and cargo would do it again for every
# profile and every target directory. Further arguments are flags for the compiler.
#
# Each of RocksDB's some 350 files reads the same headers, which is most of the compiler's work. Here they are compiled
# in some eight units that include many files each, by the crate's own build script with its own flags: a copy of the
# crate gets another list of sources. RocksDB's own `make unity` keeps its files fit for that. What neither RocksDB's
# core nor its C interface calls is left out.
#
# The directory's name has to change with the version and the flags; who calls takes care of that. Afterwards
# DIRECTORY holds librocksdb.a and include/, for ROCKSDB_LIB_DIR and ROCKSDB_INCLUDE_DIR.
set -eu

directory=${1:?usage: rocksdb.sh DIRECTORY [FLAG...]}
shift
[ -e "$directory/librocksdb.a" ] && exit 0

mkdir -p "$(dirname "$directory")"
# All are built in the same folder, one after the other: what code has counted is found by its file's path.
work="$(dirname "$directory")/rocksdb.building"
exec 9>"$work.lock"
flock 9 || exit 1
[ -e "$directory/librocksdb.a" ] && exit 0

# Compiled alone: c.cc has `using` declarations for half of RocksDB, and the build script names the other two to give
# them flags of their own on ARM.
alone="db/c.cc util/crc32c.cc util/crc32c_arm64.cc"
unit_lines=30000
unused='^tools/|^utilities/(agg_merge|blob_db|cache_dump|cassandra|env_mirror|fault_injection|option_change_migration'
unused="$unused|persistent_cache|secondary_index|simulator_cache|sorted_run_builder)"

rm -rf "$work" && mkdir -p "$work"
manifest=$(cargo metadata --locked --format-version 1 |
    grep -o '"manifest_path":"[^"]*/rust-librocksdb-sys-[^"]*/Cargo.toml"' | cut -d '"' -f 4)
# Without jemalloc, which would be built once more for this, and which replaces the allocator without RocksDB's help.
features=$(cargo tree --locked --package cohort-engine-rocksdb --edges normal --prefix none --format '{p} {f}' |
    sed -n '/^rust-librocksdb-sys /{s/.* //;s/,[a-z-]*jemalloc[a-z-]*//g;p;q}')

# The copy is a workspace of its own, with the versions of this one.
cp -R "$(dirname "$manifest")" "$work/crate"
cp Cargo.lock "$work/crate/"
cd "$work/crate"
sed -i '/^\[dev-dependencies/,/^$/d' Cargo.toml
echo '[workspace]' >>Cargo.toml
mkdir rocksdb/units
grep -vE "$unused" rocksdb_lib_sources.txt >used
unit=0
room=0
while read -r file; do
    case " $alone util/build_version.cc " in
    *" $file "*) echo "$file" && continue ;;
    esac
    lines=$(wc -l <"rocksdb/$file")
    if [ "$room" -lt "$lines" ]; then
        unit=$((unit + 1))
        room=$unit_lines
        echo "units/$unit.cc"
    fi
    room=$((room - lines))
    echo "#include \"$file\"" >>"rocksdb/units/$unit.cc"
done <used >sources
mv sources rocksdb_lib_sources.txt
objects=$(($(wc -l <rocksdb_lib_sources.txt) + 1))
# What the crates beside this one ask for first.
mkdir -p "$directory"
cp -R rocksdb/include "$directory/"
echo "Building RocksDB once into $directory (about five minutes on two cores)"

# The compiler says nothing for minutes on end: count the object files.
(
    seconds=0
    while sleep 20 >/dev/null; do
        seconds=$((seconds + 20))
        compiled=$(find "$work/target" -path '*rust-librocksdb-sys-*/out/*.o' -size +0 2>/dev/null | wc -l)
        echo "  RocksDB: $compiled of $objects units compiled, $seconds s"
    done
) 9>&- &
progress=$!
trap 'kill "$progress" 2>/dev/null || true' EXIT

# Without debug information: 44 MB instead of 1.6 GB for every link, and less to compile. With -O2, as RocksDB's own
# Makefile has it: a tenth less to compile than with -O3.
env -u ROCKSDB_LIB_DIR -u ROCKSDB_STATIC -u ROCKSDB_INCLUDE_DIR -u RUSTFLAGS CARGO_TARGET_DIR="$work/target" CXXFLAGS="${CXXFLAGS:-} $*" \
    CARGO_PROFILE_RELEASE_DEBUG=none CARGO_PROFILE_RELEASE_OPT_LEVEL=2 \
    cargo build --quiet --release --no-default-features --features "$features"

build=$(dirname "$(find "$work/target/release/build" -path '*/rust-librocksdb-sys-*/out/librocksdb.a')")
mv "$build/librocksdb.a" "$directory/"
rm -rf "$work"
echo "RocksDB is ready"
