#!/bin/sh
# Fetches the drivers that tests connect with, into DIRECTORY (the first argument): `connector-j.jar` with Maven,
# `go-tls`, a program built with go-sql-driver, and with pip `connector-python`, which has MySQL's own client library in
# it. `mysql-replication` (pip), `zongji` (npm) and `binlog-connector.jar` (Maven) follow a binlog. What is there already
# is left alone.
#
# They are optional: one that cannot be had is named, and its test says that it was not run.
set -u

directory=${1:?usage: drivers.sh DIRECTORY}
sources=$(dirname "$0")/../crates/blackbox/testdata/drivers
mkdir -p "$directory"
directory=$(cd "$directory" && pwd)
work=$(mktemp -d "$directory/fetching.XXXXXX")
trap 'rm -rf "$work"' EXIT

# jar FILE GROUP NAME VERSION SUM
jar() {
    command -v mvn >/dev/null || { echo "mvn is not installed"; return 1; }
    artifact=$2:$3:$4
    timeout 120 mvn --batch-mode --quiet dependency:get -Dartifact="$artifact" -Dtransitive=false || return 1
    timeout 120 mvn --batch-mode --quiet dependency:copy -Dartifact="$artifact" -DoutputDirectory="$work" || return 1
    echo "$5  $work/$3-$4.jar" | sha256sum --check --status || { echo "its sum is wrong"; return 1; }
    mv "$work/$3-$4.jar" "$1"
}

connector_j() {
    jar "$1" com.mysql mysql-connector-j 8.4.0 d77962877d010777cff997015da90ee689f0f4bb76848340e1488f2b83332af5
}

binlog_connector() {
    jar "$1" com.zendesk mysql-binlog-connector-java 0.30.1 \
        6f3976798fe6b4cb7f9c13f194c59508333c5761626e37b53e20c6a3fca7d14d
}

# The library above needs it for transactions that are compressed.
zstd_jni() {
    jar "$1" com.github.luben zstd-jni 1.5.6-10 b6c3237e24b8252a5a9c3a0e1ae30ef8f323412e74bd358548b7a9e527d676df
}

zongji() {
    command -v npm >/dev/null || { echo "npm is not installed"; return 1; }
    cp -r "$sources/zongji" "$work/zongji"
    (cd "$work/zongji" && timeout 120 npm ci --silent --no-audit --no-fund --ignore-scripts) || return 1
    rm -rf "$1"
    mv "$work/zongji" "$1"
}

go_tls() {
    command -v go >/dev/null || { echo "go is not installed"; return 1; }
    (cd "$sources/go" && timeout 300 go build -o "$work/go-tls" .) || return 1
    mv "$work/go-tls" "$1"
}

# One build for each Python.
connector_python() {
    python3 -m pip --version >/dev/null 2>&1 || { echo "pip is not installed"; return 1; }
    cat >"$work/connector-python.txt" <<END
mysql-connector-python==26.10.0 \
    --hash=sha256:d82d235beb404cbc3b32c90ec8d5bb42e734dd84ffc8e15fdacbe141608c7d9e \
    --hash=sha256:2f6d6e37eb1d2d5e47054d84eb5ceeb02d3d960d87fac549acece3dda4caa504 \
    --hash=sha256:97371eb3bd3372c7b658a3a5fb91919d3fab100115ba346ee6708fcf08c1d150
END
    PIP_ROOT_USER_ACTION=ignore timeout 120 python3 -m pip install --quiet --disable-pip-version-check --no-deps \
        --require-hashes --only-binary :all: --target "$work/connector-python" --requirement "$work/connector-python.txt" ||
        return 1
    mv "$work/connector-python" "$1"
}

mysql_replication() {
    python3 -m pip --version >/dev/null 2>&1 || { echo "pip is not installed"; return 1; }
    cat >"$work/mysql-replication.txt" <<END
mysql-replication==1.0.17 --hash=sha256:280b13bdf290e2a83c355cd20f65a59d37b5df9197ce87f630e8b71d56745a3a
pymysql==1.2.4 --hash=sha256:e169bed906168fffd0088925f45b3df024c2775c6fd128da0df773d47c458840
packaging==26.3 --hash=sha256:d7193f7c8e4e93f444fde0262bf90af30e16fa0ad0ad44cb553c87339b23cd1c
END
    PIP_ROOT_USER_ACTION=ignore timeout 120 python3 -m pip install --quiet --disable-pip-version-check --no-deps \
        --require-hashes --only-binary :all: --target "$work/mysql-replication" --requirement "$work/mysql-replication.txt" ||
        return 1
    mv "$work/mysql-replication" "$1"
}

# fetch FUNCTION FILE SOURCE: once, and again when the source is newer.
fetch() {
    [ -e "$directory/$2" ] && [ ! "$sources/$3" -nt "$directory/$2" ] && return
    "$1" "$directory/$2" >"$work/log" 2>&1 || { echo "no $2:"; tail -3 "$work/log"; }
}

fetch connector_j connector-j.jar nothing
fetch go_tls go-tls go/main.go
fetch connector_python connector-python nothing
fetch mysql_replication mysql-replication nothing
fetch zongji zongji zongji/follow.mjs
fetch binlog_connector binlog-connector.jar nothing
fetch zstd_jni zstd-jni.jar nothing
