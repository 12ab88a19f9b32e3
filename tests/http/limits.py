"""What the settings of a daemon do to connections, seen over sockets.

Usage: limits.py SCENARIO PORT; the scenarios stand at the end. Exits 0 when all was as it should be. Nothing is ordered
by sleeping: ends of streams and replies are waited for, each with wire.py's deadline. Where nothing
must happen, a while without it is what is seen."""

import select
import sys
import threading

import wire

scenario, port = sys.argv[1], int(sys.argv[2])
GET = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
POST = b"POST /v1/palette HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
MAX_DRAIN = 64 << 20


def check(good, text):
    if not good:
        sys.exit(f"limits: {text}")


def ask(connection):
    connection.sendall(GET)
    return wire.Reader(connection).reply()


def idle_closes():
    """Silence ends a connection: one that never spoke, and one that was served."""
    with wire.connect(port) as silent, wire.connect(port) as served:
        check(ask(served).status == 200, "not served")
        for name, connection in ("silent", silent), ("served", served):
            check(wire.Reader(connection).reply() is None, f"the {name} one got a reply")


def idle_stays():
    """Outlives the seconds that close a connection elsewhere."""
    with wire.connect(port) as connection:
        check(ask(connection).status == 200, "not served")
        readable, _, _ = select.select([connection], [], [], 2.5)
        check(not readable, "closed, or spoken to, while idle")
        check(ask(connection).status == 200, "not served again")


def many():
    """200 connections, all open at a time."""
    connections = [wire.connect(port) for _ in range(200)]
    for _ in range(2):
        for connection in connections:
            connection.sendall(GET)
        replies = [wire.Reader(connection).reply() for connection in connections]
        served = sum(reply is not None and reply.status == 200 for reply in replies)
        check(served == 200, f"{served} of 200 were served")


def endless_body():
    """A refused body without a length is read up to 64 MiB, then the connection is cut."""
    piece = b"10000\r\n" + b"a" * 0x10000 + b"\r\n"
    head = POST.replace(b"/json", b"/x") + b"Transfer-Encoding: chunked\r\n\r\n"
    sent = 0
    with wire.connect(port) as connection:
        connection.sendall(head)
        try:
            while sent < 2 * MAX_DRAIN:
                connection.sendall(piece)
                sent += 0x10000
        except (BrokenPipeError, ConnectionResetError):
            pass
    check(sent >= MAX_DRAIN, f"cut after {sent} bytes")
    check(sent < 2 * MAX_DRAIN, "not cut")


def drained_body():
    """One of just 64 MiB gets its reply, and the connection goes on."""
    with wire.connect(port) as connection:
        reader = wire.Reader(connection)
        writer = threading.Thread(target=connection.sendall, args=(
            POST.replace(b"/json", b"/x") + b"Content-Length: %d\r\n\r\n" % MAX_DRAIN
            + b"a" * MAX_DRAIN,))
        writer.start()
        reply = reader.reply()
        writer.join()
        check(reply is not None and reply.status == 415, "no 415")
        connection.sendall(GET)
        check(reader.reply().status == 200, "not served after it")


def claimed_body():
    """A Content-Length that is not worth draining is answered before any of it has come."""
    with wire.connect(port) as connection:
        connection.sendall(POST + b"Content-Length: %d\r\n\r\n" % (MAX_DRAIN + 1))
        reader = wire.Reader(connection)
        reply = reader.reply()
        check(reply is not None and reply.status == 413 and reply.closes, "no 413 that closes")
        check(not reader.more(), "open after it")


def left_behind():
    """More query arguments than a connection's memory holds: the library gives up before a handler
    sees the request, and closes, so that one connection leaves no more than one behind."""
    data = b"GET /healthz?%s HTTP/1.1\r\nHost: a\r\n\r\n" % (b"a&" * 1700)
    with wire.connect(port) as connection:
        connection.sendall(data + data + GET)
        reader = wire.Reader(connection)
        statuses = []
        while (reply := reader.reply()) is not None:
            statuses.append(reply.status)
    check(statuses in ([], [431]), f"got {statuses}")


{"idle-closes": idle_closes, "idle-stays": idle_stays,
 "many": many, "endless": endless_body, "drained": drained_body, "claimed": claimed_body,
 "left": left_behind}[scenario]()
