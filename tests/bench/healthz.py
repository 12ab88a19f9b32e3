"""How long GET /healthz takes while the pool is saturated with batches.

Usage: healthz.py SKIND [SAMPLES] (2,000). Prints percentiles, idle and saturated, in one run."""

import random
import sys
import threading
import time

from daemon import Daemon, palette, post, text

random.seed(3)
BATCHERS, ITEMS = 6, 200


def sample(connection, count):
    times = []
    for _ in range(count):
        start = time.perf_counter()
        connection.request("GET", "/healthz")
        connection.getresponse().read()
        times.append(time.perf_counter() - start)
    times.sort()
    return {name: 1000 * times[min(int(len(times) * share), len(times) - 1)]
            for name, share in (("p50", 0.5), ("p99", 0.99), ("max", 1))}  # fmt: skip


def main():
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    item = b'{"op":"palette","request":' + text(palette()) + b"}"
    batch = b'{"requests":[' + b",".join([item] * ITEMS) + b"]}"
    daemon = Daemon(sys.argv[1])
    over = threading.Event()
    done = []

    def keep_busy():
        connection = daemon.connection()
        while not over.is_set():
            post(connection, "/v1/batch", batch)
            done.append(1)

    batchers = [threading.Thread(target=keep_busy) for _ in range(BATCHERS)]
    try:
        probe = daemon.connection()
        idle = sample(probe, count)
        for batcher in batchers:
            batcher.start()
        while len(done) < BATCHERS:  # each has been through once: the pool is full of work
            sample(probe, 1)
        saturated = sample(probe, count)
        over.set()
        for batcher in batchers:
            batcher.join()
    finally:
        daemon.stop()
    for name, figures in ("idle", idle), ("saturated", saturated):
        print(f"healthz {name:10}" + "".join(f"  {key} {value:7.2f} ms" for key, value in figures.items()))
    print(f"{len(done)} batches of {ITEMS} palettes went through meanwhile")


main()
