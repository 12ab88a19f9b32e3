#!/usr/bin/env bash
# The main job in one sitting: starts skind on a free port, posts one bone with curl, and follows a
# vertex through the palette. Usage: tests/demo.sh SKIND. It leaves nothing running behind.
set -euo pipefail
skind=$1
out=$(mktemp)
"$skind" --listen 127.0.0.1:0 >"$out" &
daemon=$!
trap 'kill "$daemon" 2>/dev/null || true; wait "$daemon" 2>/dev/null || true; rm -f "$out"' EXIT

url=
for _ in $(seq 100); do
    url=$(sed -n 's/^skind listening on //p' "$out")
    [ -n "$url" ] && break
    kill -0 "$daemon" || { echo "skind did not start" >&2; exit 1; }
    read -r -t 0.05 <> <(:) || true
done
[ -n "$url" ] || { echo "skind did not say where it listens" >&2; exit 1; }

request='{"meshBindWorld": [1,0,0,0, 0,1,0,0, 0,0,1,0, 10,0,0,1],
 "boneBindWorld": [[1,0,0,0, 0,1,0,0, 0,0,1,0, 12,0,0,1]],
 "boneWorld":     [[1,0,0,0, 0,1,0,0, 0,0,1,0, 22,0,0,1]],
 "meshWorld":      [1,0,0,0, 0,1,0,0, 0,0,1,0, 20,0,0,1]}'

echo "A mesh was bound at x = 10 to a bone at x = 12. Now both have moved by 10."
echo
echo "POST $url/v1/palette"
echo "$request"
echo
# ask REQUEST: the reply
ask() {
    curl -sS --fail-with-body -H 'Content-Type: application/json' -d "$1" "$url/v1/palette"
}

# numbers REPLY: those of its palette's one matrix
numbers() {
    sed -E 's/.*"palette":\[\[([^]]*)\]\].*/\1/' <<<"$1"
}

reply=$(ask "$request")
echo "$reply"
echo

# the palette without inverse(M): what comes out is in world space already
world_reply=$(ask "{\"space\": \"world\", ${request#\{}")

# p' = p * P: the first column of P gives x
awk -v mesh="$(numbers "$reply")" -v world="$(numbers "$world_reply")" '
function x_of(x, text, p) {
    split(text, p, ",")
    return x * p[1] + 0 * p[5] + 0 * p[9] + p[13]
}
BEGIN {
    local = x_of(3, mesh)
    drawn = local + 20
    twice = x_of(3, world) + 20
    printf "The vertex at x = 3:\n"
    printf "  skinned, in mesh space       x = %g\n", local
    printf "  drawn with the mesh at 20    x = %g\n", drawn
    printf "  (without inverse(M) the mesh would act twice: x = %g)\n", twice
    exit !(local == 3 && drawn == 23 && x_of(3, world) == drawn && twice == 43)
}'
