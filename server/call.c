/* Reads standard input up to the body limit, runs the operation, writes the reply.
 * A problem goes to standard output too, so that a caller always finds one document there. */
#define _GNU_SOURCE
#include "call.h"

#include "api/operation.h"
#include "media.h"
#include "settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CALL_DONE = 0, CALL_FAILED = 1, CALL_USAGE = 2 };

#define CALL_PIECE_SIZE ((size_t)64 << 10)

struct call_arguments {
    const struct api_operation *operation;
    enum api_media content_type;
    enum api_media accept;
    const char *query;
};

static void call_help(FILE *out) {
    fputs("skind call OPERATION [--content-type TYPE] [--accept TYPE] [--query QUERY]\n\n"
          "Reads a request on standard input and writes the reply to standard output.\n"
          "Exit status: 0 done, 1 the reply is a problem, 2 wrong usage.\n\n"
          "  --content-type TYPE   application/json (default) or application/octet-stream\n"
          "  --accept TYPE         the reply's type; default the request's\n"
          "  --query QUERY         options, as in a URL: dtype=f64&space=world\n\n"
          "Operations:\n",
          out);
    for (size_t i = 0; api_operations[i] != NULL; i++) {
        fprintf(out, "  %-20s  %s\n", api_operations[i]->name, api_operations[i]->summary);
    }
}

/* Stores the value of the flag at argv[*at] and moves on to its end. False: not a flag, or a value
 * that is missing. */
static bool call_flag(const char *flag, int argc, char *const *argv, int *at, const char **value) {
    size_t size = strlen(flag);
    if (strncmp(argv[*at], flag, size) != 0) {
        return false;
    }
    if (argv[*at][size] == '=') {
        *value = argv[*at] + size + 1;
        return true;
    }
    if (argv[*at][size] != '\0' || *at + 1 == argc) {
        return false;
    }
    *value = argv[++*at];
    return true;
}

static bool call_media(const char *flag, const char *text, enum api_media *media) {
    if (media_type_parse(text, media)) {
        return true;
    }
    fprintf(stderr, "skind call: %s: '%.80s' is not " API_TYPE_JSON " or " API_TYPE_OCTETS "\n",
            flag, text);
    return false;
}

static bool call_parse(int argc, char *const *argv, struct call_arguments *arguments) {
    const char *content_type = API_TYPE_JSON;
    const char *accept = NULL;
    for (int i = 1; i < argc; i++) {
        if (!call_flag("--content-type", argc, argv, &i, &content_type) &&
            !call_flag("--accept", argc, argv, &i, &accept) &&
            !call_flag("--query", argc, argv, &i, &arguments->query)) {
            fprintf(stderr, "skind call: '%.80s' is not known, or lacks its value\n", argv[i]);
            return false;
        }
    }
    accept = accept != NULL ? accept : content_type;
    arguments->operation = argc > 0 ? api_operation_find(argv[0]) : NULL;
    if (arguments->operation == NULL) {
        fprintf(stderr, "skind call: '%.80s' is not an operation; see skind call --help\n",
                argc > 0 ? argv[0] : "");
        return false;
    }
    if (!call_media("--content-type", content_type, &arguments->content_type) ||
        !call_media("--accept", accept, &arguments->accept)) {
        return false;
    }
    if (arguments->operation->run_octets == NULL &&
        (arguments->content_type == API_MEDIA_OCTETS || arguments->accept == API_MEDIA_OCTETS)) {
        fprintf(stderr, "skind call: %s takes and gives " API_TYPE_JSON " only\n", argv[0]);
        return false;
    }
    return true;
}

/* Returns 0 or an errno; a body that is full or failed is not an error of reading. */
static int call_read(int descriptor, struct api_buffer *body) {
    for (;;) {
        char piece[CALL_PIECE_SIZE];
        ssize_t size = read(descriptor, piece, sizeof piece);
        if (size < 0 && errno != EINTR) {
            return errno;
        }
        if (size > 0) {
            api_buffer_append(body, piece, (size_t)size);
        }
        if (size == 0 || body->failed) {
            return 0;
        }
    }
}

static void call_run(const struct call_arguments *arguments, struct api_buffer *body,
                     struct api_reply *reply) {
    double nothing = 0;
    if (body->failed) {
        api_reply_problem(
            reply, body->full ? API_PAYLOAD_TOO_LARGE : API_OVERLOADED,
            body->full ? "Standard input is over SKIND_MAX_BODY_BYTES." : "Out of memory.", NULL);
        return;
    }
    const struct api_request request = {
        .body = body->size > 0 ? body->data : (char *)&nothing,
        .size = body->size,
        .content_type = arguments->content_type,
        .accept = arguments->accept,
        .query = arguments->query,
    };
    api_operation_run(arguments->operation, &request, reply);
}

/* Standard output is written by write: a raw reply is no text. */
static bool call_write(const char *data, size_t size) {
    size_t done = 0;
    while (done < size) {
        ssize_t written = write(STDOUT_FILENO, data + done, size - done);
        if (written < 0 && errno != EINTR) {
            return false;
        }
        done += written > 0 ? (size_t)written : 0;
    }
    return true;
}

static int call_operation(const struct call_arguments *arguments, size_t max_body_size) {
    struct api_buffer body;
    struct api_reply reply;
    api_buffer_init(&body, max_body_size);
    int error = call_read(STDIN_FILENO, &body);
    if (error != 0) {
        fprintf(stderr, "skind call: cannot read standard input: %s\n", strerror(error));
        api_buffer_finish(&body);
        return CALL_FAILED;
    }
    call_run(arguments, &body, &reply);
    int result = reply.code == API_OK ? CALL_DONE : CALL_FAILED;
    /* a text ends its line, for terminals and shells */
    bool is_text = reply.media_type != NULL && strcmp(reply.media_type, API_TYPE_OCTETS) != 0;
    if (!call_write(reply.body.data, reply.body.size) || (is_text && !call_write("\n", 1))) {
        fprintf(stderr, "skind call: cannot write the reply: %s\n", strerror(errno));
        result = CALL_FAILED;
    }
    api_reply_finish(&reply);
    api_buffer_finish(&body);
    return result;
}

int call_main(int argc, char *const *argv) {
    struct call_arguments arguments = {.query = NULL};
    struct settings settings;
    char error[SETTINGS_ERROR_SIZE];
    if (argc > 0 && (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0)) {
        call_help(stdout);
        return CALL_DONE;
    }
    if (settings_load(&settings, 0, NULL, error) != SETTINGS_OK) {
        fprintf(stderr, "skind call: %s\n", error);
        return CALL_USAGE;
    }
    if (!call_parse(argc, argv, &arguments)) {
        return CALL_USAGE;
    }
    return call_operation(&arguments, settings.max_body_bytes);
}
