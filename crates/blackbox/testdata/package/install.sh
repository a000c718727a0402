#!/bin/sh
# Installs the package PACKAGE into a copy of this system below DIRECTORY, and uses it there: DIRECTORY PACKAGE PORT.
# To be run as root. Ends with 77 where that cannot be.
set -eu

directory=$1 package=$2 port=$3
if [ -z "${4:-}" ]; then
    [ "$(id -u)" = 0 ] || exit 77
    exec unshare --mount --pid --fork --kill-child --propagation=private sh "$0" "$directory" "$package" "$port" inside
fi
fail() { echo "$*" >&2; exit 1; }

# The system is read, what is written goes into memory.
mount -t tmpfs none "$directory" || exit 77
mkdir "$directory/upper" "$directory/work" "$directory/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$directory/upper,workdir=$directory/work" "$directory/root" || exit 77
root=$directory/root
cp "$package" "$root/root/cohort.deb"
mount -t tmpfs none "$root/run"
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
inside() { chroot "$root" "$@"; }
as_server() { exec chroot "$root" setpriv --reuid=cohort --regid=cohort --clear-groups --no-new-privs -- "$@"; }

echo "== installed"
inside env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends /root/cohort.deb >"$directory/log" 2>&1 ||
    { cat "$directory/log"; fail "apt-get install"; }
inside dpkg --status cohort | grep -q '^Status: install ok installed' || fail "status"
[ "$(inside stat -c '%U:%G %a' /var/lib/cohort)" = "cohort:cohort 750" ] || fail "the data directory"
[ "$(inside stat -c '%U %a' /usr/bin/cohort /etc/cohort/cohort.cnf | tr '\n' ' ')" = "root 755 root 644 " ] || fail "modes"
inside dpkg-query --show --showformat '${Conffiles}' cohort | grep -q /etc/cohort/cohort.cnf || fail "conffiles"
[ "$(inside getent passwd cohort | cut -d: -f7)" = /usr/sbin/nologin ] || fail "a shell"
for file in README.md third-party-notices.txt.gz copyright docs/security.md; do
    [ -s "$root/usr/share/doc/cohort/$file" ] || fail "no $file"
done
[ -s "$root/usr/share/man/man1/cohort.1.gz" ] || fail "no manual page"
unit=$(ls "$root"/usr/lib/systemd/system/cohort.service "$root"/lib/systemd/system/cohort.service 2>/dev/null | head -n 1)
[ -s "$unit" ] || fail "no unit"
inside test -L /etc/systemd/system/multi-user.target.wants/cohort.service || echo "(not enabled: no systemd here)"

# What the unit does, without systemd; returns when clients are let in.
start() {
    inside install -d -m 0750 -o cohort -g cohort /run/cohort
    command=$(sed -n 's/^ExecStart=//p' "$unit")
    # shellcheck disable=SC2086 # the unit's own words
    as_server $command --port="$port" >>"$directory/server.log" 2>&1 &
    server=$!
    tries=0
    until sql "SELECT 1" >/dev/null 2>&1; do
        tries=$((tries + 1))
        kill -0 "$server" && [ "$tries" -lt 600 ] || { cat "$directory/server.log"; fail "it does not start"; }
        sleep 0.1
    done
}
stop() { kill "$server" && wait "$server" || fail "it does not stop"; }
sql() { inside mariadb --no-defaults --socket=/run/cohort/cohort.sock --user=root --batch --skip-column-names --execute "$1"; }

echo "== started from the installed files"
start
sql "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY); INSERT INTO d.t VALUES (1), (2)"
[ "$(sql 'SELECT SUM(id) FROM d.t')" = 3 ] || fail "rows"
password=$(sed -n 's/.*logged this once: \([^ ]*\).*/\1/p' "$directory/server.log")
[ -n "$password" ] || { cat "$directory/server.log"; fail "no password"; }
inside mariadb --no-defaults --host=127.0.0.1 --port="$port" --user=root --password="$password" --ssl \
    --ssl-ca=/var/lib/cohort/ca.pem --ssl-verify-server-cert --execute "SELECT 1" >/dev/null || fail "TLS"
inside setpriv --reuid=nobody --clear-groups mariadb --no-defaults --socket=/run/cohort/cohort.sock --user=root \
    --execute "SELECT 1" >/dev/null 2>&1 && fail "everybody on this machine is root"
inside setpriv --reuid=nobody --clear-groups ls /var/lib/cohort >/dev/null 2>&1 && fail "everybody reads the data"
stop

echo "== upgraded, with the databases and the changed options"
echo "max_connections = 77" >>"$root/etc/cohort/cohort.cnf"
inside dpkg --install /root/cohort.deb >"$directory/log" 2>&1 || { cat "$directory/log"; fail "a second install"; }
start
[ "$(sql 'SELECT SUM(id), @@max_connections FROM d.t')" = "3	77" ] || fail "what was there"
stop

echo "== removed and purged"
inside apt-get remove -q -y cohort >"$directory/log" 2>&1 || { cat "$directory/log"; fail "apt-get remove"; }
[ ! -e "$root/usr/bin/cohort" ] && [ -e "$root/etc/cohort/cohort.cnf" ] || fail "what is left of a removal"
inside apt-get purge -q -y cohort >"$directory/log" 2>&1 || { cat "$directory/log"; fail "apt-get purge"; }
[ ! -e "$root/etc/cohort" ] && [ -z "$(inside dpkg --listfiles cohort 2>/dev/null)" ] || fail "what is left of a purge"
[ -e "$root/var/lib/cohort/cohort.format" ] || fail "the databases outlive the package"
