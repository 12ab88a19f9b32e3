#!/usr/bin/env bash
# Runs each fuzz target for FUZZ_SECONDS (60), from its seeds and what earlier runs found, and stops
# at the first fault, whose input it keeps. Mending it, move that file into tests/fuzz/corpus/TARGET.
# Usage: tests/fuzz/run.sh BUILD_DIRECTORY. FUZZ_TARGETS, if set, names the targets to run.
set -u
cd "$(dirname "$0")/../.."
. tests/fuzz/seeds.sh
build=$1
seconds=${FUZZ_SECONDS:-60}
kept=build/fuzz-kept
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}

# fuzz_target NAME
fuzz_target() {
    local name=$1 found=$kept/found/$1 log=$kept/$1.log seeds
    mkdir -p "$found" "$kept/seeds/$name"
    mapfile -t seeds < <(fuzz_seeds "$name")
    [ ${#seeds[@]} -eq 0 ] || printf '%s\n' "${seeds[@]}" | fuzz_gather "$kept/seeds/$name"
    if ! "$build/tests/fuzz/$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
        -max_len=8192 -print_final_stats=1 -artifact_prefix="$kept/$name-" \
        $([ ! -f "tests/fuzz/${name%%_*}.dict" ] || echo "-dict=tests/fuzz/${name%%_*}.dict") \
        "$found" "$kept/seeds/$name" >"$log" 2>&1; then
        tail -n 60 "$log"
        printf '%s: a fault; the input is kept as %s\n' "$name" "$(ls -t "$kept/$name"-* | head -n 1)"
        return 1
    fi
    printf '%s: %s executions, %s seeds, %s inputs kept, no fault\n' "$name" \
        "$(sed -nE 's/^stat::number_of_executed_units: *//p' "$log")" "${#seeds[@]}" \
        "$(find "$found" -type f | wc -l)"
}

for source in tests/fuzz/*.c; do
    name=$(basename "$source" .c)
    case " ${FUZZ_TARGETS:-$name} " in
    *" $name "*) fuzz_target "$name" || exit 1 ;;
    esac
done
