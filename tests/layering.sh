#!/usr/bin/env bash
# The dependency direction of the house, lib <- api <- server, read off the includes and symbols.
# Usage: tests/layering.sh BUILD_DIR. It judges no style; that is for clang-format and clang-tidy.
set -u
cd "$(dirname "$0")/.."
build=$1
faults=0
fault() { printf 'layering: %s\n' "$1"; faults=$((faults + 1)); }

includes() { grep -nHE '^[[:space:]]*#[[:space:]]*include' "$@" /dev/null; }
sources() { find "$1" -name '*.[ch]' -o -name '*.cc'; }

# lib: itself and the C library's mathematics and memory, no I/O, threads or allocation
while IFS= read -r line; do
    fault "lib includes what it must not: $line"
done < <(includes $(sources lib) | grep -vE '["<](lib/)?[a-z0-9_]+\.h"|<(float|limits|math|stdbool|stddef|stdint|string|immintrin|cpuid|fenv)\.h>')
while IFS= read -r line; do
    fault "lib includes api or server: $line"
done < <(includes $(sources lib) | grep -E '"(\.\./)?(api|server)/')
allowed='^(skin_.*|mem(cpy|set|cmp|move)|fma|fabs|fmax|fmin|frexp|ldexp|scalbn|sqrt|isfinite|__stack_chk_fail|__mem.*_chk|_GLOBAL_OFFSET_TABLE_|__cpu_model|__cpu_indicator_init|getenv|strcmp)$'
while IFS= read -r symbol; do
    fault "libskin.a needs the symbol $symbol"
done < <(nm -u "$build/libskin.a" 2>/dev/null | awk '$1 == "U" {print $2}' | sort -u | grep -vE "$allowed")

# api: no server, no sockets; jansson in its .c files alone
while IFS= read -r line; do
    fault "api includes what it must not: $line"
done < <(includes $(sources api) | grep -E '"(\.\./)?server/|<(microhttpd|pthread|sys/socket|netinet/.*|poll)\.h>')
while IFS= read -r line; do
    fault "jansson outside of api/*.c: $line"
done < <(includes $(sources lib) $(sources server) $(find api -name '*.h') | grep 'jansson\.h')

# server: one file knows microhttpd
http=$(includes $(sources server) $(sources api) $(sources lib) | grep -c 'microhttpd\.h')
[ "$http" -eq 1 ] || fault "$http files include microhttpd.h, one is the design"

for name in lib/skin.h api/operation.h server/main.c; do
    [ -f "$name" ] || fault "$name is not there, so nothing was checked"
done
[ "$faults" -eq 0 ] && echo "layering: clean"
exit $((faults > 0))
