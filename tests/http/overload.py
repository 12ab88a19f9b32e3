"""Full queues, spent budgets, deadlines, clients that leave, and jobs that never end.

Usage: overload.py PROGRAM, the daemon of stall.c, whose operations wait where a case says so. Nothing
is ordered by the clock: a stalled request is known to be on its worker by its FIFO, a queued one by
skind_queue_depth."""

import os
import statistics
import sys
import time

from daemon import BODY, Daemon, check, get, post, run, wait_for

program = sys.argv[1]
POOL = ("--workers", "1", "--inline-max-bytes", "0", "--threads", "1")
PROMPT_S = 0.050
OVERLOADED = 'skind_refused_total{code="overloaded"}'


def timed(ask):
    start = time.monotonic()
    reply = ask()
    return reply, time.monotonic() - start


def is_refused(reply, status=503):
    check(reply.status == status, f"status {reply.status}, expected {status}")
    check(status != 503 or "retry-after" in reply.headers, "no Retry-After")


def full_queue_is_503_within_50_ms_while_healthz_stays_under_50_ms():
    with Daemon(program, *POOL, "--queue", "2") as daemon:
        first, hold = daemon.stall("first")
        second = daemon.client().send(post("second"))
        daemon.wait_for_metric("skind_queue_depth", 2)
        refused, healthy = [], []
        client, watch = daemon.client(), daemon.client()
        for _ in range(21):
            reply, seconds = timed(lambda: client.ask(post("third")))
            is_refused(reply)
            refused.append(seconds)
            reply, seconds = timed(lambda: watch.ask(get("/healthz")))
            check(reply.status == 200, f"/healthz said {reply.status}")
            healthy.append(seconds)
        # the median, since a machine that is busy with other things may be late once
        check(statistics.median(refused) < PROMPT_S, f"503 took {refused}")
        check(statistics.median(healthy) < PROMPT_S, f"/healthz took {healthy}")
        figures = daemon.metrics()
        check(figures[OVERLOADED] == 21, f"{figures[OVERLOADED]} counted as overloaded")
        check(figures["skind_queue_capacity"] == 2, "wrong capacity")
        check(figures["skind_workers_busy"] == 1, "no worker is busy")
        os.close(hold)
        check(first.reply().status == 200 and second.reply().status == 200, "not both answered")
        check(client.ask(post("fourth")).status == 200, "not recovered")
        daemon.wait_for_metric("skind_queue_depth", 0)
        check(daemon.metric("skind_queue_wait_seconds_count") == 3, "wrong count of waits")
        line = daemon.log_of("second")[0]
        check(line["queueWaitMs"] > 0 and line["items"] == 1, f"log: {line}")
        daemon.stop()
        return f"503 worst {max(refused) * 1e3:.1f} ms, healthz worst {max(healthy) * 1e3:.1f} ms"


def spent_byte_budget_is_503_and_recovers():
    with Daemon(program, *POOL, "--max-inflight-bytes", str(len(BODY) + 10)) as daemon:
        half = daemon.client().send(post("half")[:-10])
        daemon.wait_for_metric("skind_inflight_bytes", len(BODY) - 10)
        client = daemon.client()
        is_refused(client.ask(post("over")))
        check(daemon.metric("skind_inflight_bytes") == len(BODY) - 10, "the refused one still counts")
        check(half.send(BODY[-10:]).reply().status == 200, "the open request was not answered")
        daemon.wait_for_metric("skind_inflight_bytes", 0)
        check(client.ask(post("again")).status == 200, "not recovered")
        daemon.stop()


def job_past_its_deadline_is_504_and_the_worker_is_free_again():
    deadline_s = 0.3
    with Daemon(program, *POOL, "--deadline-ms", str(int(deadline_s * 1000))) as daemon:
        begun = time.monotonic()
        late, hold = daemon.stall("late")
        daemon.fifo("waiting")  # if it were begun, it would keep the worker
        waiting = daemon.client().send(post("waiting"))
        daemon.wait_for_metric("skind_queue_depth", 2)
        # both were submitted by now, so by then both are late
        end = time.monotonic() + deadline_s
        wait_for("the deadline", lambda: time.monotonic() > end)
        os.close(hold)
        is_refused(late.reply(), 504)
        is_refused(waiting.reply(), 504)
        check(time.monotonic() - begun >= deadline_s, "504 before the deadline")
        check(daemon.client().ask(post("next")).status == 200, "the worker is not free")
        daemon.wait_for_metric('skind_jobs_skipped_total{reason="deadline"}', 2)
        check(daemon.metric('skind_refused_total{code="deadline-exceeded"}') == 2, "not counted")
        check(daemon.log_of("late")[0]["code"] == "deadline-exceeded", "not in the log")
        daemon.stop()


def job_whose_client_left_while_it_was_queued_is_skipped_and_counted():
    with Daemon(program, *POOL) as daemon:
        first, hold = daemon.stall("first")
        daemon.fifo("gone")  # if it were begun, it would keep the worker
        gone = daemon.client().send(post("gone"))
        stays = daemon.client().send(post("stays"))
        daemon.wait_for_metric("skind_queue_depth", 3)
        gone.close()
        os.close(hold)
        check(first.reply().status == 200 and stays.reply().status == 200, "others suffered")
        daemon.wait_for_metric('skind_jobs_skipped_total{reason="client-gone"}', 1)
        daemon.wait_for_metric("skind_queue_depth", 0)
        check(daemon.log_of("gone"), "no log line")
        daemon.stop()


def client_that_leaves_after_its_job_began_harms_nobody():
    with Daemon(program, *POOL) as daemon:
        left, hold = daemon.stall("left")
        left.close()
        os.close(hold)
        check(daemon.ask(post("next")).status == 200, "not served")
        daemon.wait_for_metric("skind_queue_depth", 0)
        daemon.wait_for_metric("skind_inflight_bytes", 0)
        check(daemon.metric('skind_jobs_skipped_total{reason="client-gone"}') == 0, "not skipped")
        daemon.stop()


def stuck_job_is_left_behind_at_the_end_of_the_grace_time():
    grace_s = 0.5
    with Daemon(program, *POOL, "--grace-ms", str(int(grace_s * 1000))) as daemon:
        stuck, hold = daemon.stall("stuck")
        begun = time.monotonic()
        daemon.signal()
        daemon.wait(1)  # no abort: that would be -6
        seconds = time.monotonic() - begun
        check(seconds >= grace_s, f"gone after {seconds} s, before the grace time")
        check(stuck.reply() is None, "a reply of a stuck job")
        check("still being worked on" in daemon.stderr(), daemon.stderr())
        os.close(hold)
        return f"grace {grace_s} s, gone after {seconds:.2f} s"


def second_signal_with_a_stuck_job_ends_at_once():
    with Daemon(program, *POOL, "--grace-ms", "600000") as daemon:
        stuck, hold = daemon.stall("stuck")
        ready = daemon.client()
        check(ready.ask(get("/readyz")).status == 200, "not ready")
        daemon.signal()
        def is_stopping():
            return ready.ask(get("/readyz")).status == 503
        wait_for("503 of /readyz", is_stopping)
        daemon.signal()
        daemon.wait(1)  # within seconds, far below the grace time
        check("second signal" in daemon.stderr(), daemon.stderr())
        check(stuck.reply() is None, "a reply of a stuck job")
        os.close(hold)


def stop_waits_for_a_job_that_ends_in_time():
    with Daemon(program, *POOL, "--grace-ms", "600000") as daemon:
        slow, hold = daemon.stall("slow")
        queued = daemon.client().send(post("queued"))
        daemon.wait_for_metric("skind_queue_depth", 2)
        ready = daemon.client()
        check(ready.ask(get("/readyz")).status == 200, "not ready")
        daemon.signal()
        wait_for("503 of /readyz", lambda: ready.ask(get("/readyz")).status == 503)
        os.close(hold)
        for client in (slow, queued):
            reply = client.reply()
            check(reply.status == 200 and reply.closes, f"status {reply.status}")
        daemon.wait(0)


run([
    full_queue_is_503_within_50_ms_while_healthz_stays_under_50_ms,
    spent_byte_budget_is_503_and_recovers,
    job_past_its_deadline_is_504_and_the_worker_is_free_again,
    job_whose_client_left_while_it_was_queued_is_skipped_and_counted,
    client_that_leaves_after_its_job_began_harms_nobody,
    stuck_job_is_left_behind_at_the_end_of_the_grace_time,
    second_signal_with_a_stuck_job_ends_at_once,
    stop_waits_for_a_job_that_ends_in_time,
])
