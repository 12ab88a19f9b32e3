"""A batch of 1,000 palettes of 64 bones with one worker and with two, beside 1,000 single requests.

Usage: batch.py SKIND. One daemon for each number of workers; the rows take turns, and each figure is
a ratio within this run. The client sends a body, then waits: it takes no processor meanwhile."""

import http.client
import json
import random
import statistics
import subprocess
import sys
import time

skind = sys.argv[1]
ROUNDS = 5
PALETTES, BONES, BODIES = 1000, 64, 50
random.seed(1)


def matrix():
    """Diagonals outweigh the rest of their rows, so each has an inverse."""
    m = [1 + random.random() if i % 5 == 0 else random.uniform(-0.3, 0.3) for i in range(16)]
    m[3] = m[7] = m[11] = 0
    m[15] = 1
    return m


def palette():
    return {
        "inverseBind": [matrix() for _ in range(BONES)],
        "boneWorld": [matrix() for _ in range(BONES)],
        "meshWorld": matrix(),
    }


def text(value):
    return json.dumps(value, separators=(",", ":")).encode()


class Daemon:
    def __init__(self, workers):
        self.process = subprocess.Popen(
            [skind, "--listen", "127.0.0.1:0", "--workers", str(workers), "--max-body-bytes", "100000000"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)  # fmt: skip
        port = int(self.process.stdout.readline().rsplit(":", 1)[1])
        self.connection = http.client.HTTPConnection("127.0.0.1", port)

    def post(self, path, body):
        start = time.perf_counter()
        self.connection.request("POST", path, body, {"Content-Type": "application/json"})
        reply = self.connection.getresponse()
        reply.read()
        assert reply.status == 200, reply.status
        return time.perf_counter() - start

    def cpu_s(self):
        with open(f"/proc/{self.process.pid}/stat") as stat:
            fields = stat.read().rsplit(") ", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / 100

    def stop(self):
        self.process.terminate()
        self.process.wait()


def main():
    singles = [text(palette()) for _ in range(BODIES)]
    items = [b'{"op":"palette","request":' + body + b"}" for body in singles]
    batch = b'{"requests":[' + b",".join(items[i % BODIES] for i in range(PALETTES)) + b"]}"
    daemons = {workers: Daemon(workers) for workers in (1, 2)}
    seconds = {"1 worker": [], "2 workers": [], "single requests": []}
    try:
        for _ in range(ROUNDS):
            seconds["1 worker"].append(daemons[1].post("/v1/batch", batch))
            seconds["2 workers"].append(daemons[2].post("/v1/batch", batch))
            seconds["single requests"].append(
                sum(daemons[2].post("/v1/palette", singles[i % BODIES]) for i in range(PALETTES)))
    finally:
        for daemon in daemons.values():
            daemon.stop()
    base = statistics.median(seconds["1 worker"])
    print(f"{PALETTES} palettes of {BONES} bones, {len(batch) / 1e6:.1f} MB of JSON, median of {ROUNDS} rounds")
    for name, values in seconds.items():
        median = statistics.median(values)
        spread = (max(values) - min(values)) / median
        print(f"{name:16} {PALETTES / median:8.0f} palettes/s   {base / median:5.2f} x   spread {spread:4.0%}")


main()
