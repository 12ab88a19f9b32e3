"""A daemon of a test's own, and what its /metrics say.

It runs one process on a free port and ends that one alone; it judges nothing but the end."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback

import wire

DEADLINE_S = 30
IDENTITY = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]
BODY = json.dumps({"meshBindWorld": IDENTITY, "boneBindWorld": [IDENTITY]}).encode()


def check(good, text):
    if not good:
        raise AssertionError(text)


def wait_for(what, condition):
    """Asks again until the condition holds; a deadline makes it an error."""
    end = time.monotonic() + DEADLINE_S
    while True:
        value = condition()
        if value:
            return value
        check(time.monotonic() < end, f"not within {DEADLINE_S} s: {what}")
        time.sleep(0.002)


def post(request_id="a", body=BODY, more=""):
    return (f"POST /v1/bind HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
            f"X-Request-Id: {request_id}\r\n{more}Content-Length: {len(body)}\r\n\r\n").encode() + body


def get(path, more=""):
    return f"GET {path} HTTP/1.1\r\nHost: a\r\n{more}\r\n".encode()


class Client:
    """One kept connection."""

    def __init__(self, port):
        self.connection = wire.connect(port)
        self.reader = wire.Reader(self.connection)

    def send(self, data):
        self.connection.sendall(data)
        return self

    def reply(self):
        return self.reader.reply()

    def ask(self, data):
        return self.send(data).reply()

    def close(self):
        self.connection.close()


class Daemon:
    def __init__(self, program, *flags, stderr=None):
        self.directory = tempfile.TemporaryDirectory()
        self.stderr_path = os.path.join(self.directory.name, "stderr")
        environment = dict(os.environ, SKIND_STALL_DIR=self.directory.name)
        own = None if stderr else open(self.stderr_path, "wb")
        self.process = subprocess.Popen([program, "--listen", "127.0.0.1:0", *flags],
                                        stdout=subprocess.PIPE, stderr=stderr or own, env=environment)
        if own:
            own.close()
        line = self.process.stdout.readline().decode()
        check(line.startswith("skind listening on "), f"first line: {line!r}; {self.stderr()}")
        self.port = int(line.rsplit(":", 1)[1])
        self.watch = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.directory.cleanup()

    def client(self):
        return Client(self.port)

    def ask(self, data):
        client = self.client()
        reply = client.ask(data)
        client.close()
        return reply

    def metrics(self):
        """Sample text such as skind_workers or skind_refused_total{code="overloaded"}: its value."""
        self.watch = self.watch or self.client()
        text = self.watch.ask(get("/metrics")).body.decode()
        return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1])
                for line in text.splitlines() if not line.startswith("#")}

    def metric(self, name):
        return self.metrics().get(name)

    def wait_for_metric(self, name, value):
        wait_for(f"{name} = {value}; it is {self.metric(name)}", lambda: self.metric(name) == value)

    def stderr(self):
        if not os.path.exists(self.stderr_path):
            return ""
        with open(self.stderr_path, encoding="utf-8") as file:
            return file.read()

    def log(self):
        """The whole lines that are there."""
        text = self.stderr()
        return [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()]

    def log_of(self, request_id):
        return wait_for(f"a log line of {request_id}",
                        lambda: [line for line in self.log() if line.get("requestId") == request_id])

    def signal(self, number=signal.SIGTERM):
        self.process.send_signal(number)

    def wait(self, expected=0):
        code = self.process.wait(timeout=DEADLINE_S)
        check(code == expected, f"exit status {code}, expected {expected}: {self.stderr()[-4000:]}")

    def stop(self):
        self.signal()
        self.wait()

    # ---- of the stalling daemon ----

    def fifo(self, name):
        path = os.path.join(self.directory.name, name)
        if not os.path.exists(path):
            os.mkfifo(path)
        return path

    def is_in(self, name):
        """A descriptor that holds the request of that id in its operation, or None."""
        try:
            return os.open(self.fifo(name), os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            return None

    def stall(self, name):
        """Sends a request and returns its client and the hold, once a worker is in it."""
        self.fifo(name)
        client = self.client().send(post(name))
        return client, wait_for(f"a worker in {name}", lambda: self.is_in(name))


def run(cases):
    failed = 0
    for case in cases:
        name = re.sub(r"_", " ", case.__name__)
        try:
            notes = case()
            print(f"ok {name}" + (f" # {notes}" if notes else ""))
        except Exception:  # a fault of any kind is the case's
            failed += 1
            print(f"not ok {name}")
            traceback.print_exc(file=sys.stdout)
    sys.exit(failed > 0)
