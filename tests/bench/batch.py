"""A batch of 1,000 palettes of 64 bones with one worker and with two, beside 1,000 single requests.

Usage: batch.py SKIND. One daemon for each number of workers; the rows take turns, and each figure is
a ratio within this run. "Waiting" is the time between the last byte sent and the head of the reply:
the client then takes no processor. What is outside of it, the upload and the download of the reply,
is work of one connection and does not scale with the workers."""

import random
import statistics
import sys
import time

from daemon import Daemon, palette, post, text

ROUNDS, PALETTES, BODIES = 5, 1000, 50
random.seed(1)


def waited(connection, body):
    """Seconds in all, and of them waiting."""
    start = time.perf_counter()
    connection.request("POST", "/v1/batch", body, {"Content-Type": "application/json"})
    sent = time.perf_counter()
    reply = connection.getresponse()
    head = time.perf_counter()
    reply.read()
    assert reply.status == 200, reply.status
    return time.perf_counter() - start, head - sent


def timed(run):
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def main():
    skind = sys.argv[1]
    singles = [text(palette()) for _ in range(BODIES)]
    items = [b'{"op":"palette","request":' + body + b"}" for body in singles]
    batch = b'{"requests":[' + b",".join(items[i % BODIES] for i in range(PALETTES)) + b"]}"
    daemons = {workers: Daemon(skind, "--workers", str(workers), "--max-body-bytes", "100000000") for workers in (1, 2)}
    kept = {workers: daemon.connection() for workers, daemon in daemons.items()}
    waits = {1: [], 2: []}
    seconds = {"1 worker": [], "2 workers": [], "single requests": []}

    def one_by_one():
        for i in range(PALETTES):
            post(kept[2], "/v1/palette", singles[i % BODIES])

    try:
        for _ in range(ROUNDS):
            for workers, name in (1, "1 worker"), (2, "2 workers"):
                whole, waiting = waited(kept[workers], batch)
                seconds[name].append(whole)
                waits[workers].append(waiting)
            seconds["single requests"].append(timed(one_by_one))
    finally:
        for daemon in daemons.values():
            daemon.stop()
    base = statistics.median(seconds["1 worker"])
    print(f"{PALETTES} palettes of 64 bones, {len(batch) / 1e6:.1f} MB of JSON, median of {ROUNDS} rounds")
    for name, values in seconds.items():
        median = statistics.median(values)
        spread = (max(values) - min(values)) / median
        print(f"{name:16} {PALETTES / median:8.0f} palettes/s   {base / median:5.2f} x   spread {spread:4.0%}")
    one, two = statistics.median(waits[1]), statistics.median(waits[2])
    print(f"waiting: {one:.3f} s with 1 worker, {two:.3f} s with 2, {one / two:.2f} x")


main()
