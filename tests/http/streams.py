"""Streams of lines over raw sockets: order, back-pressure, readers that do not read, clients that
leave. Usage: streams.py PORT PID LINE_LIMIT. Prints "ok NAME" or "not ok NAME" for each."""

import json
import select
import socket
import sys
import threading

import wire

port, pid, line_limit = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
HEAD = (
    b"POST /v1/batch HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-ndjson\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)


def along_x(x):
    return [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, x, 0, 0, 1]


def line(x, bones=1):
    request = {"meshBindWorld": along_x(10), "boneBindWorld": [along_x(x)] * bones}
    return json.dumps({"id": str(x), "op": "bind", "request": request}).encode() + b"\n"


def chunk(data):
    return b"%x\r\n" % len(data) + data + b"\r\n"


def open_stream(head=HEAD):
    connection = wire.connect(port)
    connection.sendall(head)
    return connection


def read_all(connection):
    data = b""
    while piece := connection.recv(1 << 20):
        data += piece
    return data


def unchunk(data):
    """The body of a chunked reply, which must be whole."""
    head, data = data.split(b"\r\n\r\n", 1)
    assert head.startswith(b"HTTP/1.1 200 "), head
    body = b""
    while True:
        size, data = data.split(b"\r\n", 1)
        size = int(size, 16)
        body += data[:size]
        assert data[size : size + 2] == b"\r\n"
        data = data[size + 2 :]
        if size == 0:
            assert data == b""
            return body


def results(data):
    return [json.loads(text) for text in unchunk(data).splitlines()]


def memory_kb():
    with open(f"/proc/{pid}/status") as status:
        return next(int(row.split()[1]) for row in status if row.startswith("VmRSS"))


def is_instrumented():
    """The address sanitizer keeps freed memory for a while, so that memory tells nothing."""
    with open(f"/proc/{pid}/maps") as maps:
        return "libasan" in maps.read()


def healthy():
    reply = wire.exchange(port, b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    return reply[0].status == 200


def send_and_read(pieces, head=HEAD, end=b"0\r\n\r\n", framed=True):
    """Writes and reads at the same time, as a stream's client has to."""
    with open_stream(head) as connection:

        def send():
            for piece in pieces:
                connection.sendall(chunk(piece) if framed else piece)
            connection.sendall(end)

        sender = threading.Thread(target=send)
        sender.start()
        data = read_all(connection)
        sender.join()
        return data


def case_order_over_many_lines():
    count = 4000
    found = results(send_and_read(line(x) for x in range(count)))
    assert [result["index"] for result in found] == list(range(count))
    assert [result["id"] for result in found] == [str(x) for x in range(count)]
    for x in (0, 1, count - 1):  # bone at x, mesh at 10: T(10 - x)
        assert found[x]["response"]["inverseBind"][0][12] == 10 - x


def case_lines_cut_anywhere():
    text = b"".join(line(x) for x in range(40))
    for size in (1, 7, 173, 1000, len(text)):
        pieces = (text[at : at + size] for at in range(0, len(text), size))
        assert [result["id"] for result in results(send_and_read(pieces))] == [str(x) for x in range(40)]


def case_each_line_is_answered_before_the_next_is_sent():
    with open_stream() as connection:
        connection.settimeout(20)
        seen = b""
        for x in range(5):
            connection.sendall(chunk(line(x)))
            while b'"index":%d,' % x not in seen or not seen.endswith(b"}\n\r\n"):
                piece = connection.recv(65536)
                assert piece
                seen += piece
        connection.sendall(b"0\r\n\r\n")
        seen += read_all(connection)
        assert len(results(seen)) == 5


def case_bad_and_blank_lines_spoil_only_their_own():
    text = [b"{bad\n", line(1), b"\n", b" \r\n", b"[]\n", line(5)[:-1] + b"\r\n", b"\xff\n", line(7)[:-1]]
    found = results(send_and_read(text))
    assert [(result["index"], result["status"]) for result in found] == [
        (0, 400), (1, 200), (4, 422), (5, 200), (6, 400), (7, 200)]  # fmt: skip


def case_a_line_over_the_limit_is_told_and_the_next_works():
    long = b'{"id":"' + b"x" * line_limit + b'"}\n'
    pieces = [line(0), long[: line_limit // 2], long[line_limit // 2 :] + line(2), long, long[:-1]]
    found = results(send_and_read(pieces))
    assert [(result["index"], result["status"]) for result in found] == [
        (0, 200), (1, 413), (2, 200), (3, 413), (4, 413)]  # fmt: skip


def case_http_1_0_ends_with_the_connection():
    text = line(1) + line(2)
    head = b"POST /v1/batch HTTP/1.0\r\nHost: a\r\nContent-Type: application/x-ndjson\r\nContent-Length: %d\r\n\r\n"
    data = send_and_read([text], head % len(text), b"", framed=False)
    head, body = data.split(b"\r\n\r\n", 1)
    assert b"chunked" not in head.lower()
    assert [json.loads(row)["id"] for row in body.splitlines()] == ["1", "2"]


def case_a_reader_that_does_not_read_stops_the_upload():
    piece = chunk(b"".join(line(x, 40) for x in range(20)))
    before = memory_kb()
    with open_stream() as connection:
        connection.setblocking(False)
        sent = 0
        # until nothing has moved for a second, or far more than any buffer between us has gone
        while sent < 256 << 20 and select.select([], [connection], [], 1)[1]:
            sent += connection.send(piece[sent % len(piece) :])
        assert sent < 64 << 20, sent
        assert is_instrumented() or memory_kb() - before < 64 << 10, memory_kb() - before
        assert healthy()
        # reading gets it going again
        connection.setblocking(True)
        connection.settimeout(20)
        received = 0
        while received < 4 << 20:
            received += len(connection.recv(1 << 20))


def case_clients_that_leave():
    for count in range(60):
        connection = open_stream()
        connection.sendall(b"".join(chunk(line(x, 20)) for x in range(count % 30)))
        if count % 3 == 0:
            connection.sendall(b"ffff\r\n" + line(1)[:20])
        if count % 2 == 0:  # with a reset
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        connection.close()
    assert healthy()
    assert len(results(send_and_read([line(1)]))) == 1


def case_many_streams_at_once():
    faults = []

    def one(first):
        found = results(send_and_read(line(x, 3) for x in range(first, first + 300)))
        if [result["id"] for result in found] != [str(x) for x in range(first, first + 300)]:
            faults.append(first)

    threads = [threading.Thread(target=one, args=(1000 * n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults, faults


def main():
    failed = 0
    for name, case in list(globals().items()):
        if not name.startswith("case_"):
            continue
        try:
            case()
            print(f"ok {name[5:]}")
        except Exception as fault:  # noqa: BLE001 - a case may break in any way
            failed += 1
            print(f"not ok {name[5:]}\n    {type(fault).__name__}: {fault}")
    sys.exit(1 if failed else 0)


main()
