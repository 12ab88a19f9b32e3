"""A batch of 1,000 palettes of 64 bones with one worker and with two, beside 1,000 single requests.

Usage: batch.py SKIND. One daemon for each number of workers; the rows take turns, and each figure is
a ratio within this run. The client sends a body, then waits: it takes no processor meanwhile. "In the
pool" is what the daemon's own clock says of the request between its last byte in and its reply."""

import random
import re
import statistics
import sys
import time

from daemon import Daemon, palette, post, text

ROUNDS, PALETTES, BODIES = 5, 1000, 50
random.seed(1)


def pool_seconds(daemon):
    """Sum of the durations of batches so far; it begins when the request's line is read."""
    connection = daemon.connection()
    connection.request("GET", "/metrics")
    metrics = connection.getresponse().read().decode()
    return float(re.search(r'skind_request_duration_seconds_sum\{route="/v1/batch"\} (\S+)', metrics)[1])


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
    seconds = {"1 worker": [], "2 workers": [], "single requests": []}

    def one_by_one():
        for i in range(PALETTES):
            post(kept[2], "/v1/palette", singles[i % BODIES])

    try:
        for _ in range(ROUNDS):
            seconds["1 worker"].append(timed(lambda: post(kept[1], "/v1/batch", batch)))
            seconds["2 workers"].append(timed(lambda: post(kept[2], "/v1/batch", batch)))
            seconds["single requests"].append(timed(one_by_one))
        inside = {workers: pool_seconds(daemon) / ROUNDS for workers, daemon in daemons.items()}
    finally:
        for daemon in daemons.values():
            daemon.stop()
    base = statistics.median(seconds["1 worker"])
    print(f"{PALETTES} palettes of 64 bones, {len(batch) / 1e6:.1f} MB of JSON, median of {ROUNDS} rounds")
    for name, values in seconds.items():
        median = statistics.median(values)
        spread = (max(values) - min(values)) / median
        print(f"{name:16} {PALETTES / median:8.0f} palettes/s   {base / median:5.2f} x   spread {spread:4.0%}")
    print(f"in the daemon, mean: {inside[1]:.3f} s and {inside[2]:.3f} s, {inside[1] / inside[2]:.2f} x")


main()
