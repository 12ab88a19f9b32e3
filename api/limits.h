/* Every maximum of the contract, with its reason. Settings that an operator may change are not
 * here but in server/settings.def. */
#ifndef API_LIMITS_H
#define API_LIMITS_H

/* Bones of one request. 65,536 palettes are 4 MiB of float32; real rigs stay under 2,000. */
#define API_MAX_BONES 65536

/* Bytes of a reply: 65,536 matrices of 17-digit numbers as Unity objects take about 28 MB. */
#define API_MAX_REPLY_SIZE ((size_t)48 << 20)

/* Items of a batch. Each costs about 200 bytes before it is read. */
#define API_MAX_BATCH_ITEMS 65536

/* Bytes of a batch item's id. */
#define API_MAX_ID_SIZE 128

/* Frames of a sequence of poses: half an hour at 36 frames a second. */
#define API_MAX_FRAMES 65536

/* Findings listed in one problem; more are only counted. Nobody reads the 101st. */
#define API_MAX_FINDINGS 100

/* Nesting of arrays and objects. The deepest legal request has 5 levels; jansson recurses. */
#define API_MAX_DEPTH 64

/* What jansson may be given to hold, in units of about 64 bytes: an object counts 4, an array 2,
 * a string, number or literal 1, a lifted numeric array 2. A request so holds
 * about 29,000 matrices as Unity objects (36 each) or 80,000 as translation, rotation and scale (13
 * each), over all of its lists; arrays of numbers and raw bodies are not affected. Without it 16 MB
 * of [{},{},...] would take 1.2 GB. */
#define API_MAX_VALUES ((size_t)1 << 20)

/* Bytes that jansson may take for one body: more than what API_MAX_VALUES leads to, so that this is
 * only the last line of defence. */
#define API_MAX_JSON_MEMORY ((size_t)96 << 20)

/* Doubles lifted out of numeric arrays: 3 lists of 65,536 matrices and some room, 32 MiB. */
#define API_MAX_NUMBERS ((size_t)4 << 20)

/* Bytes of a bone's name. */
#define API_MAX_NAME_SIZE 256

/* Bytes of a request id that is echoed. */
#define API_MAX_REQUEST_ID_SIZE 128

/* Decoded bytes of one query parameter's value. */
#define API_MAX_QUERY_VALUE_SIZE 128

/* maxCondition may be set up to here; beyond it no digit of an inverse is left. */
#define API_MAX_CONDITION 1e15

#endif
