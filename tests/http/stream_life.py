"""What becomes of streams of lines: busy, silent, cut, refused, unread.

Usage: stream_life.py SCENARIO PORT PID; exits 0 when all was as it should be."""

import json
import os
import select
import signal
import socket
import sys
import time

import wire

scenario, port, pid = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
HEAD = (
    b"POST /v1/batch HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-ndjson\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)
MANY = 8


def check(good, text):
    if not good:
        sys.exit(f"stream_life: {text}")


def line(bones=1, shape="flat"):
    request = {"meshBindWorld": {}, "boneBindWorld": [{}] * bones, "matrixShape": shape}
    return json.dumps({"op": "bind", "request": request}).encode() + b"\n"


def chunk(data):
    return b"%x\r\n" % len(data) + data + b"\r\n"


def open_stream(first=b""):
    connection = wire.connect(port)
    connection.sendall(HEAD + first)
    return connection


def read_until(connection, mark, data=b""):
    while mark not in data:
        piece = connection.recv(1 << 16)
        check(piece, f"closed before {mark!r}, after {data[-100:]!r}")
        data += piece
    return data


def read_to_the_end(connection):
    data = b""
    while piece := connection.recv(1 << 16):
        data += piece
    check(data.endswith(b"0\r\n\r\n"), f"no proper end: {data[-100:]!r}")


def metric(name):
    reply = wire.exchange(port, b"GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")[0]
    return float(next(row for row in reply.body.decode().splitlines() if row.startswith(name + " ")).split()[1])


def busy():
    """Three times the timeout, a line answered after the other at more than the rate."""
    piece = chunk(line(40) * 5)
    with open_stream() as connection:
        end = time.monotonic() + 3
        while time.monotonic() < end:
            connection.sendall(piece)
            check(connection.recv(1 << 20), "cut")
        connection.sendall(b"0\r\n\r\n")
        read_to_the_end(connection)


def silent():
    with open_stream(chunk(line())) as connection:
        read_until(connection, b"}\n")
        start = time.monotonic()
        while connection.recv(1 << 16):
            pass
        check(time.monotonic() - start < 20, "not closed")


def stop():
    """One that waits for lines, and one whose client does not read."""
    with open_stream(chunk(line())) as idle, open_stream() as unread:
        read_until(idle, b"}\n")
        unread.setblocking(False)
        try:
            while True:
                unread.send(chunk(line(1000, "unity")))
        except BlockingIOError:
            pass
        os.kill(pid, signal.SIGTERM)
        while idle.recv(1 << 16):
            pass


def full():
    with open_stream(chunk(line())) as first:
        read_until(first, b"}\n")
        start = time.monotonic()
        with open_stream(chunk(line()) + b"0\r\n\r\n") as second:
            reply = wire.Reader(second).reply()
            check(reply.status == 503 and "retry-after" in reply.headers, reply.status)
        check(time.monotonic() - start < 5, "the answer came late")
        first.sendall(b"0\r\n\r\n")
        read_to_the_end(first)


def unread():
    """Results ten times the size of their lines, to clients that take none of them."""
    connections = []
    for _ in range(MANY):
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", port))
        connection.setblocking(False)
        connections.append(connection)
        pieces = HEAD + chunk(line(3000, "unity")) * 40
        try:
            while pieces:
                pieces = pieces[connection.send(pieces):]
        except BlockingIOError:
            pass
    peak = 0
    end = time.monotonic() + 60
    while time.monotonic() < end and (peak == 0 or metric("skind_queue_depth") > 0):
        peak = max(peak, metric("skind_inflight_bytes"))
        select.select([], [], [], 0.05)  # asks no more often than that
    check(peak > 0, "nothing was counted")
    check(metric("skind_inflight_bytes") == 0, "bytes are still counted")
    check(metric("skind_queue_depth") == 0, "streams are still there")


{"busy": busy, "silent": silent, "stop": stop, "full": full, "unread": unread}[scenario]()
