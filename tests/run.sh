#!/usr/bin/env bash
# Runs every test in every build: format and lint, then unit, golden and HTTP tests under release,
# asan (with ubsan) and tsan. Ends with "N passed, N failed", over all of them.
# Usage: tests/run.sh [CONFIG...]; needs what `make setup-test` installs.
set -u
cd "$(dirname "$0")/.."
configs=("$@")
[ ${#configs[@]} -gt 0 ] || configs=(release asan tsan)
jobs=$(nproc)
passed=0
failed=0
faults=()
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# a step that passes or fails as a whole
step() {
    local name=$1
    shift
    printf '\n--- %s\n' "$name"
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        faults+=("$name")
    fi
}

# a program that prints its own counts; one that ends badly without any counts as one failure
count() {
    local name=$1 status good bad
    shift
    printf '\n--- %s\n' "$name"
    "$@" >"$log" 2>&1
    status=$?
    grep -vE '^\[ RUN|^\[       OK' "$log"
    good=$(sed -nE 's/^\[  PASSED  \] ([0-9]+) test.*/\1/p; s/^([0-9]+) passed, [0-9]+ failed.*/\1/p' "$log" | tail -n 1)
    bad=$(sed -nE 's/^ ([0-9]+) FAILED TEST.*/\1/p; s/^[0-9]+ passed, ([0-9]+) failed.*/\1/p' "$log" | tail -n 1)
    passed=$((passed + ${good:-0}))
    failed=$((failed + ${bad:-0}))
    if [ "$status" -ne 0 ] || [ "${good:-0}" -eq 0 ]; then
        [ "${bad:-0}" -gt 0 ] || failed=$((failed + 1))
        faults+=("$name (exit $status)")
    fi
}

export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:abort_on_error=0}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
export TSAN_OPTIONS=${TSAN_OPTIONS:-suppressions=$PWD/tests/tsan.supp:halt_on_error=0:exitcode=66}

step "format" make -s format
for config in "${configs[@]}"; do
    step "$config: build" make -s -j "$jobs" config="$config" all unit-build
    for test in tests/unit/*.c; do
        name=$(basename "$test" .c)
        count "$config: $name" "build/$config/tests/unit/$name"
    done
    if [ "$config" = asan ]; then
        step "$config: fuzz targets" make -s -j "$jobs" config="$config" fuzz-build
        count "$config: fuzz seeds" tests/fuzz/replay.sh "build/$config"
    fi
    count "$config: http" env SKIND="$PWD/build/$config/skind" tests/http/run.sh
done
count "deploy" tests/deploy.sh "build/${configs[0]}/skind"
step "lint" make -s -j "$jobs" lint

printf '\n'
for fault in "${faults[@]}"; do
    printf 'not passed: %s\n' "$fault"
done
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
