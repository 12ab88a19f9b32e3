#!/usr/bin/env bash
# Runs every seed through its fuzz target once and ends with "N passed, N failed".
# Usage: tests/fuzz/replay.sh BUILD_DIRECTORY, of any config but fuzz.
set -u
cd "$(dirname "$0")/../.."
. tests/fuzz/seeds.sh
build=$1
passed=0
failed=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

for source in tests/fuzz/*.c; do
    name=$(basename "$source" .c)
    mapfile -t seeds < <(fuzz_seeds "$name")
    "$build/tests/fuzz/$name" "${seeds[@]}" >"$log" 2>&1
    read -r good bad < <(sed -nE 's/^([0-9]+) passed, ([0-9]+) failed$/\1 \2/p' "$log")
    if [ "${bad:-1}" -eq 0 ]; then
        printf 'ok %s: %s inputs\n' "$name" "$good"
        passed=$((passed + 1))
    else
        cat "$log"
        printf 'not ok %s\n' "$name"
        failed=$((failed + 1))
    fi
    good='' bad=''
done
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
