# Cases (case_*) about everything around an operation: paths, methods, headers, media types, sizes.
# They share one daemon, whose body limit is $body_limit.

identity='[1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1]'
empty_palette='{"inverseBind":[],"boneWorld":[],"meshWorld":'$identity'}'

case_first_line_names_address_and_real_port() {
    matches "first line" "$first_line" '^skind listening on http://127\.0\.0\.1:[1-9][0-9]*$'
}

case_get_healthz() {
    request "$base/healthz"
    is status "$status" 200
    is type "$(header Content-Type)" application/json
    is body "$(jq -r .status "$work/body")" ok
}

case_get_readyz() {
    request "$base/readyz"
    is status "$status" 200
    is body "$(jq -r .status "$work/body")" ready
}

case_get_version() {
    request "$base/version"
    is status "$status" 200
    is name "$(jq -r .name "$work/body")" skind
    is "same as --version" "skind $(jq -r .version "$work/body")" "$("$skind" --version)"
    is api "$(jq -r .api "$work/body")" v1
    matches library "$(jq -r .libraries.libmicrohttpd "$work/body")" '^[0-9]+\.[0-9.]+$'
}

case_get_openapi_is_the_file() {
    request "$base/openapi.json"
    is status "$status" 200
    is type "$(header Content-Type)" application/json
    cmp "$work/body" "$root/api/openapi.json" || fault=1
}

case_openapi_paths_all_exist() {
    local path count=0
    while read -r path; do
        request "$base$path"
        is "GET $path" "$status" 200
        count=$((count + 1))
    done < <(jq -r '.paths | to_entries[] | select(.value.get) | .key | select(contains("{") | not)' \
        "$root/api/openapi.json")
    while read -r path; do
        request "$base$path"
        is "GET $path" "$status $(header Allow)" "405 POST"
        count=$((count + 1))
    done < <(jq -r '.paths | to_entries[] | select(.value.post) | .key' "$root/api/openapi.json")
    [ "$count" -ge 6 ] || is "paths seen" "$count" "at least 6"
}

case_problem_pages_for_every_code() {
    local code wanted count=0
    while read -r code wanted; do
        request "$base/problems/$code"
        is "$code" "$status" 200
        is "$code names itself" "$(jq -r '"\(.code) \(.status)"' "$work/body")" "$code $wanted"
        count=$((count + 1))
    done < <(sed -nE 's/^API_ERROR\([A-Z_]+, "([a-z-]+)", ([0-9]+),.*/\1 \2/p' \
        "$root/api/errors.def")
    [ "$count" -ge 30 ] || is "codes seen" "$count" "at least 30"
    request "$base/problems/no-such-code"
    is_problem not-found 404
}

case_problem_page_has_its_members() {
    request "$base/problems/singular"
    is type "$(header Content-Type)" application/json
    is members "$(jq -c keys_unsorted "$work/body")" \
        '["type","title","status","code","meaning","remedy"]'
    is fixed "$(jq -r '"\(.type) \(.status) \(.code)"' "$work/body")" \
        '/problems/singular 422 singular'
    is texts "$(jq '[.title, .meaning, .remedy] | all(type == "string" and length > 0)' \
        "$work/body")" true
}

case_head_is_get_without_body() {
    local path size
    for path in /healthz /readyz /version /openapi.json /problems/singular; do
        request "$base$path"
        size=$(wc -c <"$work/body")
        request -I "$base$path"
        is "HEAD $path" "$status $(header Content-Length)" "200 $size"
    done
}

case_unknown_paths_are_not_found() {
    local path
    for path in / /v1 /v1/ /v1/nothing /v1/palette/ /v1/palette/x /problems /problems/ \
        /problems/singular/x /healthz/ //healthz /problems%2Fsingular /HEALTHZ; do
        request --path-as-is "$base$path"
        is "$path" "$status" 404
        is_problem not-found 404
    done
}

case_escaped_paths_mean_the_same() {
    request "$base/%68ealthz"
    is status "$status" 200
    request "$base/healthz?x=1"
    is "a query on a plain path" "$status" 200
}

case_wrong_methods_are_told_the_right_ones() {
    local method
    for method in POST PUT DELETE PATCH OPTIONS; do
        request -X "$method" "$base/healthz"
        is "Allow for $method" "$(header Allow)" "GET, HEAD"
        is_problem method-not-allowed 405
    done
    for method in GET PUT DELETE PATCH OPTIONS; do
        request -X "$method" "$base/v1/palette"
        is "Allow for $method" "$(header Allow)" POST
        is_problem method-not-allowed 405
    done
    request -I "$base/v1/palette"
    is "HEAD on POST" "$status $(header Allow)" "405 POST"
}

case_unknown_methods_are_not_implemented() {
    local method
    for method in TRACE PROPFIND get; do
        request -X "$method" "$base/healthz"
        is_problem not-implemented 501
        is "connection after $method" "$(header Connection)" close
    done
}

case_request_id_is_echoed_or_made() {
    local long id other
    long=$(printf '%0128d' 7)
    for id in a A-b_c.9 "$long"; do
        request -H "X-Request-Id: $id" "$base/healthz"
        is echoed "$(header X-Request-Id)" "$id"
    done
    for id in "a b" "a/b" "${long}0" 'a"b' "ä"; do
        request -H "X-Request-Id: $id" "$base/healthz"
        matches "made instead of $id" "$(header X-Request-Id)" '^[0-9a-f]{16}$'
    done
    request "$base/healthz"
    id=$(header X-Request-Id)
    request "$base/healthz"
    other=$(header X-Request-Id)
    matches made "$id" '^[0-9a-f]{16}$'
    [ "$id" != "$other" ] || is "two made ids" "$id" "two that differ"
    request -H 'X-Request-Id: find-me' "$base/nowhere"
    is "in a problem" "$(jq -r .requestId "$work/body")" find-me
}

case_post_without_length_is_refused() {
    # a POST without a body: curl sends neither Content-Length nor Transfer-Encoding
    request -X POST -H 'Content-Type: application/json' "$base/v1/palette"
    is_problem length-required 411
}

case_wrong_content_types_are_refused() {
    local type
    for type in text/plain application/xml application/jsonx 'application/json; charset=latin1' \
        'application/x-www-form-urlencoded' 'application/json; charset' json '*/*'; do
        post palette "$empty_palette"
        is "$type" "$status" 415
        is_problem unsupported-media-type 415
        contains detail "$(jq -r .detail "$work/body")" application/json
    done
    # "-H Content-Type:" leaves the header out
    request -H Content-Type: --data-binary "$empty_palette" "$base/v1/palette"
    is_problem unsupported-media-type 415
}

case_right_content_types_are_taken() {
    local type
    for type in application/json APPLICATION/JSON 'application/json; charset=utf-8' \
        'application/json;charset="UTF-8"' 'application/json ; x=1; charset=utf-8;'; do
        post palette "$empty_palette"
        is "$type" "$status" 200
    done
}

case_content_encodings_other_than_identity_are_refused() {
    local encoding
    for encoding in br deflate 'identity, br'; do
        post palette "$empty_palette" -H "Content-Encoding: $encoding"
        is_problem unsupported-media-type 415
        contains detail "$(jq -r .detail "$work/body")" Content-Encoding
    done
    post palette "$empty_palette" -H 'Content-Encoding: identity'
    is identity "$status" 200
}

case_accept_chooses_the_type_of_the_reply() {
    local json=application/json octets=application/octet-stream accept wanted
    while IFS='|' read -r accept wanted; do
        post palette "$empty_palette" -H "Accept: $accept"
        is "Accept: $accept" "$status $(header Content-Type)" "200 $wanted"
    done <<END
*/*|$json
application/*|$json
$json|$json
$octets|$octets
$octets, $json;q=0.9|$octets
$octets;q=0.5, $json|$json
$octets;q=0.001, */*;q=0|$octets
$json;q=0, */*|$octets
text/html, */*;q=0.1|$json
APPLICATION/OCTET-STREAM|$octets
$octets ; q=0.8 , application/* ; q=0.3|$octets
text/html;a="x,$octets", $json|$json
END
    # no Accept header at all
    post palette "$empty_palette" -H Accept:
    is "no Accept" "$status $(header Content-Type)" "200 $json"
}

case_accept_that_nothing_fits_is_refused() {
    local accept
    for accept in text/html 'image/*' 'application/json;q=0, application/octet-stream;q=0' \
        '*/*;q=0' application/problem+json application/jso 'application/json;q=2'; do
        post palette "$empty_palette" -H "Accept: $accept"
        is "$accept" "$status" 406
        is_problem not-acceptable 406
    done
    request -H 'Accept: application/octet-stream' "$base/healthz"
    is_problem not-acceptable 406
    request -H 'Accept: text/html, */*;q=0.1' "$base/healthz"
    is "a browser" "$status" 200
}

case_two_accept_headers_count_as_one() {
    post palette "$empty_palette" -H 'Accept: text/html' -H 'Accept: application/octet-stream'
    is type "$status $(header Content-Type)" "200 application/octet-stream"
}

case_long_targets_are_refused() {
    local longest
    longest=$(printf '%04096d' 0)
    request "$base/healthz?${longest:9}"
    is "4096 bytes" "$status" 200
    request "$base/healthz?${longest:8}"
    is_problem uri-too-long 414
}

case_large_headers_are_refused() {
    local big
    big=$(printf '%015000d' 0)
    request -H "X-Big: $big" "$base/healthz"
    is "15000 bytes" "$status" 200
    request -H "X-Big: $big" -H "X-More: ${big:13000}" "$base/healthz"
    is_problem header-too-large 431
}

case_body_at_the_limit_is_read_and_over_it_refused() {
    local pad
    pad=$(printf "%$((body_limit - ${#empty_palette}))s" '')
    printf '%s' "$empty_palette$pad" >"$work/at"
    printf '%s' "$empty_palette$pad " >"$work/over"
    post palette "@$work/at"
    is "at the limit" "$status" 200
    post palette "@$work/over" -H Expect:
    is_problem payload-too-large 413
    post palette "@$work/over" -H Expect: -H 'Transfer-Encoding: chunked'
    is_problem payload-too-large 413
}

case_expect_continue_is_answered_before_the_body() {
    printf '%s' "$empty_palette" >"$work/small"
    head -c $((body_limit * 5)) /dev/zero >"$work/large"
    post palette "@$work/small" -H 'Expect: 100-continue'
    is "good request" "$status" 200
    contains "heads" "$(cat "$work/head")" '100 Continue'
    post palette "@$work/large" -H 'Expect: 100-continue' --expect100-timeout 30 \
        -w '%{http_code} %{size_upload}'
    is "refused, body never sent" "$status" "413 0"
    is "one head" "$(grep -c '^HTTP/' "$work/head")" 1
    type=text/plain post palette "@$work/large" -H 'Expect: 100-continue' \
        --expect100-timeout 30 -w '%{http_code} %{size_upload}'
    is "wrong type, body never sent" "$status" "415 0"
}

case_plain_paths_take_no_body() {
    request -X GET --data-binary hello "$base/healthz"
    is_problem payload-too-large 413
    request -X GET -H 'Content-Length: 0' "$base/healthz"
    is "an empty one" "$status" 200
}

case_chunked_uploads_are_read() {
    printf '%s' "$empty_palette" >"$work/small"
    post palette "@$work/small" -H 'Transfer-Encoding: chunked'
    is status "$status" 200
    is palette "$(jq -c .palette "$work/body")" '[]'
}

case_connections_are_kept() {
    is connects "$(curl -sS -o /dev/null -o /dev/null -o /dev/null -w '%{num_connects} ' \
        "$base/healthz" "$base/nowhere" "$base/version")" '1 0 0 '
    is "connects of refused posts" "$(curl -sS -o /dev/null -o /dev/null -w '%{num_connects} ' \
        -H 'Content-Type: text/plain' -H Expect: --data-binary @"$root/api/openapi.json" \
        "$base/v1/palette" "$base/v1/palette")" '1 0 '
}

case_both_threads_serve() {
    # connections spread over the listening sockets, so of many at least one falls on each thread
    local count
    count=$(python3 - "$daemon" "$port" <<'END'
import os, socket, sys
pid, port = int(sys.argv[1]), int(sys.argv[2])
def switches():
    base = f"/proc/{pid}/task"
    return {t: sum(int(l.split()[1]) for l in open(f"{base}/{t}/status") if "ctxt" in l)
            for t in os.listdir(base)}
before = switches()
for _ in range(64):
    with socket.create_connection(("127.0.0.1", port)) as s:
        s.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        while s.recv(4096):
            pass
after = switches()
print(sum(after[t] > before.get(t, 0) for t in after))
END
    )
    [ "$count" -ge 2 ] || is "threads that woke" "$count" "at least 2"
}
