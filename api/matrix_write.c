/* Writes matrices straight into the reply: numbers by to_chars, the constant column as literal
 * text, no value of a JSON library in between. It writes what lib computed and checks nothing. */
#include "matrix.h"

#include "numbers.h"

#include <string.h>

/* The longest matrix: 12 numbers, 4 constants, and a Unity object's names or brackets. */
#define MATRIX_SIZE (12 * API_NUMBER_SIZE + 4 + 16 * (sizeof "\"e00\":," - 1) + 16)

struct style {
    bool column_vector;
    bool f32;
    enum api_shape shape;
};

static char *write_number(char *at, double value, bool f32) {
    return f32 ? api_number_write_f32(at, (float)value) : api_number_write_f64(at, value);
}

/* Element k of the row-vector matrix: its last column is 0, 0, 0, 1 by definition. */
static char *write_element(char *at, const double m[16], size_t k, bool f32) {
    if (k % 4 == 3) {
        *at = k == 15 ? '1' : '0';
        return at + 1;
    }
    return write_number(at, m[k], f32);
}

/* The element that stands at place i of the 16 numbers of a reply. */
static size_t sent_element(size_t i, bool column_vector) {
    return column_vector ? 4 * (i % 4) + i / 4 : i;
}

static char *write_flat(char *at, const double m[16], struct style style) {
    *at++ = '[';
    for (size_t i = 0; i < 16; ++i) {
        at = write_element(at, m, sent_element(i, style.column_vector), style.f32);
        *at++ = ',';
    }
    at[-1] = ']';
    return at;
}

static char *write_nested(char *at, const double m[16], struct style style) {
    *at++ = '[';
    for (size_t i = 0; i < 16; ++i) {
        if (i % 4 == 0) {
            *at++ = '[';
        }
        at = write_element(at, m, sent_element(i, style.column_vector), style.f32);
        if (i % 4 == 3) {
            *at++ = ']';
        }
        *at++ = ',';
    }
    at[-1] = ']';
    return at;
}

/* e{row}{column} of the column-vector matrix, whatever the convention: the names say it. */
static char *write_unity(char *at, const double m[16], struct style style) {
    *at++ = '{';
    for (size_t i = 0; i < 16; ++i) {
        const char name[] = {'"', 'e', (char)('0' + i / 4), (char)('0' + i % 4), '"', ':'};
        memcpy(at, name, sizeof name);
        at = write_element(at + sizeof name, m, 4 * (i % 4) + i / 4, style.f32);
        *at++ = ',';
    }
    at[-1] = '}';
    return at;
}

static char *write_matrix(char *at, const double m[16], struct style style) {
    switch (style.shape) {
    case API_SHAPE_FLAT:
        break;
    case API_SHAPE_NESTED:
        return write_nested(at, m, style);
    case API_SHAPE_UNITY:
        return write_unity(at, m, style);
    }
    return write_flat(at, m, style);
}

static void load(const struct api_matrices *matrices, size_t index, double m[16]) {
    for (size_t k = 0; k < 16; ++k) {
        m[k] =
            matrices->f64 != NULL ? matrices->f64[index].m[k] : (double)matrices->f32[index].m[k];
    }
}

static void write_json(struct api_buffer *out, const struct api_matrices *matrices,
                       struct style style) {
    api_buffer_append(out, "[", 1);
    for (size_t i = 0; i < matrices->count; ++i) {
        double m[16];
        char *at = api_buffer_reserve(out, MATRIX_SIZE + 1);
        if (at == NULL) {
            return;
        }
        char *start = at;
        if (i > 0) {
            *at++ = ',';
        }
        load(matrices, i, m);
        out->size += (size_t)(write_matrix(at, m, style) - start);
    }
    api_buffer_append(out, "]", 1);
}

static void write_octets(struct api_buffer *out, const struct api_matrices *matrices,
                         struct style style) {
    for (size_t i = 0; i < matrices->count; ++i) {
        double m[16];
        double sent[16];
        float narrow[16];
        load(matrices, i, m);
        for (size_t k = 0; k < 16; ++k) {
            sent[k] = m[sent_element(k, style.column_vector)];
            narrow[k] = (float)(style.f32 ? sent[k] : 0);
        }
        if (style.f32) {
            api_buffer_append(out, (const char *)narrow, sizeof narrow);
        } else {
            api_buffer_append(out, (const char *)sent, sizeof sent);
        }
    }
}

void api_matrices_write(const struct api_call *call, const struct api_matrices *matrices) {
    const struct style style = {.column_vector = call->options.column_vector,
                                .f32 = call->options.skin.precision == SKIN_F32,
                                .shape = call->options.shape};
    if (call->request->accept == API_MEDIA_OCTETS) {
        write_octets(call->out, matrices, style);
    } else {
        write_json(call->out, matrices, style);
    }
}
