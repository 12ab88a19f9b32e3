/* The bearer tokens that are let in, known by their hashes alone.
 * Where the text of the table comes from, and what follows from a refusal, is not its affair. */
#ifndef SERVER_TOKENS_H
#define SERVER_TOKENS_H

#include <stdbool.h>
#include <stddef.h>

/* Each request is compared with all of them. */
#define TOKENS_MAX 1024

/* Characters of a name: letters, digits, '.', '_', '-'. */
#define TOKENS_MAX_NAME_SIZE 64

#define TOKENS_ERROR_SIZE 160

struct tokens;

/* Reads lines of a name, blanks, and the SHA-256 of the token in hexadecimal; blank lines and those
 * that begin with '#' count for nothing. NULL with the error's text set, which names the line but
 * nothing that stands in it. A text without any token is an error: it would let nobody in. */
struct tokens *tokens_parse(const char *text, char error[TOKENS_ERROR_SIZE]);

void tokens_destroy(struct tokens *tokens);

size_t tokens_count(const struct tokens *tokens);

/* Whether the value of an Authorization header, NULL for none, is "Bearer" with one of the tokens.
 * Takes as long for each token of a length, whether it is one of them or not. */
bool tokens_admit(const struct tokens *tokens, const char *authorization);

#endif
