"""Mixed load for a given time, with the daemon's memory and descriptors sampled each second.

Usage: soak.py PORT PID SECONDS. Prints start, middle and end and "ok NAME" or "not ok NAME".

Memory is flat when the median of the last quarter is no more than 5 % and 4 MiB over the median of
the second quarter: the first is for warming up. Descriptors are flat when the most of the last
quarter is no more than the most of the second and 8, and, once all clients have gone, as many are
open as before the first one came."""

import os
import select
import socket
import statistics
import struct
import sys
import threading
import time

import posts
import proc
import wire

port, pid, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
deadline = time.monotonic() + seconds
SMALL, SMALL_REPLY = posts.palette_json(1), posts.palette_json_reply(1)
LARGE, LARGE_REPLY = posts.palette_json(1500), posts.palette_json_reply(1500)  # about 130 KB: the pool
RAW, RAW_REPLY = posts.palette_raw(64), posts.palette_raw_reply(64)
JSON = "application/json"
# what is answered with a problem, and its status
ERRORS = [
    (posts.post("/v1/palette", JSON, b'{"meshWorld": [1,2,'), 400),
    (posts.post("/v1/palette", JSON, b'{"boneWorld": 7}'), 422),
    (posts.post("/v1/bind", JSON, b'{"meshBindWorld":{"scale":[0,0,0]},"boneBindWorld":[{"scale":[0,0,0]}]}'), 422),
    (posts.post("/v1/palette", "text/plain", b"x" * 5000), 415),
    (posts.post("/v1/palette", "application/octet-stream", b"x" * 100), 422),
    (posts.get("/nowhere"), 404),
    (posts.get("/v1/palette"), 405),
]
BROKEN = [
    b"GET /healthz HTTP/1.1\r\n\r\n",
    b"GET /healthz%00 HTTP/1.1\r\nHost: a\r\n\r\n",
    b"POST /v1/bind HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
]


class Client(threading.Thread):
    """Does one thing again and again until the time is over."""

    def __init__(self, what):
        super().__init__(name=what.__name__)
        self.what = what
        self.count = 0
        self.fault = None

    def run(self):
        try:
            for _ in self.what():
                self.count += 1
                if time.monotonic() >= deadline:
                    break
        except Exception as error:  # of any kind: it is the test's result
            self.fault = repr(error)


def expect(reply, status, body=None):
    if reply is None or reply.status != status or (body is not None and reply.body != body):
        raise ValueError(f"expected {status}, got {reply and (reply.status, reply.body[:200])}")


def kept(request, status, body):
    """The same request again and again on one connection."""
    with wire.connect(port) as connection:
        reader = wire.Reader(connection)
        while True:
            connection.sendall(request)
            expect(reader.reply(), status, body)
            yield


def kept_json():
    return kept(SMALL, 200, SMALL_REPLY)


def kept_raw():
    return kept(RAW, 200, RAW_REPLY)


def kept_large():
    return kept(LARGE, 200, LARGE_REPLY)


def kept_errors():
    with wire.connect(port) as connection:
        reader = wire.Reader(connection)
        while True:
            for request, status in ERRORS:
                connection.sendall(request)
                expect(reader.reply(), status)
                yield


def new_connections():
    while True:
        with wire.connect(port) as connection:
            connection.sendall(SMALL)
            expect(wire.Reader(connection).reply(), 200, SMALL_REPLY)
        yield


def broken_framing():
    while True:
        for request in BROKEN:
            replies = wire.exchange(port, request)
            expect(replies[0] if len(replies) == 1 else None, 400)
            yield


def reset(connection):
    """Closes with a reset rather than an end."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def cut_bodies():
    """Half a body, then the end or a reset."""
    while True:
        for request in (SMALL, LARGE):
            for is_reset in (False, True):
                with wire.connect(port) as connection:
                    connection.sendall(request[:len(request) // 2])
                    if is_reset:
                        reset(connection)
                yield


def aborted_replies():
    """A whole request whose reply nobody reads, or only its first bytes."""
    while True:
        for is_patient in (False, True):
            with wire.connect(port) as connection:
                connection.sendall(LARGE)
                if is_patient:
                    connection.recv(100)
                reset(connection)
            yield


def idle_descriptors(count, limit_s):
    """Waits until no more than so many are open; returns how many are."""
    end = time.monotonic() + limit_s
    while proc.descriptors(pid) > count and time.monotonic() < end:
        select.select([], [], [], 0.02)
    return proc.descriptors(pid)


def sample():
    """(RSS, descriptors) once a second, and at least 20 times in all."""
    samples = []
    interval = min(1.0, seconds / 20)
    while time.monotonic() + interval < deadline:
        select.select([], [], [], interval)
        samples.append((proc.memory(pid, "VmRSS"), proc.descriptors(pid)))
    return samples


def quarter(samples, index, field):
    size = len(samples) // 4
    return [one[field] for one in samples[index * size:(index + 1) * size]]


def judge(name, good, note):
    print(f"{'ok' if good else 'not ok'} soak: {name} ({note})", flush=True)
    return good


def show(samples):
    for name, (rss, descriptors) in (("start", samples[0]), ("middle", samples[len(samples) // 2]),
                                     ("end", samples[-1])):
        print(f"# soak {name}: RSS {rss / proc.MIB:.1f} MiB, {descriptors} descriptors")


def main():
    before = proc.descriptors(pid)
    clients = [Client(what) for what in (kept_json, kept_json, kept_raw, kept_large, kept_large,
                                         kept_errors, new_connections, broken_framing, cut_bodies,
                                         aborted_replies)]
    for client in clients:
        client.start()
    samples = sample()
    for client in clients:
        client.join()
    after = idle_descriptors(before, 30)
    show(samples)
    faults = [f"{client.name}: {client.fault}" for client in clients if client.fault]
    counts = ", ".join(f"{client.name} {client.count}" for client in clients)
    good = judge("every request answered as it should be", not faults, "; ".join(faults) or counts)
    early, late = (statistics.median(quarter(samples, i, 0)) for i in (1, 3))
    if proc.is_sanitized(pid):
        print("# soak: memory is not judged under a sanitizer")
    else:
        good &= judge("memory is flat", late <= 1.05 * early + 4 * proc.MIB,
                      f"median {early / proc.MIB:.1f} MiB, then {late / proc.MIB:.1f} MiB")
    early, late = (max(quarter(samples, i, 1)) for i in (1, 3))
    good &= judge("descriptors are flat", late <= early + 8, f"at most {early}, then {late}")
    good &= judge("descriptors are given back", after <= before, f"{before} before, {after} after")
    return good


sys.exit(not main())
