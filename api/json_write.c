/* The append-only JSON writer: a few leaves over the buffer, with numbers by numbers.h.
 * Matrices have their own writer in matrix_write.c, since they are the cost. */
#include "json_write.h"

#include "numbers.h"

#include <stdio.h>
#include <string.h>

static void write_escape(struct api_buffer *out, unsigned char c) {
    char text[8];
    switch (c) {
    case '"':
        api_buffer_text(out, "\\\"");
        return;
    case '\\':
        api_buffer_text(out, "\\\\");
        return;
    case '\n':
        api_buffer_text(out, "\\n");
        return;
    case '\r':
        api_buffer_text(out, "\\r");
        return;
    case '\t':
        api_buffer_text(out, "\\t");
        return;
    default:
        (void)snprintf(text, sizeof text, "\\u%04x", c);
        api_buffer_text(out, text);
    }
}

void api_write_string(struct api_buffer *out, const char *text) {
    api_buffer_append(out, "\"", 1);
    const char *run = text;
    for (const char *at = text; *at != '\0'; ++at) {
        const unsigned char c = (unsigned char)*at;
        if (c >= 0x20 && c != '"' && c != '\\' && c != 0x7F) {
            continue;
        }
        api_buffer_append(out, run, (size_t)(at - run));
        write_escape(out, c);
        run = at + 1;
    }
    api_buffer_text(out, run);
    api_buffer_append(out, "\"", 1);
}

void api_write_key(struct api_buffer *out, const char *name) {
    api_buffer_append(out, ",\"", 2);
    api_buffer_text(out, name);
    api_buffer_append(out, "\":", 2);
}

void api_write_number(struct api_buffer *out, double value) {
    char *room = api_buffer_reserve(out, API_NUMBER_SIZE);
    if (room != NULL) {
        out->size += (size_t)(api_number_write_f64(room, value) - room);
    }
}

void api_write_integer(struct api_buffer *out, double value) {
    char text[32];
    (void)snprintf(text, sizeof text, "%lld", (long long)value);
    api_buffer_text(out, text);
}
