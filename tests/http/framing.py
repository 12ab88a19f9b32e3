"""Requests whose framing is wrong or odd, byte by byte, each followed by one that must not run.

Usage: framing.py PORT. Prints "ok NAME" or "not ok NAME" for each.
Where libmicrohttpd answers by itself the row says so, with the version where that differs."""

import json
import re
import sys

import wire

port = int(sys.argv[1])
HOST = b"Host: a\r\n"
GET = b"GET /healthz HTTP/1.1\r\n"
POST = b"POST /v1/palette HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
# the request that hides behind a wrong one; its reply would show the library's name
HIDDEN = b"GET /version HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
HIDDEN_MARK = b'"libmicrohttpd"'

library = json.loads(wire.exchange(port, HIDDEN)[0].body)["libraries"]["libmicrohttpd"]
DOUBLE_HEAD_400 = "400 400"
DOUBLE_HEAD_413 = "413 413"
old = tuple(int(part) for part in library.split(".")[:2]) < (1, 0)


def chunked(headers, coding=b"Transfer-Encoding: chunked\r\n"):
    return POST + headers + coding + b"\r\n0\r\n\r\n"


def sized(value):
    return POST + b"Content-Length: " + value + b"\r\n\r\nhello"


def target(text, host=HOST):
    return b"GET " + text + b" HTTP/1.1\r\n" + host + b"\r\n"


# libmicrohttpd answers itself; 0.9.75 sends the head twice (its own fault), later versions once
BAD_LENGTH = DOUBLE_HEAD_400 if old else [400]
BIG_LENGTH = DOUBLE_HEAD_413 if old else [413]

# name, bytes, statuses of the replies, after which the connection is closed
CLOSING = [
    # a folded line is glued to the name by 0.9.75 and refused by later versions themselves
    ("folded Content-Length", GET + HOST + b"Content-Length:\r\n 39\r\n\r\n", [400]),
    ("folded Transfer-Encoding", GET + HOST + b"Transfer-Encoding:\r\n chunked\r\n\r\n", [400]),
    ("POST without a length", POST + b"\r\n", [411]),
    ("no Host on 1.1", GET + b"\r\n", [400]),
    ("two Hosts", GET + HOST + HOST + b"\r\n", [400]),
    ("two Hosts that differ", GET + HOST + b"Host: b\r\n\r\n", [400]),
    ("empty Host", GET + b"Host:\r\n\r\n", [400]),
    ("Host with @", GET + b"Host: a@b\r\n\r\n", [400]),
    ("Host with /", GET + b"Host: a/b\r\n\r\n", [400]),
    ("Host with #", GET + b"Host: a#b\r\n\r\n", [400]),
    ("Host with a blank", GET + b"Host: a b\r\n\r\n", [400]),
    ("Host with a wrong port", GET + b"Host: a:8x\r\n\r\n", [400]),
    ("two Content-Lengths, equal", POST + b"Content-Length: 2\r\n" * 2 + b"\r\n{}", [400]),
    ("two Content-Lengths that differ",
     POST + b"Content-Length: 2\r\nContent-Length: 70\r\n\r\n{}", [400]),
    ("Content-Length, then Transfer-Encoding", chunked(b"Content-Length: 5\r\n"), [400]),
    ("Transfer-Encoding, then Content-Length",
     POST + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", [400]),
    ("Transfer-Encoding on 1.0", chunked(b"").replace(b"HTTP/1.1", b"HTTP/1.0"), [400]),
    ("two Transfer-Encodings", chunked(b"Transfer-Encoding: chunked\r\n"), [501]),
    # libmicrohttpd 1.0 answers these three itself
    ("Transfer-Encoding gzip", chunked(b"", b"Transfer-Encoding: gzip\r\n"), [501 if old else 400]),
    ("Transfer-Encoding gzip, chunked",
     chunked(b"", b"Transfer-Encoding: gzip, chunked\r\n"), [501 if old else 400]),
    ("Transfer-Encoding xchunked",
     chunked(b"", b"Transfer-Encoding: xchunked\r\n"), [501 if old else 400]),
    ("Content-Length -1", sized(b"-1"), BAD_LENGTH),
    ("Content-Length +5", sized(b"+5"), BAD_LENGTH),
    ("Content-Length 0x5", sized(b"0x5"), BAD_LENGTH),
    ("Content-Length empty", sized(b""), BAD_LENGTH),
    ("Content-Length 5, 5", sized(b"5, 5"), BAD_LENGTH),
    ("Content-Length of 20 digits", sized(b"9" * 20), BIG_LENGTH),
    ("chunk size that is none", POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n0\r\n\r\n", [400]),
    ("chunk size below zero", POST + b"Transfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n",
     [400]),
    ("control byte in a name", GET + HOST + b"X\x01: a\r\n\r\n", [400]),
    ("control byte in a value", GET + HOST + b"X: a\x01\r\n\r\n", [400]),
    ("blank before the colon", GET + HOST + b"X : a\r\n\r\n", [400]),
    ("blank before Content-Length's colon", POST + b"Content-Length : 5\r\n\r\nhello", [400]),
    ("no colon", GET + HOST + b"Xabc\r\n\r\n", [400]),
    ("target with %00", target(b"/healthz%00/../admin"), [400]),
    ("target with %zz", target(b"/%zz"), [400]),
    ("target that ends in %", target(b"/healthz%"), [400]),
    ("target with a fragment", target(b"/healthz#x"), [400]),
    ("target without a slash", target(b"healthz"), [400]),
    ("absolute form of another host", target(b"http://b/healthz"), [400]),
    ("absolute form with a user", target(b"http://u@a/healthz"), [400]),
    ("unknown method", b"BREW /healthz HTTP/1.1\r\n" + HOST + b"\r\n", [501]),
    ("unknown method with a body",
     b"BREW /healthz HTTP/1.1\r\n" + HOST + b"Content-Length: 5\r\n\r\nhello", [501]),
    ("TRACE", b"TRACE /healthz HTTP/1.1\r\n" + HOST + b"\r\n", [501]),
    ("CONNECT", b"CONNECT a:80 HTTP/1.1\r\n" + HOST + b"\r\n", [501]),
    ("method in lower case", b"get /healthz HTTP/1.1\r\n" + HOST + b"\r\n", [501]),
    # libmicrohttpd answers for other versions itself
    ("HTTP/9.9", GET.replace(b"1.1", b"9.9") + HOST + b"\r\n", [505]),
    ("HTTP/2.0", GET.replace(b"1.1", b"2.0") + HOST + b"\r\n", [505]),
    ("no version", b"GET /healthz\r\n" + HOST + b"\r\n", [400]),
    ("HTTP/1.0 without keep-alive", GET.replace(b"1.1", b"1.0") + b"\r\n", [200]),
    ("headers over 16 KiB", GET + HOST + b"X: " + b"a" * 20000 + b"\r\n\r\n", [431]),
    ("headers over the connection's memory", GET + HOST + b"X: " + b"a" * 60000 + b"\r\n\r\n", [431]),
    ("101 headers", GET + HOST + b"X: a\r\n" * 100 + b"\r\n", [431]),
    ("target over 4096 bytes", target(b"/" + b"a" * 4096), [414]),
]

# name, bytes, status; the connection then serves the next request
KEEPING = [
    ("three pipelined GETs", (GET + HOST + b"\r\n") * 3, [200, 200, 200]),
    ("absolute form of the same host", target(b"http://A/healthz"), [200]),
    ("absolute form without a path", target(b"http://a"), [404]),
    ("asterisk", b"OPTIONS * HTTP/1.1\r\n" + HOST + b"\r\n", [404]),
    ("Host with a port", GET + b"Host: a:80\r\n\r\n", [200]),
    ("Host in brackets", GET + b"Host: [::1]:80\r\n\r\n", [200]),
    ("Transfer-Encoding in capitals",
     POST + b"Transfer-Encoding: CHUNKED\r\n\r\n2\r\n{}\r\n0\r\n\r\n", [422]),
    ("trailer",
     POST + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX: y\r\n\r\n", [422]),
    ("refused body is drained", POST.replace(b"/json", b"/x") + b"Content-Length: 5\r\n\r\nhello", [415]),
    ("pipelined POSTs", (POST + b"Content-Length: 2\r\n\r\n{}") * 3, [422, 422, 422]),
    ("a value of high bytes", GET + HOST + b"X: \xe4\xff\r\n\r\n", [200]),
    ("target of 4096 bytes", target(b"/" + b"a" * 4095), [404]),
]

# legal, and read by 0.9.75; libmicrohttpd 1.0.1 refuses it and closes
EXTENSION = POST + b"Transfer-Encoding: chunked\r\n\r\n2;a=b\r\n{}\r\n0\r\n\r\n"
if old:
    KEEPING.append(("chunk extension", EXTENSION, [422]))
else:
    CLOSING.append(("chunk extension", EXTENSION, [400]))


def judge(name, replies, statuses, hidden_runs):
    seen = [reply.status for reply in replies]
    ran = any(HIDDEN_MARK in reply.body for reply in replies)
    wanted = statuses + [200] if hidden_runs else statuses
    good = seen == wanted and ran == hidden_runs
    note = "" if good else f" (got {seen}, expected {wanted}, hidden request ran: {ran})"
    print(f"{'ok' if good else 'not ok'} framing: {name}{note}")
    return good


def judge_double_head(name, data, statuses):
    seen = " ".join(re.findall(r"HTTP/1\.1 (\d{3}) ", data.decode("latin-1")))
    good = seen == statuses and HIDDEN_MARK not in data
    print(f"{'ok' if good else 'not ok'} framing: {name} (head twice: libmicrohttpd {library})")
    return good


def probe(name, data, statuses, hidden_runs):
    try:
        if isinstance(statuses, str):
            return judge_double_head(name, wire.exchange_raw(port, data + HIDDEN), statuses)
        return judge(name, wire.exchange(port, data + HIDDEN), statuses, hidden_runs)
    except (OSError, ValueError) as error:
        print(f"not ok framing: {name} ({error})")
        return False


def cut_body():
    """A body that breaks off gets no answer, and does no harm."""
    with wire.connect(port) as connection:
        connection.sendall(POST + b"Content-Length: 50\r\n\r\nhello")
    reply = wire.exchange(port, HIDDEN)[0]
    print("ok framing: a cut body" if reply.status == 200 else "not ok framing: a cut body")
    return reply.status == 200


results = [probe(name, data, statuses, False) for name, data, statuses in CLOSING]
results += [probe(name, data, statuses, True) for name, data, statuses in KEEPING]
results.append(cut_body())
sys.exit(not all(results))
