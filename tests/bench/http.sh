#!/usr/bin/env bash
# Requests per second and server CPU time per request of a 64-bone palette: plain jansson beside
# skind as JSON and as raw float32, in one run, round by round in turn.
# Usage: tests/bench/http.sh BUILD_DIRECTORY; needs what `make setup-bench` installs, and perl.
# ROUNDS (5) and DURATION_S (2) may be set in the environment.
set -euo pipefail
build=$1
rounds=${ROUNDS:-5}
duration=${DURATION_S:-2}
bodies=16
work=$(mktemp -d)
pids=()

finish() {
    for pid in "${pids[@]}"; do
        kill "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
    rm -rf "$work"
}
trap finish EXIT

pid_plain='' url_plain='' pid_skind='' url_skind=''

# start NAME COMMAND...: sets pid_NAME and url_NAME from the line that says where it listens
start() {
    local name=$1 line fd
    shift
    mkfifo "$work/$name.out"
    "$@" >"$work/$name.out" 2>"$work/$name.err" &
    pids+=($!)
    exec {fd}<"$work/$name.out" # stays open, so that the server can go on writing
    if ! read -r line <&"$fd"; then
        echo "$name did not start" >&2
        cat "$work/$name.err" >&2
        exit 1
    fi
    printf -v "pid_$name" %s "$!"
    printf -v "url_$name" %s "${line##* }/v1/palette"
}

# Rotated bodies, since one repeated body trains the branch predictor. Diagonals outweigh the rest
# of their rows, so each matrix has an inverse.
write_bodies() {
    perl - "$bodies" "$work" <<'PERL'
use strict;
use warnings;
my ($bodies, $work) = @ARGV;
srand(20);
sub signed { return rand(2) - 1 }
sub matrix {
    my @m;
    for my $row (0 .. 2) {
        push @m, map { $_ == $row ? 1 + rand() : 0.3 * signed() } 0 .. 2;
        push @m, 0;
    }
    return [@m, map({ 10 * signed() } 0 .. 2), 1];
}
sub text { return "[" . join(",", map { sprintf "%.17g", $_ } @{$_[0]}) . "]" }
sub raw { return join "", map { pack "f<16", @$_ } @_ }
for my $i (1 .. $bodies) {
    my $mesh = matrix();
    my @inverse_bind = map { matrix() } 1 .. 64;
    my @bone_world = map { matrix() } 1 .. 64;
    open my $json, ">", "$work/$i.json" or die $!;
    print $json '{"inverseBind":[', join(",", map { text($_) } @inverse_bind), '],"boneWorld":[',
        join(",", map { text($_) } @bone_world), '],"meshWorld":', text($mesh), "}";
    close $json or die $!;
    open my $octets, ">:raw", "$work/$i.raw" or die $!;
    print $octets raw($mesh, @inverse_bind, @bone_world);
    close $octets or die $!;
}
PERL
    cat >"$work/rotate.lua" <<'LUA'
local requests, at = {}, 0

function init(args)
    local headers = { ["Content-Type"] = args[3] }
    for i = 1, tonumber(args[1]) do
        local file = assert(io.open(args[2]:gsub("%%", tostring(i)), "rb"))
        requests[i] = wrk.format("POST", wrk.path, headers, file:read("*a"))
        file:close()
    end
end

function request()
    at = at % #requests + 1
    return requests[at]
end

function done(summary)
    local e = summary.errors
    io.write(string.format("RESULT %d %d %d\n", summary.requests, summary.duration,
        e.connect + e.read + e.write + e.status + e.timeout))
end
LUA
}

# post URL TYPE FILE: the reply as JSON
post() {
    curl -sS --fail-with-body -H "Content-Type: $2" -H 'Accept: application/json' -H 'Expect:' \
        --data-binary "@$3" "$1"
}

# agree WHAT TOLERANCE URL TYPE FILE: its reply beside the plain server's to body 1
agree() {
    post "$3" "$4" "$5" >"$work/reply"
    jq -e -s --arg what "$1" --argjson tolerance "$2" '
        map(.palette | flatten) as [$a, $b]
        | [range($a | length) | (($a[.] - $b[.]) | fabs) / ([1, ($a[.] | fabs)] | max)] | max as $worst
        | if ($a | length) == 1024 and ($b | length) == 1024 and $worst <= $tolerance
          then "\($what): 1024 numbers agree with plain, worst difference \($worst)"
          else error("\($what) does not agree with plain: \($worst)") end' \
        -r "$work/plain.reply" "$work/reply"
}

# CPU time of all of a process's threads in ns
cpu_ns() {
    if [ -r "/proc/$1/schedstat" ]; then
        cat /proc/"$1"/task/*/schedstat | awk '{ sum += $1 } END { printf "%.0f\n", sum }'
    else
        awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); printf "%.0f\n", ($12 + $13) * 1e9 / hz }' \
            "/proc/$1/stat"
    fi
}

# measure NAME CONNECTIONS SECONDS PID URL TYPE SUFFIX: appends "requests/s ns-per-request"
measure() {
    local before after requests micros errors
    before=$(cpu_ns "$4")
    wrk -t 1 -c "$2" -d "${3}s" -s "$work/rotate.lua" "$5" -- "$bodies" "$work/%.$7" "$6" \
        >"$work/wrk.out"
    after=$(cpu_ns "$4")
    read -r _ requests micros errors < <(grep '^RESULT ' "$work/wrk.out")
    if [ "$errors" -ne 0 ] || [ "$requests" -eq 0 ]; then
        echo "$1, $2 connections: $errors errors in $requests requests" >&2
        exit 1
    fi
    awk -v n="$requests" -v us="$micros" -v ns="$((after - before))" \
        'BEGIN { print n * 1e6 / us, ns / n }' >>"$work/$1.$2"
}

# round CONNECTIONS SECONDS: each of the three once
round() {
    measure plain-json "$1" "$2" "$pid_plain" "$url_plain" application/json json
    measure skind-json "$1" "$2" "$pid_skind" "$url_skind" application/json json
    measure skind-raw "$1" "$2" "$pid_skind" "$url_skind" application/octet-stream raw
}

# column FILE NUMBER: its median, least and greatest
column() {
    awk -v k="$2" '{ print $k }' "$1" | sort -g | awk '
        { v[NR] = $1 }
        END { m = NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2
              printf "%.1f %.1f %.1f\n", m, v[1], v[NR] }'
}

row() {
    local rate low high base cpu base_cpu
    read -r rate low high < <(column "$work/$1.$2" 1)
    read -r base _ < <(column "$work/plain-json.$2" 1)
    read -r cpu _ < <(column "$work/$1.$2" 2)
    read -r base_cpu _ < <(column "$work/plain-json.$2" 2)
    awk -v name="$1" -v c="$2" -v rate="$rate" -v low="$low" -v high="$high" -v base="$base" \
        -v cpu="$cpu" -v base_cpu="$base_cpu" 'BEGIN {
            printf "%-11s %3d %9.0f %9.0f - %-9.0f %6.1fx %9.1f us %6.1fx\n",
                name, c, rate, low, high, rate / base, cpu / 1000, base_cpu / cpu }'
}

write_bodies
start plain "$build/tests/bench/plain_server"
start skind "$build/skind" --listen 127.0.0.1:0 --threads 1

post "$url_plain" application/json "$work/1.json" >"$work/plain.reply"
agree "skind JSON" 1e-13 "$url_skind" application/json "$work/1.json"
agree "skind raw f32" 1e-4 "$url_skind" application/octet-stream "$work/1.raw"

for connections in 2 32; do
    round "$connections" 1 # to warm up
    rm "$work"/*."$connections"
    for ((i = 0; i < rounds; i++)); do
        round "$connections" "$duration"
    done
done

printf '\n64 bones, %d bodies in turn, %d rounds of %d s; one server thread, wrk on the same machine\n' \
    "$bodies" "$rounds" "$duration"
printf '%-11s %3s %9s %9s - %-9s %7s %12s %7s\n' server con. median/s least greatest plain CPU/req. plain
for connections in 2 32; do
    for name in plain-json skind-json skind-raw; do
        row "$name" "$connections"
    done
done
