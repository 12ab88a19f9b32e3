"""Python's http.client, which sends its whole body before it looks for a reply.

Usage: clients.py PORT BODY_LIMIT. Prints "ok NAME" or "not ok NAME" for each."""

import http.client
import json
import sys

port, limit = int(sys.argv[1]), int(sys.argv[2])
ROUNDS = 30
JSON = {"Content-Type": "application/json"}


def post(connection, body, headers, path="/v1/palette"):
    connection.request("POST", path, body, headers, encode_chunked=not isinstance(body, bytes))
    reply = connection.getresponse()
    return reply.status, json.loads(reply.read()).get("code")


def rounds(name, expected, body, headers, path="/v1/palette"):
    """Each round on a connection of its own; body is bytes, or a function that makes an iterator."""
    seen = []
    for _ in range(ROUNDS):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        try:
            seen.append(post(connection, body if isinstance(body, bytes) else body(), headers, path))
        except OSError as error:
            seen.append(repr(error))
        connection.close()
    good = seen.count(expected)
    wrong = next((one for one in seen if one != expected), None)
    note = "" if good == ROUNDS else f" ({good} of {ROUNDS}; e.g. {wrong})"
    print(f"{'ok' if good == ROUNDS else 'not ok'} python: {name}{note}")
    return good == ROUNDS


def reuse():
    """Refusals leave the connection good for the next request."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.connect()
    socket = connection.sock
    good = True
    for _ in range(ROUNDS):
        good &= post(connection, b" " * (limit + 1), JSON) == (413, "payload-too-large")
        good &= post(connection, b"{", JSON) == (400, "malformed-json")
        good &= connection.sock is socket
    connection.close()
    print(f"{'ok' if good else 'not ok'} python: one connection through {2 * ROUNDS} refusals")
    return good


def pieces(size):
    def make():
        return iter([b" " * 1000] * (size // 1000))

    return make


LARGE = b" " * (8 * limit)
CHUNKED = dict(JSON, **{"Transfer-Encoding": "chunked"})
results = [
    rounds("body one over the limit", (413, "payload-too-large"), b" " * (limit + 1), JSON),
    rounds("body 8 times the limit", (413, "payload-too-large"), LARGE, JSON),
    rounds("chunked body over the limit", (413, "payload-too-large"), pieces(8 * limit), CHUNKED),
    rounds("wrong type with a large body", (415, "unsupported-media-type"), LARGE,
           {"Content-Type": "text/plain"}),
    rounds("wrong path with a large body", (404, "not-found"), LARGE, JSON, "/nowhere"),
    rounds("wrong method with a large body", (405, "method-not-allowed"), LARGE, JSON, "/healthz"),
    rounds("not acceptable with a body at the limit", (406, "not-acceptable"), b" " * limit,
           dict(JSON, Accept="text/html")),
    reuse(),
]
sys.exit(not all(results))
