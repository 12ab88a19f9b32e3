/* Media types as headers name them: what a body is, and what a client accepts.
 * It knows the two types of the contract; which of them a path offers is for the caller to say. */
#ifndef SERVER_MEDIA_H
#define SERVER_MEDIA_H

#include "api/operation.h"

#include <stdbool.h>

/* Reads a Content-Type. Parameters are allowed, but a charset must be UTF-8. */
bool media_type_parse(const char *value, enum api_media *media);

/* Whether a Content-Type is application/x-ndjson. */
bool media_type_is_lines(const char *value);

/* How much a client wants each type: RFC 9110, section 12.5.1. */
struct media_preference {
    struct {
        int specificity; /* of the range that decides: 0 none, 1 any, 2 the type, 3 type and subtype
                          */
        int quality;     /* in thousandths; 0 is "not this" */
    } of[2];             /* by enum api_media */
};

/* Adds the ranges of one Accept header; a range that is not well formed counts for nothing. */
void media_accept_add(struct media_preference *preference, const char *value);

/* The offered type that is wanted most, `usual` among equals. False when none is acceptable. */
bool media_accept_choose(const struct media_preference *preference, bool octets_offered,
                         enum api_media usual, enum api_media *media);

/* How much a client wants each coding of a reply, in thousandths; -1 when it does not say. */
struct media_codings {
    int gzip;
    int identity;
    int any; /* of what is not named */
};

#define MEDIA_CODINGS_NONE ((struct media_codings){-1, -1, -1})

/* Adds one Accept-Encoding header. */
void media_codings_add(struct media_codings *codings, const char *value);

/* Whether gzip is wanted, and at least as much as no coding is. */
bool media_codings_want_gzip(const struct media_codings *codings);

#endif
