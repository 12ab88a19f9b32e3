#!/usr/bin/env bash
# The unit tests, the fuzz seeds, and the daemon through the HTTP cases of the operations, broken
# framing and clients that break off, under valgrind's memcheck. Ends with "N passed, N failed".
# Usage: tests/valgrind.sh BUILD_DIRECTORY, of a config without sanitizer.
set -u
cd "$(dirname "$0")/.."
build=$PWD/$1
export CMOCKA_MESSAGE_OUTPUT=stdout
SKIND=$build/skind-valgrind
. tests/http/harness.sh
. tests/http/requests.sh # for the bodies that the operations share
. tests/http/operations.sh
. tests/fuzz/seeds.sh
# memory still reachable at the end is kept on purpose by libraries; the rest is a leak
check=(valgrind --quiet --error-exitcode=99 --leak-check=full --show-leak-kinds=definite,indirect,possible
    --errors-for-leak-kinds=definite,indirect,possible --num-callers=25)
trap 'harness_finish; rm -f "$SKIND"' EXIT

printf '#!/bin/sh\nexec %s "%s" "$@"\n' "${check[*]}" "$build/skind" >"$SKIND"
chmod +x "$SKIND"

# a line of its own for each program; its output only when something is wrong
checked() {
    local name=$1
    shift
    if "${check[@]}" "$@" >"$work/log" 2>&1; then
        printf 'ok valgrind: %s\n' "$name"
        passed=$((passed + 1))
    else
        tail -n 60 "$work/log"
        printf 'not ok valgrind: %s\n' "$name"
        failed=$((failed + 1))
    fi
}

for test in tests/unit/*.c; do
    name=$(basename "$test" .c)
    case $name in # random rounds that take half an hour here; the rest runs the same functions
    lib_exact | api_document) continue ;;
    esac
    checked "$name" "$build/tests/unit/$name"
done
for source in tests/fuzz/*.c; do
    name=$(basename "$source" .c)
    mapfile -t seeds < <(fuzz_seeds "$name")
    checked "seeds of $name" "$build/tests/fuzz/$name" "${seeds[@]}"
done

daemon_start --max-inflight-bytes 1000000 --threads 2 || exit 1
for name in $(sed -nE 's/^(case_[a-z0-9_]+)\(\) \{.*/\1/p' tests/http/operations.sh); do
    run_case "$name"
done
adopt framing python3 "$here/framing.py" "$port"
adopt pipelines python3 "$here/faults.py" pipelines "$port" "$daemon"
adopt "cut bodies" python3 "$here/faults.py" cut "$port" "$daemon" 1000000
adopt kills python3 "$here/faults.py" kills "$port" "$daemon"
daemon_stop
case_the_daemon_is_clean_under_valgrind() {
    is "exit status" "$daemon_status" 0
    is "valgrind's findings" "$(grep -c '^==' "$work/stderr")" 0
}
run_case case_the_daemon_is_clean_under_valgrind

printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
