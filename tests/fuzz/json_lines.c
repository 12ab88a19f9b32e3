/* Any bytes as a stream of lines, fed in pieces of a size that the first byte says: the reply is
 * framed, has a line for each line that is not blank, in order, and each is JSON. */
#define _GNU_SOURCE
#include "server/stream.h"
#include "tests/fuzz/fuzz.h"

#include <jansson.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_LINE ((size_t)4096)
#define MAX_REPLY ((size_t)1 << 20)

/* One pool for the whole run; the fuzzer ends the process. */
static struct pool *pool;
static struct stream_writer *writer;
static atomic_size_t inflight;

static void resume(void *context) {
    (void)context; /* nothing is suspended here: the loop below looks by itself */
}

static void take(int fd, struct api_buffer *reply) {
    char piece[65536];
    ssize_t size;
    while ((size = recv(fd, piece, sizeof piece, MSG_DONTWAIT)) > 0) {
        api_buffer_append(reply, piece, (size_t)size);
    }
}

static void run(const uint8_t *data, size_t size, size_t step, struct api_buffer *reply) {
    int fds[2];
    fuzz_require(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    struct stream *stream = stream_create(&(struct stream_options){.pool = pool,
                                                                   .writer = writer,
                                                                   .socket_fd = fds[0],
                                                                   .is_chunked = true,
                                                                   .request_id = "fuzz",
                                                                   .headers = "",
                                                                   .inflight_bytes = &inflight,
                                                                   .max_line_size = MAX_LINE,
                                                                   .max_reply_size = MAX_REPLY,
                                                                   .resume = resume});
    fuzz_require(stream != NULL);
    size_t fed = 0;
    while (fed < size) {
        const size_t piece = size - fed < step ? size - fed : step;
        fed += stream_feed(stream, (const char *)data + fed, piece);
        take(fds[1], reply);
    }
    while (!stream_is_finished(stream)) {
        stream_end(stream);
        take(fds[1], reply);
        sched_yield();
    }
    stream_abandon(stream);
    close(fds[0]);
    take(fds[1], reply);
    close(fds[1]);
}

/* The body of the chunked reply, which must be whole. */
static void unframe(const struct api_buffer *reply, struct api_buffer *body) {
    const char *at = memmem(reply->data, reply->size, "\r\n\r\n", 4);
    const char *end = reply->data + reply->size;
    size_t size = 1;
    fuzz_require(at != NULL);
    at += 4;
    while (size > 0) {
        char *behind;
        size = strtoul(at, &behind, 16);
        fuzz_require(behind > at && end - behind >= 4 && memcmp(behind, "\r\n", 2) == 0);
        at = behind + 2;
        fuzz_require((size_t)(end - at) >= size + 2 && memcmp(at + size, "\r\n", 2) == 0);
        api_buffer_append(body, at, size);
        at += size + 2;
    }
    fuzz_require(at == end);
}

static bool is_blank(const uint8_t *line, size_t size) {
    for (size_t i = 0; i < size; ++i) {
        if (line[i] != ' ' && line[i] != '\t' && line[i] != '\r') {
            return false;
        }
    }
    return true;
}

static void check_results(const uint8_t *data, size_t size, const struct api_buffer *body) {
    const uint8_t *at = data;
    const char *result = body->data;
    const char *end = result + body->size;
    for (size_t index = 0; at < data + size; ++index) {
        size_t line_size;
        const uint8_t *line = fuzz_piece(&at, data + size, '\n', &line_size);
        if (is_blank(line, line_size)) {
            continue;
        }
        const char *newline = result < end ? memchr(result, '\n', (size_t)(end - result)) : NULL;
        fuzz_require(newline != NULL);
        json_t *value =
            json_loadb(result, (size_t)(newline - result), JSON_REJECT_DUPLICATES, NULL);
        fuzz_require(value != NULL);
        fuzz_require((size_t)json_integer_value(json_object_get(value, "index")) == index);
        const json_int_t status = json_integer_value(json_object_get(value, "status"));
        fuzz_require((status == 200) == (json_object_get(value, "response") != NULL));
        fuzz_require((status != 200) == (json_object_get(value, "problem") != NULL));
        json_decref(value);
        result = newline + 1;
    }
    fuzz_require(result == end);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct api_buffer reply;
    struct api_buffer body;
    if (size == 0) {
        return 0;
    }
    if (pool == NULL) {
        pool = pool_create(2, 4);
        writer = stream_writer_create(4, 10000);
        fuzz_require(pool != NULL && writer != NULL);
    }
    api_buffer_init(&reply, SIZE_MAX / 2);
    api_buffer_init(&body, SIZE_MAX / 2);
    run(data + 1, size - 1, 1 + data[0], &reply);
    fuzz_require(atomic_load(&inflight) == 0);
    unframe(&reply, &body);
    check_results(data + 1, size - 1, &body);
    api_buffer_finish(&reply);
    api_buffer_finish(&body);
    return 0;
}
