/* The one thing to be done before the first input. */
#include "api/operation.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    api_init();
    return 0;
}
