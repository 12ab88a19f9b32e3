/* What must hold of every reply of an operation, whatever came in.
 * It knows the contract's form, not what the numbers should be. */
#ifndef TESTS_FUZZ_REPLY_H
#define TESTS_FUZZ_REPLY_H

#include "api/operation.h"

#include <stdint.h>

/* Runs the operation twice over copies of the body, once for a reply in JSON and, where there are
 * octets at all, once for octets, and checks both replies and that they agree. */
void reply_check_both(const struct api_operation *operation, enum api_media content_type,
                      const char *query, const uint8_t *body, size_t size);

#endif
