/* Reading of members and parameters: presence, types, choices, names, spelling.
 * Matrices are read by matrix.h; what the values mean is for the operations. */
#ifndef API_ARGUMENTS_H
#define API_ARGUMENTS_H

#include "call.h"

struct api_convention {
    const char *name;
    bool column_vector;
};

/* Ends with a NULL name. */
extern const struct api_convention api_conventions[];

/* NULL-terminated lists of the values allowed; the enum value is the index. */
extern const char *const api_space_names[];     /* enum skin_space */
extern const char *const api_precision_names[]; /* enum skin_precision */
extern const char *const api_shape_names[];     /* enum api_shape */

/* Decodes the query into call->query and refuses parameters that the operation does not know. */
void api_query_read(struct api_call *call);

/* Whether a query, as sent, has a parameter of that name. */
bool api_query_has(const char *query, const char *name);

/* A parameter that is a whole number from 1 to maximum; 0, with a finding, when it is not. */
size_t api_query_count(struct api_call *call, const char *name, size_t maximum);

/* Reports each member of the request's object that the operation does not know, and each that it
 * always requires and does not find. */
void api_arguments_check(struct api_call *call);

/* Reports that a member is missing, unless api_arguments_check has said so. */
void api_argument_missing(struct api_call *call, const char *name);

/* The member, or NULL; an explicit null is a value. Always NULL for an octet body. */
const struct json_t *api_argument(const struct api_call *call, const char *name);

/* Whether the option was given, in the body or in the query. */
bool api_argument_given(const struct api_call *call, const char *name);

/* One of `choices` (NULL-terminated): its index, or `fallback` when not given or refused. */
unsigned api_argument_choice(struct api_call *call, const char *name, const char *const *choices,
                             unsigned fallback);

/* convention, matrixShape, precision (or dtype), affineTolerance, maxCondition. */
void api_options_read(struct api_call *call);

/* The member "names"; the length is checked against the bones by api_names_check. */
void api_names_read(struct api_call *call);
void api_names_check(struct api_call *call, size_t bone_count);

/* Appends ,"names":[...] when names were given. */
void api_names_write(const struct api_call *call);

/* Appends {"convention":"..." : how every reply begins. */
void api_reply_begin(const struct api_call *call);

/* An integer member of an object that is itself a member: /outer/name. */
bool api_integer_read(struct api_call *call, const struct json_t *object, const char *outer,
                      const char *name, double *value);

/* Reports each member of `object` that is not in `known` (NULL-terminated); `pointer` is the
 * object's own. */
void api_members_check(struct api_call *call, const struct json_t *object, const char *pointer,
                       const char *const *known);

#endif
