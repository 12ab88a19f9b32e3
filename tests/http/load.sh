# Cases (case_*) about load and faults: many connections, clients that break off, the largest bodies,
# mixed load for a while. Each starts a daemon of its own.

# load_cases NAME FLAGS... -- HELPER ARGUMENTS...: runs a helper program on a daemon with the flags;
# "port" and "pid" among its arguments stand for the daemon's
load_cases() {
    local name=$1 flags=() arguments=() argument
    shift
    while [ "$1" != -- ]; do
        flags+=("$1")
        shift
    done
    shift
    daemon_start "${flags[@]}" || return 1
    for argument in "$@"; do
        case $argument in
        port) argument=$port ;;
        pid) argument=$daemon ;;
        esac
        arguments+=("$argument")
    done
    adopt "$name" python3 "$here/${arguments[0]}" "${arguments[@]:1}"
    [ "$name" = "stop under load" ] || kill -TERM "$daemon" # that one stops it itself
    daemon_wait
    run_case load_stop
}

load_stop() {
    is "exit status" "$daemon_status" 0
}

# Not cases: they bring cases of their own, and run.sh calls this.
load_run() {
    local name seconds=20
    ldd "$skind" | grep -qE 'lib(asan|tsan)' && seconds=6 # memory is judged in the release build
    load_cases pipelines -- faults.py pipelines port pid
    load_cases kills --threads 2 -- faults.py kills port pid
    load_cases "cut bodies" --max-inflight-bytes 1000000 -- faults.py cut port pid 1000000
    load_cases "stop under load" --grace-ms 60000 --threads 2 -- faults.py stop port pid
    load_cases "connections of one thread" --threads 1 -- connections.py port pid 4
    load_cases "connections of two threads" --threads 2 -- connections.py port pid 4
    while IFS= read -r name; do
        load_cases "memory" -- memory.py port pid "$name"
    done < <(python3 "$here/memory.py" names)
    load_cases soak --threads 2 -- soak.py port pid "$seconds"
}
