/* The table of tokens.h: SHA-256 and comparison by GnuTLS.
 * Tokens are random and long, so a fast hash without salt does; the file says no passwords. */
#define _GNU_SOURCE
#include "tokens.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TOKENS_HASH_SIZE 32

#define TOKENS_BLANKS " \t\r"

struct token {
    char name[TOKENS_MAX_NAME_SIZE + 1];
    unsigned char hash[TOKENS_HASH_SIZE];
};

struct tokens {
    size_t count;
    struct token list[TOKENS_MAX];
};

static bool tokens_fail(size_t line, const char *why, char error[TOKENS_ERROR_SIZE]) {
    snprintf(error, TOKENS_ERROR_SIZE, "line %zu: %s", line, why);
    return false;
}

static int tokens_digit(char c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    const char small = (char)(c | 0x20);
    return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

static bool tokens_read_hash(const char *text, size_t size, unsigned char hash[TOKENS_HASH_SIZE]) {
    if (size != (size_t)2 * TOKENS_HASH_SIZE) {
        return false;
    }
    for (size_t i = 0; i < TOKENS_HASH_SIZE; i++) {
        const int high = tokens_digit(text[2 * i]);
        const int low = tokens_digit(text[2 * i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        hash[i] = (unsigned char)(high * 16 + low);
    }
    return true;
}

static bool tokens_has_name(const struct tokens *tokens, const char *name) {
    for (size_t i = 0; i < tokens->count; i++) {
        if (strcmp(tokens->list[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* at begins with neither a blank nor '#', and is not empty. */
static bool tokens_read_line(struct tokens *tokens, const char *at, size_t size, size_t line,
                             char error[TOKENS_ERROR_SIZE]) {
    static const char name_characters[] =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-";
    if (tokens->count == TOKENS_MAX) {
        return tokens_fail(line, "more than 1024 tokens", error);
    }
    struct token *token = &tokens->list[tokens->count];
    const size_t name_size = strspn(at, name_characters);
    if (name_size == 0 || name_size > TOKENS_MAX_NAME_SIZE || name_size == size) {
        return tokens_fail(line, "not a name of letters, digits, '.', '_' and '-' with a hash",
                           error);
    }
    const size_t gap = strspn(at + name_size, TOKENS_BLANKS);
    const char *hash = at + name_size + gap;
    size_t hash_size = size - name_size - gap;
    while (hash_size > 0 && strchr(TOKENS_BLANKS, hash[hash_size - 1]) != NULL) {
        hash_size--;
    }
    if (gap == 0 || !tokens_read_hash(hash, hash_size, token->hash)) {
        return tokens_fail(line, "no SHA-256 of 64 hexadecimal digits behind the name", error);
    }
    memcpy(token->name, at, name_size);
    token->name[name_size] = '\0';
    if (tokens_has_name(tokens, token->name)) {
        return tokens_fail(line, "the name stands on a line before", error);
    }
    tokens->count++;
    return true;
}

static bool tokens_read(struct tokens *tokens, const char *text, char error[TOKENS_ERROR_SIZE]) {
    size_t line = 0;
    for (const char *at = text; *at != '\0';) {
        const char *end = strchrnul(at, '\n');
        at += strspn(at, TOKENS_BLANKS);
        line++;
        if (at < end && *at != '#' &&
            !tokens_read_line(tokens, at, (size_t)(end - at), line, error)) {
            return false;
        }
        at = *end == '\n' ? end + 1 : end;
    }
    if (tokens->count == 0) {
        snprintf(error, TOKENS_ERROR_SIZE, "no token stands in it");
        return false;
    }
    return true;
}

struct tokens *tokens_parse(const char *text, char error[TOKENS_ERROR_SIZE]) {
    struct tokens *tokens = calloc(1, sizeof *tokens);
    if (tokens == NULL) {
        snprintf(error, TOKENS_ERROR_SIZE, "out of memory");
        return NULL;
    }
    if (!tokens_read(tokens, text, error)) {
        tokens_destroy(tokens);
        return NULL;
    }
    return tokens;
}

void tokens_destroy(struct tokens *tokens) {
    free(tokens);
}

size_t tokens_count(const struct tokens *tokens) {
    return tokens->count;
}

/* What follows "Bearer", or "" when that is not the scheme. */
static const char *tokens_credential(const char *authorization) {
    static const char scheme[] = "Bearer";
    const size_t size = sizeof scheme - 1;
    if (authorization == NULL || strncasecmp(authorization, scheme, size) != 0 ||
        authorization[size] != ' ') {
        return "";
    }
    return authorization + size + strspn(authorization + size, " ");
}

bool tokens_admit(const struct tokens *tokens, const char *authorization) {
    unsigned char hash[TOKENS_HASH_SIZE];
    const char *credential = tokens_credential(authorization);
    if (gnutls_hash_fast(GNUTLS_DIG_SHA256, credential, strlen(credential), hash) != 0) {
        return false;
    }
    unsigned matches = 0;
    for (size_t i = 0; i < tokens->count; i++) {
        matches += gnutls_memcmp(tokens->list[i].hash, hash, TOKENS_HASH_SIZE) == 0 ? 1U : 0U;
    }
    /* the hash of "" in the file must not let in whoever sends nothing */
    return matches > 0 && *credential != '\0';
}
