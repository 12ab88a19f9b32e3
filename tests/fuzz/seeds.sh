# The seeds of a fuzz target, for run.sh and replay.sh: the files of tests/fuzz/corpus/TARGET and,
# when the target's name begins with json_, the request of every golden case.

# fuzz_seeds TARGET: their paths, a line each
fuzz_seeds() {
    [ ! -d "tests/fuzz/corpus/$1" ] || find "tests/fuzz/corpus/$1" -type f | sort
    case $1 in
    json_*) printf '%s\n' tests/golden/*/request.json ;;
    esac
}

# Links the files named on standard input into a directory, each under a name of its own, since
# libFuzzer takes directories and the golden requests share one name.
fuzz_gather() {
    local path
    rm -rf "$1"
    mkdir -p "$1"
    while IFS= read -r path; do
        ln -s "$PWD/$path" "$1/${path//\//_}"
    done
}
