# Cases (case_*) about who comes in, and how: tokens, rates, origins, TLS, UNIX sockets, gzip, slow
# clients. Each starts a daemon of its own. Framing is tested in framing.py, operations elsewhere.

# token_line NAME TOKEN: a line of a token file
token_line() {
    printf '%s %s\n' "$1" "$(printf %s "$2" | sha256sum | cut -d ' ' -f 1)"
}

# token_file TOKEN...: writes $tokens, which its owner alone can read
token_file() {
    tokens=$work/tokens
    rm -f "$tokens"
    (umask 077 && { echo '# who may call'; for token; do token_line "user-$token" "$token"; done; } \
        >"$tokens")
}

# eventually CONDITION...: runs it until it succeeds; false after 20 seconds
eventually() {
    local end=$((SECONDS + 20))
    until "$@"; do
        [ "$SECONDS" -lt "$end" ] || return 1
        sleep 0.02
    done
}

# Starts the daemon with exactly these flags; sets $daemon and $first_line.
daemon_start_as_is() {
    rm -f "$work/stdout"
    mkfifo "$work/stdout"
    "$skind" "$@" >"$work/stdout" 2>"$work/stderr" &
    daemon=$!
    exec 9<"$work/stdout"
    read -r -t 30 -u 9 first_line
}

# the stderr of the daemon has the text
has_said() {
    grep -qF "$1" "$work/stderr"
}

# scenario NAME FLAGS...: runs a scenario of slow.py, whose cases count one by one
slow_scenario() {
    local name=$1
    shift
    daemon_start "$@" || return
    adopt "slow: $name" timeout 300 python3 "$here/slow.py" "$name" "$port" "$daemon"
    daemon_stop
    fault=0
    is "exit status after $name" "$daemon_status" 0 && [ "$fault" -eq 0 ] || failed=$((failed + 1))
}

slow_scenarios() {
    slow_scenario deadlines --threads 2 --header-timeout-ms 1500 --transfer-timeout-ms 1500 \
        --min-rate-bytes-per-s 10000 --idle-timeout-s 1
    slow_scenario waiting --workers 1 --threads 2 --transfer-timeout-ms 700 \
        --max-inflight-bytes 2147483648
    slow_scenario connections --max-connections 4 --threads 2
    local whole=$skind
    printf '#!/bin/sh\nulimit -n 32\nexec "%s" "$@"\n' "$whole" >"$work/few"
    chmod +x "$work/few"
    skind=$work/few
    slow_scenario descriptors --threads 2
    skind=$whole
}

# ---- tokens ----

bearer() {
    request -H "Authorization: Bearer $1" "${@:2}" "$base/version"
}

case_auth_missing_and_wrong_get_401_with_identical_bytes() {
    local name first= same
    token_file alpha
    daemon_start --token-file "$tokens"
    local -A credential=([missing]='' [wrong]='Bearer beta' [empty]='Bearer ' [cut]='Bearer alph'
        [longer]='Bearer alphaa' [basic]='Basic alpha' [bare]='alpha')
    for name in missing wrong empty cut longer basic bare; do
        request -H 'X-Request-Id: same' ${credential[$name]:+-H "Authorization: ${credential[$name]}"} \
            "$base/version"
        is_problem unauthorized 401
        is "$name: WWW-Authenticate" "$(header WWW-Authenticate)" 'Bearer realm="skind"'
        same=$(grep -vi '^date:' "$work/head" | cat - "$work/body" | sha256sum)
        first=${first:-$same}
        is "$name: bytes" "$same" "$first"
    done
    type=application/json post palette '{}'
    is_problem unauthorized 401
    daemon_stop
    is "exit status" "$daemon_status" 0
}

case_auth_each_token_of_the_file_is_let_in() {
    token_file alpha beta
    printf '\n  # upper case, tabs, a carriage return\n%s\r\n' \
        "$(token_line upper gamma | tr 'a-f ' 'A-F\t' | sed 's/^upper/upper/I')" >>"$tokens"
    daemon_start --token-file "$tokens"
    for token in alpha beta gamma; do
        bearer "$token"
        is "status with $token" "$status" 200
    done
    request -H 'authorization: bEARER   alpha' "$base/version"
    is "scheme in any case" "$status" 200
    daemon_stop
}

case_auth_two_headers_are_400() {
    token_file alpha
    daemon_start --token-file "$tokens"
    bearer alpha -H 'Authorization: Bearer alpha'
    is_problem bad-request 400
    daemon_stop
}

case_auth_health_and_readiness_stay_open() {
    token_file alpha
    daemon_start --token-file "$tokens"
    for path in healthz readyz; do
        request "$base/$path"
        is "$path" "$status" 200
    done
    for path in version openapi.json problems/singular nothing; do
        request "$base/$path"
        is "$path" "$status" 401
    done
    "$skind" probe --listen "127.0.0.1:$port" || is "exit of probe" "$?" 0
    daemon_stop
}

case_auth_no_token_in_logs_arguments_or_replies() {
    token_file sesame-opens
    daemon_start --token-file "$tokens"
    bearer sesame-opens
    is status "$status" 200
    bearer sesame-shut
    is status "$status" 401
    kill -HUP "$daemon"
    eventually has_said SIGHUP || is "answer to SIGHUP" none some
    { tr '\0' '\n' <"/proc/$daemon/cmdline"; cat "$work/head" "$work/body"; } >"$work/shown"
    daemon_stop
    is "tokens shown" "$(cat "$work/shown" "$work/stderr" | grep -c sesame)" 0
    is "hashes shown" "$(cat "$work/shown" "$work/stderr" | grep -cE '[0-9a-f]{64}')" 0
}

case_auth_a_bad_token_file_refuses_the_start() {
    token_file alpha
    fails_to_start 2 'No such file' --listen 127.0.0.1:0 --token-file "$work/none"
    fails_to_start 2 'not a regular file' --listen 127.0.0.1:0 --token-file "$work"
    local mode
    for mode in 604 640 644 660 610 601; do
        chmod "$mode" "$tokens"
        fails_to_start 2 'its group or others have access' --listen 127.0.0.1:0 \
            --token-file "$tokens"
    done
    chmod 600 "$tokens"
    echo 'name of-a-sort' >>"$tokens"
    fails_to_start 2 'line 3' --listen 127.0.0.1:0 --token-file "$tokens"
    is "what stands there is not repeated" "$(grep -c of-a-sort "$work/err")" 0
    echo '# nobody' >"$tokens"
    fails_to_start 2 'no token stands in it' --listen 127.0.0.1:0 --token-file "$tokens"
}

case_auth_is_required_beyond_loopback() {
    local address
    for address in 0.0.0.0:0 '[::]:0' 192.0.2.1:0 128.0.0.1:0; do
        fails_to_start 2 '--allow-anonymous' --listen "$address"
    done
    listen=0.0.0.0 daemon_start --allow-anonymous
    request "http://127.0.0.1:$port/version"
    is "waived" "$status" 200
    daemon_stop
    SKIND_ALLOW_ANONYMOUS=yes listen=0.0.0.0 daemon_start
    request "http://127.0.0.1:$port/version"
    is "waived by the environment" "$status" 200
    daemon_stop
    token_file alpha
    listen=0.0.0.0 daemon_start --token-file "$tokens" --allow-anonymous
    request "http://127.0.0.1:$port/version"
    is "tokens beat the waiver" "$status" 401
    daemon_stop
}

case_auth_reload_drops_no_request() {
    token_file alpha
    daemon_start --token-file "$tokens" --threads 2
    python3 "$here/reload.py" "$port" "$daemon" "$tokens" || is reload failed passed
    daemon_stop
    is "exit status" "$daemon_status" 0
}

case_auth_reload_with_a_bad_file_keeps_the_old_tokens() {
    token_file alpha
    daemon_start --token-file "$tokens"
    echo broken >>"$tokens"
    kill -HUP "$daemon"
    eventually has_said 'the old tokens stay (1)' || is "answer to SIGHUP" "$(cat "$work/stderr")" ''
    bearer alpha
    is "status with the old token" "$status" 200
    token_file beta
    kill -HUP "$daemon"
    eventually has_said 'tokens now: 1' || is "answer to SIGHUP" "$(cat "$work/stderr")" ''
    bearer alpha
    is "status with the old token" "$status" 401
    bearer beta
    is "status with the new token" "$status" 200
    daemon_stop
}

# ---- rates ----

case_rate_over_the_limit_is_429_with_retry_after() {
    local i statuses=
    daemon_start --rate-per-s 1 --burst 3
    for i in 1 2 3 4 5 6; do
        request "$base/version"
        statuses+="$status "
    done
    # a second may have passed between the first and the last
    matches "statuses" "$statuses" '^200 200 200 (200 )?(429 ){2,3}$'
    is_problem too-many-requests 429
    is retry-after "$(header Retry-After)" 1
    for i in 1 2 3 4; do
        request "$base/healthz"
        is "healthz is never limited" "$status" 200
    done
    served() { request "$base/version"; [ "$status" = 200 ]; }
    eventually served || is "after a while" "$status" 200
    daemon_stop
    fails_to_start 2 '--burst' --listen 127.0.0.1:0 --burst 5
}

case_rate_is_off_by_default() {
    daemon_start
    seq 300 | sed "s|.*|url=$base/version\noutput=/dev/null|" >"$work/urls"
    is "statuses" "$(curl -sS -K "$work/urls" -w '%{http_code}\n' | sort -u)" 200
    daemon_stop
}

# ---- origins ----

# preflight ORIGIN PATH
preflight() {
    request -X OPTIONS -H "Origin: $1" -H 'Access-Control-Request-Method: POST' \
        -H 'Access-Control-Request-Headers: content-type' "$base$2"
}

case_cors_listed_origins_are_told_and_others_nothing() {
    local origin
    token_file alpha
    daemon_start --cors-origin 'https://a.example, http://localhost:3000' \
        --cors-origin https://b.example --token-file "$tokens"
    for origin in https://a.example http://localhost:3000 https://b.example; do
        preflight "$origin" /v1/palette
        is "preflight of $origin" "$status" 204
        is origin "$(header Access-Control-Allow-Origin)" "$origin"
        is methods "$(header Access-Control-Allow-Methods)" POST
        contains headers "$(header Access-Control-Allow-Headers)" Authorization
        contains headers "$(header Access-Control-Allow-Headers)" Content-Type
        is vary "$(header Vary)" Origin
        bearer alpha -H "Origin: $origin"
        is "request of $origin" "$status $(header Access-Control-Allow-Origin)" "200 $origin"
        # a script must be able to read what is wrong
        bearer beta -H "Origin: $origin"
        is "refusal of $origin" "$status $(header Access-Control-Allow-Origin)" "401 $origin"
    done
    for origin in https://c.example https://a.example.c https://a.example:443 http://a.example \
        https://A.EXAMPLE null '*' ' '; do
        preflight "$origin" /v1/palette
        is "preflight of $origin" "$status" 401
        is "what $origin is told" "$(grep -ci '^access-control' "$work/head")" 0
        bearer alpha -H "Origin: $origin"
        is "request of $origin" "$status" 200
        is "what $origin is told" "$(grep -ci '^access-control' "$work/head")" 0
        is vary "$(header Vary)" Origin
    done
    preflight https://a.example /nothing
    is "preflight of no path" "$status" 404
    daemon_stop
}

case_cors_is_off_by_default() {
    daemon_start
    preflight https://a.example /v1/palette
    is "preflight" "$status" 405
    is "what it is told" "$(grep -ciE '^(access-control|vary)' "$work/head")" 0
    daemon_stop
    local origin
    for origin in '*' null a.example https:// 'https://a.example/' 'https://a.example,' https://A.b; do
        fails_to_start 2 'is not an origin' --listen 127.0.0.1:0 --cors-origin "$origin"
    done
}

# ---- gzip ----

# a palette request of N bones, as JSON
bones() {
    jq -nc --argjson n "$1" '[1,0,0,0, 0,1,0,0, 0,0,1,0, 0.1,0.2,0.3,1] as $m |
        {inverseBind: [range($n) | $m], boneWorld: [range($n) | $m], meshWorld: $m}'
}

# post_packed FILE [CURL FLAGS...]
post_packed() {
    local file=$1
    shift
    request -H "Content-Type: ${type:-application/json}" -H 'Content-Encoding: gzip' \
        --data-binary "@$file" "$@" "$base/v1/palette"
}

case_gzip_requests_are_the_same_as_plain_ones() {
    local count plain
    daemon_start
    for count in 1 100 3000; do # inline, inline only while packed, on the pool
        bones "$count" >"$work/plain"
        gzip -c "$work/plain" >"$work/packed"
        post palette "@$work/plain"
        is "plain, $count bones" "$status" 200
        plain=$(sha256sum <"$work/body")
        post_packed "$work/packed"
        is "packed, $count bones" "$status" 200
        is "reply for $count bones" "$(sha256sum <"$work/body")" "$plain"
    done
    head -c 704 /dev/zero | gzip -c >"$work/packed" # 11 matrices of zeros: read, and not affine
    type=application/octet-stream post_packed "$work/packed"
    is_problem not-affine 422
    printf '{' | gzip -c >"$work/packed"
    post_packed "$work/packed"
    is_problem malformed-json 400
    daemon_stop
}

case_gzip_that_is_damaged_is_400() {
    daemon_start
    local count
    for count in 1 3000; do
        bones "$count" | gzip -c >"$work/packed"
        head -c -1 "$work/packed" >"$work/bad"
        post_packed "$work/bad"
        is_problem bad-request 400
        contains "a byte short" "$(jq -r .detail "$work/body")" 'breaks off'
        cat "$work/packed" - <<<x >"$work/bad"
        post_packed "$work/bad"
        is_problem bad-request 400
        contains "a byte too many" "$(jq -r .detail "$work/body")" 'follows the end'
        cat "$work/packed" "$work/packed" >"$work/bad"
        post_packed "$work/bad"
        is_problem bad-request 400
    done
    printf '{}' >"$work/bad"
    post_packed "$work/bad"
    is_problem bad-request 400
    contains "no gzip" "$(jq -r .detail "$work/body")" 'not gzip'
    : >"$work/bad"
    post_packed "$work/bad"
    is_problem bad-request 400
    post palette '{}' -H 'Content-Encoding: br'
    is_problem unsupported-media-type 415
    post palette '{}' -H 'Content-Encoding: gzip, gzip'
    is_problem unsupported-media-type 415
    post palette '{}' -H 'Content-Encoding: gzip' -H 'Content-Encoding: gzip'
    is_problem bad-request 400
    daemon_stop
    is "exit status" "$daemon_status" 0
}

resident_kib() {
    sed -nE 's/^VmHWM:[[:space:]]*([0-9]+) kB/\1/p' "/proc/$daemon/status"
}

case_gzip_bombs_are_413_and_cost_no_memory() {
    local before
    daemon_start --max-body-bytes 1000000 --workers 1 --threads 1
    head -c 1000000 /dev/zero | tr '\0' ' ' | gzip -9c >"$work/most"
    head -c 1000001 /dev/zero | tr '\0' ' ' | gzip -9c >"$work/over"
    head -c 300000000 /dev/zero | gzip -c >"$work/bomb" # 290 KB, itself under the limit
    post_packed "$work/most"
    is_problem malformed-json 400
    post_packed "$work/over"
    is_problem payload-too-large 413
    before=$(resident_kib)
    post_packed "$work/bomb"
    is_problem payload-too-large 413
    local grown=$(($(resident_kib) - before))
    [ "$grown" -lt 16384 ] || is "memory for a bomb of 300 MB, in KiB" "$grown" 'under 16384'
    daemon_stop
}

case_gzip_replies_when_they_are_wanted() {
    local count plain
    daemon_start
    for count in 100 3000; do
        bones "$count" >"$work/plain"
        post palette "@$work/plain"
        is "no coding" "$(header Content-Encoding)" ''
        is vary "$(header Vary)" Accept-Encoding
        plain=$(sha256sum <"$work/body")
        post palette "@$work/plain" -H 'Accept-Encoding: br;q=1.0, gzip;q=0.5'
        is "coding" "$(header Content-Encoding)" gzip
        is vary "$(header Vary)" Accept-Encoding
        is "unpacked, $count bones" "$(gunzip -c "$work/body" | sha256sum)" "$plain"
        is size "$(header Content-Length)" "$(stat -c %s "$work/body")"
        post palette "@$work/plain" -H 'Accept-Encoding: gzip;q=0, *'
        is "refused coding" "$(header Content-Encoding)" ''
    done
    post palette "$(bones 1)" -H 'Accept-Encoding: gzip'
    is "a small reply" "$(header Content-Encoding)$(header Vary)" ''
    type=application/octet-stream post palette "$(head -c 64 /dev/zero | tr '\0' x)" \
        -H 'Accept-Encoding: gzip'
    is "a small problem" "$(header Content-Encoding)" ''
    daemon_stop
}

# ---- TLS ----

# certificate NAME: $work/NAME.pem and $work/NAME.key for 127.0.0.1
certificate() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 \
        -subj /CN=skind-test -addext subjectAltName=IP:127.0.0.1 \
        -keyout "$work/$1.key" -out "$work/$1.pem" 2>/dev/null
    chmod 600 "$work/$1.key"
}

case_tls_serves_https() {
    certificate one
    daemon_start --tls-cert "$work/one.pem" --tls-key "$work/one.key" --threads 2
    matches "first line" "$first_line" '^skind listening on https://127\.0\.0\.1:[1-9][0-9]*$'
    bones 3000 >"$work/plain"
    post palette "@$work/plain" --cacert "$work/one.pem"
    is status "$status" 200
    is bones "$(jq '.palette | length' "$work/body")" 3000
    is "http over https" "$(curl -sS -o /dev/null -w '%{http_code}' "http://127.0.0.1:$port/healthz" \
        2>/dev/null)" 000
    is "TLS 1.1" "$(curl -sSk --tls-max 1.1 --ciphers DEFAULT@SECLEVEL=0 -o /dev/null \
        -w '%{http_code}' "$base/healthz" 2>/dev/null)" 000
    is "TLS 1.2" "$(curl -sSk --tls-max 1.2 -o /dev/null -w '%{http_code}' "$base/healthz")" 200
    is "TLS 1.3" "$(curl -sSk --tlsv1.3 -o /dev/null -w '%{http_code}' "$base/healthz")" 200
    "$skind" probe --listen "127.0.0.1:$port" --tls-cert "$work/one.pem" --tls-key "$work/one.key" ||
        is "exit of probe" "$?" 0
    daemon_stop
    is "exit status" "$daemon_status" 0
}

case_tls_a_bad_pair_refuses_the_start() {
    certificate one
    certificate two
    fails_to_start 2 'the one needs the other' --listen 127.0.0.1:0 --tls-cert "$work/one.pem"
    fails_to_start 2 'the one needs the other' --listen 127.0.0.1:0 --tls-key "$work/one.key"
    fails_to_start 2 "$work/one.pem with $work/two.key" --listen 127.0.0.1:0 \
        --tls-cert "$work/one.pem" --tls-key "$work/two.key"
    fails_to_start 2 'No such file' --listen 127.0.0.1:0 --tls-cert "$work/none" \
        --tls-key "$work/one.key"
    chmod 640 "$work/one.key"
    fails_to_start 2 'its group or others have access' --listen 127.0.0.1:0 \
        --tls-cert "$work/one.pem" --tls-key "$work/one.key"
}

# ---- UNIX sockets, systemd ----

case_unix_socket_serves_and_is_removed() {
    local path=$work/skind.sock
    daemon_start_as_is --listen "unix:$path" --threads 2 --unix-mode 600
    is "first line" "$first_line" "skind listening on unix:$path"
    is mode "$(stat -c %a "$path")" 600
    base=http://localhost
    bones 3000 >"$work/plain"
    post palette "@$work/plain" --unix-socket "$path"
    is status "$status" 200
    "$skind" probe --listen "unix:$path" || is "exit of probe" "$?" 0
    fails_to_start 1 'the path is in use' --listen "unix:$path"
    request --unix-socket "$path" "$base/healthz"
    is "the first still serves" "$status" 200
    daemon_stop
    is "exit status" "$daemon_status" 0
    [ ! -e "$path" ] || is "the file after a stop" there gone
}

case_unix_socket_left_over_is_replaced_and_nothing_else() {
    local path=$work/skind.sock
    daemon_start_as_is --listen "unix:$path"
    is "usual mode" "$(stat -c %a "$path")" 660
    kill -KILL "$daemon"
    wait "$daemon" 2>/dev/null
    [ -S "$path" ] || is "the file after a kill" gone there
    daemon_start_as_is --listen "unix:$path"
    request --unix-socket "$path" http://localhost/healthz
    is status "$status" 200
    daemon_stop
    echo precious >"$path"
    fails_to_start 1 'the path is in use' --listen "unix:$path"
    is "a file that is no socket" "$(cat "$path")" precious
    # a daemon that is too busy to accept is not gone
    rm -f "$path"
    mkfifo "$work/hold"
    python3 -c '
import socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen(0)
waiting = []
try:
    while True:
        waiting.append(socket.socket(socket.AF_UNIX))
        waiting[-1].setblocking(False)
        waiting[-1].connect(sys.argv[1])
except BlockingIOError:
    print("full", flush=True)
sys.stdin.read()' "$path" <"$work/hold" >"$work/full" &
    local holder=$!
    exec 8>"$work/hold"
    eventually grep -q full "$work/full" || is "the queue" open full
    fails_to_start 1 'the path is in use' --listen "unix:$path"
    exec 8>&-
    wait "$holder"
    fails_to_start 2 ADDRESS:PORT --listen unix:relative.sock
    fails_to_start 2 ADDRESS:PORT --listen "unix:/$(printf '%120s' '' | tr ' ' a)"
}

case_systemd_hands_a_socket_over_and_is_told() {
    timeout 60 python3 "$here/systemd.py" "$skind" || is systemd failed passed
}
