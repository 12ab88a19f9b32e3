"""Bodies of 16 MiB that ask for the most memory, and how much the daemon then takes.

Usage: memory.py PORT PID NAME, on a fresh daemon with the default limits, since the peak of a
process only grows; NAME is one of the list that `memory.py names` prints. Prints "ok NAME" or
"not ok NAME"."""

import json
import sys

import posts
import proc
import wire

LIMIT = 16 * proc.MIB  # of a body
MOST = 128 * proc.MIB  # that the daemon may grow by


def repeated(item):
    """A list of as many as fit."""
    count = (LIMIT - 1) // (len(item) + 1)
    return b"[" + b",".join([item] * count) + b"]"


def long_matrix(i):
    """16 numbers, 12 of them with 17 digits."""
    numbers = [(1 if k in (0, 5, 10) else 0) + (i % 1000 + k + 1) / 30011 for k in range(16)]
    numbers[3] = numbers[7] = numbers[11] = 0
    numbers[15] = 1
    return json.dumps(numbers, separators=(",", ":")).encode()


def palette(bones, matrix, options=b""):
    lists = [b",".join(matrix(2 * i + k) for i in range(bones)) for k in (0, 1)]
    return (b'{"inverseBind":[' + lists[0] + b'],"boneWorld":[' + lists[1] + b'],"meshWorld":' +
            json.dumps(posts.along_x(20)).encode() + options + b"}")


def filled(make):
    """The legal palette with as many bones as 16 MiB hold: made from the size of one of 1,000."""
    bones = min(65536, int(1000 * (LIMIT - 4096) / len(make(1000))))
    while len(body := make(bones)) > LIMIT:
        bones -= bones // 200 + 1
    return body


def trs(i):
    return b'{"translation":[%d,0,0],"scale":[1,2,1]}' % (i % 1000)


# name: what makes the body, the status of the reply, and its code
BODIES = {
    "objects": (lambda: repeated(b"{}"), 413),
    "arrays": (lambda: repeated(b"[]"), 413),
    "strings": (lambda: repeated(b'""'), 413),
    "numbers": (lambda: repeated(b"0"), 413),
    "lists of a number": (lambda: repeated(b"[0]"), 413),
    "members": (lambda: b"{" + b",".join(b'"%x":0' % i for i in range(1200000)) + b"}", 413),
    "one string": (lambda: b'"' + b"a" * (LIMIT - 2) + b'"', 422),
    "a palette": (lambda: filled(lambda bones: palette(bones, long_matrix)), 200),
    "a palette as Unity objects":
        (lambda: filled(lambda bones: palette(bones, long_matrix, b',"matrixShape":"unity"')), 200),
    # names, lists and objects together are 8 values a bone: 100,000 are within API_MAX_VALUES
    "a palette of TRS": (lambda: palette(50000, trs), 200),
    "a palette of more TRS": (lambda: palette(65536, trs), 413),
}


def main(port, pid, name):
    make, status = BODIES[name]
    request = posts.post("/v1/palette", "application/json", make())
    with wire.connect(port) as connection:
        reader = wire.Reader(connection)
        connection.sendall(posts.palette_json(1500))
        reader.reply()  # threads and buffers that every daemon has after a while
        before = proc.memory(pid, "VmHWM")
        connection.sendall(request)
        reply = reader.reply()
        growth = proc.memory(pid, "VmHWM") - before
    is_judged = not proc.is_sanitized(pid)
    good = reply.status == status and (growth < MOST or not is_judged)
    note = f"{growth / proc.MIB:.0f} MiB" if is_judged else "memory is not judged under a sanitizer"
    print(f"{'ok' if good else 'not ok'} memory: {name} of {len(request) / proc.MIB:.1f} MiB: "
          f"{reply.status}, {note}")
    return good


if sys.argv[1] == "names":
    print("\n".join(BODIES))
else:
    sys.exit(not main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]))
