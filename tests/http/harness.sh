# What every HTTP case uses: a daemon on a free port, requests with curl, checks that name what
# differs. It holds no cases of its own; run.sh runs them.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
skind=${SKIND:?set SKIND to the daemon to be tested}
work=$(mktemp -d)
daemon=          # process id of the daemon that runs, empty when none does
daemon_status=   # exit status of the last one that was waited for
passed=0
failed=0
fault=0          # of the case that runs

harness_finish() {
    [ -z "$daemon" ] || kill -KILL "$daemon" 2>/dev/null
    rm -rf "$work"
}
trap harness_finish EXIT

# Starts the daemon on a free port of $listen (default 127.0.0.1) with the flags given, and sets
# $daemon, $first_line, $port and $base.
daemon_start() {
    rm -f "$work/stdout"
    mkfifo "$work/stdout"
    "$skind" --listen "${listen:-127.0.0.1}:0" "$@" >"$work/stdout" 2>"$work/stderr" &
    daemon=$!
    exec 9<"$work/stdout"
    if ! read -r -t 30 -u 9 first_line; then
        echo "the daemon printed no line" >&2
        cat "$work/stderr" >&2
        return 1
    fi
    base=${first_line#skind listening on }
    port=${base##*:}
}

# Waits for the daemon's end and sets $daemon_status.
daemon_wait() {
    wait "$daemon"
    daemon_status=$?
    daemon=
    exec 9<&-
    [ "$daemon_status" -eq 0 ] || tail -n 60 "$work/stderr" # shown when the case fails
}

daemon_stop() {
    kill -TERM "$daemon"
    daemon_wait
}

# curl with the reply's parts in $status, $work/head and $work/body
request() {
    status=$(curl -sS --max-time 60 -o "$work/body" -D "$work/head" -w '%{http_code}' "$@")
}

# post OPERATION BODY [CURL FLAGS...]: as $type, by default JSON
post() {
    local operation=$1 body=$2
    shift 2
    request -H "Content-Type: ${type:-application/json}" --data-binary "$body" "$@" \
        "$base/v1/$operation"
}

# the value of a header of the last reply
header() {
    sed -nE "s/^$1: (.*)\r$/\1/Ip" "$work/head" | tail -n 1
}

# is WHAT ACTUAL EXPECTED
is() {
    if [ "$2" != "$3" ]; then
        printf '    %s: got %q, expected %q\n' "$1" "$2" "$3"
        fault=1
    fi
}

# contains WHAT TEXT PART
contains() {
    if [[ $2 != *"$3"* ]]; then
        printf '    %s: got %q, which lacks %q\n' "$1" "$2" "$3"
        fault=1
    fi
}

# matches WHAT TEXT REGEX
matches() {
    if ! [[ $2 =~ $3 ]]; then
        printf '    %s: got %q, which does not match %q\n' "$1" "$2" "$3"
        fault=1
    fi
}

# The last reply is a problem document of that code and status, whole and consistent.
is_problem() {
    is status "$status" "$2"
    is content-type "$(header Content-Type)" application/problem+json
    is cache-control "$(header Cache-Control)" no-store
    is code "$(jq -r .code "$work/body")" "$1"
    is "document status" "$(jq -r .status "$work/body")" "$2"
    is type "$(jq -r .type "$work/body")" "/problems/$1"
    is "request id" "$(jq -r .requestId "$work/body")" "$(header X-Request-Id)"
}

# Takes in the "ok NAME" and "not ok NAME" lines of a helper program, run as given; a helper that
# breaks off is a failure of its own.
adopt() {
    local name=$1 helper_status good bad
    shift
    "$@" >"$work/adopted" 2>&1
    helper_status=$?
    cat "$work/adopted"
    good=$(grep -c '^ok ' "$work/adopted")
    bad=$(grep -c '^not ok ' "$work/adopted")
    if [ "$helper_status" -ne 0 ] && [ "$bad" -eq 0 ] || [ "$((good + bad))" -eq 0 ]; then
        printf 'not ok %s (exit %s)\n' "$name" "$helper_status"
        bad=$((bad + 1))
    fi
    passed=$((passed + good))
    failed=$((failed + bad))
}

# Runs the function of that name as one case.
run_case() {
    local name=${1#case_}
    fault=0
    "$1" >"$work/log" 2>&1
    if [ "$fault" -eq 0 ]; then
        printf 'ok %s\n' "${name//_/ }"
        passed=$((passed + 1))
    else
        printf 'not ok %s\n' "${name//_/ }"
        cat "$work/log"
        failed=$((failed + 1))
    fi
}
