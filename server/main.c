/* The program: picks the subcommand, and runs the daemon from start through drain to stop.
 * It serves nothing itself; see http.c, call.c and probe.c. */
#define _GNU_SOURCE
#include "call.h"
#include "front.h"
#include "http.h"
#include "log.h"
#include "metrics.h"
#include "probe.h"
#include "processors.h"
#include "settings.h"
#include "state.h"
#include "stream_writer.h"
#include "systemd.h"

#include "api/operation.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_USAGE = 2 };

/* A client that keeps its connection sends its next request at once, and a fresh connection its
 * first, so a stop is complete only when nothing was open for this long. What is then still
 * connected is idle, and is closed. */
#define MAIN_QUIET_MS 250
#define MAIN_TICK_MS 5

/* How long cut streams and jobs that are all but done may take to be over. */
#define MAIN_SETTLE_MS 500

static void main_help(void) {
    fputs(
        "skind " SKIND_VERSION ": bind matrices and skinning palettes over HTTP\n\n"
        "  skind [FLAGS]           serve until SIGTERM or SIGINT; SIGHUP reads tokens again\n"
        "  skind call OPERATION    run one operation on standard input; see skind call --help\n"
        "  skind probe [FLAGS]     ask the daemon at --listen whether it is alive\n\n"
        "Flags, each also as --flag=VALUE or from the environment; a flag beats the environment:\n",
        stdout);
    settings_help(stdout);
    fputs("  --help, --version\n\n"
          "Exit status: 0 done, 1 failed, 2 wrong usage.\n",
          stdout);
}

static long main_now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Waits until the last request is answered, or the grace time is over. A second signal ends the
 * process here. */
static void main_drain(const struct http_server *server, const struct state *state,
                       const sigset_t *signals, long grace_ms) {
    const struct timespec tick = {.tv_nsec = MAIN_TICK_MS * 1000000L};
    struct http_load load = http_load(server);
    long start_ms = main_now_ms();
    long busy_ms = start_ms;
    size_t requests = load.requests;
    for (;;) {
        long now_ms = main_now_ms();
        load = http_load(server);
        if (load.open_requests > 0 || load.requests != requests) {
            requests = load.requests;
            busy_ms = now_ms;
        }
        if (now_ms - busy_ms >= MAIN_QUIET_MS && pool_load(state->pool).tasks == 0) {
            return;
        }
        if (now_ms - start_ms >= grace_ms) {
            log_message(state->log, LOG_WARN, "the grace time is over; requests cut: %zu",
                        load.open_requests);
            return;
        }
        if (sigtimedwait(signals, NULL, &tick) > 0) {
            log_message(state->log, LOG_WARN, "second signal; stopped at once");
            _exit(EXIT_FAILURE);
        }
    }
}

/* Behind the drain nothing new comes to the pool, and streams, which have no end of their own, are
 * cut. Returns whether the pool is empty then. */
static bool main_settle(struct http_server *server, struct pool *pool) {
    const struct timespec tick = {.tv_nsec = MAIN_TICK_MS * 1000000L};
    const long start_ms = main_now_ms();
    pool_close(pool);
    http_cut_streams(server);
    while (pool_load(pool).tasks > 0 && main_now_ms() - start_ms < MAIN_SETTLE_MS) {
        nanosleep(&tick, NULL);
    }
    return pool_load(pool).tasks == 0;
}

/* A connection is a descriptor; the soft limit is often 1,024 where the hard one is far higher. */
static void main_raise_descriptor_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static void main_reload(struct front *front) {
    char error[FRONT_ERROR_SIZE];
    size_t count;
    systemd_notify_reloading();
    if (front_reload(front, &count, error)) {
        fprintf(stderr, "skind: SIGHUP: tokens now: %zu\n", count);
    } else {
        fprintf(stderr, "skind: SIGHUP: the old tokens stay (%zu): %s\n", count, error);
    }
    systemd_notify("READY=1");
}

/* Until a signal to stop comes. */
static void main_wait(struct front *front, const sigset_t *signals) {
    sigset_t awaited = *signals;
    int signal_number = SIGHUP;
    sigaddset(&awaited, SIGHUP);
    systemd_notify("READY=1");
    while (sigwait(&awaited, &signal_number) == 0 && signal_number == SIGHUP) {
        main_reload(front);
    }
    systemd_notify("STOPPING=1");
}

static void main_announce(const struct http_server *server, const struct front *front) {
    char address[ADDRESS_TEXT_SIZE];
    address_format(http_address(server), address);
    printf("skind listening on %s%s\n",
           address_is_unix(http_address(server)) ? ""
           : front_tls(front) != NULL            ? "https://"
                                                 : "http://",
           address);
    fflush(stdout);
}

static int main_serve(const struct settings *settings) {
    struct state state = {.http_version = http_library_version()};
    char front_error[FRONT_ERROR_SIZE];
    char error[HTTP_ERROR_SIZE];
    struct http_server *server;
    sigset_t signals;
    sigset_t blocked;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    blocked = signals;
    sigaddset(&blocked, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &blocked, NULL);
    signal(SIGPIPE, SIG_IGN);
    main_raise_descriptor_limit();
    state.front = front_create(settings, front_error);
    if (state.front == NULL) {
        fprintf(stderr, "skind: %s\n", front_error);
        return EXIT_USAGE;
    }
    state.pool = pool_create(settings->workers > 0 ? settings->workers : processors_allowed(),
                             settings->queue);
    state.stream_writer = stream_writer_create(settings->queue, settings->transfer_timeout_ms);
    if (state.pool == NULL || state.stream_writer == NULL) {
        fputs("skind: cannot start the worker threads\n", stderr);
        goto failed;
    }
    state.metrics = metrics_create();
    state.log = log_create((enum log_target)settings->log, STDERR_FILENO);
    if (state.metrics == NULL || state.log == NULL) {
        fputs("skind: out of memory\n", stderr);
        goto failed;
    }
    server = http_create(settings, &state, error);
    if (server == NULL) {
        fprintf(stderr, "skind: %s\n", error);
        goto failed;
    }
    main_announce(server, state.front);
    main_wait(state.front, &signals);
    atomic_store(&state.stopping, true);
    http_quiesce(server);
    main_drain(server, &state, &signals, (long)settings->grace_ms);
    if (!main_settle(server, state.pool)) {
        /* a job that cannot be waited for: its connection is suspended, and stopping the HTTP
         * library would abort */
        log_message(state.log, LOG_ERROR, "a request is still being worked on; stopped without it");
        _exit(EXIT_FAILURE);
    }
    http_destroy(server); /* first: until then its threads may still ask the pool */
    pool_destroy(state.pool);
    stream_writer_destroy(state.stream_writer);
    log_destroy(state.log);
    metrics_destroy(state.metrics);
    front_destroy(state.front);
    return EXIT_SUCCESS;
failed:
    pool_destroy(state.pool);
    stream_writer_destroy(state.stream_writer);
    log_destroy(state.log);
    metrics_destroy(state.metrics);
    front_destroy(state.front);
    return EXIT_FAILURE;
}

int main(int argc, char **argv) {
    struct settings settings;
    char error[SETTINGS_ERROR_SIZE];
    api_init();
    if (argc > 1 && strcmp(argv[1], "call") == 0) {
        return call_main(argc - 2, argv + 2);
    }
    bool is_probe = argc > 1 && strcmp(argv[1], "probe") == 0;
    int skipped = is_probe ? 2 : 1;
    switch (settings_load(&settings, argc > 0 ? argc - skipped : 0, argv + skipped, error)) {
    case SETTINGS_OK:
        return is_probe ? probe_main(&settings) : main_serve(&settings);
    case SETTINGS_HELP:
        main_help();
        return EXIT_SUCCESS;
    case SETTINGS_VERSION:
        puts("skind " SKIND_VERSION);
        return EXIT_SUCCESS;
    case SETTINGS_BAD:
        fprintf(stderr, "skind: %s\n", error);
        return EXIT_USAGE;
    }
    return EXIT_USAGE;
}
