"""Clients that break off, by the hundred, and requests in a row on one connection.

Usage: faults.py SCENARIO PORT PID [LIMIT]; LIMIT is --max-inflight-bytes of the daemon. Prints
"ok NAME" or "not ok NAME". Nothing waits by the clock: what must come about is asked for again and
again until it has, or a deadline is over."""

import json
import os
import select
import signal
import socket
import struct
import sys
import time

import posts
import proc
import wire

scenario, port, pid = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
HUNDREDS = 300
DEADLINE_S = 60
LARGE, LARGE_REPLY = posts.palette_json(1500), posts.palette_json_reply(1500)
CLOSE = "Connection: close\r\n"


def judge(name, good, note=""):
    print(f"{'ok' if good else 'not ok'} faults: {name}{f' ({note})' if note else ''}")
    return good


def until(condition):
    """Whether it came about within the deadline."""
    end = time.monotonic() + DEADLINE_S
    while not condition():
        if time.monotonic() > end:
            return False
        select.select([], [], [], 0.02)
    return True


def serves():
    """Small inline, large on the pool, on a fresh connection each."""
    for bones in (1, 1500):
        replies = wire.exchange(port, posts.palette_json(bones, CLOSE))
        if len(replies) != 1 or replies[0].status != 200 or \
                replies[0].body != posts.palette_json_reply(bones):
            return False
    return True


def killed(name, send, is_reset, before):
    """Clients that send and go; service is then as before and each descriptor is given back."""
    most = 0
    for _ in range(HUNDREDS):
        with wire.connect(port) as connection:
            if is_reset:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            send(connection)
            most = max(most, proc.descriptors(pid))
    given_back = until(lambda: proc.descriptors(pid) <= before)
    after = proc.descriptors(pid)
    good = serves() and given_back and most > before
    return judge(f"{HUNDREDS} clients killed {name}{', with a reset' if is_reset else ''}", good,
                 f"{before} descriptors before, at most {most}, {after} after")


def in_headers(connection):
    connection.sendall(LARGE[:40])


def in_upload(connection):
    connection.sendall(LARGE[:len(LARGE) // 2])


def in_work(connection):
    connection.sendall(LARGE)


def in_reply(connection):
    connection.sendall(LARGE)
    connection.recv(500)


def kills():
    before = proc.descriptors(pid)  # nobody is connected yet
    return all([killed(name, send, is_reset, before) for is_reset in (False, True) for name, send in
                (("in the headers", in_headers), ("in upload", in_upload),
                 ("while it is worked on", in_work), ("in the reply", in_reply))])


def half_a_body(size):
    """A connection whose body is half through, and known to be read up to there."""
    connection = wire.connect(port)
    body = b" " * size
    connection.sendall(posts.post("/v1/palette", "application/json", body, "Expect: 100-continue\r\n")
                       [:-size])
    if wire.Reader(connection).reply().status != 100:
        raise ValueError("no 100 Continue")
    connection.sendall(body[:size // 2])
    return connection


def statuses(size):
    """A blank body of that size: 400 when it is read, 503 when the budget is used up."""
    replies = wire.exchange(port, posts.post("/v1/palette", "application/json", b" " * size, CLOSE))
    return [reply.status for reply in replies]


def cut_bodies():
    """Bodies that break off: never an answer, never worked on, and their bytes are given back."""
    limit = int(sys.argv[4])
    most = limit * 9 // 10
    before = proc.descriptors(pid)
    good = judge("the whole budget is to be had at first", statuses(most) == [400])
    cut = [half_a_body(limit // 5) for _ in range(8)]  # 8 tenths of the budget
    good &= judge("cut bodies hold the budget", until(lambda: statuses(most) == [503]))
    answers = []
    for connection in cut:
        connection.shutdown(socket.SHUT_WR)
        answers.append(wire.Reader(connection).reply())
        connection.close()
    good &= judge("a cut body has no answer", answers == [None] * 8, str(answers))
    good &= judge("a cut body gives its bytes back", until(lambda: statuses(most) == [400]))
    good &= judge("a cut body gives its descriptor back",
                  until(lambda: proc.descriptors(pid) <= before))
    return good


def pipelined(name, requests, bodies):
    """All sent at once; the replies come in the order of the requests, none twice."""
    with wire.connect(port) as connection:
        connection.sendall(b"".join(requests))
        reader = wire.Reader(connection)
        replies = [reader.reply() for _ in requests]
        connection.setblocking(False)
        try:
            more = connection.recv(1)
        except BlockingIOError:
            more = b""
    good = all(reply and reply.status == 200 and (reply.body == body or (callable(body) and body(reply.body)))
               for reply, body in zip(replies, bodies)) and not more and not reader.pending
    return judge(f"pipelined: {name}", good, "" if good else
                 str([reply and (reply.status, reply.body[:60]) for reply in replies]))


def pipelines():
    def has(member):
        return lambda body: member in json.loads(body)

    small = [posts.palette_json(bones) for bones in (1, 2, 3)]
    small_replies = [posts.palette_json_reply(bones) for bones in (1, 2, 3)]
    good = pipelined("three GETs in order",
                     [posts.get(path) for path in ("/version", "/openapi.json", "/healthz")],
                     [has("libraries"), has("openapi"), has("status")])
    good &= pipelined("three POSTs in order", small, small_replies)
    return good & pipelined("pool, inline, pool, GET in order",
                            [LARGE, small[0], LARGE, posts.get("/version")],
                            [LARGE_REPLY, small_replies[0], LARGE_REPLY, has("libraries")])


class Asking:
    """A kept connection that asks again as soon as it is answered, until it is told to close."""

    def __init__(self, request, body):
        self.request, self.body = request, body
        self.connection = wire.connect(port)
        self.reader = wire.Reader(self.connection)
        self.asked = self.answered = 0

    def ask(self):
        self.connection.sendall(self.request)
        self.asked += 1

    def take(self):
        """Whether it goes on."""
        reply = self.reader.reply()
        if reply is None or reply.status != 200 or reply.body != self.body:
            return False
        self.answered += 1
        if not reply.closes:
            self.ask()
        return not reply.closes


def stop_under_load():
    """SIGTERM with 64 clients that have a request open each, small and large, JSON and raw."""
    kinds = ([(posts.palette_json(1), posts.palette_json_reply(1))] * 4 +
             [(posts.palette_raw(64), posts.palette_raw_reply(64))] * 3 + [(LARGE, LARGE_REPLY)])
    clients = [Asking(*kinds[i % len(kinds)]) for i in range(64)]
    open_clients = {client.connection.fileno(): client for client in clients}
    poll = select.poll()
    for client in clients:
        client.ask()
        poll.register(client.connection, select.POLLIN)
    is_told = False
    while open_clients:
        ready = poll.poll(DEADLINE_S * 1000)
        if not ready:
            break
        for number, _ in ready:
            if not open_clients[number].take():
                poll.unregister(number)
                del open_clients[number]
        if not is_told and min(client.answered for client in clients) >= 5:
            os.kill(pid, signal.SIGTERM)
            is_told = True
    asked, answered = (sum(getattr(client, name) for client in clients)
                       for name in ("asked", "answered"))
    ends = [client.reader.reply() for client in clients]
    return judge("a stop under the load of 64 clients loses no request",
                 is_told and asked == answered and ends == [None] * len(clients),
                 f"{asked} asked, {answered} answered")


try:
    sys.exit(not {"stop": stop_under_load, "kills": kills, "cut": cut_bodies, "pipelines": pipelines}[scenario]())
except (OSError, ValueError, AttributeError) as error:
    print(f"not ok faults: {scenario}: {error!r}")
    sys.exit(1)
