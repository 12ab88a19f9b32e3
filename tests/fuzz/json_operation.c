/* Any body, as the JSON request of every operation: what comes back is a reply or a problem of the
 * contract. What the numbers should be is for the golden cases. */
#include "support/reply.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    for (size_t i = 0; api_operations[i] != NULL; ++i) {
        reply_check_both(api_operations[i], API_MEDIA_JSON, "", data, size);
    }
    return 0;
}
