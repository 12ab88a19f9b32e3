#!/usr/bin/env bash
# The deployment files: the unit is one that systemd takes, hardened to an exposure of 2.0 or lower,
# and what they set and start exists. Ends with "N passed, N failed".
# Usage: tests/deploy.sh SKIND. The unit's cases are left out where systemd-analyze is not installed.
set -u
SKIND=$(realpath "$1")
. "$(dirname "$0")/http/harness.sh"
deploy=$root/server/deploy

case_exposure_is_2_0_or_lower() {
    systemd-analyze security --no-pager --offline=true --threshold=20 "$deploy/skind.service" \
        >"$work/out" 2>&1 || is "exposure" "$(grep -i overall "$work/out")" "2.0 or lower"
    # an old systemd that knows no threshold would pass everything
    matches "verdict" "$(grep -i overall "$work/out")" 'exposure level.*: [0-9]+\.[0-9]'
}

case_systemd_takes_the_units() {
    # the program is not installed where it will be
    mkdir -p "$work/units"
    sed "s|^\(ExecStart=\)/usr/bin/skind|\1$skind|" "$deploy/skind.service" >"$work/units/skind.service"
    cp "$deploy/skind.socket" "$work/units/"
    systemd-analyze verify --man=no "$work/units/skind.service" "$work/units/skind.socket" \
        >"$work/out" 2>&1 || is "verify" failed passed
    is "complaints" "$(grep -E '^(skind|/.*/units/)' "$work/out")" ''
}

case_settings_of_the_files_are_known() {
    local name
    for name in $(grep -ohE 'SKIND_[A-Z_]+' "$deploy"/*); do
        contains "skind --help" "$("$skind" --help)" "$name"
    done
}

case_the_socket_listens_where_the_service_does() {
    is "ListenStream" "$(sed -n 's/^ListenStream=//p' "$deploy/skind.socket")" \
        "$(sed -n 's/^Environment=SKIND_LISTEN=//p' "$deploy/skind.service")"
}

case_stop_waits_longer_than_the_grace_time() {
    local grace_ms
    grace_ms=$("$skind" --help | grep -A 1 -e --grace-ms | sed -nE 's/.*default ([0-9]+).*/\1/p')
    matches "grace of --help" "$grace_ms" '^[0-9]+$'
    [ "$(sed -nE 's/^TimeoutStopSec=([0-9]+)s$/\1/p' "$deploy/skind.service")000" -gt "$grace_ms" ] ||
        is "TimeoutStopSec" "too short" "over $grace_ms ms"
    [ "$(sed -nE 's/.*stop_grace_period: ([0-9]+)s$/\1/p' "$deploy/compose.yaml")000" -gt "$grace_ms" ] ||
        is "stop_grace_period" "too short" "over $grace_ms ms"
}

cases=(settings_of_the_files_are_known the_socket_listens_where_the_service_does
    stop_waits_longer_than_the_grace_time)
if command -v systemd-analyze >/dev/null; then
    cases=(exposure_is_2_0_or_lower systemd_takes_the_units "${cases[@]}")
else
    echo "# systemd-analyze is not installed: the unit's cases are left out"
fi
for name in "${cases[@]}"; do
    run_case "case_$name"
done
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
