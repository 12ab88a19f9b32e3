#!/usr/bin/env bash
# Mixed load on a daemon of its own for SOAK_MINUTES (10), on loopback; passes when its memory and
# its descriptors stay flat, as tests/http/soak.py defines it, and prints start, middle and end.
# Usage: tests/soak.sh SKIND
set -u
SKIND=$(realpath "$1")
. "$(dirname "$0")/http/harness.sh"
here=$root/tests/http
seconds=$(awk -v minutes="${SOAK_MINUTES:-10}" 'BEGIN { print minutes * 60 }')

daemon_start || exit 1
adopt soak python3 "$here/soak.py" "$port" "$daemon" "$seconds"
daemon_stop
case_soak_stop() {
    is "exit status" "$daemon_status" 0
}
run_case case_soak_stop
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
