"""Signals to a daemon that has work, and what its clients then see.

Usage: drain.py open|load|burst|stuck|twice PORT PID. Exits 0 when all was as it should be.
Nothing waits by the clock: an open request is known to be open by its 100 Continue, and a stop is
known to have begun by the 503 of /readyz."""

import json
import os
import signal
import sys
import threading
import time

import wire

scenario, port, pid = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
IDENTITY = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]
BODY = json.dumps({"inverseBind": [IDENTITY], "boneWorld": [IDENTITY], "meshWorld": IDENTITY}).encode()
READY = b"GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n"


def check(good, text):
    if not good:
        sys.exit(f"drain: {text}")


def terminate():
    os.kill(pid, signal.SIGTERM)


class Open:
    """A request that the daemon has begun and whose body is still to come."""

    def __init__(self):
        self.connection = wire.connect(port)
        self.connection.sendall(
            b"POST /v1/palette HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
            b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(BODY))
        self.reader = wire.Reader(self.connection)
        check(self.reader.reply().status == 100, "no 100 Continue")

    def finish(self):
        self.connection.sendall(BODY)
        return self.reader.reply()


class Idle:
    """A kept connection that nothing is asked of for now."""

    def __init__(self):
        self.connection = wire.connect(port)
        self.reader = wire.Reader(self.connection)
        check(self.ask().status == 200, "not ready before the signal")

    def ask(self):
        self.connection.sendall(READY)
        return self.reader.reply()

    def wait_for_stop(self):
        """Asks until the answer is 503; returns that."""
        while True:
            reply = self.ask()
            check(reply is not None, "a kept connection was closed without a word")
            if reply.status != 200:
                return reply


def answers_what_is_open():
    idle, begun = Idle(), Open()
    terminate()
    reply = idle.wait_for_stop()
    check(reply.status == 503, f"/readyz said {reply.status}")
    check(json.loads(reply.body)["code"] == "overloaded", "wrong code")
    check(reply.closes and "retry-after" in reply.headers, "no Connection: close or Retry-After")
    refused = False
    while not refused:  # the socket closes soon after
        try:
            wire.connect(port).close()
        except OSError:
            refused = True
    reply = begun.finish()
    check(reply.status == 200 and reply.closes, f"the open request got {reply.status}")
    check(json.loads(reply.body)["palette"] == [IDENTITY], "wrong reply")


def loses_nothing():
    """Clients that ask again as soon as they are answered, until they are told to close."""
    lost, answered, started = [], [], threading.Barrier(9)
    idle = Idle()

    def client(index):
        count = 0
        with wire.connect(port) as connection:
            reader = wire.Reader(connection)
            while True:
                connection.sendall(
                    b"POST /v1/palette HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                    b"Content-Length: %d\r\n\r\n%s" % (len(BODY), BODY))
                reply = reader.reply()
                if reply is None or reply.status != 200:
                    lost.append((index, count, reply and reply.status))
                    break
                count += 1
                if count == 20:
                    started.wait()
                if reply.closes:
                    break
        answered.append(count)

    threads = [threading.Thread(target=client, args=(index,)) for index in range(8)]
    for thread in threads:
        thread.start()
    started.wait()
    terminate()
    reply = idle.wait_for_stop()
    check(reply.status == 503 and reply.closes, f"/readyz said {reply.status} under load")
    for thread in threads:
        thread.join()
    check(not lost, f"requests without an answer: {lost}")
    check(len(answered) == 8, "a client broke off")


def serves_the_queue():
    """Connections that the kernel has accepted and the daemon perhaps not yet."""
    connections = [wire.connect(port) for _ in range(100)]
    for connection in connections:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
    terminate()
    statuses = [reply and reply.status for reply in (wire.Reader(c).reply() for c in connections)]
    check(statuses == [200] * 100, f"{statuses.count(200)} of 100 were answered")


def stuck():
    """Half of a body, and no more: only the grace time (200 ms) ends it."""
    begun = Open()
    begun.connection.sendall(BODY[:len(BODY) // 2])
    start = time.monotonic()
    terminate()
    check(begun.reader.reply() is None, "a reply to half a request")
    seconds = time.monotonic() - start
    # the daemon counts in whole milliseconds, from a little before us
    check(0.15 <= seconds < 10, f"cut after {seconds:.3f} s")


def twice():
    idle, begun = Idle(), Open()
    terminate()
    check(idle.wait_for_stop().status == 503, "no 503")
    terminate()
    check(begun.reader.reply() is None, "a reply to half a request")


{"open": answers_what_is_open, "load": loses_nothing, "burst": serves_the_queue, "stuck": stuck, "twice": twice}[scenario]()
