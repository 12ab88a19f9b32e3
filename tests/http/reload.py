"""Requests without pause on kept connections while the tokens are read again and again: each must
be answered 200, as the one token that all of them use stands in every version of the file.

Usage: reload.py PORT PID TOKEN_FILE, where the file has the token "alpha"."""

import hashlib
import os
import signal
import sys
import threading
import time

import wire

port, pid, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
ROUNDS = 50
REQUEST = b"GET /version HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s\r\n\r\n"

done = threading.Event()
faults, counts = [], []


def ask():
    with wire.connect(port) as connection:
        reader = wire.Reader(connection)
        count = 0
        while not done.is_set():
            connection.sendall(REQUEST % b"alpha")
            reply = reader.reply()
            if reply is None or reply.status != 200:
                faults.append(reply and reply.status)
                return
            count += 1
        counts.append(count)


def write(*tokens):
    """In place of the old file at once, so that no half is read."""
    with open(path + ".new", "w", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        for token in tokens:
            file.write(f"{token} {hashlib.sha256(token.encode()).hexdigest()}\n")
    os.rename(path + ".new", path)


def status(token):
    with wire.connect(port) as connection:
        connection.sendall(REQUEST % token.encode())
        return wire.Reader(connection).reply().status


threads = [threading.Thread(target=ask) for _ in range(4)]
for thread in threads:
    thread.start()
for number in range(ROUNDS):
    if faults:
        break
    newest = f"token-{number}"
    write("alpha", newest)
    os.kill(pid, signal.SIGHUP)
    end = time.monotonic() + 20
    while status(newest) != 200:
        if time.monotonic() > end:
            faults.append(f"{newest} is not taken")
            break
    if not faults and number > 0 and status(f"token-{number - 1}") != 401:
        faults.append("the token before is still taken")
done.set()
for thread in threads:
    thread.join()
if faults or len(counts) != 4 or min(counts) < ROUNDS:
    sys.exit(f"faults: {faults}, requests: {counts}")
