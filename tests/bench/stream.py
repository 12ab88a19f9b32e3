"""A long stream of lines through one daemon: its peak of memory, and the rate.

Usage: stream.py SKIND [MEGABYTES] (1,000). Prints both; exits 1 when the peak is over 200 MB or a
line is not answered."""

import random
import socket
import sys
import threading
import time

from daemon import Daemon, palette, text

LIMIT_KB = 200 * 1000
random.seed(2)


def send(connection, lines, count):
    for i in range(count):
        line = lines[i % len(lines)]
        connection.sendall(b"%x\r\n" % len(line) + line + b"\r\n")
    connection.sendall(b"0\r\n\r\n")


def main():
    megabytes = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    lines = [b'{"op":"palette","request":' + text(palette()) + b"}\n" for _ in range(50)]
    count = megabytes * 1000000 * len(lines) // sum(map(len, lines))
    daemon = Daemon(sys.argv[1])
    try:
        start = time.perf_counter()
        with socket.create_connection(("127.0.0.1", daemon.port)) as connection:
            connection.sendall(
                b"POST /v1/batch HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-ndjson\r\n"
                b"Transfer-Encoding: chunked\r\n\r\n")  # fmt: skip
            sender = threading.Thread(target=send, args=(connection, lines, count))
            sender.start()
            received, answered = 0, 0
            while piece := connection.recv(1 << 20):
                received += len(piece)
                answered += piece.count(b"}\n")
            sender.join()
        seconds = time.perf_counter() - start
        peak_kb = daemon.status_kb("VmHWM")
    finally:
        daemon.stop()
    print(f"{megabytes} MB in {count} lines: {received / 1e6:.0f} MB back in {answered} lines, {seconds:.1f} s, "
          f"{megabytes / seconds:.0f} MB/s, peak {peak_kb / 1000:.1f} MB")
    sys.exit(0 if answered == count and peak_kb < LIMIT_KB else 1)


main()
