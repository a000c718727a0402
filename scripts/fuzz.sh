#!/bin/sh
# Runs one fuzz target until it has had RUNS executions, those of earlier runs of this script included:
#
#     fuzz.sh BINARY INPUTS RUNS OPTION...
#
# BINARY is the target under libFuzzer and OPTIONs are libFuzzer's, folders of kept inputs among them. New inputs go
# into the folder INPUTS, and INPUTS.executions counts. It can be stopped at any time. The first find ends it: the
# input is beside INPUTS, as INPUTS.crash-..., .timeout-... or .oom-....
set -eu

usage='usage: fuzz.sh BINARY INPUTS RUNS OPTION...'
binary=${1:?$usage} inputs=${2:?$usage} runs=${3:?$usage}
shift 3

# So many at a time: what a slice has counts when it has ended.
slice=500000

count=$inputs.executions
log=$inputs.log
mkdir -p "$inputs"
[ -e "$count" ] || echo 0 >"$count"

while [ "$(cat "$count")" -lt "$runs" ]; do
    left=$((runs - $(cat "$count")))
    status=0
    COHORT_FUZZ_SEEDS=$inputs "$binary" -runs=$((left < slice ? left : slice)) -print_final_stats=1 -artifact_prefix="$inputs." "$@" "$inputs" \
        >"$log" 2>&1 || status=$?
    executed=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    echo $(($(cat "$count") + ${executed:-0})) >"$count"
    if [ "$status" != 0 ]; then
        tail -n 40 "$log"
        echo "$(basename "$inputs"): ended with status $status after $(cat "$count") executions, see $log" >&2
        exit 1
    fi
    coverage=$(sed -n 's/.*\(cov: [0-9]* ft: [0-9]* corp: [0-9]*\).*/\1/p' "$log" | tail -n 1)
    echo "$(basename "$inputs"): $(cat "$count") of $runs executions, $coverage"
done
