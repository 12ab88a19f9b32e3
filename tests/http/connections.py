"""That many kept connections busy at the same time, and what comes through at each count.

Usage: connections.py PORT PID SECONDS. Prints "ok NAME" or "not ok NAME" for each count.
At once: the daemon is stopped (SIGSTOP) while all connections ask, so that exactly as many sockets
are ready when it goes on, and all are answered before they ask again. Rolling: each asks again as
soon as it is answered. A count that stalls a polling loop (epoll of libmicrohttpd at multiples of
128) falls to a hundredth or is not served at all; half of the median of all counts, in this one
run, is the least that passes, a tenth under a sanitizer. Counts take turns in several rounds. Since
the machine may have other work, a count that is low is measured again with all others, and fails
when it is low three times out of three."""

import os
import select
import signal
import statistics
import sys
import time

import posts
import proc
import wire

port, pid, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
COUNTS = [127, 128, 129, 255, 256, 257, 384, 512]
ROUNDS = 4
ATTEMPTS = 3
# the sanitizers make each look at each connection dear
LEAST = 0.1 if proc.is_sanitized(pid) else 0.5
REQUEST = posts.get("/healthz")


class Connections:
    def __init__(self, count):
        self.readers = {}
        self.poll = select.poll()
        for _ in range(count):
            connection = wire.connect(port)
            connection.setblocking(True)
            self.readers[connection.fileno()] = wire.Reader(connection)
            self.poll.register(connection, select.POLLIN)
        self.all_once()  # under load the library accepts one connection for each look at all others

    def close(self):
        for reader in self.readers.values():
            reader.connection.close()

    def ask(self, reader):
        reader.connection.sendall(REQUEST)

    def answers(self):
        """The readers that have an answer, which is taken in and checked."""
        ready = self.poll.poll(wire.TIMEOUT_S * 1000)
        if not ready:
            raise ValueError("no connection was answered in time")
        for number, _ in ready:
            reader = self.readers[number]
            reply = reader.reply()
            if reply is None or reply.status != 200 or reply.closes:
                raise ValueError(f"a reply is {reply and reply.status}")
            yield reader

    def all_once(self):
        for reader in self.readers.values():
            self.ask(reader)
        self.all_answered()

    def all_answered(self):
        missing = set(self.readers.values())
        while missing:
            for reader in self.answers():
                missing.remove(reader)

    def at_once(self, end, rates):
        while time.monotonic() < end:
            os.kill(pid, signal.SIGSTOP)
            try:
                for reader in self.readers.values():
                    self.ask(reader)
            finally:
                os.kill(pid, signal.SIGCONT)
            start = time.monotonic()
            self.all_answered()
            rates.append(len(self.readers) / (time.monotonic() - start))

    def rolling(self, end, rates):
        """Every connection has a request open all the time; all must have been served."""
        start = time.monotonic()
        answered = 0
        served = set()
        for reader in self.readers.values():
            self.ask(reader)
        while time.monotonic() < end or len(served) < len(self.readers):
            for reader in self.answers():
                answered += 1
                served.add(reader)
                self.ask(reader)
        rates.append(answered / (time.monotonic() - start))


def measure(run):
    """Requests a second by count: the median over steps, in rounds in which the counts take turns."""
    rates = {count: [] for count in COUNTS}
    for _ in range(ROUNDS):
        for count in COUNTS:
            connections = Connections(count)
            run(connections, time.monotonic() + seconds / (2 * ROUNDS * len(COUNTS)), rates[count])
            connections.close()
    return {count: statistics.median(rates[count]) for count in COUNTS}


def judge(name, run):
    """Prints a line for each count, with the share of the median of its best attempt."""
    best = {count: (0.0, 0.0) for count in COUNTS}
    for _ in range(ATTEMPTS):
        rates = measure(run)
        median = statistics.median(rates.values())
        best = {count: max(best[count], (rates[count] / median, rates[count])) for count in COUNTS}
        if all(share >= LEAST for share, _ in best.values()):
            break
    for count, (share, rate) in best.items():
        print(f"{'ok' if share >= LEAST else 'not ok'} connections: {count} {name}, "
              f"{rate:.0f} requests/s, {share:.2f} of the median")
    return all(share >= LEAST for share, _ in best.values())


try:
    results = [judge("at once", Connections.at_once), judge("rolling", Connections.rolling)]
except (OSError, ValueError) as error:
    print(f"not ok connections: {error}")
    results = [False]
sys.exit(not all(results))
