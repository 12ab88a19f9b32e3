/* POST /v1/palette in the obvious way: jansson for every number in and out, the same HTTP settings,
 * the same mathematics. It exists to be compared with and checks only what it must. */
#define _GNU_SOURCE
#include "lib/skin.h"

#include <arpa/inet.h>
#include <jansson.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define MAX_BONES 65536
#define MAX_BODY_SIZE ((size_t)16 << 20)
#define FIRST_BODY_CAPACITY ((size_t)16 << 10)

/* 16 numbers of at most 24 characters with their commas, and brackets; so that one dump is enough.
 */
#define MATRIX_TEXT_SIZE ((size_t)16 * 25 + 3)

/* As in the server that this one is compared with. */
#define CONNECTION_MEMORY ((size_t)32 << 10)
#define CONNECTION_LIMIT 4096u
#define CONNECTION_TIMEOUT_S 60u

struct post {
    char *body; /* owned */
    size_t size;
    size_t capacity;
    bool failed;
};

/* The operands of one request. */
struct palette {
    size_t count;
    struct skin_mat4 *inverse_bind; /* owned, [count]; takes the results */
    struct skin_mat4 *bone_world;   /* owned, [count] */
    struct skin_mat4 mesh_world;
};

/* ---- JSON and matrices -------------------------------------------------------------------- */

static bool matrix_read(const json_t *array, struct skin_mat4 *matrix) {
    if (json_array_size(array) != 16) {
        return false;
    }
    for (size_t i = 0; i < 16; i++) {
        const json_t *number = json_array_get(array, i);
        if (!json_is_number(number)) {
            return false;
        }
        matrix->m[i] = json_number_value(number);
    }
    return true;
}

static struct skin_mat4 *list_read(const json_t *list, size_t count) {
    struct skin_mat4 *matrices = NULL;
    if (json_array_size(list) == count && count <= MAX_BONES) {
        matrices = calloc(count + 1, sizeof *matrices);
    }
    for (size_t i = 0; matrices != NULL && i < count; i++) {
        if (!matrix_read(json_array_get(list, i), &matrices[i])) {
            free(matrices);
            return NULL;
        }
    }
    return matrices;
}

static json_t *matrix_write(const struct skin_mat4 *matrix) {
    json_t *array = json_array();
    for (size_t i = 0; i < 16; i++) {
        json_array_append_new(array, json_real(matrix->m[i]));
    }
    return array;
}

static bool palette_read(const json_t *root, struct palette *palette) {
    const json_t *inverse_bind = json_object_get(root, "inverseBind");
    palette->count = json_array_size(inverse_bind);
    palette->inverse_bind = list_read(inverse_bind, palette->count);
    palette->bone_world = list_read(json_object_get(root, "boneWorld"), palette->count);
    return palette->inverse_bind != NULL && palette->bone_world != NULL &&
           matrix_read(json_object_get(root, "meshWorld"), &palette->mesh_world);
}

/* The reply's text, owned by the caller. */
static char *palette_write(const struct palette *palette, size_t *size) {
    json_t *root = json_object();
    json_t *list = json_array();
    for (size_t i = 0; i < palette->count; i++) {
        json_array_append_new(list, matrix_write(&palette->inverse_bind[i]));
    }
    json_object_set_new(root, "convention", json_string("row-vector"));
    json_object_set_new(root, "space", json_string("mesh"));
    json_object_set_new(root, "palette", list);
    const size_t capacity = 128 + palette->count * MATRIX_TEXT_SIZE;
    char *text = malloc(capacity);
    if (text != NULL) {
        *size = json_dumpb(root, text, capacity, JSON_COMPACT | JSON_REAL_PRECISION(17));
    }
    json_decref(root);
    return text;
}

/* NULL when the request cannot be used. */
static char *answer(const struct post *post, size_t *size) {
    struct palette palette = {0};
    char *reply = NULL;
    json_t *root = json_loadb(post->body, post->size, JSON_REJECT_DUPLICATES, NULL);
    if (root != NULL && palette_read(root, &palette) &&
        skin_palette(SKIN_SPACE_MESH, palette.inverse_bind, palette.bone_world, palette.count,
                     &palette.mesh_world, NULL, palette.inverse_bind, NULL) == SKIN_OK) {
        reply = palette_write(&palette, size);
    }
    free(palette.inverse_bind);
    free(palette.bone_world);
    json_decref(root);
    return reply;
}

/* ---- HTTP --------------------------------------------------------------------------------- */

static void post_append(struct post *post, const char *data, size_t size) {
    size_t capacity = post->capacity == 0 ? FIRST_BODY_CAPACITY : post->capacity;
    if (post->failed || size > MAX_BODY_SIZE - post->size) {
        post->failed = true;
        return;
    }
    while (capacity < post->size + size) {
        capacity *= 2;
    }
    if (capacity != post->capacity) {
        char *body = realloc(post->body, capacity);
        post->failed = body == NULL;
        if (post->failed) {
            return;
        }
        post->body = body;
        post->capacity = capacity;
    }
    memcpy(post->body + post->size, data, size);
    post->size += size;
}

static enum MHD_Result respond(struct MHD_Connection *connection, unsigned status, char *text,
                               size_t size) {
    struct MHD_Response *response =
        MHD_create_response_from_buffer(size, text, MHD_RESPMEM_MUST_FREE);
    if (response == NULL) {
        free(text);
        return MHD_NO;
    }
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "application/json");
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *data,
                              size_t *size, void **place) {
    struct post *post = *place;
    (void)context;
    (void)version;
    if (post == NULL) {
        *place = calloc(1, sizeof *post);
        return *place == NULL ? MHD_NO : MHD_YES;
    }
    if (*size > 0) {
        post_append(post, data, *size);
        *size = 0;
        return MHD_YES;
    }
    size_t reply_size = 0;
    char *reply = NULL;
    if (!post->failed && strcmp(method, "POST") == 0 && strcmp(url, "/v1/palette") == 0) {
        reply = answer(post, &reply_size);
    }
    return respond(connection, reply != NULL ? MHD_HTTP_OK : MHD_HTTP_BAD_REQUEST, reply,
                   reply_size);
}

static void finish(void *context, struct MHD_Connection *connection, void **place,
                   enum MHD_RequestTerminationCode why) {
    struct post *post = *place;
    (void)context;
    (void)connection;
    (void)why;
    if (post != NULL) {
        free(post->body);
        free(post);
        *place = NULL;
    }
}

static struct MHD_Daemon *start(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    /* clang-format off */
    return MHD_start_daemon(
        MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_ITC | MHD_USE_ERROR_LOG, 0, NULL, NULL, handle, NULL,
        MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address,
        MHD_OPTION_CONNECTION_LIMIT, CONNECTION_LIMIT,
        MHD_OPTION_CONNECTION_TIMEOUT, CONNECTION_TIMEOUT_S,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_MEMORY,
        MHD_OPTION_NOTIFY_COMPLETED, finish, NULL,
        MHD_OPTION_END);
    /* clang-format on */
}

int main(void) {
    sigset_t signals;
    int number = 0;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    struct MHD_Daemon *daemon = start();
    const union MHD_DaemonInfo *info =
        daemon == NULL ? NULL : MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
    if (info == NULL) {
        (void)fprintf(stderr, "plain_server: cannot listen\n");
        return 1;
    }
    printf("plain listening on http://127.0.0.1:%u\n", (unsigned)info->port);
    (void)fflush(stdout);
    sigwait(&signals, &number);
    MHD_stop_daemon(daemon);
    return 0;
}
