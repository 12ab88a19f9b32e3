"""What the benchmarks in Python share: a daemon on a free port, and bodies of palettes.

It measures nothing itself."""

import http.client
import json
import random
import subprocess

BONES = 64


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
    def __init__(self, program, *flags):
        self.process = subprocess.Popen(
            [program, "--listen", "127.0.0.1:0", "--log", "off", *flags],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)  # fmt: skip
        self.port = int(self.process.stdout.readline().rsplit(":", 1)[1])

    def connection(self):
        return http.client.HTTPConnection("127.0.0.1", self.port)

    def status_kb(self, name):
        """VmRSS, VmHWM and so on."""
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(row.split()[1]) for row in status if row.startswith(name + ":"))

    def stop(self):
        self.process.terminate()
        self.process.wait()


def post(connection, path, body):
    """The reply's bytes; anything but 200 ends the benchmark."""
    connection.request("POST", path, body, {"Content-Type": "application/json"})
    reply = connection.getresponse()
    data = reply.read()
    assert reply.status == 200, (reply.status, data[:300])
    return data
