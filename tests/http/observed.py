"""What the daemon tells of itself: /metrics, the log, traceparent.

Usage: observed.py PROGRAM. Whether it serves rightly is tested elsewhere."""

import datetime
import json
import os
import re
import shutil
import subprocess
import sys

import exposition
import wire
from daemon import BODY, Daemon, check, get, post, run, wait_for

program = sys.argv[1]
TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = f"00-{TRACE_ID}-00f067aa0ba902b7-01"


def scrape(daemon):
    reply = daemon.ask(get("/metrics"))
    check(reply.status == 200, f"status {reply.status}")
    return reply.body.decode()


def metrics_are_well_formed_also_by_promtool():
    with Daemon(program, "--inline-max-bytes", "0") as daemon:
        for data in (get("/healthz"), get("/nowhere"), post("a"), post("b", b"{"), get("/v1/bind")):
            daemon.ask(data)
        daemon.wait_for_metric('skind_requests_total{route="/v1/bind",status="400"}', 1)
        text = scrape(daemon)
        exposition.read(text)
        if not shutil.which("promtool"):
            return "promtool is not installed; checked by exposition.py alone"
        done = subprocess.run(["promtool", "check", "metrics"], input=text, text=True,
                              capture_output=True, check=False)
        check(done.returncode == 0 and not done.stderr, f"promtool: {done.stdout}{done.stderr}")
        return "promtool and exposition.py"


def strict_reader_refuses_what_is_wrong():
    good = '# HELP a_total A.\n# TYPE a_total counter\na_total{b="c"} 1\n'
    exposition.read(good)
    for old, new in (("1\n", "1"), ("1\n", "x\n"), ('"c"', '"c'), ("counter", "number"),
                     ("# TYPE a_total counter\n", ""), ("A.", "A"), ("a_total", "a"),
                     ('a_total{b="c"} 1\n', 'a_total{b="c"} 1\n' * 2), ('b="c"', 'b="c",b="d"')):
        try:
            exposition.read(good.replace(old, new))
        except exposition.Bad:
            continue
        raise AssertionError(f"taken with {new!r} for {old!r}")


def requests_are_counted_by_route_status_and_code():
    with Daemon(program, "--threads", "2", "--inline-max-bytes", str(len(BODY))) as daemon:
        before = daemon.metrics()
        sent = [post("a"), post("b"), post("c", b"{"), post("d", BODY + b" "), get("/healthz"),
                get("/problems/singular"), get("/x"), get("/y"), get("/v1/bind")]
        replies = [daemon.ask(data) for data in sent]
        expected = {
            'skind_requests_total{route="/v1/bind",status="200"}': 3,
            'skind_requests_total{route="/v1/bind",status="400"}': 1,
            'skind_requests_total{route="/healthz",status="200"}': 1,
            'skind_requests_total{route="/problems/{code}",status="200"}': 1,
            'skind_requests_total{route="other",status="404"}': 2,
            'skind_requests_total{route="other",status="405"}': 1,
            'skind_refused_total{code="malformed-json"}': 1,
            'skind_refused_total{code="not-found"}': 2,
            'skind_refused_total{code="method-not-allowed"}': 1,
            'skind_request_duration_seconds_count{route="/v1/bind"}': 4,
            'skind_request_bytes_total{route="/v1/bind"}': 3 * len(BODY) + 2,
            'skind_reply_bytes_total{route="/v1/bind"}': sum(len(r.body) for r in replies[:4]),
            "skind_items_total": 1,
            "skind_queue_wait_seconds_count": 1,
        }
        for name, value in expected.items():
            daemon.wait_for_metric(name, before.get(name, 0) + value)
        daemon.wait_for_metric("skind_connections", 1)
        others = [daemon.client() for _ in range(5)]
        daemon.wait_for_metric("skind_connections", 6)
        for other in others:
            other.close()
        daemon.wait_for_metric("skind_connections", 1)
        daemon.stop()


def labels_stay_within_our_own_tables():
    with Daemon(program) as daemon:
        daemon.metrics()
        daemon.metrics()  # its own first count is in it
        first = set(daemon.metrics())
        for index in range(200):
            path = f"/path{index}"
            daemon.ask(f"GET {path} HTTP/1.1\r\nHost: h{index}\r\nX-Request-Id: r{index}\r\n\r\n".encode())
            daemon.ask(f"M{index} /v1/op{index} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        added = set(daemon.metrics()) - first
        check(added == {'skind_requests_total{route="other",status="404"}',
                        'skind_requests_total{route="other",status="501"}'}, f"new series: {added}")
        daemon.stop()


def process_figures_are_those_of_the_process():
    with Daemon(program) as daemon:
        figures = daemon.metrics()
        directory = f"/proc/{daemon.process.pid}"
        fds = len(os.listdir(f"{directory}/fd"))
        check(figures["process_open_fds"] == fds, f"{figures['process_open_fds']} of {fds} fds")
        with open(f"{directory}/statm", encoding="ascii") as file:
            resident = int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
        ratio = figures["process_resident_memory_bytes"] / resident
        check(0.5 < ratio < 2, f"resident memory is off by {ratio}")
        started = datetime.datetime.now().timestamp() - figures["process_start_time_seconds"]
        check(-1 < started < 60, f"started {started} s ago")
        check(figures["process_cpu_seconds_total"] > 0, "no processor time")
        version = json.loads(daemon.ask(get("/version")).body)
        info = [name for name in figures if name.startswith("skind_build_info")]
        check(info == ['skind_build_info{version="%s",libmicrohttpd="%s",jansson="%s"}' % (
            version["version"], version["libraries"]["libmicrohttpd"],
            version["libraries"]["jansson"])], f"build info: {info}")
        daemon.stop()


def log_has_one_line_for_each_request():
    with Daemon(program, "--inline-max-bytes", "0") as daemon:
        client = daemon.client()
        for index in range(50):
            client.ask(get("/healthz", f"X-Request-Id: n{index}\r\n"))
        reply = client.ask(post("work"))
        line = daemon.log_of("work")[0]
        expected = {"level": "info", "requestId": "work", "method": "POST", "route": "/v1/bind",
                    "path": "/v1/bind", "status": 200, "code": "ok", "bytesIn": len(BODY),
                    "bytesOut": len(reply.body), "items": 1}
        check(line | expected == line, f"{line}")
        check(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["ts"]), line["ts"])
        told = datetime.datetime.fromisoformat(line["ts"][:-1]).replace(tzinfo=datetime.timezone.utc)
        check(abs(told.timestamp() - datetime.datetime.now().timestamp()) < 60, line["ts"])
        check(0 < line["durationMs"] < 30000 and 0 <= line["queueWaitMs"] <= line["durationMs"], line)
        host, port = client.connection.getsockname()
        check(line["client"] == f"{host}:{port}", line["client"])
        ids = [line["requestId"] for line in daemon.log()]
        check(sorted(ids) == sorted([f"n{index}" for index in range(50)] + ["work"]), f"{ids}")
        daemon.stop()


def log_escapes_what_clients_inject():
    with Daemon(program) as daemon:
        daemon.ask(get("/a%0A%7B%22level%22:%22x%22%7D%0D%1B%5B2J%FF%C2%9B%22%5C%C3%A9", "X-Request-Id: e\r\n"))
        line = daemon.log_of("e")[0]
        check(line["path"] == '/a\n{"level":"x"}\r\x1b[2J\ufffd\x9b"\\\u00e9', repr(line["path"]))
        raw = [text for text in daemon.stderr().splitlines() if '"requestId":"e"' in text]
        check(len(raw) == 1 and not re.search(r"[\x00-\x1f\x7f-\x9f]", raw[0]), f"{raw}")
        daemon.ask(get("/" + "%0A" * 1300, "X-Request-Id: long\r\n"))
        check(set(daemon.log_of("long")[0]["path"][1:]) == {"\n"}, "a long path")
        check(all(len(text) <= 4095 for text in daemon.stderr().splitlines()), "a line over PIPE_BUF")
        daemon.stop()


def log_and_metrics_hold_no_query_header_or_body():
    secret = "s3cr3t"
    with Daemon(program) as daemon:
        more = f"Authorization: Bearer {secret}\r\nCookie: {secret}\r\n"
        daemon.ask(get(f"/healthz?token={secret}", more + "X-Request-Id: q1\r\n"))
        daemon.ask(get(f"/%zz?token={secret}", more + "X-Request-Id: q2\r\n"))
        daemon.ask(get(f"http://user:{secret}@else/healthz", more + "X-Request-Id: q3\r\n"))
        daemon.ask(post("q4", f'{{"{secret}":"{secret}"'.encode(), more))
        for name in ("q1", "q2", "q3", "q4"):
            daemon.log_of(name)
        check(secret not in daemon.stderr() and secret not in scrape(daemon), daemon.stderr())
        daemon.stop()


def log_tells_of_clients_that_leave():
    with Daemon(program) as daemon:
        client = daemon.client().send(post("left")[:-5])
        daemon.wait_for_metric("skind_inflight_bytes", len(BODY) - 5)
        client.close()
        line = daemon.log_of("left")[0]
        check(line["status"] is None and line["end"] == "client-gone", f"{line}")
        check(line["level"] == "warn" and line["bytesIn"] == len(BODY) - 5, f"{line}")
        daemon.wait_for_metric('skind_requests_total{route="/v1/bind",status="none"}', 1)
        daemon.wait_for_metric("skind_inflight_bytes", 0)
        daemon.stop()


def messages_of_the_library_are_lines_and_limited():
    with Daemon(program) as daemon:
        def broken():
            """A bad Content-Length, of which the library itself says something."""
            try:
                wire.exchange_raw(daemon.port, b"POST /v1/bind HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n")
            except OSError:
                pass
            return daemon.metric('skind_log_dropped_total{reason="rate"}') > 0
        wait_for("messages past the rate", broken)
        messages = [line for line in daemon.log() if "message" in line]
        check(messages and all("libmicrohttpd: " in line["message"] for line in messages), "none")
        daemon.stop()


def full_pipe_loses_lines_but_never_the_service():
    reading, writing = os.pipe()
    with Daemon(program, "--threads", "1", stderr=writing) as daemon:
        os.close(writing)
        client, dropped = daemon.client(), 'skind_log_dropped_total{reason="full"}'

        def fill():
            for _ in range(100):
                check(client.ask(get("/healthz")).status == 200, "no service")
            return daemon.metric(dropped) > 0
        wait_for("lines that are dropped", fill)
        os.set_blocking(reading, False)
        text = b""
        try:
            while piece := os.read(reading, 65536):
                text += piece
        except BlockingIOError:
            pass
        lines = [json.loads(line) for line in text.splitlines()]
        check(text.endswith(b"\n") and len(lines) > 100, "torn lines")
        client.ask(get("/healthz", "X-Request-Id: after\r\n"))
        os.set_blocking(reading, True)
        text = b""
        while b'"after"' not in text:
            text += os.read(reading, 65536)
        os.close(reading)  # from now on a write fails with EPIPE
        check(client.ask(get("/healthz")).status == 200, "no service without a reader")
        daemon.stop()


def off_writes_nothing():
    with Daemon(program, "--log", "off") as daemon:
        for index in range(10):
            daemon.ask(get(f"/{index}"))
        daemon.stop()
        check(daemon.stderr() == "", daemon.stderr())


def valid_traceparent_is_passed_on_and_an_invalid_one_ignored():
    with Daemon(program) as daemon:
        for path in ("/healthz", "/nowhere"):
            name = "t" + path[1:]
            reply = daemon.ask(get(path, f"traceparent: {PARENT}\r\nX-Request-Id: {name}\r\n"))
            check(reply.headers.get("traceparent") == PARENT, f"{reply.headers}")
            check(daemon.log_of(name)[0]["traceId"] == TRACE_ID, "not in the log")
        for name, header in (("u1", f"traceparent: {PARENT.upper()}"), ("u2", "traceparent: x"),
                             ("u3", f"traceparent: {PARENT}\r\ntraceparent: {PARENT}"), ("u4", "a: b")):
            reply = daemon.ask(get("/healthz", f"{header}\r\nX-Request-Id: {name}\r\n"))
            check(reply.status == 200 and "traceparent" not in reply.headers, f"{name}: {reply.headers}")
            check("traceId" not in daemon.log_of(name)[0], f"{name} is in the log")
        daemon.stop()


run([
    metrics_are_well_formed_also_by_promtool,
    strict_reader_refuses_what_is_wrong,
    requests_are_counted_by_route_status_and_code,
    labels_stay_within_our_own_tables,
    process_figures_are_those_of_the_process,
    log_has_one_line_for_each_request,
    log_escapes_what_clients_inject,
    log_and_metrics_hold_no_query_header_or_body,
    log_tells_of_clients_that_leave,
    messages_of_the_library_are_lines_and_limited,
    full_pipe_loses_lines_but_never_the_service,
    off_writes_nothing,
    valid_traceparent_is_passed_on_and_an_invalid_one_ignored,
])
