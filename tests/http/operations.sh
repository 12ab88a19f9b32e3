# Cases (case_*) about the operations as seen through HTTP: JSON and raw floats in and out, findings.
# The values are those of the worked example: M0 = T(10), B0 = T(12), M = T(20), B = T(22).

# the 16 numbers of a translation along x
along_x() {
    printf '[1,0,0,0,0,1,0,0,0,0,1,0,%s,0,0,1]' "$1"
}

# floats TYPE NUMBERS...: little-endian bytes, TYPE f (float32) or d (float64)
floats() {
    python3 -c '
import struct, sys
sys.stdout.buffer.write(struct.pack("<%d%s" % (len(sys.argv) - 2, sys.argv[1]), *map(float, sys.argv[2:])))' "$@"
}

# matrices TYPE X...: translations along x as raw floats
matrices() {
    local type=$1 x numbers=()
    shift
    for x in "$@"; do
        numbers+=(1 0 0 0 0 1 0 0 0 0 1 0 "$x" 0 0 1)
    done
    floats "$type" "${numbers[@]}"
}

seed() {
    printf '{"meshBindWorld":%s,"boneBindWorld":[%s],"boneWorld":[%s],"meshWorld":%s%s}' \
        "$(along_x 10)" "$(along_x 12)" "$(along_x 22)" "$(along_x 20)" "${1:-}"
}

case_bind_of_the_example() {
    post bind "{\"meshBindWorld\":$(along_x 10),\"boneBindWorld\":[$(along_x 12)]}"
    is status "$status" 200
    is inverseBind "$(jq -c .inverseBind "$work/body")" "[$(along_x -2)]"
    is convention "$(jq -r .convention "$work/body")" row-vector
}

case_palette_of_the_example() {
    # I = T(-2), B = T(22), inverse(M) = T(-20): P = T(0), so a vertex stays at local 3, world 23
    post palette "$(seed)"
    is status "$status" 200
    is type "$(header Content-Type)" application/json
    is palette "$(jq -c .palette "$work/body")" "[$(along_x 0)]"
    is "local x of 3" "$(jq '.palette[0] | 3 * .[0] + .[12]' "$work/body")" 3
}

case_palette_in_world_space() {
    # without inverse(M): P = T(-2) T(22) = T(20), so local 3 is world 23
    post palette "$(seed ',"space":"world"')"
    is palette "$(jq -c .palette "$work/body")" "[$(along_x 20)]"
    matches note "$(jq -r .note "$work/body")" '.'
}

case_palette_from_raw_floats() {
    local type query
    for type in f d; do
        query=$([ "$type" = d ] && echo '?dtype=f64')
        matrices "$type" 20 -2 22 >"$work/request"
        matrices "$type" 0 >"$work/expected"
        request -H 'Content-Type: application/octet-stream' --data-binary "@$work/request" \
            "$base/v1/palette$query"
        is "status $type" "$status" 200
        is "type $type" "$(header Content-Type)" application/octet-stream
        cmp "$work/body" "$work/expected" || fault=1
        matrices "$type" 20 >"$work/expected"
        request -H 'Content-Type: application/octet-stream' --data-binary "@$work/request" \
            "$base/v1/palette${query:-?}&space=world"
        cmp "$work/body" "$work/expected" || fault=1
    done
}

case_bind_from_raw_floats() {
    matrices f 10 12 >"$work/request"
    matrices f -2 >"$work/expected"
    request -H 'Content-Type: application/octet-stream' --data-binary "@$work/request" \
        "$base/v1/bind"
    is status "$status" 200
    cmp "$work/body" "$work/expected" || fault=1
}

case_replies_switch_type_by_accept() {
    matrices f 20 -2 22 >"$work/request"
    request -H 'Content-Type: application/octet-stream' -H 'Accept: application/json' \
        --data-binary "@$work/request" "$base/v1/palette"
    is "raw to JSON" "$status $(jq -c .palette "$work/body")" "200 [$(along_x 0)]"
    matrices d 0 >"$work/expected"
    post palette "$(seed)" -H 'Accept: application/octet-stream'
    is "JSON to raw" "$status $(header Content-Type)" "200 application/octet-stream"
    cmp "$work/body" "$work/expected" || fault=1
}

case_raw_sizes_that_do_not_fit_are_refused() {
    head -c 100 /dev/zero >"$work/request"
    request -H 'Content-Type: application/octet-stream' --data-binary "@$work/request" \
        "$base/v1/palette"
    is_problem size-mismatch 422
}

case_raw_problems_are_json_whatever_accept_says() {
    head -c 100 /dev/zero >"$work/request"
    request -H 'Content-Type: application/octet-stream' -H 'Accept: application/octet-stream' \
        --data-binary "@$work/request" "$base/v1/palette"
    is_problem size-mismatch 422
}

case_unknown_query_parameters_are_refused() {
    matrices f 20 -2 22 >"$work/request"
    request -H 'Content-Type: application/octet-stream' --data-binary "@$work/request" \
        "$base/v1/palette?spcae=world"
    is_problem unknown-member 422
    contains problem "$(cat "$work/body")" space
}

case_findings_carry_pointer_and_name() {
    post bind "{\"meshBindWorld\":$identity,\"names\":[\"hip\",\"thumb\"],\"boneBindWorld\":[$identity,
        [1,0,0,0,0,0,0,0,0,0,1,0,0,0,0,1]]}"
    is_problem singular 422
    is pointer "$(jq -r '.errors[0].pointer' "$work/body")" /boneBindWorld/1
    is name "$(jq -r '.errors[0].name' "$work/body")" thumb
    is "one finding" "$(jq '.errors | length' "$work/body")" 1
}

case_malformed_json_tells_where() {
    post palette '{"boneWorld": [1, 2,
  oops]}'
    is_problem malformed-json 400
    is line "$(jq .line "$work/body")" 2
}

case_empty_bodies_are_malformed() {
    post palette ''
    is_problem malformed-json 400
    request -H 'Content-Type: application/octet-stream' --data-binary '' "$base/v1/bind"
    is_problem size-mismatch 422
}

case_large_replies_come_whole() {
    # 128 bones; each B is T(22 + i), so each P is T(i)
    python3 -c '
import struct, sys
t = lambda x: [1,0,0,0, 0,1,0,0, 0,0,1,0, x,0,0,1]
m = t(20) + t(-2) * 128 + sum((t(22 + i) for i in range(128)), [])
sys.stdout.buffer.write(struct.pack("<%df" % len(m), *m))' >"$work/request"
    request -H 'Content-Type: application/octet-stream' -H 'Accept: application/json' \
        --data-binary "@$work/request" "$base/v1/palette"
    is status "$status" 200
    is "all of them" "$(jq -c '[.palette[] | .[12]] == [range(128)]' "$work/body")" true
}
