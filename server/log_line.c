/* Text from a client can hold anything, so strings are made of valid UTF-8 without a control
 * character, whatever they were. No printf: this runs once for each request. */
#define _GNU_SOURCE
#include "log_line.h"

#include <string.h>

/* For "}" and a line's end. */
#define LOG_LINE_RESERVE 2

static void line_append(struct log_line *line, const char *data, size_t size) {
    if (line->size + size <= LOG_LINE_SIZE - LOG_LINE_RESERVE) {
        memcpy(line->text + line->size, data, size);
        line->size += size;
    }
}

#define LOG_LINE_DIGITS 20 /* of the largest number */

/* Decimal digits of value, at least `width` of them, at the end of text; returns where they begin.
 */
static size_t line_digits(uint64_t value, size_t width, char text[LOG_LINE_DIGITS]) {
    size_t at = LOG_LINE_DIGITS;
    do {
        text[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0 || LOG_LINE_DIGITS - at < width);
    return at;
}

static void line_append_digits(struct log_line *line, uint64_t value, size_t width) {
    char text[LOG_LINE_DIGITS];
    const size_t at = line_digits(value, width, text);
    line_append(line, &text[at], LOG_LINE_DIGITS - at);
}

void log_line_begin(struct log_line *line) {
    line->size = 2;
    line->has_members = false;
    line->text[0] = '\n';
    line->text[1] = '{';
}

/* False when a value of that many bytes would not fit behind the name. */
static bool line_key(struct log_line *line, const char *name, size_t value_size) {
    const size_t name_size = strlen(name);
    if (line->size + name_size + value_size + 4 > LOG_LINE_SIZE - LOG_LINE_RESERVE) {
        return false;
    }
    line_append(line, line->has_members ? ",\"" : "\"", line->has_members ? 2 : 1);
    line_append(line, name, name_size);
    line_append(line, "\":", 2);
    line->has_members = true;
    return true;
}

/* Bytes of the UTF-8 sequence that begins there, or 0: RFC 3629, section 4. */
static size_t line_sequence(const unsigned char *at, size_t left) {
    const unsigned char lead = at[0];
    const size_t size = lead < 0x80 ? 1 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (size == 1) {
        return 1;
    }
    if (lead < 0xC2 || lead > 0xF4 || size > left) {
        return 0;
    }
    for (size_t i = 1; i < size; i++) {
        if ((at[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    const bool is_wrong = (lead == 0xE0 && at[1] < 0xA0) || (lead == 0xED && at[1] > 0x9F) ||
                          (lead == 0xF0 && at[1] < 0x90) || (lead == 0xF4 && at[1] > 0x8F);
    return is_wrong ? 0 : size;
}

static void line_append_escape(struct log_line *line, unsigned code) {
    static const char digits[] = "0123456789abcdef";
    const char text[6] = {'\\',
                          'u',
                          digits[code >> 12 & 15],
                          digits[code >> 8 & 15],
                          digits[code >> 4 & 15],
                          digits[code & 15]};
    line_append(line, text, sizeof text);
}

static void line_append_sequence(struct log_line *line, const unsigned char *at, size_t size) {
    if (size == 0) {
        line_append_escape(line, 0xFFFD);
    } else if (at[0] < 0x20 || at[0] == 0x7F) {
        line_append_escape(line, at[0]);
    } else if (at[0] == 0xC2 && at[1] < 0xA0) {
        line_append_escape(line, at[1]); /* U+0080 to U+009F: a terminal may obey them */
    } else {
        if (at[0] == '"' || at[0] == '\\') {
            line_append(line, "\\", 1);
        }
        line_append(line, (const char *)at, size);
    }
}

/* Appends what needs no escape up to the first byte that may, and returns its size: nearly always
 * that is all there is. */
static size_t line_append_plain(struct log_line *line, const char *text, size_t size) {
    size_t plain = 0;
    while (plain < size && text[plain] >= ' ' && text[plain] < 0x7F && text[plain] != '"' &&
           text[plain] != '\\') {
        plain++;
    }
    line_append(line, text, plain);
    return plain;
}

void log_line_text(struct log_line *line, const char *name, const char *value) {
    if (value == NULL) {
        if (line_key(line, name, 4)) {
            line_append(line, "null", 4);
        }
        return;
    }
    const size_t size = strnlen(value, LOG_LINE_TEXT_SIZE);
    if (!line_key(line, name, size * 6 + 2)) {
        return;
    }
    line_append(line, "\"", 1);
    for (size_t i = line_append_plain(line, value, size); i < size;) {
        const unsigned char *at = (const unsigned char *)value + i;
        const size_t sequence = line_sequence(at, size - i);
        line_append_sequence(line, at, sequence);
        i += sequence > 0 ? sequence : 1;
    }
    line_append(line, "\"", 1);
}

void log_line_number(struct log_line *line, const char *name, uint64_t value) {
    if (line_key(line, name, LOG_LINE_DIGITS)) {
        line_append_digits(line, value, 1);
    }
}

void log_line_milliseconds(struct log_line *line, const char *name, uint64_t value_ns) {
    const uint64_t value_us = value_ns / 1000;
    if (line_key(line, name, LOG_LINE_DIGITS + 4)) {
        line_append_digits(line, value_us / 1000, 1);
        line_append(line, ".", 1);
        line_append_digits(line, value_us % 1000, 3);
    }
}

void log_line_end(struct log_line *line) {
    line->text[line->size++] = '}';
    line->text[line->size++] = '\n';
}

/* Days since 1970-01-01 to a date: the algorithm of Howard Hinnant's civil_from_days, whose years
 * begin in March. gmtime_r would take a lock of the C library for each line. */
static void line_date(uint64_t days, uint64_t *year, uint64_t *month, uint64_t *day) {
    const uint64_t shifted = days + 719468; /* since 0000-03-01 */
    const uint64_t era = shifted / 146097;
    const uint64_t of_era = shifted % 146097;
    const uint64_t year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    const uint64_t of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const uint64_t march_month = (5 * of_year + 2) / 153;
    *day = of_year - (153 * march_month + 2) / 5 + 1;
    *month = march_month < 10 ? march_month + 3 : march_month - 9;
    *year = era * 400 + year_of_era + (*month <= 2 ? 1 : 0);
}

static char *line_put(char *at, uint64_t value, size_t width, char behind) {
    char digits[LOG_LINE_DIGITS];
    const size_t first = line_digits(value, width, digits);
    memcpy(at, &digits[first], width);
    at[width] = behind;
    return at + width + 1;
}

void log_line_time(uint64_t unix_ms, char text[LOG_LINE_TIME_SIZE]) {
    const uint64_t seconds = unix_ms / 1000;
    uint64_t year;
    uint64_t month;
    uint64_t day;
    line_date(seconds / 86400, &year, &month, &day);
    char *at = line_put(text, year, 4, '-');
    at = line_put(at, month, 2, '-');
    at = line_put(at, day, 2, 'T');
    at = line_put(at, seconds / 3600 % 24, 2, ':');
    at = line_put(at, seconds / 60 % 60, 2, ':');
    at = line_put(at, seconds % 60, 2, '.');
    at = line_put(at, unix_ms % 1000, 3, 'Z');
    *at = '\0';
}
