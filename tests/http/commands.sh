# Cases (case_*) about the other commands of the program: call and probe.
# An operation's results are not tested here again.

# call ARGUMENTS...: stdin of the case in, $work/body out, exit status in $status
call() {
    status=0
    "$skind" call "$@" >"$work/body" 2>"$work/err" || status=$?
}

case_call_prints_the_reply() {
    call palette <<<"$(seed)"
    is "exit status" "$status" 0
    is palette "$(jq -c .palette "$work/body")" "[$(along_x 0)]"
    is stderr "$(cat "$work/err")" ''
}

case_call_prints_a_problem_and_ends_with_1() {
    call bind <<<'{"meshBindWorld": nope}'
    is "exit status" "$status" 1
    is code "$(jq -r .code "$work/body")" malformed-json
    call bind </dev/null
    is "exit status of nothing" "$status" 1
}

case_call_takes_and_gives_raw_floats() {
    matrices d 20 -2 22 >"$work/request"
    matrices d 20 >"$work/expected"
    call palette --content-type application/octet-stream --query 'dtype=f64&space=world' \
        <"$work/request"
    is "exit status" "$status" 0
    cmp "$work/body" "$work/expected" || fault=1
    call palette --content-type=application/octet-stream --accept=application/json \
        --query=dtype=f64 <"$work/request"
    is palette "$(jq -c .palette "$work/body")" "[$(along_x 0)]"
}

case_call_reads_no_more_than_the_limit() {
    local limited=$empty_palette
    SKIND_MAX_BODY_BYTES=${#limited} call palette < <(printf '%s' "$limited")
    is "at the limit" "$status" 0
    SKIND_MAX_BODY_BYTES=$((${#limited} - 1)) call palette < <(printf '%s' "$limited")
    is "over the limit" "$status $(jq -r .code "$work/body")" "1 payload-too-large"
}

case_call_used_wrongly_ends_with_2() {
    local usage
    for usage in '' nothing 'palette extra' 'palette --content-type' 'palette --accept text/html' \
        'palette --content-type text/plain' '--accept palette' 'palette --queryx=1'; do
        # shellcheck disable=SC2086
        call $usage </dev/null
        is "exit status of call $usage" "$status" 2
        is "output of call $usage" "$(cat "$work/body")" ''
        matches "message of call $usage" "$(cat "$work/err")" '^skind call: '
    done
    SKIND_THREADS=x call palette </dev/null
    is "bad environment" "$status" 2
}

case_call_help_lists_the_operations() {
    call --help
    is "exit status" "$status" 0
    contains help "$(cat "$work/body")" palette
    contains help "$(cat "$work/body")" bind
}

case_probe_tells_alive_from_dead() {
    local dead
    daemon_start
    dead=$port
    "$skind" probe --listen "127.0.0.1:$port" || is "exit when alive" "$?" 0
    SKIND_LISTEN=127.0.0.1:$port "$skind" probe || is "exit by environment" "$?" 0
    daemon_stop
    if "$skind" probe --listen "127.0.0.1:$dead" 2>"$work/err"; then
        is "exit when dead" 0 1
    fi
    contains message "$(cat "$work/err")" "127.0.0.1:$dead"
    status=0
    "$skind" probe --port 1 2>/dev/null || status=$?
    is "wrong usage" "$status" 2
}

case_probe_gives_up_on_silence_and_on_other_answers() {
    local answer
    for answer in '' 'HTTP/1.1 503 No' 'SSH-2.0-x'; do
        python3 -c '
import socket, subprocess, sys
with socket.create_server(("127.0.0.1", 0)) as server:
    probe = subprocess.Popen([sys.argv[1], "probe", "--listen", "127.0.0.1:%d" % server.getsockname()[1]],
                             stderr=subprocess.DEVNULL)
    connection, _ = server.accept()
    if sys.argv[2]:
        connection.sendall(sys.argv[2].encode() + b"\r\n\r\n")
    sys.exit(probe.wait(timeout=4) != 1)  # twice its deadline
' "$skind" "$answer" || is "exit on '$answer'" other 1
    done
}
