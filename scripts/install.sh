#!/bin/sh
# Installs the Debian packages that building ("build"), building by what is run most ("tuned"), testing ("test") or
# benchmarking ("bench") needs. Installs nothing, and asks for no rights, when everything is there.
set -eu

purpose=${1:?usage: install.sh build|tuned|test|bench}
missing=

# need PACKAGE TEST...: PACKAGE is missing unless the command TEST... succeeds.
need() {
    package=$1
    shift
    "$@" >/dev/null 2>&1 || missing="$missing $package"
}

has() {
    PATH="$PATH:/usr/sbin:/sbin" command -v "$1"
}

has_libclang() {
    # Not libclang-cpp, which is another library.
    for folder in /usr/lib/llvm-*/lib /usr/lib/* "${LIBCLANG_PATH:-/nonexistent}"; do
        for library in "$folder"/libclang.so* "$folder"/libclang-[0-9]*.so*; do
            [ -e "$library" ] && return 0
        done
    done
    return 1
}

# Older ones do not read what programs that the compiler's LLVM built have counted.
has_llvm() {
    for tool in /usr/lib/llvm-19/bin/"$1" /usr/lib/llvm-[2-9][0-9]/bin/"$1"; do
        [ -x "$tool" ] && return 0
    done
    return 1
}

need build-essential has c++
need build-essential has make
need libclang-dev has_libclang
if [ "$purpose" = tuned ]; then
    need bolt-19 has_llvm llvm-bolt
    need llvm-19 has_llvm llvm-profdata
    need sysbench has sysbench
elif [ "$purpose" != build ]; then
    need mariadb-server has mariadbd
    need mariadb-client has mariadb-binlog
    need mariadb-client has mysqlslap
    need sysbench has sysbench
    need mydumper has mydumper
    need percona-toolkit has pt-heartbeat
    need strace has strace
    need openssl has openssl
    need curl has curl
    need python3-pip python3 -m pip --version
fi

if ! has cargo >/dev/null; then
    echo "cargo is missing: install Rust from https://rustup.rs, then run this again" >&2
    exit 1
fi
[ -n "$missing" ] || exit 0

missing=$(echo "$missing" | tr ' ' '\n' | sort -u | tr '\n' ' ')
echo "Installing: $missing"
if ! has apt-get >/dev/null; then
    echo "no apt-get here: install what corresponds to: $missing" >&2
    exit 1
fi
as_root=
if [ "$(id -u)" != 0 ]; then
    as_root=sudo
    has sudo >/dev/null || { echo "run as root: apt-get install $missing" >&2; exit 1; }
fi

# The database packages are wanted for their programs: their services must not start and take the
# port that the server is about to use.
policy=/usr/sbin/policy-rc.d
ours=
if [ ! -e "$policy" ]; then
    ours=yes
    printf '#!/bin/sh\nexit 101\n' | $as_root tee "$policy" >/dev/null
    $as_root chmod 755 "$policy"
fi
cleanup() {
    [ -z "$ours" ] || $as_root rm -f "$policy"
}
trap cleanup EXIT

$as_root apt-get update -q
# shellcheck disable=SC2086 # a list of package names
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing

case " $missing" in
*" mariadb-server "*)
    if [ -d /run/systemd/system ]; then
        $as_root systemctl disable --now mariadb || true
    fi
    ;;
esac
