# Cases (case_*) about batches: one body, lines, and raw frames, as curl sees them.
# What an item computes is tested elsewhere.

batch_item() {
    printf '{"id":"%s","op":"bind","request":{"meshBindWorld":%s,"boneBindWorld":[%s]}}' \
        "$1" "$(along_x 10)" "$(along_x "$2")"
}

case_batch_in_order() {
    post batch "{\"requests\":[$(batch_item a 12),$(batch_item b 13),{\"op\":\"bind\",\"request\":{}}]}"
    is status "$status" 200
    is ids "$(jq -c '[.results[].id]' "$work/body")" '["a","b",null]'
    is x "$(jq -c '[.results[:2][].response.inverseBind[0][12]]' "$work/body")" '[-2,-3]'
    is counts "$(jq -c '[.succeeded,.failed,.results[2].status]' "$work/body")" '[2,1,422]'
}

case_batch_strict() {
    post batch "{\"strict\":true,\"requests\":[$(batch_item a 12),{\"op\":\"bind\",\"request\":{}}]}"
    is_problem missing-member 422
    is "no result is missing" "$(jq -c '[.results[].status]' "$work/body")" '[200,422]'
}

case_batch_malformed_item() {
    post batch "{\"requests\":[$(batch_item a 12),
{\"op\":bind}]}"
    is_problem malformed-json 400
    is place "$(jq -c '[.line,.column]' "$work/body")" '[2,7]'
}

case_batch_takes_no_octets() {
    type=application/octet-stream post batch abc
    is_problem unsupported-media-type 415
}

case_lines_by_curl() {
    { batch_item a 12; echo; echo '{bad'; echo; batch_item c 14; echo; batch_item d 15; } >"$work/lines"
    request -H 'Content-Type: application/x-ndjson' --data-binary "@$work/lines" "$base/v1/batch"
    is status "$status" 200
    is type "$(header Content-Type)" application/x-ndjson
    is connection "$(header Connection)" close
    is results "$(jq -c '[.index,.id,.status]' "$work/body" | tr '\n' ' ')" \
        '[0,"a",200] [1,null,400] [3,"c",200] [4,"d",200] '
    is "a bad line's place" "$(jq -c 'select(.status == 400) | [.problem.line,.problem.column]' "$work/body")" '[1,2]'
}

case_lines_need_a_fitting_accept() {
    request -H 'Content-Type: application/x-ndjson' -H 'Accept: text/html' --data-binary '{}' "$base/v1/batch"
    is_problem not-acceptable 406
    request -H 'Content-Type: application/x-ndjson' --data-binary '{}' "$base/v1/bind"
    is_problem unsupported-media-type 415
}

case_no_lines_at_all() {
    request -H 'Content-Type: application/x-ndjson' --data-binary "" "$base/v1/batch"
    is status "$status" 200
    is body "$(cat "$work/body")" ""
}

case_frames() {
    # I = T(-2), then (M, B) = (T(20), T(22)) and (T(30), T(33)): palettes T(0) and T(1)
    matrices f -2 20 22 30 33 >"$work/raw"
    type=application/octet-stream post 'palette?frames=2' "@$work/raw" -H 'Accept: application/json'
    is status "$status" 200
    is x "$(jq -c '[.palette[][12]]' "$work/body")" '[0,1]'
    type=application/octet-stream post 'palette?frames=2' "@$work/raw"
    is size "$(wc -c <"$work/body")" 128
    type=application/octet-stream post 'palette?frames=3' "@$work/raw"
    is_problem size-mismatch 422
}

case_lines_are_not_taken_in_gzip() {
    batch_item a 12 | gzip >"$work/packed"
    request -H 'Content-Type: application/x-ndjson' -H 'Content-Encoding: gzip' \
        --data-binary "@$work/packed" "$base/v1/batch"
    is_problem unsupported-media-type 415
}

case_lines_carry_the_trace_and_any_spelling_of_accept() {
    local trace=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01
    request -H 'Content-Type: application/x-ndjson' -H 'Accept: text/html' -H "traceparent: $trace" \
        -H 'Accept: Application/X-NDJSON' --data-binary "$(batch_item a 12)" "$base/v1/batch"
    is status "$status" 200
    is traceparent "$(header traceparent)" "$trace"
}
