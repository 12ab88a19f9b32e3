"""Starts the daemon as systemd does: with a listening socket at descriptor 3, and with a socket of
an abstract name to be told of readiness, of a reload and of the stop.

Usage: systemd.py SKIND"""

import os
import signal
import socket
import sys

import wire

skind = sys.argv[1]


def start(listener, told, process_id=None, sockets="1"):
    """Runs it; returns its process id."""
    child = os.fork()
    if child > 0:
        return child
    listener.set_inheritable(True)
    os.dup2(listener.fileno(), 3)
    os.environ.update(LISTEN_PID=process_id or str(os.getpid()), LISTEN_FDS=sockets,
                      NOTIFY_SOCKET="@" + told.getsockname()[1:].decode())
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(1, 2)
    # an address that nobody has: it must not be needed
    os.execv(skind, [skind, "--listen", "192.0.2.1:1", "--allow-anonymous", "--threads", "2"])


def check(what, actual, expected):
    if actual != expected:
        sys.exit(f"{what}: got {actual!r}, expected {expected!r}")


def status(listener):
    return wire.exchange(listener.getsockname()[1],
                         b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")[0].status


def end(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


with socket.create_server(("127.0.0.1", 0)) as listener, \
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
    told.bind("")  # the kernel picks an abstract name
    told.settimeout(wire.TIMEOUT_S)
    child = start(listener, told)
    check("told at first", told.recv(1000), b"READY=1")
    check("status", status(listener), 200)
    os.kill(child, signal.SIGHUP)
    reloading = told.recv(1000).split(b"\n")
    check("told on SIGHUP", reloading[0], b"RELOADING=1")
    check("with the time", reloading[1].startswith(b"MONOTONIC_USEC="), True)
    check("told then", told.recv(1000), b"READY=1")
    os.kill(child, signal.SIGTERM)
    check("told at last", told.recv(1000), b"STOPPING=1")
    check("exit status", end(child), 0)
    # the socket is systemd's: it still listens, for the next daemon
    child = start(listener, told)
    check("told again", told.recv(1000), b"READY=1")
    check("status again", status(listener), 200)
    os.kill(child, signal.SIGTERM)
    check("exit status", end(child), 0)
    # meant for another process: not taken, so the daemon fails at the address it was given
    check("exit status for another's", end(start(listener, told, process_id="1")), 1)
    check("exit status for two sockets", end(start(listener, told, sockets="2")), 2)
