#!/bin/sh
# Installs the package PACKAGE into a copy of this system below DIRECTORY, starts systemd in it as in a container, and has
# it run the service with its whole sandbox: DIRECTORY PACKAGE. To be run as root. Ends with 77 where that cannot be.
set -eu

directory=$1 package=$2 step=${3:-}
fail() { echo "$*" >&2; exit 1; }

# A control group of its own, so that systemd finds it empty.
if [ -z "$step" ]; then
    [ "$(id -u)" = 0 ] && [ -x /usr/lib/systemd/systemd ] && command -v nsenter >/dev/null || exit 77
    groups=
    for group in /sys/fs/cgroup /sys/fs/cgroup/unified /sys/fs/cgroup/systemd; do
        [ -e "$group/cgroup.procs" ] || continue
        mkdir "$group/cohort-test-$$" || exit 77
        groups="$groups $group/cohort-test-$$"
    done
    [ -n "$groups" ] || exit 77
    forget() { for group in $groups; do find "$group" -depth -type d -exec rmdir {} \; ; done; }
    status=0
    (
        for group in $groups; do sh -c 'echo $PPID' >"$group/cgroup.procs" || exit 77; done
        exec unshare --cgroup --mount --propagation=private --pid --fork --kill-child --uts --ipc --net sh "$0" "$directory" "$package" inside
    ) &
    outside=$!
    trap 'kill -9 "$init" 2>/dev/null || true; wait "$outside" 2>/dev/null || true; forget' EXIT
    init=
    tries=0
    until init=$(pgrep -P "$outside" systemd); do
        kill -0 "$outside" 2>/dev/null || { wait "$outside" || exit $?; fail "systemd has ended"; }
        tries=$((tries + 1))
        [ "$tries" -lt 600 ] || fail "systemd does not start"
        sleep 0.1
    done
    nsenter --target "$init" --mount --pid --net --uts --ipc --cgroup sh /root/systemd.sh - - judge || status=$?
    exit "$status"
fi

if [ "$step" = inside ]; then
    mount -t tmpfs none "$directory"
    mkdir "$directory/upper" "$directory/work" "$directory/root"
    mount -t overlay overlay -o "lowerdir=/,upperdir=$directory/upper,workdir=$directory/work" "$directory/root" || exit 77
    cp "$package" "$directory/root/root/cohort.deb"
    cp "$0" "$directory/root/root/systemd.sh"
    cd "$directory/root"
    mount -t tmpfs none run
    mkdir run/lock
    mount -t proc proc proc
    mount -t sysfs sysfs sys || exit 77
    mount -t tmpfs none dev
    for device in null zero full random urandom tty; do
        : >"dev/$device"
        mount --bind "/dev/$device" "dev/$device"
    done
    mkdir dev/pts dev/shm dev/mqueue dev/hugepages
    mount -t devpts devpts dev/pts
    ln -s pts/ptmx dev/ptmx
    ln -s /proc/self/fd dev/fd
    if [ -e /sys/fs/cgroup/cgroup.procs ]; then
        mount -t cgroup2 none sys/fs/cgroup || exit 77
    else
        mount -t tmpfs none sys/fs/cgroup
        mkdir sys/fs/cgroup/systemd sys/fs/cgroup/unified
        mount -t cgroup -o none,name=systemd cgroup sys/fs/cgroup/systemd || exit 77
        mount -t cgroup2 none sys/fs/cgroup/unified || exit 77
    fi
    chroot . dpkg --install /root/cohort.deb >/dev/null 2>&1 || fail "dpkg --install"
    mkdir -p old
    pivot_root . old
    umount -l /old
    mount --make-rshared /
    exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin /usr/lib/systemd/systemd --unit=cohort.service --show-status=0 \
        </dev/null >/dev/null 2>&1
fi

state() { systemctl show --property="$1" --value cohort; }
sql() { mariadb --no-defaults --socket=/run/cohort/cohort.sock --user=root --batch --skip-column-names --execute "$1"; }
# until_serving PID: the service runs as another process than PID.
until_serving() {
    tries=0
    until main=$(state MainPID 2>/dev/null) && [ "$main" != 0 ] && [ "$main" != "$1" ] && [ "$(state SubState)" = running ]; do
        tries=$((tries + 1))
        [ "$tries" -lt 300 ] || { systemctl --no-pager status cohort; fail "it does not run"; }
        sleep 0.1
    done
}

echo "== systemd has started it"
until_serving 0
# Ready means that clients are let in.
sql "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, v LONGTEXT); CREATE TABLE d.u (id INT PRIMARY KEY) ENGINE=redb;
    INSERT INTO d.t VALUES (1, REPEAT('x', 5000000)); INSERT INTO d.u VALUES (1); CREATE INDEX i ON d.t (v(10)); FLUSH LOGS"
[ "$(stat -c '%U:%G %a' /run/cohort /var/lib/cohort /var/log/cohort | sort -u)" = "cohort:cohort 750" ] || fail "directories"
process=$(state MainPID)
for line in 'NoNewPrivs:.1' 'Seccomp:.2' 'CapEff:.0*$' 'CapBnd:.0*$'; do
    grep -q "^$line" "/proc/$process/status" || fail "no $line in its sandbox"
done

echo "== killed, it is started again"
kill -9 "$process"
until_serving "$process"
[ "$(sql 'SELECT COUNT(*) FROM d.t')" = 1 ] || fail "rows"

echo "== reloaded and stopped"
systemctl reload cohort
[ "$(state ActiveState)" = active ] || fail "reload"
systemctl stop cohort
[ "$(state Result)" = success ] || fail "stop"
