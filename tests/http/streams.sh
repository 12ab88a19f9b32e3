# Cases (case_*) about streams of lines that need a daemon with settings of its own.
# What any daemon does with a stream is in streams.py.

stream_scenario() {
    local scenario=$1
    shift
    daemon_start --threads 1 "$@" || return
    timeout 120 python3 "$here/stream_life.py" "$scenario" "$port" "$daemon" || is "$scenario" failed passed
    daemon_stop
    is "exit status" "$daemon_status" 0
    is "nothing is said" "$(grep -c '"level":"error","message"' "$work/stderr")" 0
}

case_a_busy_stream_outlives_the_transfer_timeout() {
    stream_scenario busy --transfer-timeout-ms 1000
}

case_a_silent_stream_is_closed() {
    stream_scenario silent --transfer-timeout-ms 1000
}

case_a_stop_cuts_streams_that_have_no_end() {
    stream_scenario stop --grace-ms 300
}

case_a_stream_beyond_the_queue_is_told_at_once() {
    stream_scenario full --queue 1
}

case_streams_that_are_not_read_are_bounded_together() {
    stream_scenario unread --transfer-timeout-ms 1500
}
