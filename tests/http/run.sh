#!/usr/bin/env bash
# Drives the daemon named by SKIND from outside, with curl, raw sockets, Python and node, and ends
# with "N passed, N failed". What an operation computes is tested elsewhere; here it is that the
# answer gets through.
set -u
. "$(dirname "$0")/harness.sh"
. "$here/requests.sh"
. "$here/operations.sh"
. "$here/batch.sh"
. "$here/streams.sh"
. "$here/process.sh"
. "$here/commands.sh"
. "$here/access.sh"
. "$here/load.sh"

# the functions of a file that are cases, in the order in which they stand there
cases_of() {
    sed -nE 's/^(case_[a-z0-9_]+)\(\) \{.*/\1/p' "$here/$1"
}

body_limit=200000
daemon_start --max-body-bytes "$body_limit" --threads 2 || exit 1
for name in $(cases_of requests.sh) $(cases_of operations.sh) $(cases_of batch.sh); do
    run_case "$name"
done
adopt framing python3 "$here/framing.py" "$port"
adopt streams python3 "$here/streams.py" "$port" "$daemon" "$body_limit"
adopt "python clients" python3 "$here/clients.py" "$port" "$body_limit"
if command -v node >/dev/null; then
    adopt "node clients" node "$here/clients.js" "$port" "$body_limit"
else
    echo "# node is not installed: its cases are left out"
fi
daemon_stop
case_stop_after_all_cases() {
    is "exit status" "$daemon_status" 0
}
run_case case_stop_after_all_cases

# these start daemons of their own
adopt observed python3 "$here/observed.py" "$skind"
adopt overload python3 "$here/overload.py" "$(dirname "$skind")/tests/http/skind-stall"
for name in $(cases_of process.sh) $(cases_of commands.sh) $(cases_of access.sh) $(cases_of streams.sh); do
    run_case "$name"
done
load_run

slow_scenarios

printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
