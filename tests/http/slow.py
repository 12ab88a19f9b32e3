"""Clients that are slow, silent or too many, against the deadlines and limits of one daemon.

Usage: slow.py SCENARIO PORT PID. Prints "ok NAME" or "not ok NAME" for each case.
The daemon's flags stand beside each scenario in run.sh's callers: access.sh."""

import json
import os
import resource
import selectors
import socket
import struct
import sys
import threading
import time

import wire

scenario, port, pid = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

HEADER_S = TRANSFER_S = 1.5  # --header-timeout-ms and --transfer-timeout-ms
RATE = 10_000  # --min-rate-bytes-per-s
WAIT_S = 0.7  # --transfer-timeout-ms of the scenario "waiting"
IDLE_S = 1  # --idle-timeout-s
SLACK_S = 10  # for the machine, not for the daemon
DRIP_S = 0.2

GET = b"GET /healthz HTTP/1.1\r\nHost: a\r\n"
POST = b"POST /v1/palette HTTP/1.1\r\nHost: a\r\nContent-Type: application/octet-stream\r\n"
results = []


def judge(name, good, note=""):
    results.append(good)
    print(f"{'ok' if good else 'not ok'} {name}" + ("" if good else f" ({note})"), flush=True)


def get(path="/healthz", **options):
    with wire.connect(port) as connection:
        connection.sendall(b"GET %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" % path.encode())
        return wire.Reader(connection).reply()


def octets(bones, extra=b""):
    """A palette request over raw doubles whose reply has numbers with all their digits."""
    matrix = struct.pack("<16d", 1.1, 0.3, 0.7, 0, 0.2, 1.3, 0.9, 0, 0.4, 0.6, 1.7, 0, 0.1, 0.2, 0.3, 1)
    body = matrix * (1 + 2 * bones)
    head = POST.replace(b"palette", b"palette?dtype=f64") + extra
    return head + b"Content-Length: %d\r\n\r\n" % len(body) + body


class Drip:
    """Connections that each send a byte now and then, until the daemon closes them."""

    def __init__(self, starts):
        self.selector = selectors.DefaultSelector()
        self.opened = {}
        self.lives = []  # seconds from connect to close
        for start in starts:
            connection = wire.connect(port)
            connection.setblocking(False)
            self.opened[connection] = time.monotonic()
            self.selector.register(connection, selectors.EVENT_READ)
            connection.send(start)

    def note_close(self, connection):
        self.selector.unregister(connection)
        connection.close()
        self.lives.append(time.monotonic() - self.opened.pop(connection))

    def step(self):
        """One byte on each; takes in what the daemon has closed meanwhile."""
        until = time.monotonic() + DRIP_S
        while (left := until - time.monotonic()) > 0:
            for key, _ in self.selector.select(left):
                try:
                    if key.fileobj.recv(65536) == b"":
                        self.note_close(key.fileobj)
                except ConnectionError:
                    self.note_close(key.fileobj)
        for connection in list(self.opened):
            try:
                connection.send(b"a")
            except ConnectionError:
                self.note_close(connection)


def drip(name, starts, limit_s):
    """All are closed, none much before its time, and the service goes on."""
    drips = Drip(starts)
    served = slowest = 0
    end = time.monotonic() + limit_s + SLACK_S
    while drips.opened and time.monotonic() < end:
        drips.step()
        began = time.monotonic()
        served += get().status == 200
        slowest = max(slowest, time.monotonic() - began)
    good = not drips.opened and min(drips.lives) > limit_s * 0.7 and served > 0 and slowest < 1
    judge(name, good, f"{len(drips.opened)} still open, lives {sorted(drips.lives)[:1]} to "
                      f"{sorted(drips.lives)[-1:]}, slowest healthz {slowest:.3f} s")
    print(f"# closed after {min(drips.lives, default=0):.1f} to {max(drips.lives, default=0):.1f} s,"
          f" healthz at most {slowest * 1000:.0f} ms")


def slow_bodies(count):
    return [POST + b"Content-Length: 100000\r\n\r\n"] * count


def closed_within(connection, limit_s, send=None):
    """Seconds until the daemon closes the connection, which sends a byte now and then; or None."""
    began = time.monotonic()
    connection.settimeout(DRIP_S)
    while time.monotonic() - began < limit_s:
        try:
            if send:
                connection.send(send)
            if connection.recv(65536) == b"":
                return time.monotonic() - began
        except TimeoutError:
            pass
        except ConnectionError:
            return time.monotonic() - began
    return None


def stalled_after_a_fast_beginning():
    with wire.connect(port) as connection:
        connection.sendall(POST + b"Content-Length: 10000000\r\n\r\n" + bytes(2_000_000))
        # at the rate alone, two megabytes would buy 200 seconds
        life = closed_within(connection, TRANSFER_S + SLACK_S, b"a")
        judge("slow body after a fast beginning is closed", life is not None, "still open")


def idle_with_drip():
    """What follows a served request is not the library's idle time: a byte a second resets that."""
    with wire.connect(port) as connection:
        connection.sendall(GET + b"\r\n")
        first = wire.Reader(connection).reply().status
        life = closed_within(connection, IDLE_S + SLACK_S, b"G")
        judge("dripping request line on a kept connection is closed",
              first == 200 and life is not None and life > IDLE_S * 0.7, f"{first}, {life}")


def steady_body():
    """Slow, but at twice the least rate: longer than every deadline, and served."""
    data = octets(500)
    head = data.index(b"\r\n\r\n") + 4
    with wire.connect(port) as connection:
        connection.sendall(data[:head])
        began = time.monotonic()
        at = head
        while at < len(data):
            size = int(RATE * 2 * 0.1)
            connection.sendall(data[at:at + size])
            at += size
            time.sleep(0.1)  # the pace is what is tested
        reply = wire.Reader(connection).reply()
        took = time.monotonic() - began
        judge("steady slow body is served",
              reply is not None and reply.status == 200 and took > 2 * TRANSFER_S,
              f"{reply and reply.status} after {took:.1f} s")


def large_reply():
    """Asks for a reply far larger than the kernel's buffers."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
    connection.settimeout(wire.TIMEOUT_S)
    connection.connect(("127.0.0.1", port))
    connection.sendall(octets(60000, b"Accept: application/json\r\n"))
    return connection


def stalled_reader():
    with large_reply() as connection:
        first = connection.recv(1000)
        size = int(first.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        began = time.monotonic()
        # while it is not read, only its end tells: no open request is left
        while time.monotonic() - began < TRANSFER_S * 2 + SLACK_S:
            if not connection_is_known(connection):
                break
            time.sleep(0.05)
        life = time.monotonic() - began
        got = len(first)
        try:
            while data := connection.recv(1 << 20):
                got += len(data)
        except ConnectionError:
            pass
        judge("slow reader is dropped", got < size and life < TRANSFER_S * 2 + SLACK_S,
              f"got {got} of {size} bytes, {life:.1f} s")


def connection_is_known(connection):
    """Whether the daemon still has this connection established, by the kernel's table."""
    mine = connection.getsockname()[1]
    for line in open("/proc/net/tcp", encoding="ascii").readlines()[1:]:
        fields = line.split()
        local, remote = (int(field.split(":")[1], 16) for field in fields[1:3])
        if local == port and remote == mine:
            return fields[3] == "01"
    return False


def steady_reader():
    with large_reply() as connection:
        reader = wire.Reader(connection)
        began = time.monotonic()
        while b"\r\n\r\n" not in reader.pending:
            reader.more()
        size = int(reader.pending.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        goal = reader.pending.index(b"\r\n\r\n") + 4 + size
        # for three deadlines at a pace far above the least rate, then to the end
        got, parts = len(reader.pending), 0
        while time.monotonic() - began < 3 * TRANSFER_S:
            got += len(connection.recv(8192))
            time.sleep(0.05)
        held_back = goal - got
        while got < goal and (data := connection.recv(1 << 20)):
            got += len(data)
        judge("steady slow reader gets it all", got == goal and held_back > 1_000_000,
              f"{got} of {goal}, {held_back} left behind the slow part")


def waiting_for_a_worker():
    """A suspended request has no deadline of the client's: its turn may come later than that."""
    data = octets(10000, b"Accept: application/json\r\nConnection: close\r\n")
    statuses, times = [], []

    def ask():
        began = time.monotonic()
        replies = wire.exchange(port, data)
        times.append(time.monotonic() - began)
        statuses.append([reply.status for reply in replies])

    count = 8
    while count <= 256:
        statuses.clear()
        times.clear()
        threads = [threading.Thread(target=ask) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if max(times, default=0) > 1.5 * WAIT_S or any(status != [200] for status in statuses):
            break
        count *= 2
    judge("waiting for a worker costs the client nothing",
          statuses == [[200]] * len(statuses) and max(times, default=0) > 1.5 * WAIT_S,
          f"{len(statuses)} requests, {statuses.count([200])} of them served, slowest {max(times, default=0):.1f} s")


def processor_s():
    fields = open(f"/proc/{pid}/stat", encoding="ascii").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def eventually(check, limit_s=30):
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        if check():
            return True
        time.sleep(0.02)
    return False


def is_served():
    try:
        reply = get("/version")
        return reply is not None and reply.status == 200
    except (OSError, ValueError):
        return False


def few_descriptors():
    """60 connections with 32 descriptors: --header-timeout-ms is long here, so that all stay."""
    limit = next(line for line in open(f"/proc/{pid}/limits", encoding="ascii")
                 if line.startswith("Max open files"))
    judge("the daemon has 32 descriptors", limit.split()[3:5] == ["32", "32"], limit)
    kept, statuses = [], []
    while len(kept) < 60 and 503 not in statuses:
        connection = wire.connect(port)
        connection.settimeout(SLACK_S)
        kept.append(connection)
        connection.sendall(GET.replace(b"/healthz", b"/version") + b"\r\n")
        try:
            statuses.append(wire.Reader(connection).reply().status)
        except TimeoutError:
            statuses.append("hangs")
            break
    judge("with 32 descriptors clients get 503 before any has to wait",
          len(statuses) > 2 and statuses == [200] * (len(statuses) - 1) + [503], str(statuses))
    for connection in kept:
        connection.close()
    connections = [wire.connect(port) for _ in range(60)]
    for connection in connections:
        connection.sendall(GET)  # not the end of the headers
    began, used = time.monotonic(), processor_s()
    time.sleep(2)  # the time over which the processor is watched
    busy = (processor_s() - used) / (time.monotonic() - began)
    judge("60 connections with 32 descriptors: no spin", busy < 0.2, f"{busy:.0%} of a processor")
    print(f"# {busy:.1%} of a processor")
    for connection in connections:
        connection.close()
    judge("60 connections with 32 descriptors: recovers", eventually(is_served), "not served again")


def too_many_connections():
    """--max-connections 4: the fifth is told so at once, and served once there is room."""
    kept = []
    for _ in range(4):
        connection = wire.connect(port)
        connection.sendall(GET.replace(b"/healthz", b"/version") + b"\r\n")
        kept.append((connection, wire.Reader(connection).reply().status))
    judge("connections up to the limit are served", [status for _, status in kept] == [200] * 4,
          str(kept))
    began = time.monotonic()
    reply = get("/version")
    took = time.monotonic() - began
    code = json.loads(reply.body).get("code")
    judge("a connection over the limit gets 503 and Retry-After, and does not hang",
          reply.status == 503 and code == "overloaded" and "retry-after" in reply.headers
          and reply.closes and took < 1, f"{reply.status} {reply.headers} {took:.2f} s")
    reply = get("/healthz")
    judge("healthz answers over the limit", reply.status == 200 and reply.closes, reply.status)
    for connection, _ in kept:
        connection.close()
    judge("service goes on below the limit", eventually(is_served), "not served again")


soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
if scenario == "deadlines":
    drip("250 slow-header connections are closed by their deadline", [GET + b"X: "] * 250, HEADER_S)
    drip("250 slow request lines are closed by their deadline", [b"GET /"] * 250, HEADER_S)
    drip("250 slow-body connections are closed by their deadline", slow_bodies(250), TRANSFER_S)
    stalled_after_a_fast_beginning()
    idle_with_drip()
    steady_body()
    stalled_reader()
    steady_reader()
elif scenario == "waiting":
    waiting_for_a_worker()
elif scenario == "descriptors":
    few_descriptors()
elif scenario == "connections":
    too_many_connections()
sys.exit(not all(results))
