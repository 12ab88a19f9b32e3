"""Requests as bytes, as the load and fault tests send them, and what must come back.

Every matrix is a translation along x, so that each palette is known beforehand."""

import json
import struct


def along_x(x):
    return [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, x, 0, 0, 1]


def post(path, content_type, body, headers=""):
    return (f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: {content_type}\r\n{headers}"
            f"Content-Length: {len(body)}\r\n\r\n").encode() + body


def palette_json(bones, headers=""):
    """I = T(-2), B = T(22 + i), inverse(M) = T(-20): P = T(i)."""
    body = json.dumps({"inverseBind": [along_x(-2)] * bones,
                       "boneWorld": [along_x(22 + i) for i in range(bones)],
                       "meshWorld": along_x(20)}, separators=(",", ":")).encode()
    return post("/v1/palette", "application/json", body, headers)


def palette_json_reply(bones):
    return json.dumps({"convention": "row-vector", "space": "mesh",
                       "palette": [along_x(i) for i in range(bones)]},
                      separators=(",", ":")).encode()


def floats(matrices):
    return struct.pack(f"<{16 * len(matrices)}f", *sum(matrices, []))


def palette_raw(bones):
    body = floats([along_x(20)] + [along_x(-2)] * bones + [along_x(22 + i) for i in range(bones)])
    return post("/v1/palette", "application/octet-stream", body)


def palette_raw_reply(bones):
    return floats([along_x(i) for i in range(bones)])


def get(path):
    return f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode()
