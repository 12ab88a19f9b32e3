/* A query, a line's end and raw floats, for every operation that takes them. */
#include "support/reply.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t *body = data;
    size_t query_size;
    const uint8_t *start = fuzz_piece(&body, data + size, '\n', &query_size);
    char *query = fuzz_text(start, query_size);
    for (size_t i = 0; api_operations[i] != NULL; ++i) {
        if (api_operations[i]->run_octets != NULL) {
            reply_check_both(api_operations[i], API_MEDIA_OCTETS, query, body,
                             size - (size_t)(body - data));
        }
    }
    free(query);
    return 0;
}
