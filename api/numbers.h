/* Number text to double and back, exactly: a thin C face on the C++17 <charconv>.
 * It knows the grammar of one JSON number and nothing else of JSON. */
#ifndef API_NUMBERS_H
#define API_NUMBERS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes that the longest written number takes: -2.2250738585072014e-308. */
#define API_NUMBER_SIZE 24

/* Reads the JSON number (RFC 8259, section 6) that starts at `at`, correctly rounded; one too small
 * for a double is 0. No byte at or past `end` is needed, but for a number that touches `end` the
 * caller cannot know that it is whole. Returns the first byte behind the number, or NULL when
 * there is none or it is beyond double's range. */
const char *api_number_read(const char *at, const char *end, double *value);

/* Writes the shortest text that reads back to the same double (or float), up to API_NUMBER_SIZE
 * bytes, no NUL. Returns the first byte behind it. The value must be finite. A negative zero is
 * "-0.0", since many readers take "-0" for an integer. */
char *api_number_write_f64(char *out, double value);
char *api_number_write_f32(char *out, float value);

#ifdef __cplusplus
}
#endif

#endif
