# Cases (case_*) about the process: start, settings, stop. Each starts a daemon of its own.
# What it serves meanwhile is tested in requests.sh and operations.sh.

# fails_to_start STATUS PART FLAGS...: ends with the status, and its message has the part
fails_to_start() {
    local wanted=$1 part=$2 status=0
    shift 2
    timeout 20 "$skind" "$@" >"$work/out" 2>"$work/err" || status=$?
    is "exit status of $*" "$status" "$wanted"
    contains "message of $*" "$(cat "$work/err")" "$part"
    is "output of $*" "$(cat "$work/out")" ''
}

case_bad_flags_end_with_2_and_the_range() {
    fails_to_start 2 "--threads: 'x' is not a number from 0 to 256" --threads x
    fails_to_start 2 "--threads: '257' is not a number from 0 to 256" --threads=257
    fails_to_start 2 '--threads' --threads -1
    fails_to_start 2 '--threads' --threads ''
    fails_to_start 2 '--threads: a value must follow' --threads
    fails_to_start 2 'from 1 to 1073741824' --max-body-bytes 0
    fails_to_start 2 'from 1 to 1073741824' --max-body-bytes 99999999999999999999999999
    fails_to_start 2 '--idle-timeout-s' --idle-timeout-s 1.5
    fails_to_start 2 "--log: 'loud' is not one of off|stderr" --log loud
    fails_to_start 2 "--log: '' is not one of off|stderr" --log ''
    fails_to_start 2 "'--nonsense' is not known" --nonsense
    fails_to_start 2 "'serve' is not known" serve
    local address
    for address in '' 8080 localhost 127.0.0.1: 127.0.0.1:65536 127.0.0.1:x 1.2.3:80 ::1:80 '[::1]' \
        '[127.0.0.1]:80' example.org:80; do
        fails_to_start 2 'ADDRESS:PORT' --listen "$address"
    done
}

case_bad_environment_ends_with_2_and_the_range() {
    SKIND_GRACE_MS=soon fails_to_start 2 "SKIND_GRACE_MS: 'soon' is not a number from 0 to 600000"
    SKIND_LISTEN=nowhere fails_to_start 2 'SKIND_LISTEN'
}

case_help_and_version_come_first() {
    local name
    SKIND_GRACE_MS=soon "$skind" --help >"$work/out" || is "exit of --help" "$?" 0
    for name in --listen SKIND_LISTEN --threads SKIND_MAX_BODY_BYTES --grace-ms 127.0.0.1:8080 \
        16777216 'skind call' 'skind probe'; do
        contains help "$(cat "$work/out")" "$name"
    done
    matches version "$("$skind" --version)" '^skind [0-9]+\.[0-9]+\.[0-9]+$'
}

case_environment_sets_and_flags_beat_it() {
    export SKIND_MAX_BODY_BYTES=100 SKIND_THREADS=1 SKIND_GRACE_MS=
    daemon_start
    post palette "$(printf '%101s' '')" -H Expect:
    is_problem payload-too-large 413
    daemon_stop
    daemon_start --max-body-bytes=1000
    post palette "$(printf '%101s' '')" -H Expect:
    is_problem malformed-json 400
    daemon_stop
    is "exit status" "$daemon_status" 0
    unset SKIND_MAX_BODY_BYTES SKIND_THREADS SKIND_GRACE_MS
}

case_busy_port_ends_with_1() {
    local threads
    daemon_start --threads 2
    for threads in 1 2; do
        fails_to_start 1 'the port is in use' --listen "127.0.0.1:$port" --threads "$threads"
    done
    request "$base/healthz"
    is "the first still serves" "$status" 200
    daemon_stop
}

case_foreign_address_ends_with_1() {
    # 192.0.2.0/24 is for documentation (RFC 5737): no machine has it
    fails_to_start 1 'cannot listen on 192.0.2.1:0' --listen 192.0.2.1:0 --allow-anonymous
}

case_port_is_free_again_after_a_stop() {
    local again
    daemon_start --threads 2
    again=$port
    request "$base/healthz"
    daemon_stop
    # not daemon_start: the port is given
    "$skind" --listen "127.0.0.1:$again" >"$work/stdout" 2>"$work/stderr" &
    daemon=$!
    exec 9<"$work/stdout"
    read -r -t 30 -u 9 first_line
    is "first line" "$first_line" "skind listening on http://127.0.0.1:$again"
    daemon_stop
    is "exit status" "$daemon_status" 0
}

case_ipv6_serves() {
    if ! python3 -c 'import socket; socket.socket(socket.AF_INET6).bind(("::1", 0))' 2>/dev/null; then
        return # this machine has no IPv6
    fi
    listen='[::1]' daemon_start --threads 2
    matches "first line" "$first_line" '^skind listening on http://\[::1\]:[1-9][0-9]*$'
    request -g "$base/healthz"
    is status "$status" 200
    "$skind" probe --listen "[::1]:$port" || is "exit of probe" "$?" 0
    daemon_stop
    is "exit status" "$daemon_status" 0
}

case_idle_stop_is_clean_for_both_signals() {
    local signal
    for signal in TERM INT; do
        # a shell ignores INT for what it starts in the background; the daemon must not care
        daemon_start
        kill "-$signal" "$daemon"
        daemon_wait
        is "exit status after $signal" "$daemon_status" 0
    done
}

# drain SCENARIO FLAGS...: runs the scenario of drain.py on a daemon with the flags
drain() {
    local scenario=$1
    shift
    daemon_start "$@"
    timeout 60 python3 "$here/drain.py" "$scenario" "$port" "$daemon" || is "$scenario" failed passed
    daemon_wait
}

case_stop_answers_what_is_open() {
    drain open --grace-ms 60000 --threads 2
    is "exit status" "$daemon_status" 0
}

case_stop_under_keep_alive_load_loses_nothing() {
    local round
    for round in 1 2 3; do
        drain load --grace-ms 60000 --threads 2
        is "exit status of round $round" "$daemon_status" 0
    done
}

case_stop_serves_what_waits_to_be_accepted() {
    drain burst --grace-ms 60000 --threads 2
    is "exit status" "$daemon_status" 0
}

case_stop_ends_with_the_grace_time() {
    drain stuck --grace-ms 200
    is "exit status" "$daemon_status" 0
    contains message "$(cat "$work/stderr")" 'requests cut: 1'
}

case_second_signal_stops_at_once() {
    drain twice --grace-ms 600000
    is "exit status" "$daemon_status" 1
    contains message "$(cat "$work/stderr")" 'second signal'
}

# limits SCENARIO FLAGS...: runs the scenario of limits.py on a daemon with the flags
limits() {
    local scenario=$1
    shift
    daemon_start "$@" || return
    timeout 120 python3 "$here/limits.py" "$scenario" "$port" || is "$scenario" failed passed
    daemon_stop
    is "exit status" "$daemon_status" 0
}

case_idle_timeout_closes_what_is_silent() {
    limits idle-closes --idle-timeout-s 1
    limits idle-stays --idle-timeout-s 60
}

case_descriptor_limit_is_raised() {
    local soft
    soft=$(ulimit -Sn)
    [ "$(ulimit -Hn)" = unlimited ] || [ "$(ulimit -Hn)" -ge 300 ] || return # nothing to raise it to
    ulimit -Sn 64
    daemon_start --threads 2
    ulimit -Sn "$soft"
    timeout 120 python3 "$here/limits.py" many "$port" || is "200 connections" failed passed
    daemon_stop
    is "exit status" "$daemon_status" 0
}

case_refused_bodies_are_drained_up_to_64_MiB() {
    limits drained
    limits endless
    limits claimed
}

case_requests_that_no_handler_saw_are_forgotten() {
    # more query arguments than a connection's memory holds: the library gives up by itself
    daemon_start || return
    for _ in 1 2 3 4 5; do
        timeout 60 python3 "$here/limits.py" left "$port" || is "left behind" failed passed
    done
    daemon_stop
    is "exit status" "$daemon_status" 0
    is "none is waited for" "$(grep -c 'requests cut' "$work/stderr")" 0
}
