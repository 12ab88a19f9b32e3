"""Raw HTTP over a socket, for what no client library would send.

It reads replies strictly by their own framing; it judges nothing."""

import re
import socket

TIMEOUT_S = 30


class Reply:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def closes(self):
        return self.headers.get("connection", "").lower() == "close"


def connect(port):
    return socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S)


class Reader:
    """Replies off one connection, in order."""

    def __init__(self, connection):
        self.connection = connection
        self.pending = b""

    def more(self):
        """False at the end of the stream; a reset counts as the end."""
        try:
            data = self.connection.recv(65536)
        except ConnectionResetError:
            data = b""
        self.pending += data
        return bool(data)

    def reply(self):
        """The next reply, or None when the peer has closed before its first byte."""
        while b"\r\n\r\n" not in self.pending:
            if not self.more():
                if self.pending:
                    raise ValueError(f"cut off in a head: {self.pending!r}")
                return None
        head, self.pending = self.pending.split(b"\r\n\r\n", 1)
        lines = head.decode("latin-1").split("\r\n")
        match = re.fullmatch(r"HTTP/1\.[01] (\d{3}) .+", lines[0])
        if not match:
            raise ValueError(f"not a status line: {lines[0]!r}")
        headers = {}
        for line in lines[1:]:
            name, value = line.split(":", 1)
            headers[name.lower()] = value.strip()
        size = int(headers.get("content-length", 0))
        while len(self.pending) < size:
            if not self.more():
                raise ValueError("cut off in a body")
        body, self.pending = self.pending[:size], self.pending[size:]
        return Reply(int(match[1]), headers, body)


def exchange(port, data):
    """Sends it all; returns the replies up to the end of the stream."""
    with connect(port) as connection:
        connection.sendall(data)
        reader = Reader(connection)
        replies = []
        while (reply := reader.reply()) is not None:
            replies.append(reply)
        return replies


def exchange_raw(port, data):
    """Sends it all; returns all bytes up to the end of the stream."""
    with connect(port) as connection:
        connection.sendall(data)
        reader = Reader(connection)
        while reader.more():
            pass
        return reader.pending
